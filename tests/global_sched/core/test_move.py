"""A reschedule that was asked for: who moves, and to where."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.cluster import Readiness
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.placement_rule import AffinityGroup, ClusterSelector, PlacementRule
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Progress
from tests.builders import (
    NOW,
    POLICY,
    cluster,
    decision,
    grant,
    snapshot,
    soft,
    workload,
)
from tests.worlds import after

C1, C2 = cluster("c1", nodes=2, gpus=8), cluster("c2", nodes=2, gpus=8)
BROKEN = Verdict(code=Code.NEVER, reason=Reason.INVALID_SPEC, detail="replicas: -1")


def late(
    name="j",
    *,
    ago=121,
    on="c1",
    reason="",
    reached=False,
    bound=0,
    backoffs=(),
    domain="rack-0",
    **fields,
):
    """A gang of two pods that was admitted so long ago and of which so many pods are bound."""
    one = workload(name, pods=2, gpus=1, on=on, **fields)
    clusters = [on] if isinstance(on, str) else on
    made = decision(
        *(grant(c, Amounts.of({"main": 2}), replicas=2, domain=domain) for c in clusters),
        name=name,
        ago=ago,
        backoffs=backoffs,
    )
    progress = tuple(
        Progress(
            cluster=c,
            bound=Amounts.of({"main": bound}),
            minimum_reached=reached,
            decision=made.id,
            reason=reason,
        )
        for c in clusters
    )
    return replace(one, decision=made, progress=progress)


def cycle(*running, clusters=(C1, C2), policy=POLICY, **world):
    return run_cycle(snapshot(clusters, running=running, **world), policy, NOW)


ASKED = Instant(NOW + SECOND)


@pytest.mark.parametrize(
    ("clusters", "one", "want"),
    [
        pytest.param(
            [cluster("c1", racks=2, nodes=1, gpus=1), cluster("c2", nodes=2, gpus=1)],
            late(reached=True, reschedule_at=ASKED, domain=None, constraint=soft()),
            "c2",
            id="a better place: one rack instead of two",
        ),
        pytest.param([C1, C2], late(reached=True, reschedule_at=ASKED), None, id="none is better"),
        pytest.param([C1], late(reached=True, reschedule_at=ASKED), None, id="there is no other"),
        pytest.param(
            [
                replace(C1, readiness=Readiness.NOT_READY),
                replace(C2, readiness=Readiness.NOT_READY),
            ],
            late(reached=True, reschedule_at=ASKED),
            None,
            id="no cluster may take it",
        ),
        pytest.param(
            [C1, C2],
            late(
                reached=True,
                reschedule_at=ASKED,
                observed_affinity="second",
                placement=PlacementRule(
                    affinities=(
                        AffinityGroup(name="first", selector=ClusterSelector(names=("c2",))),
                        AffinityGroup(name="second", selector=ClusterSelector(names=("c1",))),
                    )
                ),
            ),
            "c2",
            id="back to the first group, which has room again",
        ),
        pytest.param(
            [C1, C2],
            late(reached=True, reschedule_at=ASKED, on=["c1", "c2"]),
            None,
            id="a gang in two clusters stays as it is",
        ),
    ],
)
def test_reschedule(clusters, one, want):
    """A reschedule moves a gang only to a strictly better place, in one write."""
    world = snapshot(clusters, running=[one])

    plan = run_cycle(world, POLICY, NOW)

    if want is None:
        assert not plan.withdrawals
        assert [c.scheduled_now for c in plan.confirmations] == [True]
    else:
        (move,) = plan.withdrawals
        assert (move.cluster, move.reason) == ("c1", "Rebalanced")
        assert [t.cluster for t in move.targets] == [want]
        assert move.decision.grants[0].amounts == Amounts.of({"main": 2})
    later = after(world, plan)
    assert run_cycle(later, POLICY, NOW).empty()


def test_reschedule_of_duplicates_and_copies():
    """They are where they can be: the reschedule is acknowledged."""
    for one in (
        workload("j", division=Division.DUPLICATED, gpus=1, on=["c1", "c2"], reschedule_at=ASKED),
        workload("j", division=Division.COPIED, on=["c1", "c2"], reschedule_at=ASKED),
    ):
        plan = cycle(one)

        assert [c.scheduled_now for c in plan.confirmations] == [True]
