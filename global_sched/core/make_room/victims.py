"""Victims in a domain: enough of the candidates, the cheapest, and none for nothing."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from global_sched.core.make_room.all_rows import AllRows
from global_sched.core.make_room.candidates import Candidates, UnitCost
from global_sched.core.make_room.leaving import EvictionUnit, QueueResources, UnitName
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.room_count import RoomCount
from global_sched.core.make_room.spots import Spot
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.pods import PodShape

MOST_BESIDE: Final = 256
"""So many candidates of equal cost are looked at for one on a node that others leave already;
beyond, the first of them leaves."""


class VictimChoice:
    """Units that leave one spot, chosen one by one and released in the statement.

    Quotas are counted there. Room is counted per pod shape: exact for a gang of one shape, else a
    bound that the proof by placement has to confirm.
    """

    def __init__(
        self, gang: Gang, spot: Spot, candidates: Candidates, rights: Rights, field: AllRows
    ) -> None:
        place = spot.place
        self._cluster, self._rights, self._candidates = spot.cluster, rights, candidates
        has = rights.room_now(gang, place) if place is not None else {}
        self._room = RoomCount(gang, place, has, candidates.most_free, field)
        self._chosen: dict[UnitName, EvictionUnit] = {}
        self._partly: Counter[int] = Counter()
        """Of which gangs how much surplus was chosen."""
        self._listed = list(candidates.in_place(place)) if place is not None else []
        """What may be chosen, the cheapest first."""
        self._from = 0
        self._shifted = False
        self._denied: set[QueueResources] = set()
        self._refused: dict[QueueResources, int] = {}
        """What was passed over since the claimant has no right to it: the first of each kind."""
        self._everywhere = False

    @property
    def units(self) -> list[EvictionUnit]:
        """What was chosen."""
        return list(self._chosen.values())

    @property
    def room(self) -> dict[PodShape, int]:
        """By count, how many pods of each shape fit without those that were chosen."""
        return self._room.by_shape()

    def enough(self) -> bool:
        """Whether room and quota suffice by count."""
        return self._has_room() and self._has_quota()

    def rightful(self) -> bool:
        """Whether they may leave together: none of them could take its room back at once."""
        return self._rights.rightful(self.units)

    @property
    def candidates(self) -> int:
        """How many units there were to choose from."""
        return len(self._listed)

    def resume(self, units: Iterable[EvictionUnit]) -> None:
        """Go on from these, whose amounts are released already."""
        self._chosen = {unit.name: unit for unit in units}
        self._partly = Counter(unit.at for unit in self.units if not unit.whole)
        self._restart()

    # --- choosing -------------------------------------------------------------------------

    def choose(self) -> bool:
        """Whether enough may leave; then `units` are what has to, none of them for nothing."""
        if not self._gather():
            return False
        self.return_unneeded()
        return self.rightful()

    def _gather(self) -> bool:
        """Take the cheapest until there is enough."""
        while not self.enough():
            unit = self._next()
            if unit is None:
                return False
            self._add(unit)
        return True

    def more(self, count: int) -> bool:
        """Add up to so many further units, where the count was not enough; whether there were."""
        before = len(self._chosen)
        while len(self._chosen) < before + count:
            unit = self._next()
            if unit is None:
                break
            self._add(unit)
        return len(self._chosen) > before

    def _next(self) -> EvictionUnit | None:
        """The cheapest unit that may leave now and is not chosen.

        Where it alone makes no room for a pod, one that costs as much goes first on a node that
        others leave already: pods are needed of one node, not parts of many.
        """
        if self._shifted:
            self._look_again()
        while (unit := self._first_permitted()) is None:
            if not self._widen():
                return None
        if self._has_room() or self._room.begun(unit) or self._room.gains(unit):
            return unit
        at, cost = self._from - 1, self._candidates.cost(unit)
        beside = self._beside(at, cost)
        if beside is not None:
            self._from = at  # it comes later
        return beside or unit

    def _beside(self, at: int, cost: UnitCost) -> EvictionUnit | None:
        """The first behind this place of the list that has the cost and lies on a begun node."""
        for unit in self._listed[at + 1 : at + 1 + MOST_BESIDE]:
            if self._candidates.cost(unit) != cost:
                break
            if self._room.begun(unit) and self._is_open(unit) and self._is_permitted(unit):
                return unit
        return None

    def _look_again(self) -> None:
        """Go back to candidates that were passed over and would give something by now.

        Only what changes the claimant's own standing gives it a right to them: else all others have
        less to give than before. They come before dearer ones: one of its own that left where
        another queue owes the room would have the right to it when it asks again.
        """
        self._shifted = False
        again = [kind for kind in self._refused if self._rights.gives_any(kind)]
        self._denied.difference_update(again)
        self._from = min([self._from, *(self._refused.pop(kind) for kind in again)])

    def _first_permitted(self) -> EvictionUnit | None:
        """The first in what is left of the list that may leave now."""
        while self._from < len(self._listed):
            unit = self._listed[self._from]
            self._from += 1
            if not self._is_open(unit):
                continue
            rest = self._is_rest(unit)
            if not rest and unit.kind in self._denied:
                continue
            if self._is_permitted(unit):
                return unit
            self._refused.setdefault(unit.kind, self._from - 1)
            if not rest and not self._rights.gives_any(unit.kind):
                self._denied.add(unit.kind)
        return None

    def _is_open(self, unit: EvictionUnit) -> bool:
        """Whether it has not left yet, and its turn has come."""
        gone = (unit.at, None, 0) in self._chosen or unit.name in self._chosen
        return not gone and self._is_next(unit)

    def _is_rest(self, unit: EvictionUnit) -> bool:
        return unit.whole and self._partly[unit.at] > 0

    def _is_permitted(self, unit: EvictionUnit) -> bool:
        return self._permits_rest(unit) if self._is_rest(unit) else self._rights.permits(unit)

    def _widen(self) -> bool:
        """List those elsewhere, too, that hold the quota that is lacking."""
        listed = {unit.at for unit in self._listed}
        more: list[EvictionUnit] = []
        if self._has_room() and not self._has_quota() and not self._everywhere:
            self._everywhere = True
            more = self._candidates.relieving(self._rights.blocked(self._cluster), listed)
        self._listed += more
        return bool(more)

    def _restart(self) -> None:
        """Look at all of the list again."""
        self._from, self._shifted = 0, False
        self._denied.clear()
        self._refused.clear()

    def _permits_rest(self, unit: EvictionUnit) -> bool:
        """Whether a gang may leave of which surplus was chosen: asked as if that were still there.

        Else it would be counted twice, and its queue would seem to fall below its deserved.
        """
        surplus = [one for one in self.units if one.at == unit.at]
        for one in surplus:
            self._rights.give_back(one)
        permitted = self._rights.permits(unit)
        for one in surplus:
            self._rights.release(one)
        return permitted

    def _is_next(self, unit: EvictionUnit) -> bool:
        """Surplus pods leave in their turns."""
        before = (unit.at, unit.pod_set, unit.before)
        return unit.whole or not unit.first or before in self._chosen

    def _add(self, unit: EvictionUnit) -> None:
        if unit.whole:
            for other in [one for one in self.units if one.at == unit.at]:
                self.drop(other)
        self._put(unit)
        self._shifted |= self._rights.shifts(unit)

    # --- what is not needed ---------------------------------------------------------------

    def return_unneeded(self) -> None:
        """Give back, dearest first, what is not needed; then who gave the right to that."""
        returned = self._return(self.units)
        while returned:
            returned = self._return([one for one in self.units if self._rights.shifts(one)])

    def _dearest_first(self, units: Iterable[EvictionUnit]) -> list[EvictionUnit]:
        order = {unit.name: place for place, unit in enumerate(self._listed)}
        return sorted(units, key=lambda one: -order[one.name])

    def _return(self, units: Iterable[EvictionUnit]) -> bool:
        """Give back those of these that are not needed; whether there were any."""
        before = len(self._chosen)
        for unit in self._dearest_first(units):
            later = (unit.at, unit.pod_set, unit.first + unit.pods)
            if not self._has_room_without(unit) or (not unit.whole and later in self._chosen):
                continue
            right = self.rightful()
            self.drop(unit)
            if not self.enough() or (right and not self.rightful()):
                self._put(unit)
        return len(self._chosen) < before

    def _has_room_without(self, unit: EvictionUnit) -> bool:
        self._room.shift(unit, -1)
        found = self._has_room()
        self._room.shift(unit, 1)
        return found

    # --- counting -------------------------------------------------------------------------

    def _has_room(self) -> bool:
        return self._room.enough()

    def _has_quota(self) -> bool:
        return self._rights.has_quota(self._cluster)

    def _put(self, unit: EvictionUnit) -> None:
        self._chosen[unit.name] = unit
        self._partly[unit.at] += not unit.whole
        self._rights.release(unit)
        self._room.shift(unit, 1)

    def drop(self, unit: EvictionUnit) -> None:
        """It stays after all."""
        del self._chosen[unit.name]
        self._partly[unit.at] -= not unit.whole
        self._rights.give_back(unit)
        self._room.shift(unit, -1)
