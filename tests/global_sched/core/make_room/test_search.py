"""For which claimant victims leave, judged on what is there once they have left."""

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import ids, workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)


def queue(name, cpu, priority=0):
    """A queue that deserves so many CPUs."""
    deserved = (("cpu", cpu * 1000),)
    return Queue(name=QueueName(name), deserved=deserved, priority=priority)


def town_of(racks, queues, *running):
    """One member of nodes with two CPUs, with these admitted one after the other."""
    town = Town([Member("m", racks, cpu=2)], queues)
    town.run(*running, policy=POLICY)
    return town


def cycle(town):
    """One cycle, carried out: who leaves for whom, who comes in."""
    plan = run_cycle(town.snapshot(), POLICY, town.now)
    town.execute(plan)
    town.now = Instant(town.now + SECOND)
    left = {str(one.workload)[5:]: str(one.makes_room_for)[5:] for one in plan.withdrawals}
    return left, ids(plan.admissions), plan


def test_a_borrower_leaves_its_room_to_those_who_have_a_right_to_it():
    """Queue b goes first, over its deserved: its job would only run until a takes the room."""
    low = workload("low", cpu=1, pods=2, queue="b")
    town = town_of((1,), [queue("a", 2), queue("b", 0, priority=1)], low)
    town.add(workload("high", cpu=2, queue="b", priority=20))
    town.add(workload("due", cpu=1, pods=2, queue="a"))

    assert cycle(town)[:2] == ({"low": "due"}, [])
    assert cycle(town)[:2] == ({}, ["due"])
    assert cycle(town)[:2] == ({}, [])


@pytest.mark.parametrize(
    ("first", "want_left"),
    [
        pytest.param(2, {"lent": "second"}, id="a larger one of higher priority waits for more"),
        pytest.param(3, {"lent": "second"}, id="a larger one of higher priority fits nowhere"),
    ],
)
def test_what_a_queue_is_owed_does_not_wait_for_a_larger_job(first, want_left):
    """Q deserves 1 CPU and p holds 2, of which it deserves 1: q has a right to 1 and not to 2."""
    lent = workload("lent", cpu=1, pods=2, queue="p")
    town = town_of((1,), [queue("p", 1), queue("q", 1)], lent)
    town.add(workload("first", cpu=first, queue="q", priority=10))
    town.add(workload("second", cpu=1, queue="q"))

    assert cycle(town)[:2] == (want_left, [])


@pytest.mark.parametrize(
    ("racks", "pods", "want_left"),
    [
        pytest.param((3,), 3, {}, id="with surplus it would be over its deserved, as the first is"),
        pytest.param((3,), 2, {"first": "second"}, id="without surplus nobody takes it back"),
        pytest.param((1, 3, 1), 3, {}, id="nor with surplus where other nodes are free"),
    ],
)
def test_two_queues_do_not_take_turns(racks, pods, want_left):
    """Each deserves two nodes, its gang's minimum; the one that runs is over that by surplus.

    A victim must not have a right to its minimum against all that the claimant is offered.
    """
    first = workload("first", cpu=2, pods=3, minimum=2, queue="a")
    more = sum(racks) - 3
    ends = [workload("ends", cpu=2, pods=more, queue="b")] if more else []
    town = town_of(racks, [queue("a", 4), queue("b", 4)], *ends, first)
    for one in ends:
        town.members["m"].remove(one.binding_id)
        del town.workloads[one.key]
    town.add(workload("second", cpu=2, pods=pods, minimum=2, tier=1, queue="b"))

    assert cycle(town)[0] == want_left


def test_surplus_that_was_tried_first_is_not_counted_twice():
    """A gang leaves whole where its surplus is not enough, and its queue keeps its deserved.

    Queue b holds 8 CPUs and deserves 1; 6 of them are one gang, of which a pod of 2 is surplus.
    """
    gang = workload("gang", cpu=2, pods=3, minimum=2, queue="b")
    stays = workload("stays", cpu=2, queue="b", preemptable=False)
    town = town_of((4,), [queue("a", 5), queue("b", 1)], gang, stays)
    town.add(workload("large", cpu=2, pods=3, queue="a"))

    assert cycle(town)[:2] == ({"gang": "large"}, [])
    assert cycle(town)[:2] == ({}, ["large"])
