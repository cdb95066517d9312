"""Who was chosen to leave a spot, what that gives, and who of them is not needed after all."""

from collections import Counter
from collections.abc import Iterable

from global_sched.core.make_room.all_rows import AllRows
from global_sched.core.make_room.leaving import Unit, UnitName
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.room_count import RoomCount
from global_sched.core.make_room.spots import Spot
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.pods import PodShape


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
