"""The minimum run time: what it protects, from what, and how long."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import NOW, workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)
MINUTES = 600


def cpus(number):
    """So many CPUs, and as many pods."""
    return (("cpu", number * 1000), ("pods", number))


def town(nodes=2, *, a=2, b=0, reclaim=None, preemption=None, claimant=None):
    """Queues a and b that deserve so many CPUs; b says how long its workloads run."""
    return Town(
        [Member("m", [nodes])],
        [
            Queue(name=QueueName("a"), deserved=cpus(a), min_runtime_before_reclaim=claimant),
            Queue(
                name=QueueName("b"),
                deserved=cpus(b),
                min_runtime_before_reclaim=reclaim,
                min_runtime_before_preemption=preemption,
            ),
        ],
    )


def job(name, pods, queue, **fields):
    """A gang of pods with one CPU each."""
    return workload(name, cpu=1, pods=pods, queue=queue, **fields)


def victims(found, after):
    """Those that leave for others so many seconds after the beginning, surplus included."""
    found.now = Instant(NOW + after * SECOND)
    plan = run_cycle(found.snapshot(), POLICY, found.now)
    whole = {one.workload for one in plan.withdrawals if one.makes_room_for}
    return sorted(whole | {one.workload for one in plan.admissions if one.makes_room_for})


@pytest.mark.parametrize(
    ("says", "claimant", "after", "want"),
    [
        ({"reclaim": MINUTES}, job("new", 2, "a"), MINUTES - 1, []),
        ({"reclaim": MINUTES}, job("new", 2, "a"), MINUTES, ["jobs/old"]),
        ({"preemption": MINUTES}, job("new", 2, "b", priority=9), MINUTES - 1, []),
        ({"preemption": MINUTES}, job("new", 2, "b", priority=9), MINUTES, ["jobs/old"]),
        ({"preemption": MINUTES}, job("new", 2, "a"), 0, ["jobs/old"]),
        ({"reclaim": MINUTES}, job("new", 2, "b", priority=9), 0, ["jobs/old"]),
        ({"claimant": MINUTES}, job("new", 2, "a"), 0, ["jobs/old"]),
    ],
    ids=[
        "nothing is reclaimed before its time",
        "and not longer",
        "nothing is preempted before its time",
        "nor that longer",
        "preemption's time is none for reclaim",
        "nor reclaim's for preemption",
        "the victim's queue decides and not the claimant's",
    ],
)
def test_no_victim_before_its_time(says, claimant, after, want):
    """A workload runs so long undisturbed, counted from its admission."""
    found = town(**says)
    found.run(job("old", 2, "b"), policy=POLICY)
    found.add(claimant)

    assert victims(found, after) == want


def test_growth_begins_nothing_anew():
    """A gang that gets a pod more is protected as long as before."""
    found = town(3, a=3, reclaim=MINUTES)
    found.run(job("old", 2, "b"), policy=POLICY)
    found.now = Instant(NOW + 500 * SECOND)
    old = found.workloads["jobs/old"]
    found.workloads["jobs/old"] = replace(old, demand=job("old", 3, "b", minimum=2).demand)
    found.execute(run_cycle(found.snapshot(), POLICY, found.now))
    grown = found.workloads["jobs/old"].decision
    found.add(job("new", 3, "a"))

    assert grown.grants[0].amounts == Amounts.of({"main": 3})
    assert (grown.at, grown.runs_since) == (NOW + 500 * SECOND, old.decision.at)
    assert victims(found, MINUTES - 1) == []
    assert victims(found, MINUTES) == ["jobs/old"]


def test_evictions_do_not_lengthen_it():
    """The hold doubles with each eviction, the minimum run time does not."""
    found = town(reclaim=MINUTES)
    found.run(job("old", 2, "b"), policy=POLICY)
    old = found.workloads["jobs/old"]
    found.workloads["jobs/old"] = replace(old, decision=replace(old.decision, evictions=3))
    found.add(job("new", 2, "a"))

    assert victims(found, MINUTES) == ["jobs/old"]


def test_surplus_is_not_protected():
    """A pod beyond the minimum leaves within the time, and the gang stays."""
    found = town(a=1, reclaim=MINUTES)
    found.run(job("old", 2, "b", minimum=1), policy=POLICY)
    found.add(job("new", 1, "a"))

    plan = run_cycle(found.snapshot(), POLICY, found.now)

    assert [one.workload for one in plan.admissions if one.makes_room_for] == ["jobs/old"]
    assert not plan.withdrawals


@pytest.mark.parametrize(("guarantee", "want"), [(2, ["jobs/old"]), (1, [])])
def test_what_a_guarantee_covers_is_bound_by_none(guarantee, want):
    """A claim within its queue's guarantee does not wait; one beyond it does."""
    found = town(reclaim=MINUTES)
    found.run(job("old", 2, "b"), policy=POLICY)
    found.queues = tuple(
        replace(one, guarantee=cpus(guarantee)) if one.name == "a" else one for one in found.queues
    )
    found.add(job("new", 2, "a"))

    assert victims(found, 0) == want


def broken(snapshot, name):
    """The gang reached its minimum, and has lost a pod since."""
    (running,), (cluster,) = snapshot.running, snapshot.clusters
    there = []
    for one in running.workloads:
        if one.name == name:
            (progress,) = one.progress
            lost = replace(
                progress,
                bound=Amounts.of({"main": 1}),
                minimum_reached=True,
                decision=one.decision.id,
            )
            one = replace(one, progress=(lost,))
            binding = one.binding_id
        there.append(one)
    leaves, gone = [], False
    for leaf in cluster.capacity.topology.leaves:
        if not gone and any(one.binding == binding for one in leaf.occupants):
            gone = True
            if leaf.count > 1:
                leaves.append(replace(leaf, count=leaf.count - 1))
            leaves.append(replace(leaf, count=1, occupants=()))
        else:
            leaves.append(leaf)
    topology = replace(cluster.capacity.topology, leaves=tuple(leaves))
    capacity = replace(cluster.capacity, topology=topology)
    return replace(
        snapshot,
        clusters=(replace(cluster, capacity=capacity),),
        running=(replace(running, workloads=tuple(there)),),
    )


def test_a_gang_below_its_minimum_is_not_protected():
    """It lost a pod since, and does no work that time would have to protect."""
    found = town(a=1, reclaim=MINUTES)
    found.run(job("old", 2, "b"), policy=POLICY)
    found.add(job("new", 1, "a"))
    assert victims(found, 0) == []

    plan = run_cycle(broken(found.snapshot(), "old"), POLICY, found.now)

    assert [one.workload for one in plan.withdrawals] == ["jobs/old"]


@pytest.mark.parametrize(("lost", "want"), [(None, "jobs/low"), ("high", "jobs/high")])
def test_a_gang_below_its_minimum_leaves_first(lost, want):
    """It leaves before another of lower priority, which works."""
    found = town(4, a=1)
    found.run(job("high", 2, "b", priority=5), policy=POLICY)
    found.run(job("low", 2, "b"), policy=POLICY)
    found.add(job("new", 1, "a"))
    snapshot = found.snapshot() if lost is None else broken(found.snapshot(), lost)

    plan = run_cycle(snapshot, POLICY, found.now)

    assert [one.workload for one in plan.withdrawals] == [want]
