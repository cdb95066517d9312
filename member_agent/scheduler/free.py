"""Units that did not come through Karmada: placed freely, by priority and age."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from global_sched.shared.placement import SpecError
from member_agent.cache import PodRecord, Unit, count_pods, owner_of
from member_agent.scheduler.books import Books, Origin, seat
from member_agent.scheduler.demand import (
    Demand,
    lacking,
    lots_of,
    spread_over_lots,
    unit_constraint,
)
from member_agent.scheduler.ground import Seats, Wish
from member_agent.scheduler.subgroups import cut, oversized

_TRIES: Final = 8
"""So many sizes are tried of a subgroup that no domain holds whole."""


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
    seats = _seats(books, unit, rest)
    if isinstance(seats, str):
        books.hold_back(unit, seats)
        return
    seated, _ = seat(rest, seats.slots)
    nodes = {**pins, **seated}
    pods = [pod for pod in unit.waiting if pod.uid in nodes]
    if pods:
        books.emit(unit, pods, nodes, Origin(domain=seats.domain, tier=seats.tier))
    if unit.key not in books.situation.paused:
        late = [pod for pod in unit.waiting if pod.uid not in nodes]
        books.wait(unit, late, seats.short)


def _seats(books: Books, unit: Unit, rest: Sequence[PodRecord]) -> Seats | str:
    """Places for these pods: all of each subgroup, else as many of one as a domain holds."""
    first = _placed(books, unit, rest)
    if not isinstance(first, str):
        return first
    most = max(oversized(unit, rest).values(), default=0)
    step = max(1, most // _TRIES)
    for fewer in range(most - step, 0, -step):
        part = cut(unit, rest, fewer)
        seats = _placed(books, unit, part)
        if not isinstance(seats, str):
            return replace(seats, short=seats.short or "no domain holds more of its subgroup now")
    return first


def _placed(books: Books, unit: Unit, rest: Sequence[PodRecord]) -> Seats | str:
    pinned = [pod for pod in unit.waiting if pod.uid in books.pins.get(unit.key, {})]
    try:
        demand = _demand(unit, rest, pinned)
    except SpecError as error:
        return str(error)
    if isinstance(demand, str):
        return demand
    if not rest or unit.key in books.situation.paused:
        return Seats()
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


def _demand(unit: Unit, rest: Sequence[PodRecord], pinned: Sequence[PodRecord]) -> Demand | str:
    """What the unit asks for beside the pods whose node is known; or why it cannot start.

    Raises:  SpecError for a constraint that cannot be read.
    """
    least = lacking(unit, [*pinned, *rest])
    if isinstance(least, str):
        return least
    lots = tuple(lots_of(unit, rest))
    least = least.minus(count_pods(pinned))
    return Demand(lots=lots, least=spread_over_lots(least, lots), constraint=unit_constraint(unit))
