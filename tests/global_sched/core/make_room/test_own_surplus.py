"""Surplus that a queue deserves: what other queues hold over theirs leaves for it."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue
from tests.builders import POLICY, ids, workload
from tests.towns import Member, Town

QUIET = replace(POLICY, patience_seconds=0)


def town(*jobs, racks=(8,), queues=("a", "b"), policy=QUIET, **settings):
    """Nodes of 1 CPU; the jobs come one after the other, and all is quiet before the next."""
    made = [Queue(name=QueueName(n), **settings.get(n.replace("-", "_"), {})) for n in queues]
    found = Town([Member("m", racks)], made)
    for one in jobs:
        found.add(one)
        settle(found, policy)
    return found


def settle(found, policy=QUIET):
    """Cycles until nothing is left to do; the plans on the way."""
    plans = []
    for _ in range(30):
        plan = run_cycle(found.snapshot(), policy, found.now)
        plans.append(plan)
        found.execute(plan, linger=True)
        found.leave()
        found.now = Instant(found.now + SECOND)
        if plan.empty():
            return plans
    raise AssertionError("it never ends")


def elastic(name, queue, pods=8, minimum=1, **more):
    return workload(name, cpu=1, pods=pods, minimum=minimum, queue=queue, **more)


def pods(found):
    """Pods by job."""
    return {
        one.name: one.decision.grants[0].amounts.pods()
        for one in found.workloads.values()
        if one.targets
    }


def deserves(cpus):
    return {"deserved": (("cpu", cpus * 1000), ("pods", cpus))}


def test_a_late_gang_gets_what_its_queue_deserves():
    """The first took everything as surplus; the late one ends with half, and no gang is evicted."""
    found = town(elastic("early", "b"))
    assert pods(found) == {"early": 8}
    found.add(elastic("late", "a"))

    plans = settle(found)

    assert pods(found) == {"early": 4, "late": 4}
    assert not [one for plan in plans for one in plan.withdrawals]
    claims = [c.decision.claim for plan in plans for c in plan.claims if c.decision.claim]
    assert [claim.amounts.pods() for claim in claims] == [1, 3], (
        "the minimum, then the rest at once"
    )


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        pytest.param({"a": deserves(3), "b": deserves(5)}, 3, id="up to its deserved"),
        pytest.param({"a": deserves(2), "b": deserves(2)}, 2, id="what both borrow stays"),
        pytest.param({"b": {"reclaimable": False}}, None, id="nothing is taken back"),
        pytest.param({"b": {"guarantee": (("cpu", 6000), ("pods", 6))}}, 2, id="a guarantee stays"),
        pytest.param({"a": {"capability": (("cpu", 2000),)}}, 2, id="its capability ends it"),
    ],
)
def test_how_far(settings, want):
    """Its queue's deserved, guarantees and limits say how much."""
    found = town(elastic("early", "b"), **settings)
    found.add(elastic("late", "a"))

    settle(found)

    assert pods(found).get("late") == want


def test_a_gang_larger_than_its_queue_may_be_gets_the_part_that_is_deserved():
    """All that it lacks is more than the capability; one pod more is not.

    One of four CPUs is guaranteed to a queue that is idle, so quota is what the late gang lacks.
    """
    kept = (("cpu", 1000),)
    found = town(
        elastic("early", "b", pods=2),
        elastic("late", "a", pods=4),
        racks=(4,),
        queues=("a", "b", "idle"),
        a={**deserves(2), "capability": (("cpu", 2000),)},
        idle={"guarantee": kept},
    )

    assert pods(found) == {"early": 1, "late": 2}


def test_no_gang_leaves_that_its_queue_deserves():
    """A gang is not cut: it stays whole where its queue deserves a part, and its surplus goes."""
    found = town(elastic("early", "b", minimum=6))
    found.add(elastic("late", "a"))

    settle(found)

    assert pods(found) == {"early": 6, "late": 2}


@pytest.mark.parametrize(
    ("b", "want"),
    [
        pytest.param(0, 4, id="a queue that deserves nothing keeps nothing"),
        pytest.param(1, 3, id="one that deserves one pod keeps one"),
        pytest.param(4, 0, id="one that deserves all keeps all"),
    ],
)
def test_gangs_leave_that_their_queue_does_not_deserve(b, want):
    """An elastic gang gets what its queue deserves, also from jobs that have no surplus."""
    jobs = [elastic(f"one{at}", "b", pods=1) for at in range(4)]
    found = town(*jobs, racks=(4,), a=deserves(4 - b), b=deserves(b))
    found.add(elastic("late", "a", pods=4))

    settle(found)

    assert pods(found).pop("late", 0) == want
    assert sum(pods(found).values()) == 4


def test_surplus_leaves_before_gangs():
    """A pod that its gang can do without goes first."""
    found = town(
        elastic("one", "b", pods=1),
        elastic("two", "b", pods=3),
        racks=(4,),
        a=deserves(3),
        b=deserves(0),
    )
    found.add(elastic("late", "a", pods=2))

    settle(found)

    assert pods(found) == {"one": 1, "two": 1, "late": 2}


def test_nothing_of_its_own_queue_leaves():
    """Within a queue surplus is not divided anew, whatever the priorities are."""
    found = town(elastic("early", "a"))
    found.add(elastic("late", "a", minimum=2, priority=10))

    settle(found)

    assert pods(found) == {"early": 6, "late": 2}, "the minimum by priority, no more"


def test_between_brothers():
    """Where their parent has all that it deserves, one child still takes from the other."""
    found = town(
        elastic("other", "x"),
        elastic("early", "p-b"),
        queues=("p", "p-a", "p-b", "x"),
        p=deserves(4),
        x=deserves(4),
        p_a={"parent": QueueName("p")},
        p_b={"parent": QueueName("p")},
    )
    assert pods(found) == {"other": 4, "early": 4}
    found.add(elastic("late", "p-a", created=7200))

    settle(found)

    assert pods(found) == {"other": 4, "early": 2, "late": 2}


def test_a_part_of_the_searches():
    """Searches for surplus are a quarter of a cycle's, one at least; minimums have the others."""
    late = [elastic(f"late{at}", f"q{at}", pods=8, minimum=1) for at in range(3)]
    found = town(
        elastic("early", "b", pods=20),
        racks=(20,),
        queues=("b", "q0", "q1", "q2"),
        policy=QUIET,
    )
    found.add(*late)
    few = replace(QUIET, searches_per_cycle=4)
    most = 0
    for plan in settle(found, few):
        claims = [one for one in plan.claims if one.decision.claim is not None]
        most = max(most, sum(1 for one in claims if one.decision.grants))

    assert most == 1
    assert pods(found) == {"early": 5, "late0": 5, "late1": 5, "late2": 5}


def test_a_second_shape():
    """Pods of another size get what the small pods that leave make room for, and no half of one."""
    found = Town(
        [Member("m", (4,), cpu=2)],
        [Queue(name=QueueName(name)) for name in ("a", "b")],
    )
    found.add(elastic("early", "b"))
    settle(found)
    found.add(workload("late", cpu=2, pods=4, minimum=1, queue="a"))

    settle(found)

    assert pods(found) == {"early": 4, "late": 2}
    assert ids(found.workloads) == ["early", "late"]
