"""Which of those that may leave a domain do leave: enough, the cheapest, and none for nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from global_sched.core.make_room.all_rows import AllRows, Mask
from global_sched.core.make_room.candidates import Candidates
from global_sched.core.make_room.leaving import QueueResources, Unit, UnitName
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.room_count import RoomCount
from global_sched.core.make_room.spots import Spot
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.pods import PodShape

MOST_NODES: Final = 64
"""So many nodes of a domain are looked at one by one, those of the cheapest candidates first."""


class Chosen:
    """Units that leave one spot, released in the statement, where quotas are counted.

    Room is counted per pod shape: exact for a gang of one shape, else a bound that the proof by
    placement has to confirm.
    """

    def __init__(self, gang: Gang, spot: Spot, rights: Rights, field: AllRows) -> None:
        place = spot.place
        self.place, self._cluster, self._rights, self._field = place, spot.cluster, rights, field
        has = rights.room_now(gang, place) if place is not None else {}
        self._room = RoomCount(gang, place, has, field)
        self._chosen: dict[UnitName, Unit] = {}
        self._partly: Counter[int] = Counter()
        """Of which gangs how much surplus was chosen."""
        self._listed: list[Unit] = []
        """Who may be chosen, the cheapest first."""

    @property
    def units(self) -> list[Unit]:
        """Who was chosen."""
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

    # --- what is not needed ---------------------------------------------------------------

    def return_unneeded(self) -> None:
        """Give back, dearest first, what is not needed; then who gave the right to that."""
        returned = self._return(self.units)
        for unit in self._dearest_first(one for one in self.units if one.whole):
            if self._take_less(unit):
                returned = self._return(self.units)
        while returned:
            returned = self._return([one for one in self.units if self._rights.shifts(one)])

    def _dearest_first(self, units: Iterable[Unit]) -> list[Unit]:
        order = {unit.name: place for place, unit in enumerate(self._listed)}
        return sorted(units, key=lambda one: -order[one.name])

    def _return(self, units: Iterable[Unit]) -> bool:
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

    def _take_less(self, unit: Unit) -> bool:
        """Take surplus of a gang in place of all of it, where by now that does.

        It was taken whole before dearer ones that make room for more pods than were lacking.
        """
        surplus = [one for one in self._listed if one.at == unit.at and not one.whole]
        if not surplus:
            return False
        right = self.rightful()
        self.drop(unit)
        taken = list[Unit]()
        for one in surplus:
            self._put(one)
            taken.append(one)
            if self.enough():
                break
        if self.enough() and (not right or self.rightful()):
            return True
        self._drop_all(taken)
        self._put(unit)
        return False

    def _has_room_without(self, unit: Unit) -> bool:
        self._room.shift(unit, -1)
        found = self._has_room()
        self._room.shift(unit, 1)
        return found

    # --- counting -------------------------------------------------------------------------

    def _has_room(self) -> bool:
        return self._room.enough()

    def _has_quota(self) -> bool:
        return self._rights.has_quota(self._cluster)

    def _put(self, unit: Unit) -> None:
        self._chosen[unit.name] = unit
        self._partly[unit.at] += not unit.whole
        self._rights.release(unit)
        self._room.shift(unit, 1)

    def drop(self, unit: Unit) -> None:
        """It stays after all."""
        del self._chosen[unit.name]
        self._partly[unit.at] -= not unit.whole
        self._rights.give_back(unit)
        self._room.shift(unit, -1)

    def _drop_all(self, units: Iterable[Unit]) -> None:
        for unit in units:
            self.drop(unit)


class VictimChoice(Chosen):
    """Victims in one spot, while they are chosen."""

    def __init__(self, gang: Gang, spot: Spot, may: Mask, rights: Rights, field: AllRows) -> None:
        super().__init__(gang, spot, rights, field)
        place = spot.place
        self._from = 0
        self._shifted = False
        self._denied: set[QueueResources] = set()
        self._refused: dict[QueueResources, int] = {}
        """Who was passed over since the claimant has no right to it: the first of each kind."""
        self._candidates = Candidates(gang, may, rights, field)
        self._listed = list(self._candidates.in_place(place)) if place is not None else []
        self._here = {unit.at for unit in self._listed}
        self._everywhere = False

    @property
    def candidates(self) -> int:
        """How many units there were to choose from."""
        return len(self._listed)

    def resume(self, units: Iterable[Unit]) -> None:
        """Go on from these, whose amounts are released already."""
        self._chosen = {unit.name: unit for unit in units}
        self._partly = Counter(unit.at for unit in self.units if not unit.whole)
        self._restart()

    # --- choosing -------------------------------------------------------------------------

    def choose(self) -> bool:
        """Whether enough may leave; then `units` are what has to, none of them for nothing."""
        if not self._gather():
            useless = bool(self._chosen) and not self._has_room()
            if not useless or not self._node_by_node():
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

    def _node_by_node(self) -> bool:
        """Choose again, and only those that make room on a node; where fewest have to leave first.

        What a queue has to give may have ended with cheap ones that are of no use.
        """
        nodes = list(islice(self._nodes(), MOST_NODES))
        self._drop_all(unit for unit in self.units if unit.at in self._here)
        found: list[tuple[int, int, list[Unit]]] = []
        for at, units in enumerate(nodes):
            if taken := self._for_one_more(units):
                found.append((len(taken), at, units))
                self._drop_all(taken)
        for _, _, units in sorted(found, key=lambda one: one[:2]):
            while not self._has_room() and self._for_one_more(units):
                pass
        self._restart()
        return self._has_room() and self._gather()

    def _nodes(self) -> Iterator[list[Unit]]:
        """The candidates of each node that might hold a pod without all of them."""
        place, rows = self.place, dict[int, list[tuple[Unit, list[int]]]]()
        assert place is not None
        for unit in self._listed:
            for row, freed in self._room.freed(unit):
                if place.low <= row < place.high:
                    rows.setdefault(row, []).append((unit, freed))
        for row, those in rows.items():
            if self._room.might_hold(row, [freed for _, freed in those]):
                yield list(dict.fromkeys(unit for unit, _ in those))

    def _for_one_more(self, units: Sequence[Unit]) -> list[Unit]:
        """Take those of one node that make room for a pod more; none where they do not."""
        before, taken = self._room.has, list[Unit]()
        for unit in units:
            partly = sum(one.at == unit.at for one in taken)
            gone = unit.name in self._chosen or (unit.at, None, 0) in self._chosen
            if gone or not self._is_next(unit) or (unit.whole and self._partly[unit.at] > partly):
                continue
            permits = self._permits_rest if unit.whole and partly else self._rights.permits
            if not permits(unit):
                continue
            self._add(unit)
            taken = [one for one in [*taken, unit] if one.name in self._chosen]
            lacking = zip(self._room.has, before, self._room.wants, strict=True)
            if any(has > had and had < wants for has, had, wants in lacking):
                return taken
        self._drop_all(taken)
        return []

    def more(self, count: int) -> bool:
        """Add up to so many further units, where the count was not enough; whether there were."""
        before = len(self._chosen)
        while len(self._chosen) < before + count:
            unit = self._next()
            if unit is None:
                break
            self._add(unit)
        return len(self._chosen) > before

    def _next(self) -> Unit | None:
        """The cheapest unit that may leave now and is not chosen."""
        if self._shifted:
            self._look_again()
        while (unit := self._first_permitted()) is None:
            if not self._widen():
                return None
        return unit

    def _look_again(self) -> None:
        """Go back to those who were passed over and would give something by now.

        Only what changes the claimant's own standing gives it a right to them: else all others have
        less to give than before. They come before dearer ones: one of its own that left where
        another queue owes the room would have the right to it when it asks again.
        """
        self._shifted = False
        again = [kind for kind in self._refused if self._rights.gives_any(kind)]
        self._denied.difference_update(again)
        self._from = min([self._from, *(self._refused.pop(kind) for kind in again)])

    def _first_permitted(self) -> Unit | None:
        """The first in what is left of the list that may leave now."""
        while self._from < len(self._listed):
            unit = self._listed[self._from]
            self._from += 1
            gone = (unit.at, None, 0) in self._chosen
            if gone or unit.name in self._chosen or not self._is_next(unit):
                continue
            rest = unit.whole and self._partly[unit.at] > 0
            if not rest and unit.kind in self._denied:
                continue
            if self._permits_rest(unit) if rest else self._rights.permits(unit):
                return unit
            self._refused.setdefault(unit.kind, self._from - 1)
            if not rest and not self._rights.gives_any(unit.kind):
                self._denied.add(unit.kind)
        return None

    def _widen(self) -> bool:
        """List those elsewhere, too, that hold the quota that is lacking."""
        listed = {unit.at for unit in self._listed}
        more: list[Unit] = []
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

    def _permits_rest(self, unit: Unit) -> bool:
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

    def _is_next(self, unit: Unit) -> bool:
        """Surplus pods leave in their turns."""
        before = (unit.at, unit.pod_set, unit.first - unit.pods)
        return unit.whole or not unit.first or before in self._chosen

    def _add(self, unit: Unit) -> None:
        if unit.whole:
            for other in [one for one in self.units if one.at == unit.at]:
                self.drop(other)
        self._put(unit)
        self._shifted |= self._rights.shifts(unit)
