"""Invariants of sizes and cooldowns, and of going on with fewer, on random crowds."""

from dataclasses import replace

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.shared.model.elastic_spec import ElasticRefusedError, with_elastic
from global_sched.shared.model.gang import Elastic
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery_spec import BelowMinimum
from tests.builders import workload
from tests.deep import examples
from tests.properties.test_moves import NO_SHRINKING
from tests.properties.test_reclaim import COMMON, LEAVES, POLICY, shown, trees
from tests.towns import Member, Town

COOLDOWNS = (0, 5, 600)


class ShortTown(Town):
    """A town whose members have no seat for some pods, as they report."""

    lost: dict  # by workload how many of its pods
    since: Instant
    resizes: int

    def _progress(self, one):
        found = super()._progress(one)
        return replace(found, progress=tuple(self._told(found, seen) for seen in found.progress))

    def _told(self, one, seen):
        pods = self.lost.get(one.key, 0)
        if not pods or not seen.bound.entries:
            return seen
        [(name, bound)] = seen.bound.entries
        less = replace(seen.bound, entries=((name, max(0, bound - pods)),))
        return replace(seen, bound=less, short=self.since, decision=one.decision.id)


@st.composite
def elastic_jobs(draw, name, created):
    """A gang with sizes, a step or neither, a cooldown, and sometimes one of any size."""
    pods = draw(st.integers(2, 8))
    least = draw(st.integers(1, min(3, pods)))
    made = workload(
        name,
        cpu=1,
        pods=pods,
        minimum=least,
        tier=draw(st.sampled_from((None, None, 2))),
        queue=draw(st.sampled_from(LEAVES)),
        priority=draw(st.sampled_from((0, 0, 10))),
        created=created,
    )
    sizes = draw(st.sets(st.integers(least, pods)))
    elastic = Elastic(
        sizes=tuple(sorted({least, *sizes})) if draw(st.booleans()) else (),
        step=draw(st.integers(1, 3)),
        cooldown=draw(st.sampled_from(COOLDOWNS)),
    )
    try:
        gang = with_elastic(made.demand.gang, elastic)
    except ElasticRefusedError:
        return made
    return replace(
        made,
        demand=replace(made.demand, gang=gang),
        below_minimum=BelowMinimum(shrinks=draw(st.booleans())),
    )


@st.composite
def crowds(draw):
    """Elastic gangs in one cluster that came one after the other, at most five.

    Nothing is guaranteed: a claim that a guarantee covers waits for no cooldown.
    """
    nodes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=3))
    free = {"guarantee": (), "capability": (), "cluster_capability": (), "reclaimable": True}
    queues = [replace(one, **free) for one in draw(trees())]
    town = ShortTown([Member("m", nodes)], queues)
    town.lost, town.since, town.resizes = {}, town.now, 0
    for at in range(draw(st.integers(2, 5))):
        town.add(draw(elastic_jobs(f"job{at}", at)))
        town.resizes += cycles(town, draw(st.integers(1, 4)))
    return town


def cycles(town, most):
    """So many cycles, or until nothing is left to do; every plan keeps the rules. Their changes."""
    resizes = 0
    for turn in range(most):
        before = dict(town.workloads)
        plan = run_cycle(town.snapshot(), POLICY, town.now)
        note(f"{turn}: {shown(plan)}")
        resizes += check(plan, before, town)
        town.execute(plan, linger=True)
        town.leave()
        town.now = Instant(town.now + SECOND)
        if plan.empty():
            break
    return resizes


def check(plan, before, town):
    """Allowed sizes only, and no change within a cooldown; how many gangs were resized."""
    resizes, now = 0, town.now
    for one in plan.admissions:
        gang, decision = before[one.workload].demand.gang, before[one.workload].decision
        pods = sum(grant.amounts.pods() for grant in one.decision.grants)
        assert gang.size_within(pods) == pods, f"{pods} is no size of {gang.elastic}"
        assert not pods or pods >= gang.minimum
        if decision is None or not decision.grants or gang.elastic is None:
            continue
        had = decision.grants[0].amounts.pods()
        if pods != had:
            resizes += 1
            rests = decision.resized + gang.elastic.cooldown * SECOND
            shrinks = one.decision.recovering is not None and pods < had
            assert now >= rests or shrinks, "within its cooldown"
    for one in plan.withdrawals:
        gang, decision = before[one.workload].demand.gang, before[one.workload].decision
        if one.makes_room_for is None or gang.elastic is None or one.workload in town.lost:
            continue  # a gang below its minimum is protected by nothing
        assert now >= decision.resized + gang.elastic.cooldown * SECOND, "within its cooldown"
        event("left whole after its cooldown")
    return resizes


@settings(COMMON, max_examples=examples(25), phases=NO_SHRINKING)
@given(crowds(), st.data())
def test_sizes_and_cooldowns(town, data):
    """Given, grown, taken and gone on with: always an allowed size; then all is quiet."""
    resizes = town.resizes + cycles(town, 40)
    running = sorted(key for key, one in town.workloads.items() if one.targets)
    if running and data.draw(st.booleans()):
        town.now = Instant(town.now + 600 * SECOND)
        town.lost = {data.draw(st.sampled_from(running)): data.draw(st.integers(1, 3))}
        town.since = Instant(town.now - data.draw(st.sampled_from((0, 60))) * SECOND)
        resizes += cycles(town, 4)
        town.lost = {}
    for turn in range(6):
        running = sorted(key for key, one in town.workloads.items() if one.targets)
        if turn < 2 and len(running) > 1:
            del town.workloads[data.draw(st.sampled_from(running))]  # it has ended
        town.now = Instant(town.now + 600 * SECOND)
        resizes += cycles(town, 40)
    event(f"{min(resizes, 9)} resizes")
    for one in town.workloads.values():
        bound = town.members["m"].bound(one.binding_id).pods()
        assert bound == one.demand.gang.size_within(bound) == one.granted().pods(), "at rest"
    assert run_cycle(town.snapshot(), POLICY, town.now).empty()
