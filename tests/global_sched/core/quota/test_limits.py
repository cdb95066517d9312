"""Queue capability, the queue's and the tenant's own refusals."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.core.quota.limits import capability_of, cut, over
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.verdict import Code, Verdict
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    cluster,
    gang,
    ids,
    pod,
    pod_set,
    queue,
    resources,
    snapshot,
    tenant,
    workload,
)

ROOM = [cluster("c1", nodes=4, gpus=8)]


@pytest.mark.parametrize(
    ("limits", "held", "asked", "want"),
    [
        pytest.param({}, {}, resources(gpus=99), None, id="no capability, no limit"),
        pytest.param({"gpus": 8}, {GPU: 4}, resources(gpus=4), None, id="exactly full is allowed"),
        pytest.param(
            {"gpus": 8}, {GPU: 9}, resources(cpu=4), None, id="what is not named is unlimited"
        ),
        pytest.param(
            {"gpus": 8},
            {GPU: 6},
            resources(gpus=4),
            (Code.NO_FIT, f"queue q: {GPU} 4 asked, 6 of 8 in use", 2),
            id="over by two",
        ),
        pytest.param(
            {"gpus": 8},
            {},
            resources(gpus=9),
            (Code.NEVER, f"queue q: {GPU} 9 asked, 0 of 8 in use", 1),
            id="more than the whole queue never fits",
        ),
        pytest.param(
            {"memory": 4},
            {"memory": 2**30},
            resources(memory=4),
            (Code.NO_FIT, "queue q: memory 4Gi asked, 1Gi of 4Gi in use", 2**30),
            id="people read bytes in binary units",
        ),
        pytest.param(
            {"cpu": 0},
            {},
            resources(cpu=1),
            (Code.NEVER, "queue q: cpu 1 asked, 0 of 0 in use", 1000),
            id="a capability of 0 allows none",
        ),
    ],
)
def test_over_capability(limits, held, asked, want):
    """The minimum must fit within every resource that the capability names."""
    found = over(capability_of(queue("q", **limits), held), asked)

    assert (None if found is None else (found.code, found.detail, found.missing)) == want


MIXED = gang(
    pod_set("ps", pods=2, minimum=1, shape=pod(cpu=1)),
    pod_set("worker", pods=4, minimum=2, shape=pod(gpus=2, cpu=1)),
)


@pytest.mark.parametrize(
    ("limits", "held", "want"),
    [
        pytest.param({}, {}, {"ps": 2, "worker": 4}, id="no capability, everything"),
        pytest.param({"gpus": 8}, {}, {"ps": 2, "worker": 4}, id="all of it fits"),
        pytest.param({"gpus": 8}, {GPU: 1}, {"ps": 2, "worker": 3}, id="one worker less"),
        pytest.param({"gpus": 4}, {}, {"ps": 2, "worker": 2}, id="the minimum and the rest"),
        pytest.param({"cpu": 4}, {}, {"ps": 2, "worker": 2}, id="the template's order"),
        pytest.param({"cpu": 3}, {}, {"ps": 1, "worker": 2}, id="the minimum only"),
        pytest.param({"cpu": 0}, {"cpu": 5}, {"ps": 1, "worker": 2}, id="never below the minimum"),
    ],
)
def test_cut_to_capability(limits, held, want):
    """Surplus is cut to what the capability leaves, pod set by pod set."""
    bounds = capability_of(queue("q", **limits), held)
    found = cut(bounds, MIXED, MIXED.minimum_amounts(), MIXED.all_amounts())

    assert found == Amounts.of(want)


def test_surplus_within_capability():
    """The minimum is charged first, then surplus as the capability allows; the rest waits."""
    world = snapshot(
        ROOM, [queue("default", gpus=6)], pending=[workload("a", pods=8, minimum=2, gpus=1)]
    )

    admission = run_cycle(world, POLICY, NOW).admissions[0]

    assert admission.decision.grants[0].amounts == Amounts.of({"main": 6})
    assert admission.decision.grants[0].replicas == 6
    assert admission.decision.pending == Amounts.of({"main": 2})


def test_capability_is_charged_in_the_cycle():
    """Two that fit alone do not fit together; the smaller one behind them does."""
    world = snapshot(
        ROOM,
        [queue("default", gpus=8)],
        pending=[
            workload("a", gpus=5),
            workload("b", gpus=5, created=1),
            workload("c", gpus=3, created=2),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert ids(plan.admissions) == ["a", "c"]
    assert plan.outcomes[1].verdict == Verdict(
        code=Code.NO_FIT,
        reason=Reason.QUEUE_CAPABILITY,
        detail=f"queue default: {GPU} 5 asked, 5 of 8 in use",
        missing=2,
    )


@pytest.mark.parametrize(
    ("one", "queues", "tenants", "want"),
    [
        pytest.param(
            workload("a", queue="x"),
            [],
            None,
            (Code.WAIT, Reason.QUEUE_MISSING, "queue x does not exist on the control plane"),
            id="a queue that is not there",
        ),
        pytest.param(
            workload("a"),
            [queue("default", is_open=False)],
            None,
            (Code.WAIT, Reason.QUEUE_CLOSED, "queue default is not open"),
            id="a closed queue",
        ),
        pytest.param(
            workload("a"),
            [queue("default", problem="spec.capability.cpu: 'x' is not a quantity")],
            None,
            (
                Code.WAIT,
                Reason.QUEUE_INVALID,
                "queue default: spec.capability.cpu: 'x' is not a quantity",
            ),
            id="a queue that cannot be read",
        ),
        pytest.param(
            workload("a"),
            None,
            [tenant("team", queues=["z", "b"])],
            (
                Code.NEVER,
                Reason.QUEUE_NOT_ALLOWED,
                "tenant team may not use queue default, only b, z",
            ),
            id="a queue that the tenant may not use",
        ),
        pytest.param(
            workload("a", priority_class="high"),
            None,
            [tenant("team", priority_classes=["low", "batch"])],
            (
                Code.NEVER,
                Reason.PRIORITY_CLASS_NOT_ALLOWED,
                "tenant team may not use PriorityClass high, only batch, low",
            ),
            id="a PriorityClass that the tenant may not use",
        ),
        pytest.param(
            workload("a", priority_class="low"),
            None,
            [tenant("team", queues=["default"], priority_classes=["low"])],
            (Code.FIT, Reason.ADMITTED, ""),
            id="what is listed may be used",
        ),
        pytest.param(
            workload("a"),
            None,
            [],
            (Code.FIT, Reason.ADMITTED, ""),
            id="a tenant without an object may use everything",
        ),
        pytest.param(
            workload(
                "a",
                problem=Verdict(code=Code.NEVER, reason=Reason.INVALID_SPEC, detail="replicas: -1"),
            ),
            None,
            None,
            (Code.NEVER, Reason.INVALID_SPEC, "replicas: -1"),
            id="a spec that was refused already",
        ),
    ],
)
def test_refused_before_any_cluster(one, queues, tenants, want):
    """The workload, its queue and its tenant are asked before any cluster."""
    world = snapshot(ROOM, queues, tenants, pending=[one])

    verdict = run_cycle(world, POLICY, NOW).outcomes[0].verdict

    assert (verdict.code, verdict.reason, verdict.detail) == want


def test_usage_beyond_capability_moves_nothing():
    """A capability that was lowered below what runs stops new work and evicts none."""
    world = snapshot(
        ROOM, running=[workload("r", gpus=4, on="c1")], pending=[workload("a", gpus=1)]
    )
    world = replace(world, queues=(Queue(name="default", capability=((GPU, 2),)),))

    plan = run_cycle(world, POLICY, NOW)

    assert plan.empty()
    assert plan.outcomes[0].verdict.reason == Reason.QUEUE_CAPABILITY


def test_a_minimum_of_none_still_needs_one_pod():
    """A gang that needs no pod at all is not admitted with none when the capability is used up."""
    world = snapshot(
        ROOM, [queue("default", gpus=0)], pending=[workload("a", pods=2, minimum=0, gpus=1)]
    )

    assert run_cycle(world, POLICY, NOW).outcomes[0].verdict.reason == Reason.QUEUE_CAPABILITY
