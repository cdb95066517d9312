"""Units that did not come through Karmada: placed freely, by priority and age."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from global_sched.shared.placement import SpecError
from member_agent.cache import PodRecord, PodUnit, owner_of
from member_agent.scheduler.gang.demand import (
    RemainingDemand,
    ShapeDemand,
    least_of,
    shape_demands,
    unit_constraint,
)
from member_agent.scheduler.gang.minimum import by_kind, choices, in_whole_groups, reached
from member_agent.scheduler.gang.subgroups import constraint_of_policy, cut, oversized, policy_of
from member_agent.scheduler.plan.assignment import Assignment, PlacementPreferences, assign
from member_agent.scheduler.plan.eligible_nodes import barred_nodes
from member_agent.scheduler.plan.pending_demand import nodes_around
from member_agent.scheduler.plan.round_state import (
    RoundState,
    avoided_nodes,
    home_of,
    is_being_bound,
)
from member_agent.scheduler.plan.verdicts import Origin, add_placement, hold_back, wait

_TRIES: Final = 8
"""So many sizes are tried of a subgroup that no domain holds whole."""
_NO_MORE: Final = "no domain holds more of its subgroup now"

_Found = tuple[Assignment, Sequence[PodRecord]]
"""Places, and the pods that they were found for: no other pod of their shape may take them."""


def unmanaged_order(units: Iterable[PodUnit]) -> list[PodUnit]:
    """Free units with pods to place: highest pod priority first, then the oldest."""
    waiting = [unit for unit in units if unit.binding is None and unit.waiting]
    return sorted(
        waiting,
        key=lambda unit: (-max(pod.priority for pod in unit.waiting), unit.created, unit.key),
    )


def place_unmanaged(state: RoundState, unit: PodUnit) -> None:
    """Place what fits of a unit: at least its minimum, or nothing."""
    if unit.problem:
        wait(state, unit, unit.waiting, unit.problem)
        return
    if is_being_bound(state.inputs, unit):
        return
    pins = state.pins.get(unit.key, {})
    rest = [pod for pod in unit.waiting if pod.uid not in pins]
    found = _assignment_for(state, unit, rest)
    if isinstance(found, str):
        hold_back(state, unit, found)
        return
    assignment, asked = found
    assigned, _ = assign(asked, assignment.slots)
    nodes = {**pins, **assigned}
    pods = [pod for pod in unit.waiting if pod.uid in nodes]
    if pods:
        add_placement(
            state, unit, pods, nodes, Origin(domain=assignment.domain, tier=assignment.tier)
        )
    if unit.key not in state.inputs.situation.paused:
        late = [pod for pod in unit.waiting if pod.uid not in nodes]
        wait(state, unit, late, assignment.short)


def _assignment_for(state: RoundState, unit: PodUnit, rest: Sequence[PodRecord]) -> _Found | str:
    """Places for these pods: all of each subgroup, else as many of one as a domain holds."""
    first = _placed(state, unit, rest)
    if not isinstance(first, str) or _has_impossible_constraint(state, unit, rest):
        return first
    most = max(oversized(unit, rest).values(), default=0)
    step = max(1, most // _TRIES)
    for fewer in range(most - step, 0, -step):
        part = cut(unit, rest, fewer)
        found = _placed(state, unit, part)
        if not isinstance(found, str):
            return _with_more(found)
    if most:
        # By kind of pod, then the minimum alone: the others join those that run in a later round.
        parts = [(part, False) for part in by_kind(unit, rest)]
        parts += [] if reached(unit) else [(list(rest), True)]
        for part, alone in parts:
            if not state.capacity.may_retry():
                break
            found = _placed(state, unit, part, alone=alone)
            if not isinstance(found, str) and found[0].slots:
                return _with_more(found)
    return first


def _has_impossible_constraint(state: RoundState, unit: PodUnit, rest: Iterable[PodRecord]) -> bool:
    """Whether a subgroup of these pods has a constraint that nothing here can keep."""
    try:
        wanted = {
            constraint_of_policy(policy)
            for pod in rest
            if (policy := policy_of(unit.subgroups, pod)) is not None
        }
    except SpecError:
        return True
    return any(state.capacity.knows_no_tier_of(constraint) for constraint in wanted)


def _with_more(found: _Found) -> _Found:
    assignment, asked = found
    return replace(assignment, short=assignment.short or _NO_MORE), asked


def _placed(
    state: RoundState, unit: PodUnit, rest: Sequence[PodRecord], *, alone: bool = False
) -> _Found | str:
    """Places for these pods, with the first way to make up the minimum that fits.

    `alone`: for the pods of the minimum only.
    """
    pinned = [pod for pod in unit.waiting if pod.uid in state.pins.get(unit.key, {})]
    why = ""
    try:
        parts = tuple(shape_demands(unit, rest))
        constraint = unit_constraint(unit)
        for number, chosen in enumerate(choices(unit, [*pinned, *rest])):
            if isinstance(chosen, str):
                return why or chosen
            if not rest or unit.key in state.inputs.situation.paused:
                return Assignment(), ()
            if number and not state.capacity.may_retry():
                break
            asked = in_whole_groups(unit, rest, chosen) if alone else rest
            if alone:
                parts = tuple(shape_demands(unit, asked))
            demand = RemainingDemand(
                parts=parts, least=least_of(chosen, parts), constraint=constraint
            )
            assignment = _asked(state, unit, demand)
            if isinstance(assignment, Assignment):
                return assignment, _pods_assigned(assignment, parts, asked)
            why = why or assignment
    except SpecError as error:
        return str(error)
    return why


def _pods_assigned(
    assignment: Assignment, parts: Iterable[ShapeDemand], asked: Iterable[PodRecord]
) -> Sequence[PodRecord]:
    """The pods without those that have no slot although their part names its pods.

    A pod of a subgroup would take the place of one that is in none, wherever that is.
    """
    named = {slot.pod for slot in assignment.slots}
    none = {p.uid for part in parts if part.by_name for p in part.pods if p.uid not in named}
    return [pod for pod in asked if pod.uid not in none]


def _asked(state: RoundState, unit: PodUnit, demand: RemainingDemand) -> Assignment | str:
    home = home_of(state.inputs, unit)
    preferences = PlacementPreferences(
        prefer=home,
        nearby=home is not None,
        around=tuple(nodes_around(state, unit)),
        avoid=avoided_nodes(state.inputs, [unit]),
        never=barred_nodes(state, None),
    )
    return state.capacity.place(
        demand, demand.amounts(), preferences, least=demand.least, binding=owner_of(unit)
    )
