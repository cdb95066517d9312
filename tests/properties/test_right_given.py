"""Victims whose leaving gives the claimant the right to others: none for nothing, and no turns."""

from dataclasses import replace

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue
from tests.builders import workload
from tests.deep import DEEP
from tests.properties.test_reclaim import COMMON, NO_CLAIMS, POLICY, shown
from tests.towns import Member, Town


@st.composite
def towns(draw):
    """Queue a's low ones are in m, queue b's in n, and a high one of a that may go to n only."""
    low = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    others = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    deserved = {"a": draw(st.integers(1, sum(low) + 1)), "b": draw(st.integers(0, 2))}
    queues = [
        Queue(name=QueueName(name), deserved=(("cpu", cpus * 1000), ("pods", cpus)))
        for name, cpus in deserved.items()
    ]
    apart = draw(st.booleans())
    members = [Member("m", [sum(low)]), Member("n", [sum(others)])]
    town = Town(members if apart else [Member("n", [sum(low) + sum(others)])], queues)
    at = "m" if apart else "n"
    town.run(
        *[
            workload(f"l{i}", cpu=1, pods=pods, queue="a", priority=-10, clusters=[at])
            for i, pods in enumerate(low)
        ],
        *[
            workload(f"b{i}", cpu=1, pods=pods, queue="b", clusters=["n"])
            for i, pods in enumerate(others)
        ],
        policy=NO_CLAIMS,
    )
    pods = draw(st.integers(1, sum(others)))
    town.add(workload("h", cpu=1, pods=pods, queue="a", priority=10, clusters=["n"], created=100))
    event("its own are elsewhere" if apart else "all in one cluster")
    return town


@settings(COMMON, max_examples=COMMON.max_examples if DEEP else 50)
@given(towns())
def test_what_leaves_leaves_once(town):
    """One world is planned for once; both rules below begin with that plan."""
    plan = run_cycle(town.snapshot(), POLICY, town.now)
    check_a_copy_of_an_own_victim_evicts_nobody(town.copy(), plan)
    check_the_claimant_keeps_its_room(town, plan)


def check_the_claimant_keeps_its_room(town, first):
    """Those who left come back where there is room, and nobody takes the claimant's, ever."""
    left = set()
    for turn in range(8):
        plan = run_cycle(town.snapshot(), POLICY, town.now) if turn else first
        note(f"{turn}: {shown(plan)}")
        leaving = {one.workload: one.makes_room_for for one in plan.withdrawals}
        assert not leaving or turn == 0, "somebody leaves once more"
        left.update(leaving)
        town.execute(plan)
        town.now = Instant(town.now + (POLICY.hold_seconds + 1) * SECOND * (turn % 2) + SECOND)
    assert not left or town.workloads["jobs/h"].targets
    kinds = {town.workloads[key].queue for key in left}
    event(f"leave: {' and '.join(sorted(kinds)) or 'nobody'}")


def check_a_copy_of_an_own_victim_evicts_nobody(town, plan):
    """Where another queue owed the room, that one left in the first place."""
    own = [one.workload for one in plan.withdrawals if town.workloads[one.workload].queue == "a"]
    town.execute(plan)
    for at in range(2):
        town.now = Instant(town.now + SECOND)
        copies = [key for key in own if at == 0 and not town.workloads[key].targets]
        for key in copies:
            victim = town.workloads.pop(key)
            fresh = workload(f"again-{victim.name}", asks=victim.demand, queue="a", created=200)
            town.add(replace(fresh, priority=victim.priority))
        plan = run_cycle(town.snapshot(), POLICY, town.now)
        note(f"{at}: {shown(plan)}")
        assert not [one for one in plan.withdrawals if one.makes_room_for]
        town.execute(plan)


def test_another_one_leaves_where_the_cheapest_could_take_the_room_back():
    """b1 has run for a second and is cheapest; with b0 in its place all lasts, and at once."""
    queues = [
        Queue(name=QueueName(name), deserved=(("cpu", cpus * 1000), ("pods", cpus)))
        for name, cpus in (("a", 1), ("b", 0))
    ]
    town = Town([Member("n", [9])], queues)
    town.run(
        workload("l0", cpu=1, pods=2, queue="a", priority=-10),
        workload("l1", cpu=1, pods=2, queue="a", priority=-10),
        workload("b0", cpu=1, pods=2, queue="b"),
        workload("b1", cpu=1, pods=3, queue="b"),
        policy=NO_CLAIMS,
    )
    town.add(workload("h", cpu=1, pods=3, queue="a", priority=10, created=100))

    plan = run_cycle(town.snapshot(), POLICY, town.now)

    assert {one.workload for one in plan.withdrawals} == {"jobs/l1", "jobs/b0"}
