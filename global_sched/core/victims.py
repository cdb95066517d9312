"""Which of those that may leave a domain do leave: enough, the cheapest, and none for nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from global_sched.core.candidates import Candidates
from global_sched.core.field import Field, Mask
from global_sched.core.rights import Rights, Unit, UnitName
from global_sched.core.room_count import RoomCount
from global_sched.core.spots import Spot
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.pods import PodShape

MOST_CHAINS: Final = 4
"""So often others are chosen where a victim could make a third leave in turn."""
MOST_NODES: Final = 64
"""So many nodes of a domain are looked at one by one, those of the cheapest candidates first."""


class Choice:
    """Victims in one spot, while they are chosen.

    Room is counted per pod shape: exact for a gang of one shape, else a bound that the proof by
    placement has to confirm. Quotas are counted in the statement, where units are released.
    """

    def __init__(self, gang: Gang, spot: Spot, may: Mask, rights: Rights, field: Field) -> None:
        place = spot.place
        self.place, self._cluster, self._rights, self._field = place, spot.cluster, rights, field
        has = rights.room_now(gang, place) if place is not None else {}
        self._room = RoomCount(gang, place, has, field)
        self._chosen: dict[UnitName, Unit] = {}
        self._partly: Counter[int] = Counter()
        """Of which gangs how much surplus was chosen."""
        self._from = 0
        self._shifted = False
        self._denied: set[tuple[QueueName, tuple[str, ...]]] = set()
        self._candidates = Candidates(gang, may, rights, field)
        self._listed = list(self._candidates.in_place(place)) if place is not None else []
        self._everywhere = False
        self._tries = 8

    @property
    def units(self) -> list[Unit]:
        """Who was chosen."""
        return list(self._chosen.values())

    @property
    def room(self) -> dict[PodShape, int]:
        """By count, how many pods of each shape fit without those that were chosen."""
        return self._room.by_shape()

    @property
    def candidates(self) -> int:
        """How many units there were to choose from."""
        return len(self._listed)

    def resume(self, units: Iterable[Unit]) -> None:
        """Go on from these, whose amounts are released already."""
        self._chosen = {unit.name: unit for unit in units}
        self._partly = Counter(unit.at for unit in self.units if not unit.whole)
        self._from = 0
        self._denied.clear()

    # --- choosing -------------------------------------------------------------------------

    def choose(self) -> bool:
        """Whether enough may leave; then `units` are what has to, none of them for nothing."""
        if not self._choose():
            return False
        first, listed = self.units, self._listed
        for _ in range(MOST_CHAINS):
            those = [unit for unit in self._listed if unit.name not in self._chosen]
            chain = next((u for u in self.units if self._rights.chains(u, those)), None)
            if chain is None:
                return True
            if not self._choose_without([one for one in self._listed if one.at == chain.at]):
                break
        self._drop_all(self.units)
        self._listed = listed
        for unit in first:
            self._put(unit)
        return True

    def _choose_without(self, units: Iterable[Unit]) -> bool:
        """Choose again, without these."""
        names = {unit.name for unit in units}
        self._listed = [unit for unit in self._listed if unit.name not in names]
        self._from = 0
        self._denied.clear()
        self._drop_all(self.units)
        return self._choose()

    def _choose(self) -> bool:
        if not self._gather():
            useless = bool(self._chosen) and not self._has_room()
            if not useless or not self._node_by_node():
                return False
        self.return_unneeded()
        return self._rights.rightful(self.units) or self._without_smallest()

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
        self._drop_all(self.units)
        found: list[tuple[int, int, list[Unit]]] = []
        for at, units in enumerate(nodes):
            if taken := self._for_one_more(units):
                found.append((len(taken), at, units))
                self._drop_all(taken)
        for _, _, units in sorted(found, key=lambda one: one[:2]):
            while not self._has_room() and self._for_one_more(units):
                pass
        self._from = 0
        self._denied.clear()
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

    def _drop_all(self, units: Iterable[Unit]) -> None:
        for unit in units:
            self.drop(unit)

    def _without_smallest(self) -> bool:
        """Choose again without the smallest victim of reclaim, which could take its room back."""
        taken = [unit for unit in self.units if unit.reclaim]
        if self._tries == 0 or not taken:
            return False
        self._tries -= 1
        smallest = min(taken, key=lambda unit: (unit.amount.entries, unit.at, unit.first))
        return self._choose_without([smallest])

    def more(self, count: int) -> bool:
        """Add up to so many further units, where the count was not enough; whether there were."""
        before = len(self._chosen)
        while len(self._chosen) < before + count:
            unit = self._next()
            if unit is None:
                break
            self._add(unit)
        return len(self._chosen) > before

    def enough(self) -> bool:
        """Whether room and quota suffice by count."""
        return self._has_room() and self._has_quota()

    def _next(self) -> Unit | None:
        """The cheapest unit that may leave now and is not chosen.

        What was passed over is looked at again at the end, if the claimant's own standing changed
        meanwhile: else all others have less to give than before.
        """
        while self._from < len(self._listed):
            unit = self._listed[self._from]
            self._from += 1
            gone = (unit.at, None, 0) in self._chosen
            if gone or unit.name in self._chosen or not self._is_next(unit):
                continue
            if unit.whole and self._partly[unit.at]:
                if self._permits_rest(unit):
                    return unit
                continue
            queue, names = unit.holder.workload.queue, unit.amount.names()
            if (queue, names) in self._denied:
                continue
            if self._rights.permits(unit):
                return unit
            if not self._rights.gives_any(queue, names):
                self._denied.add((queue, names))
        if self._shifted:
            self._shifted, self._from = False, 0
            self._denied.clear()
            return self._next()
        if self._everywhere or not self._has_room() or self._has_quota():
            return None
        self._everywhere = True
        self._listed += self._candidates.relieving(
            self._rights.blocked(self._cluster), {unit.at for unit in self._listed}
        )
        return self._next()

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

    def return_unneeded(self) -> None:
        """Give back, dearest first, what is not needed."""
        order = {unit.name: place for place, unit in enumerate(self._listed)}
        for unit in sorted(self.units, key=lambda one: -order[one.name]):
            self._room.shift(unit, -1)
            room = self._has_room()
            self._room.shift(unit, 1)
            later = (unit.at, unit.pod_set, unit.first + unit.pods)
            if not room or (not unit.whole and later in self._chosen):
                continue
            right = self._rights.rightful(self.units)
            self.drop(unit)
            if not self.enough() or (right and not self._rights.rightful(self.units)):
                self._put(unit)

    # --- counting -------------------------------------------------------------------------

    def _has_room(self) -> bool:
        return self._room.enough()

    def _has_quota(self) -> bool:
        return self._rights.has_quota(self._cluster)

    def _add(self, unit: Unit) -> None:
        if unit.whole:
            for other in [one for one in self.units if one.at == unit.at]:
                self.drop(other)
        self._put(unit)
        self._shifted |= self._rights.shifts(unit)

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
