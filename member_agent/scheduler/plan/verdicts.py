"""Verdicts on a unit in a round: a placement, a wait with its reason, eviction, rollback."""

from collections.abc import Sequence
from dataclasses import dataclass

from global_sched.shared.model.ids import DomainId
from member_agent.cache import PodRecord, PodUnit
from member_agent.scheduler.gang.bind_plan import BindPlan, begun, plan_of
from member_agent.scheduler.gang.minimum import reached
from member_agent.scheduler.gang.placement_history import noted
from member_agent.scheduler.plan.outcome import (
    Placement,
    PlaceSource,
    Rollback,
    SurplusEviction,
    Wait,
)
from member_agent.scheduler.plan.round_state import RoundState, decision_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """How the places of a placement came about."""

    where: PlaceSource = PlaceSource.FREE
    domain: DomainId | None = None
    tier: int | None = None
    note: str = ""


def add_placement(
    state: RoundState,
    unit: PodUnit,
    pods: Sequence[PodRecord],
    nodes: dict[str, str],
    origin: Origin,
) -> bool:
    """A placement, unless the unit backs off: then its nodes stay held and it waits."""
    if unit.key in state.inputs.situation.paused:
        return False
    plan = plan_of(unit) or BindPlan()
    old = {pod.uid: plan.node_of(pod.uid) for pod in unit.placed if plan.node_of(pod.uid)}
    new = {pod.uid: nodes[pod.uid] for pod in pods}
    state.placements.append(
        Placement(
            unit=unit,
            nodes=tuple((pod, nodes[pod.uid]) for pod in pods),
            plan=BindPlan(decision=decision_of(state.inputs, unit), nodes={**old, **new}),
            where=origin.where,
            domain=origin.domain,
            tier=origin.tier,
            starts=not reached(unit),
            note=origin.note,
        )
    )
    return True


def hold_back(state: RoundState, unit: PodUnit, reason: str) -> None:
    """Nothing of the unit starts now; one whose bind stopped midway may be rolled back.

    A minimum that was bound once is never taken apart: later losses are its Job's business.
    """
    plan = plan_of(unit)
    if plan is not None and begun(plan, unit) and not was_reached(state, unit):
        state.partially_bound.append(unit.key)
        late = unit.key in state.inputs.situation.overdue
        if late and unit.key not in state.inputs.situation.paused:
            state.rollbacks.append(Rollback(unit=unit, pods=unit.staying(), reason=reason))
            add_reason(state, unit, f"rolled back: {reason}")
            return
    wait(state, unit, unit.waiting, reason)


def evict(state: RoundState, giving: SurplusEviction) -> None:
    """These pods leave, unless the unit backs off."""
    if giving.unit.key not in state.inputs.situation.paused:
        state.evictions.append(giving)


def wait(state: RoundState, unit: PodUnit, pods: Sequence[PodRecord], reason: str) -> None:
    """These pods get no node now."""
    if pods:
        state.waits.append(Wait(unit=unit, pods=tuple(pods), reason=reason))
        add_reason(state, unit, reason)


def add_reason(state: RoundState, unit: PodUnit, reason: str) -> None:
    """What the report says of the unit's binding; the first reason counts."""
    if unit.binding is not None and reason:
        state.reasons.setdefault(unit.binding, reason)


def was_reached(state: RoundState, unit: PodUnit) -> bool:
    """Whether its minimum was bound under its present decision."""
    decision = decision_of(state.inputs, unit)
    if reached(unit):
        return True
    if unit.binding is not None and state.reached.get(unit.binding) == decision:
        return True
    return noted(unit, decision)
