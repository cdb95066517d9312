"""Invariants of moves between clusters, on random trees of queues and random clusters."""

from collections import Counter
from dataclasses import replace

from hypothesis import Phase, event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery_spec import BelowMinimum
from global_sched.shared.model.workload import Division
from tests.deep import examples
from tests.properties.test_reclaim import COMMON, POLICY, shown, towns
from tests.towns import Member, Town

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""To make a failing town smaller takes minutes; what it did is noted."""
ASKS = (
    BelowMinimum(moves=True),
    BelowMinimum(releases=True),
    BelowMinimum(moves=True, releases=True),
)


class BrokenTown(Town):
    """A town in which members cannot hold some of their gangs, as they report."""

    homes: dict  # by workload the member that cannot hold it

    def _progress(self, one):
        found = super()._progress(one)
        below = Instant(self.now - 900 * SECOND)
        told = (
            replace(seen, below=below, decision=one.decision.id)
            if self.homes.get(one.key) == seen.cluster
            else seen
            for seen in found.progress
        )
        return replace(found, progress=tuple(told))


def over(town):
    """Queues that hold more than their capability, with what is leaving."""
    snapshot = town.snapshot()
    above = {one.name: one.parent for one in town.queues}
    held = {}
    for usage in (*snapshot.usage, *snapshot.leaving):
        queue = usage.queue
        while queue is not None:
            held.setdefault(queue, Counter()).update(dict(usage.amount.entries))
            queue = above.get(queue)
    return {
        one.name
        for one in town.queues
        if any(held.get(one.name, {}).get(name, 0) > most for name, most in one.capability)
    }


@settings(COMMON, max_examples=examples(30), phases=NO_SHRINKING)
@given(towns(), st.data())
def test_moves(town, data):
    """Within the brakes, into free room, never two copies, no queue over; then all is quiet."""
    running = sorted(
        key
        for key, one in town.workloads.items()
        if one.targets and one.demand.division == Division.WHOLE
    )
    if not running:
        return
    broken = data.draw(st.sets(st.sampled_from(running), min_size=1, max_size=3))
    spare = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    town.members["spare"] = Member("spare", spare, cpu=2)
    town.__class__ = BrokenTown
    town.homes = {key: town.workloads[key].targets[0].cluster for key in broken}
    for key in sorted(broken):
        asks = data.draw(st.sampled_from(ASKS))
        town.workloads[key] = replace(town.workloads[key], below_minimum=asks)
    policy = replace(POLICY, moves_per_cycle=data.draw(st.integers(1, 2)), moves_per_hour=2)
    were_over, moved, placed = over(town), set(), set()
    for turn in range(24):
        if turn % 2:
            town.leave()
        before = dict(town.workloads)
        plan = run_cycle(town.snapshot(), policy, town.now)
        note(f"{turn}: {shown(plan)}")
        if plan.empty() and turn % 2:
            break
        left = [one for one in plan.withdrawals if one.reason == Reason.CANNOT_BE_WHOLE]
        moves = {one.workload for one in left if one.decision.claim is not None}
        assert len(moves) <= policy.moves_per_cycle
        assert not moves & moved, "twice within an hour"
        moved |= moves
        assert len(moved) <= policy.moves_per_hour
        assert all(one.makes_room_for is None for one in left)
        for one in plan.admissions:
            assert not before[one.workload].left, "a copy of it may run still"
            if one.workload in moved - placed:
                assert one.decision.grants[0].cluster != town.homes[one.workload]
                placed.add(one.workload)
        town.execute(plan, linger=True)
        assert over(town) <= were_over
        town.now = Instant(town.now + SECOND)
    event(f"{len(moved)} moved")
    assert plan.empty()
    assert placed == moved, "room was kept for it"
