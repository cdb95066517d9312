"""One round: which waiting pods go to which nodes now, and why the others wait. Pure.

Order of claims on the room: pods that are being bound; plans that a crash or a failed bind left;
places reserved in earlier rounds; the minimums of directed workloads without places, in the order
in which the leader admitted them, those with a reservation only among them; their surplus, in the
same order; then unmanaged units, by priority and age. So no surplus takes the node of a minimum;
but surplus for which room was held has its turn among the minimums, since others left for it.

What was held for a workload before it was admitted is kept from its turn of then to that of its
admission. What a workload that runs lacks (pods that are made anew, surplus that comes late) comes
after the room that others leave for a claim, but for the places that its own pods had. A directed
workload keeps its reservation until its pods are bound, so that the order in which pods arrive does
not matter.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.model.instant import Instant
from global_sched.shared.placement import NO_TIER, scarcity_key
from member_agent.cache import ClusterCache, ManagedWorkload, PodUnit
from member_agent.scheduler.plan.managed import (
    held_before,
    hold_room,
    hold_until_its_turn,
    keep_own_places,
    keep_reservation,
    place_managed,
    reserve_minimum,
)
from member_agent.scheduler.plan.outcome import Round, Situation
from member_agent.scheduler.plan.pending_demand import hold_binding_pods, pin
from member_agent.scheduler.plan.progress import result
from member_agent.scheduler.plan.round_state import RoundState, has_started, new_round
from member_agent.scheduler.plan.surplus_release import surplus_evictions
from member_agent.scheduler.plan.unmanaged import place_unmanaged, unmanaged_order
from member_agent.scheduler.plan.verdicts import add_reason, evict, wait

_MOST_ORDERS: Final = 4
"""So many further orders are tried in one round when an admitted workload finds no capacity."""


class RetryOrder(NamedTuple):
    """Workloads that have their turn before others, since they found no capacity in their own."""

    bindings: tuple[BindingId, ...] = ()
    """Before all who were admitted, as far as no claim comes before it."""
    before_claims: frozenset[BindingId] = frozenset()
    """Those of them that found none then either."""

    def then(self, stranded: Sequence[BindingId]) -> "RetryOrder":
        """The next order, when these found no room in this one."""
        others = (one for one in self.bindings if one not in stranded)
        again = self.before_claims.union(one for one in stranded if one in self.bindings)
        return RetryOrder((*stranded, *others), again)


def plan_round(cache: ClusterCache, units: Sequence[PodUnit], situation: Situation) -> Round:
    """Decide one round over everything that waits.

    Every waiting pod of ours ends in a placement, in a wait with a reason, or belongs to a unit
    that is being bound or backs off. Equal input gives an equal round.

    There is capacity for all admitted workloads, as the leader counted; where pods lie otherwise
    than it knew, the order in which they were admitted may not find it. Workloads that found none
    then come first, at last also before claims, and the order that leaves the fewest without room
    counts ("squeaky wheel" optimization, Joslin and Clements 1999). It costs up to four further
    plans, only in such a round.
    """
    best = _planned(cache, units, situation, RetryOrder())
    first = RetryOrder().then(best.stranded)
    for _ in range(_MOST_ORDERS):
        if not best.stranded:
            break
        state = _planned(cache, units, situation, first)
        if len(state.stranded) < len(best.stranded):
            best = state
        first, tried = first.then(state.stranded), first
        if first == tried:
            break
    return result(best)


def _planned(
    cache: ClusterCache, units: Sequence[PodUnit], situation: Situation, first: RetryOrder
) -> RoundState:
    """The state of one round in this order."""
    state = new_round(cache, units, situation, first.bindings)
    hold_binding_pods(state)
    for unit in units:
        pin(state, unit)
        if unit.key in situation.refused:
            add_reason(state, unit, situation.refused[unit.key])
            wait(state, unit, unit.waiting, situation.refused[unit.key])
    holds = {hold.binding: hold for hold in state.inputs.holds}
    entries = sorted(cache.entries().values(), key=lambda entry: entry.turn)
    for entry in entries:
        if entry.binding not in holds:
            keep_reservation(state, entry)
    running = _running(state, entries)
    for entry in running:
        keep_own_places(state, entry)
    steps = [_Step(entry, holds.get(entry.binding)) for entry in entries]
    steps += [
        _Step(entry, hold)
        for entry in entries
        if entry.binding not in holds and (hold := held_before(state, entry)) is not None
    ]
    ordered = _scarcest_first(state, _in_turn(steps, running))
    steps = _overtaking(ordered, first)
    for entry, hold in steps:
        if hold is None:
            for giving in surplus_evictions(entry, state.inputs.by_binding.get(entry.binding, ())):
                evict(state, giving)
            reserve_minimum(state, entry)
        elif entry.binding in holds:
            hold_room(state, hold)
        else:
            hold_until_its_turn(state, entry, hold)
    for entry, hold in steps:
        if hold is None:
            place_managed(state, entry)
    for unit in units:
        if unit.binding is not None and unit.binding not in cache.entries():
            wait(state, unit, unit.waiting, f"no Directive entry for binding {unit.binding} yet")
    for unit in unmanaged_order(units):
        place_unmanaged(state, unit)
    return state


class _Step(NamedTuple):
    """What has its turn: room is held for a workload, or without a hold it is placed."""

    entry: ManagedWorkload
    hold: ManagedWorkload | None

    @property
    def turn(self) -> tuple[Instant, int, BindingId]:
        """That of the decision; room anywhere is held when the cycle of an admission begins."""
        if self.hold is None:
            return self.entry.turn
        if self.anywhere and self.entry.admitted.entries:
            return self.entry.at, -1, self.entry.binding
        return self.hold.turn

    @property
    def anywhere(self) -> bool:
        """Whether it is a reservation without a domain."""
        return self.hold is not None and self.hold.domain is None and not self.hold.leaving

    @property
    def claims(self) -> bool:
        """Whether others leave, or have left, for it."""
        hold = self.hold
        return hold is not None and bool(hold.leaving) and not self.entry.admitted.entries

    def waits(self, running: Collection[BindingId]) -> bool:
        """Whether it may have nothing that others leave for a claim: as the leader holds it."""
        if self.hold is None:
            return self.entry.binding in running
        return self.anywhere and not self.entry.admitted.entries


def _scarcest_first(state: RoundState, steps: Iterable[_Step]) -> Iterator[_Step]:
    """The steps; of those in a row for which pods leave, the least choice first.

    As the leader holds it: what victims have left is free for all in a wider domain, and where
    smaller pods go there may be no node that is whole. A domain that drains has what was left
    before.
    """
    tiers: dict[DomainId | None, int] = {
        domain.name: domain.tier for domain in state.inputs.cache.tree().domains
    }
    none = Gang(pod_sets=(), minimum=0)

    def choice(step: _Step) -> tuple[int, ...]:
        hold = step.hold
        if hold is None or not hold.leaving:
            return ()
        return scarcity_key(tiers.get(hold.domain, NO_TIER), hold.gang or none, hold.admitted)

    for _, row in groupby(steps, key=lambda step: bool(choice(step))):
        yield from sorted(row, key=choice)


def _overtaking(steps: Iterable[_Step], first: RetryOrder) -> list[_Step]:
    """The steps; those of who comes first right behind the last claim before them, or before it."""
    rank = {binding: at for at, binding in enumerate(first.bindings)}
    claim, keyed = -1, list[tuple[tuple[int, int], _Step]]()
    for at, step in enumerate(steps):
        if step.claims:
            claim = at
        binding = step.entry.binding
        behind = -1 if binding in first.before_claims else claim
        keyed.append(((behind, 1 + rank[binding]) if binding in rank else (at, 0), step))
    return [step for _, step in sorted(keyed, key=lambda one: one[0])]


def _running(state: RoundState, entries: Sequence[ManagedWorkload]) -> list[ManagedWorkload]:
    """The entries that ran before others began to leave for a claim, and lack something."""
    waves = [hold.turn for hold in state.inputs.holds if hold.leaving]
    if not waves:
        return []
    before = (one for one in entries if one.admitted.entries and one.turn < waves[-1])
    return [entry for entry in before if has_started(state.inputs, entry)]


def _in_turn(steps: Iterable[_Step], running: Sequence[ManagedWorkload]) -> list[_Step]:
    """The steps by turn; behind the room that others leave what runs, and what takes any room."""
    steps = sorted(steps, key=lambda step: step.turn)
    waves = [one.turn for one in steps if one.hold is not None and one.hold.leaving]
    if not waves:
        return steps
    wave = waves[-1]
    late = {entry.binding for entry in running}
    behind = [one for one in steps if one.turn <= wave and one.waits(late)]
    before = [one for one in steps if one.turn <= wave and not one.waits(late)]
    return [*before, *behind, *(one for one in steps if one.turn > wave)]
