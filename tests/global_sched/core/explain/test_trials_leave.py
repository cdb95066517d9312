"""Changes with which a job runs because others then leave for it."""

import pytest

from tests.played import behind_patience, explained, remedies

TWO = """\
world:
  clusters: [{name: m, nodes: [{count: 2, allocatable: {cpu: 1}}]}]
  queues: [{name: a, deserved: {cpu: 1}%s}, {name: b, deserved: {cpu: 0}}]
  jobs:
  - {name: r, queue: b, created: 0, running: {cluster: m},
     tasks: [{replicas: 2, requests: {cpu: 1}}]}
  - {name: j, queue: a, created: 1, tasks: [{requests: {cpu: 1}}]}
"""
TAINTED = (
    "the policy does not tolerate the cluster's taint k=v:NoSchedule "
    "(spec.placement.clusterTolerations)"
)
TOO_BIG = (
    "a pod of worker asks for cpu 2, and no node of the federation has as much: "
    "the largest has 1 (in m)"
)
FULL = "waits for a cluster with room for 1 pod; no cluster has room for it now"
LEAVES = "1 gang of queue b (2 pods: default/r-job) leaves m"


@pytest.mark.parametrize(
    ("field", "want"),
    [
        pytest.param(", state: Closed", "queue a is open", id="a closed queue"),
        pytest.param(
            ", capability: {cpu: 0}",
            "queue a may hold 1 cpu more (spec.capability, 0 left of 0)",
            id="a limit",
        ),
        pytest.param(
            ", clusterCapability: {m: {cpu: 0}}",
            "queue a may hold 1 cpu more in m (spec.extendClusters, 0 left of 0)",
            id="a limit in the cluster, which has no room",
        ),
    ],
)
def test_others_leave_with_the_change(field, want):
    """The change alone is enough, and it is said who leaves then."""
    assert remedies(TWO % field, "j") == [(f"{want}, and {LEAVES}", True)]


def test_a_cluster_that_may_be_used():
    """The taint of a full cluster is named, and the victims there."""
    text = (TWO % "").replace("{name: m,", '{name: m, taints: ["k=v:NoSchedule"],')
    text = text.replace("queue: b,", 'queue: b, clusterTolerations: ["k=v:NoSchedule"],')

    assert remedies(text, "j") == [
        (
            f"it may use cluster m: {TAINTED}, and {LEAVES}",
            True,
        )
    ]


def test_where_the_policy_allows_no_search():
    """Nothing is ever evicted then: the gangs are named, and their end is what helps."""
    text = (TWO % "").replace("world:", "world:\n  policy: {searches_per_cycle: 0}")

    told = explained(text, "j")

    none = "no victims are searched, since the Policy sets searches_per_cycle to 0"
    assert told.outcome.verdict.reason == "SearchDeferred"
    assert told.outcome.verdict.detail == (f"{FULL}; {none}")
    assert (len(told.victims), told.no_victims) == (1, f"they stay: {none}")
    assert [one.text for one in told.remedies] == [
        "1 gang of queue b (2 pods: default/r-job) ends in m"
    ]
    shut = (TWO % ", state: Closed").replace("world:", "world:\n  policy: {searches_per_cycle: 0}")
    assert remedies(shut, "j") == [(f"queue a is open; then still: {FULL}", False)]


def test_what_is_kept_for_a_patient_gang_gives_way():
    """With a class above the gang's it comes in past what is kept for that."""
    text = behind_patience(
        "priorityClass: top, tasks: [{requests: {cpu: 1}}]",
        of="o",
        more="""\
priorityClasses: {low: -1, high: 10, top: 20}
  tenants: [{name: t, namespaces: [default], priorityClasses: [low, high]}]""",
    )

    assert remedies(text, "j") == [
        ("its PriorityClass is high (spec.priorityClassName, now top)", True)
    ]


def test_a_limit_beside_what_is_set_aside():
    """Where what is kept for a patient gang is in the way, the limit has to hold both."""
    one, two = (behind_patience(f"tasks: [{{requests: {{cpu: {cpus}}}}}]") for cpus in (1, 2))
    raised = "cpu more (spec.capability, 0 left of 4 beside 4 set aside)"

    assert remedies(one, "j") == [
        ("no other job is ahead of it in the queue order: there is room now", True),
        (f"queue a may hold 4 {raised}", True),
    ]
    assert remedies(two, "j") == [
        (f"queue a may hold 5 {raised}; then still: {TOO_BIG}", False),
    ]
