"""Victims of the claimant's own queue that could take their room back from others: those leave.

A victim that asks again may have a right to what another queue holds too much of, with the claimant
in its place. It stays then, and those leave that would leave for it: all ends the same, and nobody
leaves twice. Who would, is found by the victim's own search in a world in which all is done.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from global_sched.core.make_room.all_rows import Mask
from global_sched.core.make_room.leaving import Unit
from global_sched.core.make_room.search import Found, Search
from global_sched.core.make_room.spots import cost_of
from global_sched.core.make_room.trial_room import asked_by, carry_out, settle
from global_sched.core.offer import Offer
from global_sched.core.place.admission import offer_for
from global_sched.core.statement import Statement
from global_sched.core.waiting import Alike, alike, with_more
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Division, Workload

Provokes = Callable[[Workload, Found, Resources], bool]
"""Whether somebody who waits could take the room from it in turn."""

MOST: Final = 8
"""So many searches are made for victims at most."""


class Exchange:
    """One search whose victims are looked at again."""

    def __init__(self, search: Search, provokes: Provokes, statement: Statement) -> None:
        self._search, self._provokes, self._statement = search, provokes, statement
        self._rights, self._field = search.rights, search.field

    def of(self, found: Found) -> Found:
        """The same victims, or others in place of some."""
        stay, giving = set[Alike](), self._giving(found)
        for _ in range(MOST if giving else 0):
            own = (
                unit
                for unit in found.units
                if _is_own(unit) and alike(unit.holder.workload) not in stay
            )
            unit = next(own, None)
            if unit is None:
                break
            others = self._would_leave_for(unit, found)
            kept = [one for one in found.units if one is not unit]
            better = self._proved([*kept, *others]) if others else None
            if better is None:
                stay.add(alike(unit.holder.workload))
            else:
                found, stay = better, set()
        return found

    def _giving(self, found: Found) -> bool:
        """Whether any queue could give even the least to one of them: a quick look."""
        least: dict[tuple[str, ...], Resources] = {}
        statement, rights = self._statement, self._rights
        own = (unit.holder.workload for unit in found.units if _is_own(unit))
        for asked in (asked_by(one, statement) for one in own):
            known = least.get(asked.names(), asked)
            least[asked.names()] = Resources.of(
                {name: min(value, known.get(name)) for name, value in asked.entries}
            )
        if not least:
            return False
        mark = statement.mark()
        rights.release_all(found.units)
        statement.charge(rights.claimant, found.offer.parts[0].cluster, rights.amount)
        could, taker = statement.ledger.entitlements.could_give, rights.claimant.queue
        gives = any(
            could(queue, taker, asked) for queue in self._field.queues for asked in least.values()
        )
        statement.rollback(mark)
        return gives

    def _would_leave_for(self, unit: Unit, found: Found) -> tuple[Unit, ...]:
        """Who would leave for it when it asks again; nobody: it has room, or none to take."""
        statement, field = self._statement, self._field
        again = _waiting(unit.holder.workload, statement)
        if statement.ledger.gates.refusal(again) is not None:
            return ()
        mark, waiting = statement.mark(), statement.waiting
        self._done(found.units, found.offer)
        too = [one for one in found.units if one is not unit and _is_gang(one)]
        statement.waiting = with_more(
            waiting, [_waiting(one.holder.workload, statement) for one in too]
        )
        search = Search(again, field, self._gone(found.units), statement)
        units: tuple[Unit, ...] = ()
        if not isinstance(search.ask(), Offer):
            others = search.run()
            if isinstance(others, Found) and not self._provokes(
                again, others, search.rights.amount
            ):
                units = others.units
        statement.waiting = waiting
        statement.rollback(mark)
        return units

    def _gone(self, units: Sequence[Unit]) -> Mask:
        gone = self._search.gone.copy()
        gone[[unit.at for unit in units]] = True
        return gone

    def _done(self, units: Sequence[Unit], offer: Offer) -> None:
        carry_out(self._rights.claimant, offer, units, self._field, self._statement)

    def _proved(self, units: list[Unit]) -> Found | None:
        """With these the claimant has its place, all of them are needed, and it lasts."""
        if not self._lasts(units):
            return None
        needed = self._search.needed_of(units, lambda fewer, _: self._lasts(fewer))
        offer = self._search.offer(needed)
        assert offer is not None
        return Found(tuple(needed), offer, cost_of(needed, self._field))

    def _lasts(self, units: Sequence[Unit]) -> bool:
        """Whether it finds room, and nobody takes that back, whoever comes into what is left."""
        statement, rights, offer = self._statement, self._rights, self._search.offer(units)
        if offer is None:
            return False
        mark = statement.mark()
        self._done(units, offer)
        back = list(filter(self._comes_back, sorted(units, key=_size, reverse=True)))
        statement.rollback(mark)
        mark = statement.mark()
        rights.release_all(units)
        lasts = rights.rightful(units) and rights.lawful(units) and rights.lasts(units, back)
        statement.rollback(mark)
        return lasts and not rights.refilled(units, offer, self._field)

    def _comes_back(self, unit: Unit) -> bool:
        """Whether one of its own has room beside the claimant; it takes that."""
        if not _is_own(unit):
            return False
        again = _waiting(unit.holder.workload, self._statement)
        offer = offer_for(again, self._statement)
        if isinstance(offer, Offer):
            settle(again, offer, self._statement)
        return isinstance(offer, Offer)


def _is_gang(unit: Unit) -> bool:
    """Whether all of a gang leaves that others might leave for."""
    demand = unit.holder.workload.demand
    return unit.whole and demand.division == Division.WHOLE and demand.gang is not None


def _is_own(unit: Unit) -> bool:
    """Whether that is one of the claimant's own queue."""
    return not unit.reclaim and _is_gang(unit)


def _size(unit: Unit) -> tuple[tuple[str, int], ...]:
    return unit.amount.entries


def _waiting(victim: Workload, statement: Statement) -> Workload:
    """The victim as it asks again, submitted now."""
    return replace(
        victim, targets=(), decision=None, progress=(), leaving=(), created=statement.now
    )
