"""Requests that the whole federation does not have."""

import pytest

from tests.played import explained


def verdict(request, *, east="{allocatable: {cpu: 4, gpu: 8}}", more=""):
    text = f"""\
world:
  clusters:
  - {{name: east, nodes: [{east}]}}
  - {{name: west, nodes: [{{count: 3, allocatable: {{cpu: 4, gpu: 8}}}}]}}
{more}
  jobs:
  - {{name: old, tasks: [{{replicas: 2, requests: {{gpu: 8}}}}]}}
  - {{name: j, created: 1, tasks: [{{{request}}}]}}
"""
    found = explained(text, "j").outcome.verdict
    return found.code.value, found.reason.value, found.detail


@pytest.mark.parametrize(
    ("request_", "want_code", "want_detail"),
    [
        pytest.param(
            "requests: {gpu: 16}",
            "NEVER",
            "a pod of worker asks for gpu 16, and no node of the federation has as much: the "
            "largest has 8 (in east and west)",
            id="a pod larger than any node",
        ),
        pytest.param(
            "replicas: 4, requests: {cpu: 4}",
            "NEVER",
            "4 pods that start together ask for cpu 16, and no cluster has as much: the largest "
            "has 12 (in west)",
            id="a gang larger than any cluster",
        ),
        pytest.param(
            "replicas: 4, minAvailable: 3, requests: {cpu: 3}",
            "FIT",
            "",
            id="its minimum counts, not all that it asks for",
        ),
        pytest.param(
            "replicas: 3, requests: {gpu: 8}",
            "NO_FIT",
            "waits for a cluster with room for 3 pods; the largest have room for 1 (east and west)",
            id="as large as the largest cluster, which is full",
        ),
    ],
)
def test_larger_than_anything(request_, want_code, want_detail):
    """What no node or cluster has is NEVER, with the largest; what is in use is not."""
    code, _, detail = verdict(request_)

    assert code == want_code
    assert detail.startswith(want_detail)


def test_nodes_that_are_not_ready_count():
    """A cordoned node comes back: what fits it waits."""
    east = "{count: 5, cordoned: true, allocatable: {cpu: 4}}"

    assert verdict("replicas: 5, requests: {cpu: 4}", east=east)[0] == "NO_FIT"
    assert verdict("replicas: 6, requests: {cpu: 4}", east=east)[0] == "NEVER"


def test_a_cluster_without_a_report_may_have_anything():
    """As long as one cluster says nothing of its nodes, nothing is called impossible."""
    silent = "  - {name: silent, agent: null, nodes: [{allocatable: {cpu: 64}}]}"

    assert verdict("requests: {gpu: 16}", more=silent)[0] != "NEVER"


@pytest.mark.parametrize(
    ("allowed", "want"),
    [
        pytest.param("[east]", True, id="east has one node"),
        pytest.param("[west]", False, id="west has three, which are in use"),
        pytest.param("[east, west]", False, id="all clusters, one of which has three"),
    ],
)
def test_clusters_that_its_policy_selects(allowed, want):
    """Room that comes free is no help where no selected cluster is large enough."""
    text = f"""\
world:
  clusters:
  - {{name: east, nodes: [{{allocatable: {{cpu: 4, gpu: 8}}}}]}}
  - {{name: west, nodes: [{{count: 3, allocatable: {{cpu: 4, gpu: 8}}}}]}}
  jobs:
  - {{name: old, tasks: [{{replicas: 2, requests: {{gpu: 8}}}}]}}
  - {{name: j, created: 1, clusters: {allowed}, tasks: [{{replicas: 3, requests: {{gpu: 8}}}}]}}
"""
    found = explained(text, "j").outcome.verdict

    assert found.code.value == "NO_FIT"
    assert found.too_small is want


RACKS = """\
world:
  clusters:
  - name: east
    nodes: [{name: e, count: 4, allocatable: {cpu: 8, gpu: 8}}]
    hyperNodes:
    - {name: e1, tier: 1, tierName: rack, nodes: [e-0, e-1, e-2]}
    - {name: e2, tier: 1, tierName: rack, nodes: [e-3]}
  - name: west
    nodes: [{name: w, count: 4, allocatable: {cpu: 8, gpu: 4}}]
    hyperNodes:
    - {name: w1, tier: 1, tierName: rack, nodes: [w-0, w-1, w-2]}
    - {name: w2, tier: 1, tierName: rack, nodes: [w-3]}
  jobs:
  - {name: old, running: {cluster: east}, tasks: [{replicas: 4, requests: {gpu: 8}}]}
  - {name: j, created: 1, topology: {highestTierAllowed: 1}, TASKS}
"""


def of_rack(tasks, world=RACKS):
    found = explained(world.replace("TASKS", tasks), "j").outcome.verdict
    return found.code.value, found.detail


@pytest.mark.parametrize(
    ("tasks", "want_code", "want_detail"),
    [
        pytest.param(
            "tasks: [{replicas: 4, requests: {gpu: 8}}]",
            "NEVER",
            "4 pods of worker start together in one rack, and no rack of the federation has nodes "
            "for as many: the largest (e1 in east) has nodes for 3",
            id="more nodes than any rack has",
        ),
        pytest.param(
            "tasks: [{replicas: 7, requests: {cpu: 4}}]",
            "NEVER",
            "7 pods of worker start together in one rack, and no rack of the federation has nodes "
            "for as many: the largest (e1 in east and in 1 more cluster) have nodes for 6",
            id="more pods than the nodes of any rack hold",
        ),
        pytest.param(
            "tasks: [{name: a, replicas: 3, requests: {cpu: 5}}, "
            "{name: b, replicas: 3, requests: {cpu: 4}}]",
            "NEVER",
            "6 pods that start together in one rack ask for cpu 27, and no rack of the federation "
            "has as much: the largest (e1 in east and in 1 more cluster) have 24",
            id="more of one resource than any rack has",
        ),
        pytest.param(
            "tasks: [{replicas: 3, requests: {gpu: 8}}]",
            "NO_FIT",
            "waits for a rack with room for 3 pods",
            id="as many as the largest rack has, which is full",
        ),
        pytest.param(
            "minAvailable: 3, tasks: [{replicas: 4, requests: {gpu: 8}}]",
            "NO_FIT",
            "waits for a rack with room for 3 pods",
            id="its minimum counts",
        ),
    ],
)
def test_larger_than_any_rack(tasks, want_code, want_detail):
    """A gang that starts in one rack is NEVER where no rack of the federation is as large."""
    code, detail = of_rack(tasks)

    assert code == want_code
    assert detail.startswith(want_detail)


def test_nodes_that_are_away_count_for_every_rack():
    """A cordoned node may belong to any rack: three and one are four."""
    cordoned = RACKS.replace("name: w, count: 4,", "name: w, count: 4, cordoned: true,")

    assert of_rack("tasks: [{replicas: 4, requests: {cpu: 8}}]", cordoned)[0] == "NO_FIT"
    assert of_rack("tasks: [{replicas: 8, requests: {cpu: 8}}]", cordoned)[0] == "NEVER"


def test_where_a_whole_cluster_would_do_racks_do_not_count():
    """A tier that is the cluster's top bounds nothing; the cluster's size does."""
    world = RACKS.replace("highestTierAllowed: 1", "highestTierAllowed: 2")

    assert of_rack("tasks: [{replicas: 4, requests: {gpu: 8}}]", world)[0] == "NO_FIT"
