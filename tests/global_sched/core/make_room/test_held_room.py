"""Room that is held for a claim goes to no other workload."""

from dataclasses import replace

from global_sched.core import run_cycle
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Division
from tests.builders import ids, workload
from tests.global_sched.core.claiming import POLICY, cycle, job, town_of

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
    queues = [
        Queue(name=QueueName(name), priority=2 - at, deserved=(("cpu", cpu * 1000),))
        for at, (name, cpu) in enumerate((("z", 1), ("a", 7), ("y", 0)))
    ]
    town = town_of(job("low", 3), racks=(3,), cpu=2, queues=queues)
    high = workload("high", cpu=2, pods=2, priority=10, queue="a")
    town.add(job("before", queue="z"), high, job("after", queue="y"))

    plan = cycle(town)

    assert (ids(plan.withdrawals), ids(plan.claims)) == (["low"], ["high"])
    assert ids(plan.admissions) == ["before"]


def test_a_victim_that_came_back_leaves_no_more():
    """While the claim stands, its new pods free nothing: the claim's room is where it is kept."""
    policy = replace(POLICY, admissions_per_cycle=2)
    queues = [
        Queue(name=QueueName(name), priority=2 - at, deserved=(("cpu", cpu * 1000),))
        for at, (name, cpu) in enumerate((("p", 2), ("a", 1), ("b", 1)))
    ]
    ends, old = (workload(name, cpu=2, division=Division.DIVIDED, queue="p") for name in "eo")
    town = town_of(ends, old, racks=(2,), cpu=2, queues=queues)
    town.add(job("due", queue="b"))
    assert ids(cycle(town, policy).withdrawals) == ["o"]
    town.execute(cycle(town, policy))
    town.members[M].remove(ends.binding_id)
    del town.workloads[ends.key]
    town.now = Instant(town.now + SECOND)
    town.add(job("one"), job("two", created=1))
    again = cycle(town, policy)
    assert ids(again.admissions) == ["o", "one"]
    town.execute(again)
    town.now = Instant(town.now + SECOND)

    plan = cycle(town, policy)

    assert (ids(plan.admissions), plan.withdrawals) == (["due"], ())


def test_the_narrower_domain_is_held_first():
    """What the victims left is free to all in a wider one, also to a gang with another node."""
    queues = [Queue(name=QueueName(name), priority=2 - at) for at, name in enumerate("za")]
    town = town_of(
        workload("whole", cpu=3, priority=5, queue="a"),
        *[workload(f"stays{n}", cpu=2, pods=n, priority=20, queue="a", tier=1) for n in (4, 1)],
        *[job(f"low{n}", n, tier=1) for n in (4, 1)],
        racks=(1, 4, 1),
        cpu=3,
        queues=queues,
    )
    town.add(job("wide", 5, priority=9))
    town.execute(cycle(town), linger=True)
    town.now = Instant(town.now + SECOND)
    town.add(workload("narrow", cpu=3, priority=8, queue="a"))
    town.execute(cycle(town), linger=True)
    claims = {
        str(claim.first.domain): len(claim.victims)
        for one in town.workloads.values()
        if one.decision is not None and (claim := one.decision.claim) is not None
    }
    assert claims == {"spine": 2, "r0": 1}
    town.leave()
    town.add(job("small", queue="z"))

    plan = cycle(town)

    assert ids(plan.admissions) == ["wide", "narrow"]


def test_larger_pods_are_held_first():
    """In one tier: small ones would be together on a node that others need whole."""
    town = town_of(
        *[workload(f"stays{n}", cpu=3, priority=20, queue="a") for n in range(3)],
        workload("whole", cpu=4, pods=2, priority=8, queue="a"),
        job("low", 3),
        racks=(1, 1, 1, 1, 1),
        cpu=4,
    )
    town.add(job("small", 3, priority=7, tier=2))
    town.execute(cycle(town), linger=True)
    town.now = Instant(town.now + SECOND)
    town.add(workload("large", cpu=4, pods=2, priority=9, queue="a"))
    town.execute(cycle(town), linger=True)
    claims = {one.name: one.decision.claim for one in town.workloads.values() if one.decision.claim}
    assert {name: claim.first.domain for name, claim in claims.items()} == {
        "small": "spine",
        "large": "spine",
    }
    town.leave()

    assert ids(cycle(town).admissions) == ["large", "small"]


def test_a_domain_that_drains_has_what_an_earlier_claim_leaves():
    """It has no victims, however few places it may have its room in."""
    policy = Policy(patience_seconds=1)
    town = town_of(job("low0"), job("low1"), racks=(1, 1, 2), cpu=2)
    town.add(job("first", 5, priority=10), job("next", 3, priority=10, created=1))
    town.add(job("narrow", 3, tier=1))
    plan = cycle(town, policy)
    assert ids(plan.claims) == ["next", "narrow"]
    town.execute(plan, linger=True)
    town.now = Instant(town.now + SECOND)
    town.leave()

    assert ids(cycle(town, policy).admissions) == ["next"]


def test_what_comes_free_for_a_claim_is_not_for_an_earlier_reservation():
    """One without a domain has whatever else comes free."""
    policy = Policy(patience_seconds=1)
    town = town_of(job("low"), racks=(1,))
    town.add(job("any"))
    plan = cycle(town, policy)
    assert [one.decision.claim.first.domain for one in plan.claims] == [None]
    town.execute(plan)
    town.now = Instant(town.now + SECOND)
    town.add(job("high", priority=10))
    town.execute(cycle(town, policy), linger=True)
    town.leave()

    assert ids(cycle(town, policy).admissions) == ["high"]


def test_what_a_reservation_leaves_of_its_domain_is_for_a_claim_there():
    """Not for the next in the line."""
    policy = Policy(patience_seconds=1)
    keeps = Queue(name=QueueName("a"), priority=1, reclaimable=False)
    town = town_of(job("low", 2), racks=(2,), queues=[keeps, Queue(name=QueueName("b"))])
    town.add(job("drains", tier=1, queue="b"))
    for name in ("claims", "next"):
        plan = cycle(town, policy)
        assert ids(plan.claims) == [{"claims": "drains", "next": "claims"}[name]]
        town.execute(plan, linger=True)
        town.now = Instant(town.now + SECOND)
        town.add(job(name, priority=10) if name == "claims" else job(name, created=1))
    town.leave()

    plan = cycle(town, policy)

    assert ids(plan.admissions) == ["drains"]
    town.execute(plan)
    town.now = Instant(town.now + SECOND)
    assert ids(cycle(town, policy).admissions) == ["claims"]


def test_nothing_is_held_outside_of_the_claims_domain():
    """Where its room is gone, it does not hold what victims left for another."""
    town = town_of(job("low0"), job("low1"), racks=(1, 1))
    town.add(job("first", priority=9))
    town.execute(cycle(town), linger=True)
    town.now = Instant(town.now + SECOND)
    town.add(job("next", priority=8))
    town.execute(cycle(town), linger=True)
    claims = {one.name: one.decision.claim for one in town.workloads.values() if one.decision.claim}
    assert {name: claim.first.domain for name, claim in claims.items()} == {
        "first": "r1",
        "next": "r0",
    }
    town.leave()
    world = town.snapshot()
    room = world.clusters[0].capacity
    leaves = tuple(
        replace(leaf, free=tuple(0 for _ in leaf.free)) if leaf.domain == "r1" else leaf
        for leaf in room.topology.leaves
    )
    room = replace(room, topology=replace(room.topology, leaves=leaves))
    world = replace(world, clusters=(replace(world.clusters[0], capacity=room),))

    assert ids(run_cycle(world, POLICY, town.now).admissions) == ["next"]
