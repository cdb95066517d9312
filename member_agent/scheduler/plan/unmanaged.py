"""Units that did not come through Karmada: placed freely, by priority and age."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from global_sched.shared.placement import SpecError
from member_agent.cache import PodRecord, Unit, owner_of
from member_agent.scheduler.gang.demand import (
    Demand,
    Lot,
    least_of,
    lots_of,
    unit_constraint,
)
from member_agent.scheduler.gang.minimum import by_kind, choices, in_whole_groups, reached
from member_agent.scheduler.gang.subgroups import constraint_of_policy, cut, oversized, policy_of
from member_agent.scheduler.plan.assignment import Seats, Wish, seat
from member_agent.scheduler.plan.round_state import Books, Origin

_TRIES: Final = 8
"""So many sizes are tried of a subgroup that no domain holds whole."""
_NO_MORE: Final = "no domain holds more of its subgroup now"

_Found = tuple[Seats, Sequence[PodRecord]]
"""Places, and the pods that they were found for: no other pod of their shape may take them."""


def free_order(units: Iterable[Unit]) -> list[Unit]:
    """Free units with pods to place: highest pod priority first, then the oldest."""
    waiting = [unit for unit in units if unit.binding is None and unit.waiting]
    return sorted(
        waiting,
        key=lambda unit: (-max(pod.priority for pod in unit.waiting), unit.created, unit.key),
    )


def place_free(books: Books, unit: Unit) -> None:
    """Place what fits of a unit: at least its minimum, or nothing."""
    if unit.problem:
        books.wait(unit, unit.waiting, unit.problem)
        return
    if books.flies(unit):
        return
    pins = books.pins.get(unit.key, {})
    rest = [pod for pod in unit.waiting if pod.uid not in pins]
    found = _seats(books, unit, rest)
    if isinstance(found, str):
        books.hold_back(unit, found)
        return
    seats, asked = found
    seated, _ = seat(asked, seats.slots)
    nodes = {**pins, **seated}
    pods = [pod for pod in unit.waiting if pod.uid in nodes]
    if pods:
        books.emit(unit, pods, nodes, Origin(domain=seats.domain, tier=seats.tier))
    if unit.key not in books.situation.paused:
        late = [pod for pod in unit.waiting if pod.uid not in nodes]
        books.wait(unit, late, seats.short)


def _seats(books: Books, unit: Unit, rest: Sequence[PodRecord]) -> _Found | str:
    """Places for these pods: all of each subgroup, else as many of one as a domain holds."""
    first = _placed(books, unit, rest)
    if not isinstance(first, str) or _binds_nobody(books, unit, rest):
        return first
    most = max(oversized(unit, rest).values(), default=0)
    step = max(1, most // _TRIES)
    for fewer in range(most - step, 0, -step):
        part = cut(unit, rest, fewer)
        found = _placed(books, unit, part)
        if not isinstance(found, str):
            return _with_more(found)
    if most:
        # By kind of pod, then the minimum alone: the others join those that run in a later round.
        parts = [(part, False) for part in by_kind(unit, rest)]
        parts += [] if reached(unit) else [(list(rest), True)]
        for part, alone in parts:
            if not books.ground.may_retry():
                break
            found = _placed(books, unit, part, alone=alone)
            if not isinstance(found, str) and found[0].slots:
                return _with_more(found)
    return first


def _binds_nobody(books: Books, unit: Unit, rest: Iterable[PodRecord]) -> bool:
    """Whether a subgroup of these pods has a constraint that nothing here can keep."""
    try:
        wanted = {
            constraint_of_policy(policy)
            for pod in rest
            if (policy := policy_of(unit.subgroups, pod)) is not None
        }
    except SpecError:
        return True
    return any(books.ground.knows_no_tier_of(constraint) for constraint in wanted)


def _with_more(found: _Found) -> _Found:
    seats, asked = found
    return replace(seats, short=seats.short or _NO_MORE), asked


def _placed(
    books: Books, unit: Unit, rest: Sequence[PodRecord], *, alone: bool = False
) -> _Found | str:
    """Places for these pods, with the first way to make up the minimum that fits.

    `alone`: for the pods of the minimum only.
    """
    pinned = [pod for pod in unit.waiting if pod.uid in books.pins.get(unit.key, {})]
    why = ""
    try:
        lots = tuple(lots_of(unit, rest))
        constraint = unit_constraint(unit)
        for number, chosen in enumerate(choices(unit, [*pinned, *rest])):
            if isinstance(chosen, str):
                return why or chosen
            if not rest or unit.key in books.situation.paused:
                return Seats(), ()
            if number and not books.ground.may_retry():
                break
            asked = in_whole_groups(unit, rest, chosen) if alone else rest
            if alone:
                lots = tuple(lots_of(unit, asked))
            demand = Demand(lots=lots, least=least_of(chosen, lots), constraint=constraint)
            seats = _asked(books, unit, demand)
            if isinstance(seats, Seats):
                return seats, _seated_by(seats, lots, asked)
            why = why or seats
    except SpecError as error:
        return str(error)
    return why


def _seated_by(
    seats: Seats, lots: Iterable[Lot], asked: Iterable[PodRecord]
) -> Sequence[PodRecord]:
    """Without those whose places name their pods, and who have none.

    A pod of a subgroup would take the place of one that is in none, wherever that is.
    """
    named = {slot.pod for slot in seats.slots}
    none = {p.uid for lot in lots if lot.by_name for p in lot.pods if p.uid not in named}
    return [pod for pod in asked if pod.uid not in none]


def _asked(books: Books, unit: Unit, demand: Demand) -> Seats | str:
    home = books.home(unit)
    wish = Wish(
        prefer=home,
        nearby=home is not None,
        around=tuple(books.around(unit)),
        avoid=books.avoided([unit]),
        never=books.barred(None),
    )
    return books.ground.place(
        demand, demand.amounts(), wish, least=demand.least, binding=owner_of(unit)
    )
