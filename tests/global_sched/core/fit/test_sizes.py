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
