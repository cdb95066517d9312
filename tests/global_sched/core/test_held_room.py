"""Room that is held for a claim goes to nobody else."""

from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.queue import Queue
from tests.builders import ids, workload
from tests.global_sched.core.claiming import cycle, job, town_of

M = ClusterName("m")


def test_held_room_goes_to_nobody_else():
    """While victims leave, and when they have left, only the claimant gets their room."""
    town = town_of(job("low", 4))
    town.add(job("high", 2, priority=10))
    town.execute(cycle(town), linger=True)
    town.add(job("small", 1, queue="b"))

    waiting = cycle(town)
    town.leave()
    later = cycle(town)

    assert not waiting.admissions
    assert not waiting.withdrawals
    assert sorted(ids(later.admissions)) == ["high", "small"]
    grant = next(a for a in later.admissions if a.workload.endswith("high")).decision.grants[0]
    assert grant.amounts.pods() == 2


def test_nodes_that_are_half_free_are_kept():
    """A node from which one of two victims is gone takes nothing in between."""
    town = town_of(job("one"), job("two"), racks=(1,), cpu=2)
    town.add(workload("high", cpu=2, priority=10, queue="a"))
    plan = cycle(town)
    assert sorted(ids(plan.withdrawals)) == ["one", "two"]
    town.execute(plan, linger=True)
    first = town.workloads[plan.withdrawals[0].workload]
    town.members[M].remove(first.binding_id)
    town.add(job("small", 1, queue="b"))

    waiting = cycle(town)

    assert not waiting.admissions
    town.leave()
    assert ids(cycle(town).admissions) == ["high"]


def test_what_others_took_of_a_victims_node_is_kept_elsewhere():
    """In the same cycle, unseen by the snapshot: half a node is none for the claim."""
    queues = [Queue(name=QueueName(name), priority=2 - at) for at, name in enumerate("zay")]
    town = town_of(job("low", 3), racks=(3,), cpu=2, queues=queues)
    high = workload("high", cpu=2, pods=2, priority=10, queue="a")
    town.add(job("before", queue="z"), high, job("after", queue="y"))

    plan = cycle(town)

    assert (ids(plan.withdrawals), ids(plan.claims)) == (["low"], ["high"])
    assert ids(plan.admissions) == ["before"]
