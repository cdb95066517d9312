"""The checker finds each violation, and nothing where all is well."""

import json

import pytest

from tests.checker import (
    DECISION,
    GPU,
    GROUP,
    PLAN,
    Seen,
    Term,
    seconds_over,
    usage_at_rest,
    usurped,
    violations,
)


def node(name, gpus=8):
    return {"metadata": {"name": name}, "status": {"allocatable": {GPU: str(gpus)}}}


def hyper_node(name, tier, *nodes):
    members = [{"type": "Node", "selector": {"exactMatch": {"name": one}}} for one in nodes]
    return {"metadata": {"name": name}, "spec": {"tier": tier, "members": members}}


def job(pods=2, *, tier=None, gpus=8, queue="q", name="a"):
    container = {"resources": {"limits": {GPU: str(gpus)}}}
    spec = {
        "queue": queue,
        "minAvailable": pods,
        "tasks": [
            {"name": "w", "replicas": pods, "template": {"spec": {"containers": [container]}}}
        ],
    }
    if tier:
        spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
    return {"metadata": {"namespace": "team", "name": name}, "spec": spec}


def binding(grants, *, left=(), epoch=1, name="a", message=""):
    decision = {
        "epoch": epoch,
        "grants": [
            *({"cluster": one, "amounts": {"w": pods}} for one, pods in grants.items()),
            *({"cluster": one, "left": "then", "held": {GPU: gpus}} for one, gpus in left),
        ],
    }
    said = [{"type": "Scheduled", "status": "False", "message": message}] if message else []
    return {
        "metadata": {
            "namespace": "team",
            "name": f"{name}-job",
            "annotations": {DECISION: json.dumps(decision)},
        },
        "spec": {
            "schedulerName": "global-sched",
            "resource": {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "namespace": "team",
                "name": name,
            },
            "clusters": [{"name": one} for one in grants],
        },
        "status": {"conditions": said},
    }


def pod(number, node="n0", *, phase="Running", gpus=8, name="a"):
    return {
        "metadata": {
            "namespace": "team",
            "name": f"{name}-w-{number}",
            "labels": {"volcano.sh/job-name": name},
        },
        "spec": {
            "nodeName": node,
            "containers": [{"resources": {"limits": {GPU: str(gpus)}}}],
        },
        "status": {"phase": phase},
    }


def capped(gpus=16):
    return {"metadata": {"name": "q"}, "spec": {"capability": {GPU: str(gpus)}}}


def plane(at, plural, obj, **more):
    return Seen(at, "control-plane", plural, obj, **more)


def member(at, plural, obj, name="m1", **more):
    return Seen(at, name, plural, obj, **more)


NODES = [
    *[member(0, "nodes", node(f"n{at}")) for at in range(4)],
    *[member(0, "nodes", node(f"n{at}"), "m2") for at in range(4)],
    member(0, "hypernodes", hyper_node("r0", 1, "n0", "n1")),
    member(0, "hypernodes", hyper_node("r1", 1, "n2", "n3")),
    plane(0, "queues", capped()),
    plane(0, "jobs", job()),
]
RUNS = [
    *NODES,
    plane(1, "resourcebindings", binding({"m1": 2})),
    member(2, "pods", pod(0)),
    member(2, "pods", pod(1, "n1")),
]
LEAVES = [
    *RUNS,
    plane(10, "resourcebindings", binding({}, left=[("m1", 16)], message="it is leaving m1")),
]


@pytest.mark.parametrize(
    ("history", "said"),
    [
        pytest.param(
            [*RUNS, member(3, "pods", pod(0), "m2")], "runs in m1 and m2", id="it runs twice"
        ),
        pytest.param(
            [*RUNS, member(3, "pods", pod(2, "n2"))],
            "has 3 live pods in m1, and 2 are admitted",
            id="a pod more than admitted",
        ),
        pytest.param(
            [*NODES, plane(1, "resourcebindings", binding({"m1": 2})), member(2, "pods", pod(0))],
            "has 1 of at least 2 pods in m1",
            id="half a gang",
        ),
        pytest.param(
            [*NODES, plane(1, "resourcebindings", binding({"m1": 3}))],
            "queue q holds 24 GPUs of 16",
            id="a write over the limit of the queue",
        ),
        pytest.param(
            [
                *LEAVES,
                plane(11, "jobs", job(name="b")),
                plane(12, "resourcebindings", binding({"m2": 2}, name="b")),
            ],
            "queue q holds 32 GPUs of 16",
            id="the quota of one that is leaving",
        ),
        pytest.param(
            [
                *NODES,
                plane(0, "jobs", job(tier=1)),
                *RUNS[len(NODES) : -1],
                member(2, "pods", pod(1, "n2")),
            ],
            "are on n0, n2, under nothing of tier 1",
            id="a gang over two racks",
        ),
        pytest.param(
            [*RUNS, member(3, "pods", pod(0, "n0", name="other"))],
            "16 GPUs are in use on m1/n0, which has 8",
            id="a node with more than it has",
        ),
        pytest.param(
            [
                *RUNS,
                plane(3, "resourcebindings", binding({"m1": 2}, epoch=5)),
                plane(4, "resourcebindings", binding({"m1": 2}, epoch=4)),
            ],
            "has a decision of term 4 after one of 5",
            id="a decision of an earlier term",
        ),
        pytest.param(
            [*NODES, plane(1, "resourcebindings", binding({}))],
            "has no cluster, and no condition says why",
            id="a gang of which nothing is said",
        ),
    ],
)
def test_a_violation_is_found(history, said):
    """Whatever else is wrong in the same history."""
    found = violations(history, until=100)

    assert [one for one in found if said in one] != []


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(RUNS, id="a gang that runs"),
        pytest.param(LEAVES, id="one that is leaving a member which does not answer"),
        pytest.param(
            [
                *RUNS,
                member(3, "pods", pod(0, phase="Succeeded")),
                member(4, "pods", pod(0, name="b", node="n0")),
            ],
            id="a pod that ended uses nothing",
        ),
        pytest.param(
            [*RUNS, member(10, "pods", pod(1, "n1"), gone=True)],
            id="a gang that loses a pod after its start",
        ),
        pytest.param(
            [*RUNS, plane(3, "queues", capped(8))], id="a limit below what is held already"
        ),
        pytest.param(
            [
                *RUNS,
                plane(3, "resourcebindings", binding({"m1": 3})),
                plane(5, "resourcebindings", binding({"m1": 2})),
            ],
            id="a late decision that is taken back in time",
        ),
    ],
)
def test_nothing_is_found_where_all_is_well(history):
    """What looks like a violation for a moment is none."""
    assert violations(history, until=100) == []


@pytest.mark.parametrize(("said", "found"), [("16", []), ("8", ["8 GPUs"]), (None, ["0 GPUs"])])
def test_a_queue_says_what_its_bindings_hold(said, found):
    """In the last state; what it said before does not matter."""
    status = {"allocated": {GPU: said}} if said else {}
    queue = {"metadata": {"name": "q"}, "spec": {}, "status": status}
    history = [
        Seen(0.0, "control-plane", "queues", {"metadata": {"name": "q"}, "spec": {}}),
        Seen(0.0, "control-plane", "jobs", job()),
        Seen(1.0, "control-plane", "resourcebindings", binding({"m1": 2})),
        Seen(2.0, "control-plane", "queues", queue),
    ]

    wrong = usage_at_rest(history)

    assert wrong == [f"at the end: queue q says {one}, its bindings hold 16" for one in found]


def of_group(number, group="a-1"):
    found = pod(number, f"n{number}")
    found["metadata"] |= {"annotations": {GROUP: group}, "uid": f"uid-{number}"}
    return found


def group_with(plan):
    notes = {PLAN: plan} if plan else {}
    return {"metadata": {"namespace": "team", "name": "a-1", "annotations": notes}, "spec": {}}


def test_a_pod_of_a_group_needs_a_plan_that_names_it():
    """The plan may be gone by then; a pod of no group needs none."""
    history = [
        *NODES,
        plane(1, "resourcebindings", binding({"m1": 2})),
        member(2, "podgroups", group_with('{"pods":{"uid-0":"n0"}}')),
        member(2, "podgroups", group_with("")),
        member(3, "pods", of_group(0)),
        member(3, "pods", of_group(1)),
    ]

    assert violations(history, until=10) == [
        "10.0 s: team/a: no plan names m1/a-w-1, for more than 3 s"
    ]


def test_a_cluster_that_the_policy_does_not_name():
    """Five seconds after the write, in which its withdrawal may be on its way."""
    placed = binding({"m1": 2})
    placed["spec"]["placement"] = {"clusterAffinity": {"clusterNames": ["m"]}}
    history = [*NODES, plane(1, "resourcebindings", placed), *RUNS[-2:]]

    assert violations(history, until=10) == [
        "10.0 s: team/a is in m1, which its policy does not name, for more than 5 s"
    ]


def test_an_amount_that_is_no_number():
    """A gang that cannot be read is not admitted."""
    history = [*NODES, plane(0, "jobs", job(gpus="NaN")), *RUNS[-3:]]

    said = "team/a is admitted, and an amount of it is no number, for more than 3 s"
    assert f"10.0 s: {said}" in violations(history, until=10)


def test_a_task_without_its_minimum():
    """Where the tasks' minimums bind, pods of one task do not stand for those of another."""
    two = job()
    two["spec"]["tasks"] = [
        dict(two["spec"]["tasks"][0], name=name, minAvailable=1) for name in ("w", "launcher")
    ]
    pods = [pod(0), pod(1, "n1")]
    for one in pods:
        one["metadata"]["labels"]["volcano.sh/task-spec"] = "w"
    history = [
        *NODES,
        plane(0, "jobs", two),
        plane(1, "resourcebindings", binding({"m1": 2})),
        *(member(2, "pods", one) for one in pods),
    ]

    assert violations(history, until=90) == [
        "90.0 s: team/a has no minimum of launcher in m1, for more than 60 s"
    ]


@pytest.mark.parametrize(
    ("next_", "found"),
    [
        pytest.param((14.0, "b"), ["14.0 s: b took x, renewed 10.0 s before"], id="too early"),
        pytest.param((20.0, "b"), [], id="after its time"),
        pytest.param((14.0, "a"), [], id="renewed"),
    ],
)
def test_a_lease_that_is_taken(next_, found):
    """Its time runs from the last renewal; one that was given back is free."""
    at, holder = next_
    time = {"leaseDurationSeconds": 15}
    leases = [
        Term(0.0, "x", {"holderIdentity": "", **time}),
        Term(1.0, "x", {"holderIdentity": "a", **time}),
        Term(4.0, "x", {"holderIdentity": "a", **time}),
        Term(at, "x", {"holderIdentity": holder, **time}),
    ]

    assert usurped(leases) == found


def test_the_longest_time_above_a_limit():
    """What is leaving is not admitted any more."""
    history = [
        *NODES,
        plane(1, "resourcebindings", binding({"m1": 3})),
        plane(4, "resourcebindings", binding({}, left=[("m1", 24)], message="it is leaving")),
    ]

    assert seconds_over(history, "q", until=40) == 3.0
