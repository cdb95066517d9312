"""Victims of a claimant's own queue beside those of another queue."""

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)
NO_CLAIMS = Policy(patience_seconds=0, searches_per_cycle=0)


def town_of(deserved, low, others, pods, **of_others):
    """One member, full: low jobs of a, those of b, and a high one of a with so many pods."""
    queues = [
        Queue(name=QueueName(name), deserved=(("cpu", cpus * 1000),))
        for name, cpus in zip("ab", deserved, strict=True)
    ]
    town = Town([Member("m", [sum(low) + sum(others)])], queues)
    town.run(
        *[
            workload(f"l{i}", cpu=1, pods=pods, queue="a", priority=-10)
            for i, pods in enumerate(low)
        ],
        *[
            workload(f"b{i}", cpu=1, pods=pods, queue="b", **of_others)
            for i, pods in enumerate(others)
        ],
        policy=NO_CLAIMS,
    )
    town.add(workload("h", cpu=1, pods=pods, queue="a", priority=10, created=100))
    return town


def leaving(town):
    """Who leaves in a cycle."""
    plan = run_cycle(town.snapshot(), POLICY, town.now)
    return {one.workload.split("/")[1] for one in plan.withdrawals}


@pytest.mark.parametrize(
    ("deserved", "low", "others", "pods", "want_left"),
    [
        pytest.param((2, 2), (2, 1), (2, 3), 3, {"l0", "l1"}, id="b would fall below its deserved"),
        pytest.param((4, 4), (1, 3, 2), (3, 3), 4, {"l0", "l1"}, id="b is not so far over"),
    ],
)
def test_its_own_leave_where_the_other_owes_nothing(deserved, low, others, pods, want_left):
    """Those that leave are not looked at again: what they take when they ask again, R4 bounds."""
    assert leaving(town_of(deserved, low, others, pods)) == want_left


def test_its_own_leave_where_nobody_else_may():
    """The jobs of b may not be preempted."""
    town = town_of((4, 2), (1, 3, 2), (3, 3), 4, preemptable=False)

    assert leaving(town) == {"l0", "l1"}
