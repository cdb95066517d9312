"""Workloads that the Directive names: places are reserved first, then pods start on them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from global_sched.shared.kinds import ONE_BY_ONE
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import growth_of
from global_sched.shared.model.ids import BindingId, DomainId, PodSetName
from member_agent.cache import Directed, PodRecord, Unit
from member_agent.scheduler.gang.bind_plan import plan_of
from member_agent.scheduler.gang.demand import Demand, Lot, allowed_pods
from member_agent.scheduler.gang.minimum import have_of, lacking, reached
from member_agent.scheduler.plan.assignment import Seats, Wish, seat
from member_agent.scheduler.plan.outcome import Reservation, Slot, Where
from member_agent.scheduler.plan.reservations import kept_elsewhere, leaving_pods
from member_agent.scheduler.plan.round_state import Books, Origin
from member_agent.scheduler.plan.subgroup_affinity import near_enough


def keep_reservation(books: Books, entry: Directed) -> None:
    """Hold what was reserved before, as far as it is still needed and still fits.

    Reserved places that no longer make up the minimum are given up as a whole: the gang is
    placed anew, perhaps elsewhere. They were chosen before whoever makes pods leave now from the
    same nodes, and counted by it.
    """
    old = _kept_before(books, entry)
    demand = books.demand(entry)
    if demand is None or old is None or old.hold is not None or old.decision != entry.decision:
        return
    wanted = {lot.name: lot for lot in demand.lots}
    kept: list[Slot] = []
    counts: dict[str, int] = {}
    for slot in _for_arrivals(books, old.slots, demand):
        lot = wanted.get(slot.lot)
        if lot is None or lot.shape != slot.shape or counts.get(slot.lot, 0) >= lot.count:
            continue
        if slot.pod and slot.pod not in {pod.uid for pod in lot.pods}:
            continue
        if books.ground.fits(slot.node, slot.shape):
            books.ground.hold(slot.node, slot.shape)
            counts[slot.lot] = counts.get(slot.lot, 0) + 1
            kept.append(slot)
    reservation = replace(old, slots=tuple(kept))
    if kept and reservation.amounts().covers(demand.least):
        books.reservations[entry.binding] = reservation
        return
    for slot in kept:
        books.ground.release(slot.node, slot.shape)


def _kept_before(books: Books, entry: Directed) -> Reservation | None:
    """Its own places of earlier rounds; or those kept for its growth, once that is admitted."""
    own = books.situation.reservations.get(entry.binding)
    growth = growth_of(entry.binding)
    kept = books.situation.reservations.get(growth)
    ended = kept is not None and growth not in books.cache.entries()
    return kept if ended and (own is None or not own.slots) else own


def _for_arrivals(books: Books, slots: Sequence[Slot], demand: Demand) -> Iterable[Slot]:
    """The places, those of pods that came after others of their subgroup named for them.

    Such pods are lots of their own ("beside their mates"); their places were chosen with the rest
    of the subgroup before anything of it ran, by position.
    """
    arrived = {
        (lot.pod_set, pod.index, lot.shape): (lot, pod)
        for lot in demand.lots
        if lot.mates
        for pod in lot.pods
    }
    coming = {(lot.pod_set, lot.shape): lot.name for lot in demand.lots if not lot.mates}
    beside = {lot.name for lot in demand.lots if lot.mates}
    for slot in slots:
        base = PodSetName(slot.lot.partition("~")[0])
        found = arrived.get((base, slot.position, slot.shape))
        if slot.pod or not beside:
            yield slot
        elif found is not None and _joins(books, slot, found[0]):
            yield slot._replace(lot=found[0].name, pod=found[1].uid)
        elif slot.lot in beside and (base, slot.shape) in coming:
            yield slot._replace(lot=coming[base, slot.shape])
        elif slot.lot not in beside:
            yield slot


def _joins(books: Books, slot: Slot, lot: Lot) -> bool:
    """Whether a place is beside the pods that run, as the lot's constraint asks."""
    mates = (books.cache.node_of(pod) for pod in lot.mates)
    around = books.ground.tree.enclosing([slot.node, *mates])
    return near_enough(lot, around, books.cache.tree().domains)


def held_before(books: Books, entry: Directed) -> Directed | None:
    """What room was held for before it was admitted; None when it was not."""
    old = _kept_before(books, entry)
    return None if old is None else old.hold


def hold_until_its_turn(books: Books, entry: Directed, hold: Directed) -> None:
    """Keep room as if it were only held, from all whose turn comes before its own.

    So did the leader when it admitted those. Then it is placed with everything else there.
    """
    demand, seats = books.asked_by(hold), Seats()
    if demand is not None:
        leaving = [pod for pod in _leaving(books, hold) if not books.leaves_for_others(pod)]
        seats = _room_of(books, hold, demand, leaving, entry.binding)
    books.held_before[entry.binding] = frozenset(slot.node for slot in seats.slots)


def _sides(books: Books, domain: DomainId | None) -> tuple[frozenset[str], frozenset[str]]:
    """The nodes of a domain, and all others."""
    inside = books.ground.tree.nodes_in(frozenset({domain}))
    return inside, books.ground.tree.nodes_in(frozenset({None})) - inside


def hold_room(books: Books, hold: Directed) -> None:
    """Keep places for a workload that is not admitted yet, of those that are free in its domain.

    As many as the nodes on which pods leave for it will not have.
    They are chosen anew in every round, in the order of the decisions; with the admission they
    become its own.
    """
    for unit in books.by_binding.get(hold.binding, ()):
        books.wait(unit, unit.waiting, "it is not admitted yet: room is being made for it")
    _keep_room(books, hold)


def _keep_room(books: Books, hold: Directed) -> None:
    demand = books.demand(hold)
    if demand is None:
        return
    seats = _room_of(books, hold, demand, _leaving(books, hold), hold.binding)
    if seats.slots:
        books.reservations[hold.binding] = replace(_reservation(books, hold, seats), hold=hold)


def _leaving(books: Books, hold: Directed) -> list[PodRecord]:
    return list(leaving_pods(hold, books.cache.entries(), books.by_binding))


def _room_of(
    books: Books, hold: Directed, demand: Demand, leaving: Sequence[PodRecord], binding: BindingId
) -> Seats:
    """Places in its domain for all but what the nodes on which pods leave for it will have."""
    inside, outside = _sides(books, hold.domain)
    wish = Wish(prefer=hold.domain, never=outside | books.barred(hold))
    nodes = inside.intersection(pod.node for pod in leaving)
    amounts = kept_elsewhere(books.cache, demand, leaving, books.free_for(hold, nodes))
    return books.ground.keep(demand, amounts, wish, binding) if amounts.entries else Seats()


def keep_own_places(books: Books, entry: Directed) -> None:
    """Reserve the nodes that its own pods had for those that are made anew.

    Room that others leave for a claim is somebody else's, but what its own pods leave is not.
    Where they do not make up the minimum, it is placed anew. Groups of a partition have their
    places by position, which the plan does not tell.
    """
    demand = books.demand(entry)
    if demand is None or entry.binding in books.reservations:
        return
    lone = [lot for lot in demand.lots if lot.partition is None and not lot.mates]
    wanted = [lot for lot in lone for _ in range(lot.count)]
    inside = books.ground.tree.nodes_in(frozenset({entry.domain}))
    slots: list[Slot] = []
    for unit in books.by_binding.get(entry.binding, ()):
        plan = plan_of(unit)
        uids = [pod.uid for pod in (*unit.placed, *unit.waiting)]
        for uid, node in sorted(plan.nodes.items()) if plan is not None else ():
            if node not in inside or any(one.startswith(uid) for one in uids):
                continue
            lot = next((one for one in wanted if books.ground.fits(node, one.shape)), None)
            if lot is not None:
                wanted.remove(lot)
                books.ground.hold(node, lot.shape)
                slots.append(Slot(lot.name, len(slots), node, lot.shape))
    kept = Reservation(
        decision=entry.decision,
        slots=tuple(slots),
        where=Where.DIRECTED,
        domain=entry.domain,
        tier=entry.tier,
    )
    if slots and kept.amounts().covers(demand.least):
        books.reservations[entry.binding] = kept
        return
    for slot in slots:
        books.ground.release(slot.node, slot.shape)


def place_directed(books: Books, entry: Directed) -> None:
    """Reserve what is still lacking, then start the units that may start."""
    books.ground.give_back(entry.binding)
    units = books.by_binding.get(entry.binding, [])
    if books.has_started(entry) or _all_reached(entry, units):
        books.reached[entry.binding] = entry.decision
    demand = books.demand(entry)
    why = ""
    if demand is not None:
        why = _reserve(books, entry, units, demand)
        if why and not books.has_started(entry):
            books.stranded.append(entry.binding)
    for unit in units:
        _start(books, entry, unit, why)


def _reserve(books: Books, entry: Directed, units: Sequence[Unit], demand: Demand) -> str:
    """Places for what has none yet; why there are none, empty when there are."""
    kept = books.reservations.get(entry.binding)
    missing = demand.amounts().minus(kept.amounts() if kept else Amounts())
    if not missing.pods():
        return ""
    around = [node for unit in units for node in books.around(unit)]
    around += [slot.node for slot in kept.slots] if kept else []
    # Services start pod by pod: where all of a minimum does not fit, some of it does.
    services = bool(units) and all(unit.root_kind in ONE_BY_ONE for unit in units)
    tries = [Amounts() if kept else demand.least]
    if services and tries[0].pods():
        tries.append(Amounts())
    seats: Seats | str = ""
    home = next((place for unit in units if (place := books.home(unit))), None)
    wish = Wish(
        prefer=home or entry.domain,
        nearby=home is not None,
        around=tuple(around),
        avoid=books.avoided(units),
        never=books.barred(entry),
    )
    for least in tries:
        seats = books.ground.place(demand, missing, wish, least=least, binding=entry.binding)
        if isinstance(seats, Seats):
            break
    if isinstance(seats, str):
        return seats
    if kept is not None:
        slots = (*kept.slots, *_renumbered(seats.slots, kept.slots))
        books.reservations[entry.binding] = replace(kept, slots=slots)
    else:
        books.reservations[entry.binding] = _reservation(books, entry, seats)
    return "" if len(seats.slots) >= missing.pods() else seats.short


def _reservation(books: Books, entry: Directed, seats: Seats) -> Reservation:
    there = entry.domain is None or books.ground.tree.lies_in(seats.domain, entry.domain)
    return Reservation(
        decision=entry.decision,
        slots=seats.slots,
        where=Where.DIRECTED if there else Where.ELSEWHERE,
        domain=seats.domain,
        tier=seats.tier,
        note="" if there else f"domain {entry.domain} no longer holds it",
    )


def _start(books: Books, entry: Directed, unit: Unit, why: str) -> None:
    """Put the unit's pods on their places, when they make up its minimum."""
    if unit.problem:
        books.wait(unit, unit.waiting, unit.problem)
        return
    if books.flies(unit):
        return
    if unit.others and not unit.waiting:
        books.say(unit, f"its pods are bound by {' and '.join(unit.others)}, not by the agent")
    reservation = books.reservations.get(entry.binding)
    pins = books.pins.get(unit.key, {})
    allowed = allowed_pods(unit, unit.waiting, books.left(entry), books.begun(unit))
    free = [pod for pod in allowed if pod.uid not in pins]
    seated, used = seat(free, reservation.slots if reservation else ())
    nodes = {**pins, **seated}
    pods = [pod for pod in unit.waiting if pod.uid in nodes]
    least = lacking(unit, pods)
    if isinstance(least, str):
        over = unit.waiting and not allowed
        books.hold_back(unit, _cap_text(entry, unit.waiting) if over else why or least)
        return
    origin = Origin(where=Where.DIRECTED)
    if reservation is not None:
        origin = Origin(
            where=reservation.where,
            domain=reservation.domain,
            tier=reservation.tier,
            note=reservation.note,
        )
    if pods and books.emit(unit, pods, nodes, origin) and reservation is not None:
        slots = tuple(slot for slot in reservation.slots if slot not in used)
        books.reservations[entry.binding] = replace(reservation, slots=slots)
    late = [pod for pod in unit.waiting if pod.uid not in nodes]
    _wait_surplus(books, entry, unit, late, {pod.uid for pod in allowed}, why)


def _wait_surplus(
    books: Books,
    entry: Directed,
    unit: Unit,
    late: Sequence[PodRecord],
    allowed: Collection[str],
    why: str,
) -> None:
    room = [pod for pod in late if pod.uid in allowed]
    over = [pod for pod in late if pod.uid not in allowed]
    books.wait(unit, room, why or "admitted, but there is no room for it now")
    books.wait(unit, over, _cap_text(entry, over))


def _cap_text(entry: Directed, pods: Iterable[PodRecord]) -> str:
    sets = sorted({pod.pod_set for pod in pods})
    parts = [f"{entry.admitted.get(name)} pods of {name}" for name in sets]
    admits = f"the Directive admits {' and '.join(parts)}, which are placed already"
    return f"growth not admitted: {admits}"


def _renumbered(new: Sequence[Slot], kept: Sequence[Slot]) -> list[Slot]:
    """New places after the positions that are taken."""
    after: dict[str, int] = {}
    for slot in kept:
        after[slot.lot] = max(after.get(slot.lot, 0), slot.position + 1)
    return [slot._replace(position=slot.position + after.get(slot.lot, 0)) for slot in new]


def _all_reached(entry: Directed, units: Sequence[Unit]) -> bool:
    """Whether a directed workload's minimum is bound: of every unit, or of a service in all."""
    if not units:
        return False
    if any(unit.root_kind in ONE_BY_ONE for unit in units):
        least = min(entry.gang.minimum if entry.gang else 1, entry.admitted.pods())
        return sum(have_of(unit).pods() for unit in units) >= max(1, least)
    return all(reached(unit) for unit in units)
