"""The hold: its time, its doubling, and what it does not protect."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.decision import Decision, decision_id, is_whole
from global_sched.shared.model.decision_text import parse_decision, render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import NOW, workload
from tests.crowded import crowded_town, settle
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)
HOLD = POLICY.hold_seconds


def cpus(number):
    """So many CPUs, and as many pods."""
    return (("cpu", number * 1000), ("pods", number))


def town(*nodes, a=2, b=0, guarantee=()):
    """Two queues that deserve so many CPUs, in one cluster with racks of one-CPU nodes."""
    return Town(
        [Member("m", nodes)],
        [
            Queue(name=QueueName("a"), deserved=cpus(a), guarantee=guarantee),
            Queue(name=QueueName("b"), deserved=cpus(b)),
        ],
    )


def job(name, pods, queue, **fields):
    """A gang of pods with one CPU each."""
    return workload(name, cpu=1, pods=pods, queue=queue, **fields)


def cycle(found):
    """The next cycle's plan."""
    return run_cycle(found.snapshot(), POLICY, found.now)


def step(found, seconds=1):
    """Run one cycle to its end; the names of those that left for others."""
    plan = cycle(found)
    found.execute(plan, linger=True)
    found.leave()
    found.now = Instant(found.now + seconds * SECOND)
    return [one.workload for one in plan.withdrawals if one.makes_room_for]


def after_losing_a_pod(snapshot):
    """The one gang that runs reached its minimum, and has one pod less than that now."""
    (running,), (cluster,) = snapshot.running, snapshot.clusters
    (old,) = running.workloads
    (progress,) = old.progress
    lost = replace(
        progress, bound=Amounts.of({"main": 1}), minimum_reached=True, decision=old.decision.id
    )
    first, *others = sorted(cluster.capacity.topology.leaves, key=lambda leaf: not leaf.occupants)
    there = (replace(first, count=1), *(replace(one, occupants=()) for one in others))
    topology = replace(cluster.capacity.topology, leaves=there)
    capacity = replace(cluster.capacity, topology=topology)
    return replace(
        snapshot,
        clusters=(replace(cluster, capacity=capacity),),
        running=(replace(running, workloads=(replace(old, progress=(lost,)),)),),
    )


def marked(found, name, **fields):
    """The running workload with that said in its decision."""
    key = f"jobs/{name}"
    one = found.workloads[key]
    found.workloads[key] = replace(one, decision=replace(one.decision, **fields))


@pytest.mark.parametrize(
    ("evictions", "seconds", "want"),
    [
        pytest.param(0, HOLD - 1, [], id="until its hold has passed"),
        pytest.param(0, HOLD, ["jobs/old"], id="which is hold_seconds at first"),
        pytest.param(1, 2 * HOLD - 1, [], id="twice as long after an eviction"),
        pytest.param(1, 2 * HOLD, ["jobs/old"], id="and not longer"),
        pytest.param(3, 8 * HOLD - 1, [], id="eight times as long after three"),
        pytest.param(3, 8 * HOLD, ["jobs/old"], id="which is the longest"),
    ],
)
@pytest.mark.parametrize("created", [0, 3602], ids=["a claimant that waited", "a new claimant"])
def test_no_victim_of_reclaim_within_its_hold(evictions, seconds, want, created):
    """A workload that came by a claim or came back stays for its hold, whatever arrives."""
    found = town(2)
    found.run(job("old", 2, "b"), policy=POLICY)
    marked(found, "old", claimed=NOW, evictions=evictions)
    found.add(job("new", 2, "a", created=created))
    found.now = Instant(NOW + seconds * SECOND)

    assert step(found) == want


@pytest.mark.parametrize(
    ("evictions", "seconds", "want"),
    [
        pytest.param(1, 2 * HOLD - 1, [], id="until twice the hold has passed"),
        pytest.param(1, 2 * HOLD, ["jobs/old"], id="after one eviction"),
        pytest.param(3, 8 * HOLD - 1, [], id="until eight times the hold has passed"),
        pytest.param(3, 8 * HOLD, ["jobs/old"], id="after three"),
    ],
)
def test_an_evicted_workload_claims_nothing_for_its_hold(evictions, seconds, want):
    """No victim leaves for it before, and one does at once when the hold is over."""
    found = town(2)
    found.run(job("old", 2, "b"), policy=POLICY)
    evicted = Decision(id="d", epoch=1, at=NOW, order=0, evicted=NOW, evictions=evictions)
    found.add(job("new", 2, "a", decision=evicted))
    found.now = Instant(NOW + seconds * SECOND)

    assert step(found) == want


def test_preemption_is_not_bound():
    """Inside one queue the higher priority has the place, also within the hold."""
    found = town(2)
    found.run(job("old", 2, "a"), policy=POLICY)
    marked(found, "old", claimed=NOW, evictions=3)
    found.add(job("high", 2, "a", priority=10))

    assert step(found) == ["jobs/old"]


def test_surplus_is_not_protected():
    """A pod beyond the minimum leaves within the hold, and the gang stays."""
    found = town(2, a=1)
    found.run(job("old", 2, "b", minimum=1), policy=POLICY)
    marked(found, "old", claimed=NOW)
    found.add(job("new", 1, "a"))

    plan = cycle(found)

    assert [one.workload for one in plan.admissions if one.makes_room_for] == ["jobs/old"]
    assert not plan.withdrawals


def test_a_gang_below_its_minimum_is_not_protected():
    """It ran, and lost a pod since: nothing of it is worth a hold."""
    found = town(2, a=1)
    found.run(job("old", 2, "b"), policy=POLICY)
    marked(found, "old", claimed=NOW)
    found.add(job("new", 1, "a"))
    snapshot = found.snapshot()
    assert not run_cycle(snapshot, POLICY, found.now).withdrawals

    plan = run_cycle(after_losing_a_pod(snapshot), POLICY, found.now)

    assert [one.workload for one in plan.withdrawals] == ["jobs/old"]


def test_what_a_guarantee_covers_is_bound_by_no_hold():
    """Neither the hold of the victim nor the claimant's own keeps a guarantee waiting."""
    found = town(2, guarantee=cpus(2))
    found.queues = tuple(replace(one, guarantee=()) for one in found.queues)
    found.run(job("old", 2, "b"), policy=POLICY)
    marked(found, "old", claimed=NOW)
    found.queues = tuple(
        replace(one, guarantee=cpus(2)) if one.name == "a" else one for one in found.queues
    )
    found.add(job("new", 2, "a"))

    assert step(found) == ["jobs/old"]


def test_each_eviction_doubles_the_hold_of_the_victim():
    """The count rises with each eviction, up to three, and comes back with the workload."""
    found = town(2)
    found.run(job("old", 2, "b"), policy=POLICY)
    seen = []
    for number in range(5):
        found.add(job(f"new{number}", 2, "a"))
        assert step(found) == ["jobs/old"]
        seen.append(found.workloads["jobs/old"].decision.evictions)
        step(found)
        del found.workloads[f"jobs/new{number}"]
        step(found)
        step(found, 8 * HOLD)

    assert seen == [1, 2, 3, 3, 3]


def test_forgotten_after_a_long_undisturbed_run():
    """Sixteen holds without an eviction: the next one counts as the first."""
    made = Decision(id="d", epoch=1, at=NOW, order=0, claimed=NOW, evictions=3)

    late = made.evictions_after(Instant(NOW + 16 * HOLD * SECOND), HOLD)
    early = made.evictions_after(Instant(NOW + 16 * HOLD * SECOND - 1), HOLD)

    assert (late, early) == (1, 3)


def test_two_that_take_the_same_room_from_each_other_come_to_rest():
    """World 230 flapped for ever while a hold did not grow; by the clock it rests now."""
    found = settle(crowded_town(230), past_holds=False)

    assert found.rests
    assert max(found.left.values()) <= 4


RECORDED = [
    pytest.param(
        "id-old",
        '{"id":"7367517b12e2ed6435c9","epoch":1,"at":"2026-01-31T12:00:00.000000Z","grants":'
        '[{"cluster":"m","amounts":{"main":2},"replicas":2,"domain":"r0","tier":1}],"priority":0}',
        id="one that runs",
    ),
    pytest.param(
        "id-new",
        '{"id":"6ca5fb72d87e2c7bdb41","epoch":1,"at":"2026-01-31T12:00:01.000000Z","order":1,'
        '"grants":[],"claim":{"cluster":"m","amounts":{"main":2},"domain":"r0","tier":1,"victims":'
        '[{"binding":"id-old","amounts":{"main":2},"whole":true}],"since":'
        '"2026-01-31T12:00:01.000000Z","until":"2026-01-31T12:05:01.000000Z","order":1}}',
        id="a claim",
    ),
    pytest.param(
        "id-old",
        '{"id":"a2b689e4b2ab4daabd62","epoch":1,"at":"2026-01-31T12:00:01.000000Z","grants":[],'
        '"evicted":"2026-01-31T12:00:01.000000Z"}',
        id="a victim",
    ),
    pytest.param(
        "id-new",
        '{"id":"cc7afd781cbff78b43e8","epoch":1,"at":"2026-01-31T12:00:02.000000Z","grants":'
        '[{"cluster":"m","amounts":{"main":2},"replicas":2,"domain":"r0","tier":1}],"priority":0,'
        '"claimed":"2026-01-31T12:00:01.000000Z"}',
        id="one that came by a claim",
    ),
]
"""Decisions as commit a81429e wrote them, before evictions were counted."""


@pytest.mark.parametrize(("binding", "text"), RECORDED)
def test_decisions_without_the_count_are_believed(binding, text):
    """An absent count is 0 and no part of the id."""
    found = parse_decision(text)

    assert found.evictions == 0
    assert is_whole(found, BindingId(binding))


@pytest.mark.parametrize(("binding", "text"), RECORDED)
def test_a_count_that_was_written_in_is_not_believed(binding, text):
    """What others write into the annotation decides nothing: the id does not match then."""
    forged = parse_decision(text.replace('"epoch":1', '"epoch":1,"evictions":2'))

    assert not is_whole(forged, BindingId(binding))


@pytest.mark.parametrize(("said", "want"), [(1, 1), (3, 3), (4, 3), (10**12, 3)])
def test_the_count_is_bounded_when_it_is_read(said, want):
    """No count makes a hold longer than eight times."""
    id_ = decision_id(BindingId("b"), (), NOW, 0, evictions=3)
    text = render_decision(Decision(id=id_, epoch=1, at=NOW, order=0, evictions=3))

    found = parse_decision(text.replace('"evictions":3', f'"evictions":{said}'))

    assert found.evictions == want
    assert is_whole(found, BindingId("b")) == (want == 3)
