"""Names that are misspelt, jobs that cannot be read, pods larger than any node, and held room."""

import pytest

from tests.played import explained, remedies

NEAR = """\
world:
  clusters:
  - name: m
    nodes: [{count: 2, allocatable: {cpu: 4, nvidia.com/gpu: 8}, labels: {zone: north}}]
  queues: [{name: research}, {name: production}]
  priorityClasses: {urgent: 10}
  jobs: [JOB]
"""


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(
            "queue: reserch, tasks: [{requests: {cpu: 1}}]",
            "queue reserch does not exist on the control plane; did you mean research?",
            id="a queue",
        ),
        pytest.param(
            "priorityClass: urgnt, tasks: [{requests: {cpu: 1}}]",
            "PriorityClass urgnt does not exist on the control plane; create it or name another "
            "one; did you mean urgent?",
            id="a PriorityClass",
        ),
        pytest.param(
            "tasks: [{requests: {nvidia.com/gpus: 1}}]",
            "m is nearest: no node of this cluster has nvidia.com/gpus; did you mean "
            "nvidia.com/gpu?",
            id="a resource",
        ),
        pytest.param(
            "tasks: [{requests: {cpu: 1}, nodeSelector: {zone: nort}}]",
            "m is nearest: no node of this cluster can take the pod: no label zone=nort; did you "
            "mean zone=north?",
            id="a node label",
        ),
    ],
)
def test_the_nearest_name_is_said(job, want):
    """What does not exist is followed by the nearest name that does."""
    found = explained(NEAR.replace("JOB", f"{{name: j, {job}}}"), "j")

    assert found.outcome.verdict.detail == want


def test_the_nearest_queue_is_advice():
    """It was tried: the field with the new name, then that the queue could be made."""
    text = NEAR.replace("JOB", "{name: j, queue: reserch, tasks: [{requests: {cpu: 1}}]}")

    assert remedies(text, "j") == [
        ("it names queue research (spec.queue, now reserch)", True),
        ("there is a queue reserch", True),
    ]
    first = explained(text, "j").remedies[0]
    assert (first.field, first.value) == ("spec.queue", "research")


def test_pods_that_are_larger_than_any_node():
    """It never runs as it is; with what the largest node has it does."""
    text = NEAR.replace("JOB", "{name: j, tasks: [{requests: {cpu: 1, nvidia.com/gpu: 16}}]}")

    assert explained(text, "j").outcome.verdict.code.value == "NEVER"
    assert remedies(text, "j") == [
        ("pods of worker request nvidia.com/gpu 8 (now 16): there is room in m", True),
    ]


def test_a_job_that_cannot_be_read():
    """It stands in its own queue, and no cluster is said to fit."""
    text = NEAR.replace(
        "JOB", "{name: j, queue: research, minAvailable: 3, tasks: [{requests: {cpu: 1}}]}"
    )

    found = explained(text, "j")

    assert found.outcome.verdict.reason.value == "InvalidSpec"
    assert (found.outcome.queue, found.queue.name) == ("research", "research")
    assert found.outcome.clusters == ()
    assert found.remedies == ()


def test_who_holds_the_room():
    """Queue, priority, amounts, since when and until when; a name only in its own namespace."""
    text = """\
world:
  clusters: [{name: m, nodes: [{count: 3, allocatable: {cpu: 2}}]}]
  queues: [{name: p}, {name: q}]
  jobs:
  - {name: own, queue: p, running: {cluster: m}, tasks: [{requests: {cpu: 2}}]}
  - {name: foreign, namespace: other, queue: q, running: {cluster: m},
     annotations: {federation.global-sched.io/run-time-limit: 10m},
     tasks: [{replicas: 2, requests: {cpu: 2}}]}
  - {name: j, queue: q, created: 1, tasks: [{requests: {cpu: 2}}]}
"""
    found = explained(text, "j").occupants

    assert [(one.queue, one.pods, one.workload) for one in found] == [
        ("q", 2, None),
        ("p", 1, "default/own-job"),
    ]
    first, second = found
    assert first.until is not None
    assert first.until - first.since == 600_000_000
    assert second.until is None
    assert first.amount.get("cpu") == 4000


def test_what_the_largest_rack_would_hold():
    """Where no end of a job helps, the room is said that there would be without all of them."""
    text = """\
world:
  clusters:
  - name: m
    domains: {r1: {tier: 1, tierName: rack}, r2: {tier: 1, tierName: rack}}
    nodes: [{domain: r1, count: 4, allocatable: {cpu: 1}}, {domain: r2, allocatable: {cpu: 4}}]
  jobs:
  - {name: old, running: {cluster: m, domain: r1}, tasks: [{replicas: 3, requests: {cpu: 1}}]}
  - {name: j, created: 1, topology: {mode: hard, highestTierAllowed: 1},
     tasks: [{replicas: 6, requests: {cpu: 1}}]}
"""
    told = dict(remedies(text, "j"))

    [end] = [one for one in told if one.startswith("all running jobs end")]
    assert not told[end]
    assert end == (
        "all running jobs end; then still: waits for a rack with room for 6 pods; the largest "
        "have room for 4 (r1 and r2 in m)"
    )


TIERS = """\
world:
  clusters:
  - name: m
    domains:
      s: {tier: 2, tierName: spine}
      r1: {tier: 1, tierName: rack, parent: s}
      r2: {tier: 1, tierName: rack, parent: s}
    nodes: [{domain: r1, count: 2, allocatable: {cpu: 1}}, {domain: r2, allocatable: {cpu: 1}}]
  jobs:
  - {name: j, topology: {mode: hard, highestTierName: NAME},
     tasks: [{replicas: PODS, requests: {cpu: 1}}]}
"""


@pytest.mark.parametrize(
    ("name", "pods", "want"),
    [
        pytest.param("rak", "2", "rack (now rak): there is room in r1 of m", id="a misspelt name"),
        pytest.param(
            "rack", "3", "spine (now rack): there is room in s of m", id="the next higher one"
        ),
    ],
)
def test_tiers_by_name(name, pods, want):
    """Where the tier stands by its name the advice names that field and another name."""
    text = TIERS.replace("NAME", name).replace("PODS", pods)

    assert remedies(text, "j")[0] == (f"spec.networkTopology.highestTierName is {want}", True)
    if name == "rak":
        assert explained(text, "j").outcome.verdict.detail == (
            "m is nearest: the cluster has no tier name 'rak'; its tiers are 1 (rack), 2 (spine); "
            "did you mean rack?"
        )
