"""What a round knows while it is being made: claims on the room, and outcomes so far."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, DecisionId, DomainId
from global_sched.shared.placement import SpecError
from member_agent.cache import ClusterCache, ManagedWorkload, PodRecord, Unit, count_pods
from member_agent.scheduler.gang.bind_plan import BindPlan, begun, plan_of
from member_agent.scheduler.gang.demand import Begun, Demand, allowed_pods, managed_demand
from member_agent.scheduler.gang.minimum import reached
from member_agent.scheduler.gang.placement_history import (
    Place,
    failed_nodes,
    has_room,
    memory_of,
    noted,
    remembers,
    renewed,
)
from member_agent.scheduler.gang.subgroups import Key, key_of
from member_agent.scheduler.plan.outcome import (
    Placement,
    Reservation,
    Rollback,
    Round,
    Situation,
    SurplusEviction,
    Wait,
    Where,
)
from member_agent.scheduler.plan.reservations import closed_nodes, draining_for, holds_of
from member_agent.scheduler.plan.round_capacity import RoundCapacity

UNMANAGED = DecisionId("-")
"""Stands for the decision on units that did not come through Karmada."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """How the places of a placement came about."""

    where: Where = Where.FREE
    domain: DomainId | None = None
    tier: int | None = None
    note: str = ""


class RoundState:
    """The state of a round in the making; `place.plan_round` says in which order it fills."""

    def __init__(
        self,
        cache: ClusterCache,
        units: Sequence[Unit],
        situation: Situation,
        first: Collection[BindingId] = (),
    ) -> None:
        self.cache = cache
        self.units = units
        self.situation = situation
        self.by_binding: dict[BindingId, list[Unit]] = {}
        for unit in units:
            if unit.binding is not None:
                self.by_binding.setdefault(unit.binding, []).append(unit)
        self.holds = holds_of(cache.entries().values(), situation.now)
        self.capacity = RoundCapacity(cache, units, situation.closed, situation.label_keys)
        self._closed = closed_nodes(
            self.holds, cache.entries(), self.by_binding, self.capacity.tree.nodes_in
        )
        self.pins: dict[str, dict[str, str]] = {}
        """By unit key: waiting pods (by uid) whose node an earlier plan names."""
        self.reservations: dict[BindingId, Reservation] = {}
        self.reached: dict[BindingId, DecisionId] = {}
        self.held_before: dict[BindingId, frozenset[str]] = {}
        """Nodes with room that was held for a workload which is admitted by now."""
        self.stranded: list[BindingId] = []
        """Who was admitted, has not started and finds no room."""
        self._first = first
        self._demands: dict[BindingId, Demand | None] = {}
        self._placements: list[Placement] = []
        self._waits: list[Wait] = []
        self._rollbacks: list[Rollback] = []
        self._given: list[SurplusEviction] = []
        self._broken: list[str] = []
        self._reasons: dict[BindingId, str] = {}

    def result(self) -> Round:
        """The round."""
        return Round(
            placements=tuple(self._placements),
            waits=tuple(self._waits),
            rollbacks=tuple(self._rollbacks),
            given=tuple(self._given),
            notes=tuple(self._notes()),
            reservations=self.reservations,
            reached=self.reached,
            broken=tuple(self._broken),
            reasons=self._reasons,
            memories=tuple(self._memories()),
            held_until=tuple(hold.held_until for hold in self.holds),
            unproven=self.capacity.unproven,
        )

    # --- what is held from before -----------------------------------------------------------

    def hold_flying(self) -> None:
        """Room of pods that are being bound."""
        for pods in self.situation.flying.values():
            for pod, node in pods:
                if not self.cache.node_of(pod):
                    self.capacity.hold(node, pod.shape)

    def pin(self, unit: Unit) -> None:
        """Hold the nodes that an earlier plan names for pods which are still without one.

        A plan of which nothing is bound is followed only as a whole, and under its own decision.
        """
        plan = plan_of(unit)
        if plan is None or unit.problem or self.flies(unit):
            return
        started = begun(plan, unit)
        if not started and plan.decision != self.decision(unit):
            return
        planned = [pod for pod in unit.waiting if plan.node_of(pod.uid)]
        entry = self.entry(unit)
        if unit.binding is not None:
            planned = (
                allowed_pods(unit, planned, self.left(entry), self.begun(unit)) if entry else []
            )
        pinned: dict[str, str] = {}
        for pod in planned:
            node = plan.node_of(pod.uid)
            if self.capacity.fits(node, pod.shape):
                self.capacity.hold(node, pod.shape)
                pinned[pod.uid] = node
        if not started and len(pinned) < len(planned):
            for pod in planned:
                if pod.uid in pinned:
                    self.capacity.release(pinned[pod.uid], pod.shape)
            return
        if pinned:
            self.pins[unit.key] = pinned

    # --- outcomes ---------------------------------------------------------------------------

    def emit(
        self, unit: Unit, pods: Sequence[PodRecord], nodes: dict[str, str], origin: Origin
    ) -> bool:
        """A placement, unless the unit backs off: then its nodes stay held and it waits."""
        if unit.key in self.situation.paused:
            return False
        plan = plan_of(unit) or BindPlan()
        old = {pod.uid: plan.node_of(pod.uid) for pod in unit.placed if plan.node_of(pod.uid)}
        new = {pod.uid: nodes[pod.uid] for pod in pods}
        self._placements.append(
            Placement(
                unit=unit,
                nodes=tuple((pod, nodes[pod.uid]) for pod in pods),
                plan=BindPlan(decision=self.decision(unit), nodes={**old, **new}),
                where=origin.where,
                domain=origin.domain,
                tier=origin.tier,
                starts=not reached(unit),
                note=origin.note,
            )
        )
        return True

    def hold_back(self, unit: Unit, reason: str) -> None:
        """Nothing of the unit starts now; one whose bind stopped midway may be rolled back.

        A minimum that was bound once is never taken apart: later losses are its Job's business.
        """
        plan = plan_of(unit)
        if plan is not None and begun(plan, unit) and not self._was_reached(unit):
            self._broken.append(unit.key)
            late = unit.key in self.situation.given_up
            if late and unit.key not in self.situation.paused:
                self._rollbacks.append(Rollback(unit=unit, pods=unit.staying(), reason=reason))
                self.say(unit, f"rolled back: {reason}")
                return
        self.wait(unit, unit.waiting, reason)

    def give_up(self, giving: SurplusEviction) -> None:
        """These pods leave, unless the unit backs off."""
        if giving.unit.key not in self.situation.paused:
            self._given.append(giving)

    def wait(self, unit: Unit, pods: Sequence[PodRecord], reason: str) -> None:
        """These pods get no node now."""
        if pods:
            self._waits.append(Wait(unit=unit, pods=tuple(pods), reason=reason))
            self.say(unit, reason)

    def say(self, unit: Unit, reason: str) -> None:
        """What the report says of the unit's binding; the first reason counts."""
        if unit.binding is not None and reason:
            self._reasons.setdefault(unit.binding, reason)

    def _was_reached(self, unit: Unit) -> bool:
        decision = self.decision(unit)
        if reached(unit):
            return True
        if unit.binding is not None and self.reached.get(unit.binding) == decision:
            return True
        return noted(unit, decision)

    def _bound(self, unit: Unit) -> bool:
        """Whether the minimum of the unit, and of all with its binding, was bound by us."""
        if unit.holder is None or not unit.staying():
            return False
        if unit.binding is None:
            return bool(unit.holder.notes.plan) and reached(unit)
        decision = self.decision(unit)
        return bool(decision) and self.reached.get(unit.binding) == decision

    def _notes(self) -> Iterable[tuple[Unit, DecisionId]]:
        """Units whose holder is to say that their minimum was bound: no root owner says it."""
        for unit in self.units:
            decision = self.decision(unit)
            if not self._bound(unit) or noted(unit, decision):
                continue
            if not (remembers(unit) and reached(unit) and has_room(unit)):
                yield unit, decision

    def _memories(self) -> Iterable[tuple[Unit, str]]:
        """What root owners do not remember yet: where their gang runs, and nodes that failed."""
        for unit in self.units:
            if not remembers(unit):
                continue
            place = None
            if reached(unit) and unit.staying():
                nodes = [self.cache.node_of(pod) for pod in unit.staying()]
                place = Place(
                    decision=self.decision(unit),
                    domain=self.capacity.tree.enclosing(nodes),
                    holder=unit.holder.uid if unit.holder and self._bound(unit) else "",
                )
            failed = failed_nodes(self.cache, unit)
            text = renewed(unit, now=self.situation.now, failed=failed, place=place)
            if text:
                yield unit, text

    # --- look-ups ---------------------------------------------------------------------------

    def flies(self, unit: Unit) -> bool:
        """Whether pods of the unit are being bound."""
        return unit.key in self.situation.flying

    def entry(self, unit: Unit) -> ManagedWorkload | None:
        """The Directive's entry for the unit."""
        return self.cache.entries().get(unit.binding) if unit.binding is not None else None

    def decision(self, unit: Unit) -> DecisionId:
        """Under which decision the unit is placed; empty for a managed one without an entry."""
        if unit.binding is None:
            return UNMANAGED
        entry = self.entry(unit)
        return entry.decision if entry else DecisionId("")

    def around(self, unit: Unit) -> list[str]:
        """Nodes where pods of the unit are, or are planned to be."""
        nodes = [self.cache.node_of(pod) for pod in unit.staying()]
        return [*nodes, *self.pins.get(unit.key, {}).values()]

    def home(self, unit: Unit) -> DomainId | None:
        """Where the unit ran before under its present decision."""
        memory = memory_of(unit)
        return memory.domain if memory.decision == self.decision(unit) else None

    def avoided(self, units: Iterable[Unit]) -> frozenset[str]:
        """Nodes that failed under these units a while ago."""
        now = self.situation.now
        return frozenset(node for unit in units for node in memory_of(unit).avoided(now))

    def barred(self, entry: ManagedWorkload | None) -> frozenset[str]:
        """Nodes that drain or are closed for others, but for its own before it was admitted.

        Who found no room otherwise may go where a domain drains since its own admission's cycle:
        nobody of later cycles may, so that the delay is bounded.
        """
        early = entry is not None and entry.binding in self._first
        holds = [one for one in self.holds if not (early and entry and one.at == entry.at)]
        draining = draining_for(holds, entry, self.capacity.tree.lies_in)
        own = frozenset() if entry is None else self.held_before.get(entry.binding, frozenset())
        return self.capacity.tree.nodes_in(draining).difference(own) | self.closed(entry)

    def closed(self, entry: ManagedWorkload | None) -> frozenset[str]:
        """Nodes on which pods are leaving for somebody else.

        What was admitted before that was decided, and has not started since, was counted there:
        it may go there, and so may what had room there before its admission. Pods of what has
        started may not when they start again.
        """
        if entry is None or self.has_started(entry):
            return frozenset(self._closed)
        own = self.held_before.get(entry.binding, frozenset())
        shut = [name for name, turn in self._closed.items() if turn <= entry.turn]
        return frozenset(shut) - own

    def leaves_for_others(self, pod: PodRecord) -> bool:
        """Whether its node is one on which pods are leaving for a claim that still stands."""
        return pod.node in self._closed

    def free_for(self, hold: ManagedWorkload, nodes: frozenset[str]) -> dict[str, dict[str, int]]:
        """What is free on nodes that pods leave for a claim: nothing where they leave for others.

        What an earlier claim has of these is not known until its gang comes.
        """
        others = [name for name in nodes if self._closed.get(name, hold.turn) < hold.turn]
        return self.capacity.free_on(nodes.difference(others)) | {name: {} for name in others}

    def has_started(self, entry: ManagedWorkload) -> bool:
        """Whether its minimum was bound under its present decision, as was noted before."""
        if self.situation.reached.get(entry.binding) == entry.decision:
            return True
        return any(noted(one, entry.decision) for one in self.by_binding.get(entry.binding, ()))

    def left(self, entry: ManagedWorkload) -> Amounts:
        """Admitted pods that are not bound and not being bound."""
        left = entry.admitted
        for unit in self.by_binding.get(entry.binding, ()):
            left = left.minus(unit.active())
            flying = self.situation.flying.get(unit.key, ())
            left = left.minus(count_pods(p for p, _ in flying if not self.cache.node_of(p)))
        return left

    def begun(self, unit: Unit) -> Begun:
        """The subgroups of which pods are bound, being bound, or have a node by an earlier plan."""
        if not unit.subgroups:
            return frozenset()
        pins = self.pins.get(unit.key, {})
        pods = [pod for pod, _ in self.situation.flying.get(unit.key, ())]
        pods += [*unit.staying(), *(pod for pod in unit.waiting if pod.uid in pins)]
        return frozenset((unit.key, key) for pod in pods if (key := key_of(unit, pod)))

    def demand(self, entry: ManagedWorkload) -> Demand | None:
        """What room the workload still needs beside bound, flying and pinned pods."""
        if entry.binding not in self._demands:
            self._demands[entry.binding] = self.asked_by(entry)
        return self._demands[entry.binding]

    def asked_by(self, entry: ManagedWorkload) -> Demand | None:
        """The same for an entry that may be from before."""
        units = self.by_binding.get(entry.binding, [])
        rest, taken = [], entry.admitted.minus(self.left(entry))
        for unit in units:
            flying = {pod.uid for pod, _ in self.situation.flying.get(unit.key, ())}
            pins = self.pins.get(unit.key, {})
            taken = taken.plus(count_pods(pod for pod in unit.waiting if pod.uid in pins))
            waiting = (p for p in unit.waiting if p.uid not in flying and p.uid not in pins)
            rest.append(replace(unit, waiting=tuple(waiting)))
        try:
            begun = frozenset[tuple[str, Key]]().union(*(self.begun(unit) for unit in units))
            return managed_demand(entry, rest, taken, begun)
        except SpecError as error:
            for unit in units:
                self.wait(unit, unit.waiting, str(error))
            return None
