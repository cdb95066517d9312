"""Progress to be known after a restart: minimums that are bound, and where gangs run."""

from collections.abc import Iterable

from global_sched.shared.model.ids import DecisionId
from member_agent.cache import PodUnit
from member_agent.scheduler.gang.minimum import reached
from member_agent.scheduler.gang.placement_history import (
    Place,
    failed_nodes,
    has_room,
    keeps_history,
    noted,
    renewed,
)
from member_agent.scheduler.plan.outcome import Round
from member_agent.scheduler.plan.round_state import RoundState, decision_of


def result(state: RoundState) -> Round:
    """The round."""
    return Round(
        placements=tuple(state.placements),
        waits=tuple(state.waits),
        rollbacks=tuple(state.rollbacks),
        given=tuple(state.evictions),
        notes=tuple(_notes(state)),
        reservations=state.reservations,
        reached=state.reached,
        partially_bound=tuple(state.partially_bound),
        reasons=state.reasons,
        histories=tuple(_histories_to_write(state)),
        held_until=tuple(hold.held_until for hold in state.inputs.holds),
        unproven=state.capacity.unproven,
    )


def is_bound(state: RoundState, unit: PodUnit) -> bool:
    """Whether the minimum of the unit, and of all with its binding, was bound by us."""
    if unit.holder is None or not unit.staying():
        return False
    if unit.binding is None:
        return bool(unit.holder.notes.plan) and reached(unit)
    decision = decision_of(state.inputs, unit)
    return bool(decision) and state.reached.get(unit.binding) == decision


def _notes(state: RoundState) -> Iterable[tuple[PodUnit, DecisionId]]:
    """Units whose holder is to say that their minimum was bound: no root owner says it."""
    for unit in state.inputs.units:
        decision = decision_of(state.inputs, unit)
        if not is_bound(state, unit) or noted(unit, decision):
            continue
        if not (keeps_history(unit) and reached(unit) and has_room(unit)):
            yield unit, decision


def _histories_to_write(state: RoundState) -> Iterable[tuple[PodUnit, str]]:
    """What root owners do not remember yet: where their gang runs, and nodes that failed."""
    for unit in state.inputs.units:
        if not keeps_history(unit):
            continue
        place = None
        if reached(unit) and unit.staying():
            nodes = [state.inputs.cache.node_of(pod) for pod in unit.staying()]
            place = Place(
                decision=decision_of(state.inputs, unit),
                domain=state.capacity.tree.enclosing(nodes),
                holder=unit.holder.uid if unit.holder and is_bound(state, unit) else "",
            )
        failed = failed_nodes(state.inputs.cache, unit, state.inputs.situation.blamed)
        text = renewed(unit, now=state.inputs.situation.now, failed=failed, place=place)
        if text:
            yield unit, text
