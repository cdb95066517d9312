"""Workloads that the Directive names: places are reserved first, then pods start on them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from global_sched.shared.kinds import ONE_BY_ONE
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import growth_of
from global_sched.shared.model.ids import BindingId, DomainId, PodSetName
from member_agent.cache import ManagedWorkload, PodRecord, PodUnit
from member_agent.scheduler.gang.bind_plan import plan_of
from member_agent.scheduler.gang.demand import RemainingDemand, ShapeDemand, allowed_pods
from member_agent.scheduler.gang.minimum import have_of, lacking, reached
from member_agent.scheduler.plan.assignment import Assignment, PlacementPreferences, assign
from member_agent.scheduler.plan.eligible_nodes import barred_nodes, free_on_vacated, is_vacated
from member_agent.scheduler.plan.outcome import PlaceSource, Reservation, Slot
from member_agent.scheduler.plan.pending_demand import (
    begun_subgroups,
    demand_asked_by,
    demand_of,
    nodes_around,
)
from member_agent.scheduler.plan.reservations import kept_elsewhere, leaving_pods
from member_agent.scheduler.plan.round_state import (
    RoundState,
    admitted_left,
    avoided_nodes,
    has_started,
    home_of,
    is_being_bound,
)
from member_agent.scheduler.plan.subgroup_affinity import near_enough
from member_agent.scheduler.plan.verdicts import Origin, add_placement, add_reason, hold_back, wait


def keep_reservation(state: RoundState, entry: ManagedWorkload) -> None:
    """Hold what was reserved before, as far as it is still needed and still fits.

    Reserved places that no longer make up the minimum are given up as a whole: the gang is
    placed anew, perhaps elsewhere. They were chosen before the claim that makes pods leave now from
    the same nodes, and counted by it.
    """
    old = _kept_before(state, entry)
    demand = demand_of(state, entry)
    if demand is None or old is None or old.hold is not None or old.decision != entry.decision:
        return
    wanted = {part.name: part for part in demand.parts}
    kept: list[Slot] = []
    counts: dict[str, int] = {}
    for slot in _for_arrivals(state, old.slots, demand):
        part = wanted.get(slot.part)
        if part is None or part.shape != slot.shape or counts.get(slot.part, 0) >= part.count:
            continue
        if slot.pod and slot.pod not in {pod.uid for pod in part.pods}:
            continue
        if state.capacity.fits(slot.node, slot.shape):
            state.capacity.hold(slot.node, slot.shape)
            counts[slot.part] = counts.get(slot.part, 0) + 1
            kept.append(slot)
    reservation = replace(old, slots=tuple(kept))
    if kept and reservation.amounts().covers(demand.least):
        state.reservations[entry.binding] = reservation
        return
    for slot in kept:
        state.capacity.release(slot.node, slot.shape)


def _kept_before(state: RoundState, entry: ManagedWorkload) -> Reservation | None:
    """Its own places of earlier rounds; or those kept for its growth, once that is admitted."""
    own = state.inputs.situation.reservations.get(entry.binding)
    growth = growth_of(entry.binding)
    kept = state.inputs.situation.reservations.get(growth)
    ended = kept is not None and growth not in state.inputs.cache.entries()
    return kept if ended and (own is None or not own.slots) else own


def _for_arrivals(
    state: RoundState, slots: Sequence[Slot], demand: RemainingDemand
) -> Iterable[Slot]:
    """The places, those of pods that came after others of their subgroup named for them.

    Such pods are parts of their own ("beside their mates"); their places were chosen with the rest
    of the subgroup before anything of it ran, by position.
    """
    arrived = {
        (part.pod_set, pod.index, part.shape): (part, pod)
        for part in demand.parts
        if part.mates
        for pod in part.pods
    }
    coming = {(part.pod_set, part.shape): part.name for part in demand.parts if not part.mates}
    beside = {part.name for part in demand.parts if part.mates}
    for slot in slots:
        base = PodSetName(slot.part.partition("~")[0])
        found = arrived.get((base, slot.position, slot.shape))
        if slot.pod or not beside:
            yield slot
        elif found is not None and _joins(state, slot, found[0]):
            yield slot._replace(part=found[0].name, pod=found[1].uid)
        elif slot.part in beside and (base, slot.shape) in coming:
            yield slot._replace(part=coming[base, slot.shape])
        elif slot.part not in beside:
            yield slot


def _joins(state: RoundState, slot: Slot, part: ShapeDemand) -> bool:
    """Whether a place is beside the pods that run, as the part's constraint asks."""
    mates = (state.inputs.cache.node_of(pod) for pod in part.mates)
    around = state.capacity.tree.enclosing([slot.node, *mates])
    return near_enough(part, around, state.inputs.cache.tree().domains)


def held_before(state: RoundState, entry: ManagedWorkload) -> ManagedWorkload | None:
    """What room was held for before it was admitted; None when it was not."""
    old = _kept_before(state, entry)
    return None if old is None else old.hold


def hold_until_its_turn(state: RoundState, entry: ManagedWorkload, hold: ManagedWorkload) -> None:
    """Keep room as if it were only held, from all whose turn comes before its own.

    So did the leader when it admitted those. Then it is placed with everything else there.
    """
    demand, assignment = demand_asked_by(state, hold), Assignment()
    if demand is not None:
        leaving = [pod for pod in _leaving(state, hold) if not is_vacated(state.inputs, pod)]
        assignment = _room_of(state, hold, demand, leaving, entry.binding)
    state.held_before[entry.binding] = frozenset(slot.node for slot in assignment.slots)


def _sides(state: RoundState, domain: DomainId | None) -> tuple[frozenset[str], frozenset[str]]:
    """The nodes of a domain, and all others."""
    inside = state.capacity.tree.nodes_in(frozenset({domain}))
    return inside, state.capacity.tree.nodes_in(frozenset({None})) - inside


def hold_room(state: RoundState, hold: ManagedWorkload) -> None:
    """Keep places for a workload that is not admitted yet, of those that are free in its domain.

    As many as the nodes on which pods leave for it will not have.
    They are chosen anew in every round, in the order of the decisions; with the admission they
    become its own.
    """
    for unit in state.inputs.by_binding.get(hold.binding, ()):
        wait(state, unit, unit.waiting, "it is not admitted yet: room is being made for it")
    _keep_room(state, hold)


def _keep_room(state: RoundState, hold: ManagedWorkload) -> None:
    demand = demand_of(state, hold)
    if demand is None:
        return
    assignment = _room_of(state, hold, demand, _leaving(state, hold), hold.binding)
    if assignment.slots:
        state.reservations[hold.binding] = replace(_reservation(state, hold, assignment), hold=hold)


def _leaving(state: RoundState, hold: ManagedWorkload) -> list[PodRecord]:
    return list(leaving_pods(hold, state.inputs.cache.entries(), state.inputs.by_binding))


def _room_of(
    state: RoundState,
    hold: ManagedWorkload,
    demand: RemainingDemand,
    leaving: Sequence[PodRecord],
    binding: BindingId,
) -> Assignment:
    """Places in its domain for all but what the nodes on which pods leave for it will have."""
    inside, outside = _sides(state, hold.domain)
    preferences = PlacementPreferences(
        prefer=hold.domain, never=outside | barred_nodes(state, hold)
    )
    nodes = inside.intersection(pod.node for pod in leaving)
    amounts = kept_elsewhere(
        state.inputs.cache, demand, leaving, free_on_vacated(state, hold, nodes)
    )
    return (
        state.capacity.keep(demand, amounts, preferences, binding)
        if amounts.entries
        else Assignment()
    )


def keep_own_places(state: RoundState, entry: ManagedWorkload) -> None:
    """Reserve the nodes that its own pods had for those that are made anew.

    Capacity that victims leave for a claim belongs to the claim; what its own pods leave does not.
    Where they do not make up the minimum, it is placed anew. Groups of a partition have their
    places by position, which the plan does not tell.
    """
    demand = demand_of(state, entry)
    if demand is None or entry.binding in state.reservations:
        return
    lone = [part for part in demand.parts if part.partition is None and not part.mates]
    wanted = [part for part in lone for _ in range(part.count)]
    inside = state.capacity.tree.nodes_in(frozenset({entry.domain}))
    slots: list[Slot] = []
    for unit in state.inputs.by_binding.get(entry.binding, ()):
        plan = plan_of(unit)
        uids = [pod.uid for pod in (*unit.placed, *unit.waiting)]
        for uid, node in sorted(plan.nodes.items()) if plan is not None else ():
            if node not in inside or any(one.startswith(uid) for one in uids):
                continue
            part = next((one for one in wanted if state.capacity.fits(node, one.shape)), None)
            if part is not None:
                wanted.remove(part)
                state.capacity.hold(node, part.shape)
                slots.append(Slot(part.name, len(slots), node, part.shape))
    kept = Reservation(
        decision=entry.decision,
        slots=tuple(slots),
        where=PlaceSource.DIRECTED,
        domain=entry.domain,
        tier=entry.tier,
    )
    if slots and kept.amounts().covers(demand.least):
        state.reservations[entry.binding] = kept
        return
    for slot in slots:
        state.capacity.release(slot.node, slot.shape)


def reserve_minimum(state: RoundState, entry: ManagedWorkload) -> None:
    """Reserve what its minimum still lacks: no surplus, its own or another's, takes that.

    All that it lacks where room was held for it before, since others left for that, and where it
    found none in an order before.
    """
    whole = entry.binding in state.inputs.first or entry.binding in state.held_before
    state.capacity.give_back(entry.binding)
    units = state.inputs.by_binding.get(entry.binding, [])
    if has_started(state.inputs, entry) or _all_reached(entry, units):
        state.reached[entry.binding] = entry.decision
    demand = demand_of(state, entry)
    if demand is None or not (whole or demand.least.pods()):
        return
    why = _reserve(state, entry, units, demand, demand.amounts() if whole else demand.least)
    if why and not _one_by_one(units) and entry.binding not in state.reservations:
        state.unplaced[entry.binding] = why


def place_managed(state: RoundState, entry: ManagedWorkload) -> None:
    """Reserve surplus where its minimum has places, then start the units that may start."""
    units = state.inputs.by_binding.get(entry.binding, [])
    demand, why = demand_of(state, entry), state.unplaced.get(entry.binding, "")
    if demand is not None and not why:
        why = _reserve(state, entry, units, demand, demand.amounts())
    if why and not has_started(state.inputs, entry):
        state.stranded.append(entry.binding)
    for unit in units:
        _start(state, entry, unit, why)


def _one_by_one(units: Sequence[PodUnit]) -> bool:
    """Whether these are services: they start pod by pod."""
    return bool(units) and all(unit.root_kind in ONE_BY_ONE for unit in units)


def _reserve(
    state: RoundState,
    entry: ManagedWorkload,
    units: Sequence[PodUnit],
    demand: RemainingDemand,
    wanted: Amounts,
) -> str:
    """Places for what of that has none yet; why there are none, empty when there are."""
    kept = state.reservations.get(entry.binding)
    missing = wanted.minus(kept.amounts() if kept else Amounts())
    if not missing.pods():
        return ""
    around = [node for unit in units for node in nodes_around(state, unit)]
    around += [slot.node for slot in kept.slots] if kept else []
    # Services start pod by pod: where all of a minimum does not fit, some of it does.
    tries = [Amounts() if kept else demand.least]
    if _one_by_one(units) and tries[0].pods():
        tries.append(Amounts())
    assignment: Assignment | str = ""
    home = next((place for unit in units if (place := home_of(state.inputs, unit))), None)
    preferences = PlacementPreferences(
        prefer=home or entry.domain,
        nearby=home is not None,
        around=tuple(around),
        avoid=avoided_nodes(state.inputs, units),
        never=barred_nodes(state, entry),
    )
    for least in tries:
        assignment = state.capacity.place(
            demand, missing, preferences, least=least, binding=entry.binding
        )
        if isinstance(assignment, Assignment):
            break
    if isinstance(assignment, str):
        return assignment
    if kept is not None:
        slots = (*kept.slots, *_renumbered(assignment.slots, kept.slots))
        state.reservations[entry.binding] = replace(kept, slots=slots)
    else:
        state.reservations[entry.binding] = _reservation(state, entry, assignment)
    return "" if len(assignment.slots) >= missing.pods() else assignment.short


def _reservation(state: RoundState, entry: ManagedWorkload, assignment: Assignment) -> Reservation:
    there = entry.domain is None or state.capacity.tree.lies_in(assignment.domain, entry.domain)
    return Reservation(
        decision=entry.decision,
        slots=assignment.slots,
        where=PlaceSource.DIRECTED if there else PlaceSource.ELSEWHERE,
        domain=assignment.domain,
        tier=assignment.tier,
        note="" if there else f"domain {entry.domain} no longer holds it",
    )


def _start(state: RoundState, entry: ManagedWorkload, unit: PodUnit, why: str) -> None:
    """Put the unit's pods on their places, when they make up its minimum."""
    if unit.problem:
        wait(state, unit, unit.waiting, unit.problem)
        return
    if is_being_bound(state.inputs, unit):
        return
    if unit.others and not unit.waiting:
        add_reason(
            state, unit, f"its pods are bound by {' and '.join(unit.others)}, not by the agent"
        )
    reservation = state.reservations.get(entry.binding)
    pins = state.pins.get(unit.key, {})
    allowed = allowed_pods(
        unit, unit.waiting, admitted_left(state.inputs, entry), begun_subgroups(state, unit)
    )
    free = [pod for pod in allowed if pod.uid not in pins]
    assigned, used = assign(free, reservation.slots if reservation else ())
    nodes = {**pins, **assigned}
    pods = [pod for pod in unit.waiting if pod.uid in nodes]
    least = lacking(unit, pods)
    if isinstance(least, str):
        over = unit.waiting and not allowed
        hold_back(state, unit, _cap_text(entry, unit.waiting) if over else why or least)
        return
    origin = Origin(where=PlaceSource.DIRECTED)
    if reservation is not None:
        origin = Origin(
            where=reservation.where,
            domain=reservation.domain,
            tier=reservation.tier,
            note=reservation.note,
        )
    if pods and add_placement(state, unit, pods, nodes, origin) and reservation is not None:
        slots = tuple(slot for slot in reservation.slots if slot not in used)
        state.reservations[entry.binding] = replace(reservation, slots=slots)
    late = [pod for pod in unit.waiting if pod.uid not in nodes]
    _wait_surplus(state, entry, unit, late, {pod.uid for pod in allowed}, why)


def _wait_surplus(
    state: RoundState,
    entry: ManagedWorkload,
    unit: PodUnit,
    late: Sequence[PodRecord],
    allowed: Collection[str],
    why: str,
) -> None:
    room = [pod for pod in late if pod.uid in allowed]
    over = [pod for pod in late if pod.uid not in allowed]
    wait(state, unit, room, why or "admitted, but there is no room for it now")
    wait(state, unit, over, _cap_text(entry, over))


def _cap_text(entry: ManagedWorkload, pods: Iterable[PodRecord]) -> str:
    sets = sorted({pod.pod_set for pod in pods})
    parts = [f"{entry.admitted.get(name)} pods of {name}" for name in sets]
    admits = f"the Directive admits {' and '.join(parts)}, which are placed already"
    return f"growth not admitted: {admits}"


def _renumbered(new: Sequence[Slot], kept: Sequence[Slot]) -> list[Slot]:
    """New places after the positions that are taken."""
    after: dict[str, int] = {}
    for slot in kept:
        after[slot.part] = max(after.get(slot.part, 0), slot.position + 1)
    return [slot._replace(position=slot.position + after.get(slot.part, 0)) for slot in new]


def _all_reached(entry: ManagedWorkload, units: Sequence[PodUnit]) -> bool:
    """Whether a directed workload's minimum is bound: of every unit, or of a service in all."""
    if not units:
        return False
    if any(unit.root_kind in ONE_BY_ONE for unit in units):
        least = min(entry.gang.minimum if entry.gang else 1, entry.admitted.pods())
        return sum(have_of(unit).pods() for unit in units) >= max(1, least)
    return all(reached(unit) for unit in units)
