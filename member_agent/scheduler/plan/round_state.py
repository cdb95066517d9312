"""The state of one round: what it starts from, and what changes while it is made.

Each module of this room works on it with plain functions: `inputs` alone where they only look
something up, `state` where they take capacity or add an outcome. `round.plan_round` says in which
order it fills.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, DecisionId, DomainId
from member_agent.cache import ClusterCache, ManagedWorkload, PodUnit, count_pods
from member_agent.scheduler.gang.demand import RemainingDemand
from member_agent.scheduler.gang.placement_history import blamed_nodes, history_of, noted
from member_agent.scheduler.plan.outcome import (
    Placement,
    Reservation,
    Rollback,
    Situation,
    SurplusEviction,
    Wait,
)
from member_agent.scheduler.plan.reservations import Turn, holds_of, vacating_nodes
from member_agent.scheduler.plan.round_capacity import RoundCapacity

UNMANAGED = DecisionId("-")
"""Stands for the decision on units that did not come through Karmada."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundInputs:
    """What a round starts from; nothing of it changes."""

    cache: ClusterCache
    units: Sequence[PodUnit]
    situation: Situation
    by_binding: Mapping[BindingId, list[PodUnit]]
    holds: Sequence[ManagedWorkload]
    """Workloads that capacity is held for, in the order of the decisions."""
    vacating: Mapping[str, Turn]
    """Nodes on which pods are leaving for a claim, with the turn from which they take no pod."""
    first: Collection[BindingId]
    """Workloads that found no capacity in their own turn and may start in a draining domain."""


@dataclass(slots=True, kw_only=True)
class RoundState:
    """What changes in a round: capacity that is taken, and outcomes so far."""

    inputs: RoundInputs
    capacity: RoundCapacity
    pins: dict[str, dict[str, str]] = field(default_factory=dict)
    """By unit key: waiting pods (by uid) whose node an earlier plan names."""
    reservations: dict[BindingId, Reservation] = field(default_factory=dict)
    reached: dict[BindingId, DecisionId] = field(default_factory=dict)
    held_before: dict[BindingId, frozenset[str]] = field(default_factory=dict)
    """Nodes with capacity that was held for a workload which is admitted by now."""
    stranded: list[BindingId] = field(default_factory=list)
    """Workloads that are admitted, have not started and find no capacity."""
    unplaced: dict[BindingId, str] = field(default_factory=dict)
    """Why a workload's minimum has no places."""
    demands: dict[BindingId, RemainingDemand | None] = field(default_factory=dict)
    placements: list[Placement] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    rollbacks: list[Rollback] = field(default_factory=list)
    evictions: list[SurplusEviction] = field(default_factory=list)
    partially_bound: list[str] = field(default_factory=list)
    reasons: dict[BindingId, str] = field(default_factory=dict)


def new_round(
    cache: ClusterCache,
    units: Sequence[PodUnit],
    situation: Situation,
    first: Collection[BindingId] = (),
) -> RoundState:
    """The state of a round before anything is held or placed."""
    by_binding: dict[BindingId, list[PodUnit]] = {}
    for unit in units:
        if unit.binding is not None:
            by_binding.setdefault(unit.binding, []).append(unit)
    holds = holds_of(cache.entries().values(), situation.now)
    capacity = RoundCapacity(cache, units, situation.closed, situation.label_keys)
    vacating = vacating_nodes(holds, cache.entries(), by_binding, capacity.tree.nodes_in)
    inputs = RoundInputs(
        cache=cache,
        units=units,
        situation=situation,
        by_binding=by_binding,
        holds=holds,
        vacating=vacating,
        first=first,
    )
    return RoundState(inputs=inputs, capacity=capacity)


def is_being_bound(inputs: RoundInputs, unit: PodUnit) -> bool:
    """Whether pods of the unit are being bound."""
    return unit.key in inputs.situation.being_bound


def entry_of(inputs: RoundInputs, unit: PodUnit) -> ManagedWorkload | None:
    """The Directive's entry for the unit."""
    return inputs.cache.entries().get(unit.binding) if unit.binding is not None else None


def decision_of(inputs: RoundInputs, unit: PodUnit) -> DecisionId:
    """Under which decision the unit is placed; empty for a managed one without an entry."""
    if unit.binding is None:
        return UNMANAGED
    entry = entry_of(inputs, unit)
    return entry.decision if entry else DecisionId("")


def home_of(inputs: RoundInputs, unit: PodUnit) -> DomainId | None:
    """Where the unit ran before under its present decision."""
    memory = history_of(unit)
    return memory.domain if memory.decision == decision_of(inputs, unit) else None


def avoided_nodes(inputs: RoundInputs, units: Iterable[PodUnit]) -> frozenset[str]:
    """Nodes that failed under these units a while ago; for gangs, nodes on probation as well."""
    now, own = inputs.situation.now, list(units)
    blamed = inputs.situation.blamed
    avoided = frozenset(
        node
        for unit in own
        for node in (*history_of(unit).avoided(now), *blamed_nodes(unit, blamed))
    )
    gang = any(unit.floor > 1 for unit in own)
    return avoided | inputs.situation.last_resort if gang else avoided


def has_started(inputs: RoundInputs, entry: ManagedWorkload) -> bool:
    """Whether its minimum was bound under its present decision, as was noted before."""
    if inputs.situation.reached.get(entry.binding) == entry.decision:
        return True
    return any(noted(one, entry.decision) for one in inputs.by_binding.get(entry.binding, ()))


def admitted_left(inputs: RoundInputs, entry: ManagedWorkload) -> Amounts:
    """Admitted pods that are not bound and not being bound."""
    left = entry.admitted
    for unit in inputs.by_binding.get(entry.binding, ()):
        left = left.minus(unit.active())
        being_bound = inputs.situation.being_bound.get(unit.key, ())
        left = left.minus(count_pods(p for p, _ in being_bound if not inputs.cache.node_of(p)))
    return left
