"""A reschedule that was asked for: who moves, and to where."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.cluster import Readiness
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.placement_rule import AffinityGroup, ClusterSelector, PlacementRule
from global_sched.shared.model.workload import Division
from tests.builders import (
    NOW,
    POLICY,
    cluster,
    snapshot,
    soft,
    workload,
)
from tests.global_sched.core.admitted import C1, C2, cycle, late
from tests.worlds import after

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
