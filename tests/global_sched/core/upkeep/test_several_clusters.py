"""A workload that several of its clusters did not place leaves them all with one write."""

from dataclasses import replace

from global_sched.core import run_cycle
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, snapshot
from tests.global_sched.core.admitted import C1, C2, late


def test_all_that_are_late_leave_at_once():
    """One after the other would give each of them the whole time once more."""
    one = late(on=["c1", "c2"], division=Division.DUPLICATED, reason="too busy")
    world = snapshot([C1, C2], running=[one])

    plan = run_cycle(world, POLICY, NOW)

    (withdrawal,) = plan.withdrawals
    assert (withdrawal.cluster, withdrawal.targets) == ("c1", ())
    assert [target.cluster for target in withdrawal.others] == ["c2"]
    backoffs = withdrawal.decision.backoffs
    assert [(b.cluster, b.failures, b.reason) for b in backoffs] == [
        ("c1", 1, "too busy"),
        ("c2", 1, "too busy"),
    ]
    assert withdrawal.message == (
        "c1 did not place the minimum within 120 s: too busy; "
        "c2 did not place the minimum within 120 s: too busy"
    )


def test_one_that_had_its_minimum_stays():
    """Only the late ones leave; the decision says what stays."""
    one = late(on=["c1", "c2"], division=Division.DUPLICATED)
    reached = replace(one.progress[0], minimum_reached=True)
    world = snapshot([C1, C2], running=[replace(one, progress=(reached, one.progress[1]))])

    (withdrawal,) = run_cycle(world, POLICY, NOW).withdrawals

    assert (withdrawal.cluster, withdrawal.others) == ("c2", ())
    assert [target.cluster for target in withdrawal.targets] == ["c1"]
