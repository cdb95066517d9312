"""Reservations: the patient gang that gets a domain that drains for it."""

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import ids, resources, workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=60, reservations=1)


def town_of(*waiting, queues=("a", "b")):
    """Two racks of two nodes with one CPU, one half full, and an hour that has passed."""
    named = [q if isinstance(q, Queue) else Queue(name=QueueName(q)) for q in queues]
    town = Town([Member("m", (2, 2))], named)
    town.run(*[job(f"r{n}", queue="b", preemptable=False) for n in range(4)], policy=POLICY)
    town.add(*waiting)
    town.now = Instant(town.now + 3600 * SECOND)
    return town


def job(name, pods=1, queue="a", **more):
    return workload(name, cpu=1, pods=pods, queue=queue, **more)


def reserved(town, policy=POLICY):
    plan = run_cycle(town.snapshot(), policy, town.now)
    return ids(one for one in plan.claims if one.decision.claim is not None)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(
            [job(f"wide{n}", 3 + n, tier=1, priority=9) for n in range(20)],
            id="which no rack would hold",
        ),
        pytest.param(
            [job(f"huge{n}", 5 + n, priority=9) for n in range(20)],
            id="which no cluster would hold",
        ),
    ],
)
def test_those_for_whom_nothing_can_be_kept_do_not_stand_in_the_way(before):
    """However many of them come first in the line."""
    town = town_of(*before, job("big", 2, tier=1))

    assert reserved(town) == ["big"]


def test_a_gang_that_lacks_quota_takes_no_reservation_from_one_that_lacks_room():
    """What its queue holds for good leaves too little: nothing is kept for it."""
    small = Queue(name=QueueName("a"), capability=resources(cpu=1))
    town = town_of(
        *[job(f"never{n}", 2, priority=9) for n in range(20)],
        job("big", 2, queue="b", tier=1),
        queues=(small, "b"),
    )

    assert reserved(town) == ["big"]


def test_one_queue_has_one():
    """The first of a queue, and the first of the next."""
    policy = Policy(patience_seconds=60, reservations=3)
    town = town_of(
        job("a1", 2, tier=1, created=1),
        job("a2", 2, tier=1, created=2),
        job("b1", 2, queue="b", tier=1, created=3),
    )

    assert reserved(town, policy) == ["a1", "b1"]
