"""Counts of the pods of each shape that a domain holds while units leave it."""

from collections import Counter
from collections.abc import Iterator

from global_sched.core.make_room.all_rows import AllRows, DomainRows, minimum_by_shape
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.occupancy import Ints
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.pods import PodShape


class RoomCount:
    """Exact for a gang of one shape, else a bound that the proof by placement has to confirm.

    Without a domain there is room, and nothing is counted.
    """

    def __init__(
        self,
        gang: Gang,
        place: DomainRows | None,
        has: dict[PodShape, int],
        most: Ints,
        field: AllRows,
    ) -> None:
        """`has` is how many it holds as it is, `most` what may become free, as `AllRows.free`."""
        self.place, self._most, self._field = place, most, field
        wants = minimum_by_shape(gang) if place is not None else {}
        self._shapes, self.wants = tuple(wants), tuple(wants.values())
        self._requests = [field.request(shape) or () for shape in wants]
        self.has = [has[shape] for shape in wants]
        self._free: dict[int, list[int]] = {}
        """By row what is free on each of its nodes without those that left."""
        self._pods: dict[int, list[int]] = {}
        """And how many pods of each shape that is room for, on all its nodes."""
        self._left: Counter[int] = Counter()
        """How many units left a node of the row."""

    def by_shape(self) -> dict[PodShape, int]:
        """How many pods of each shape fit."""
        return dict(zip(self._shapes, self.has, strict=True))

    def enough(self) -> bool:
        """Whether the gang's minimum fits."""
        return all(has >= pods for has, pods in zip(self.has, self.wants, strict=True))

    def gains(self, unit: EvictionUnit) -> bool:
        """Whether its leaving makes room for a pod more of a shape that lacks room."""
        before = self.has
        self.shift(unit, 1)
        after = self.has
        self.shift(unit, -1)
        lacking = zip(after, before, self.wants, strict=True)
        return any(now > had and had < wants for now, had, wants in lacking)

    def begun(self, unit: EvictionUnit) -> bool:
        """Whether it has pods on a node that others leave, and that may have more room yet."""
        return any(self._left[row] and self._may_grow(row) for row, _ in self.freed(unit))

    def _may_grow(self, row: int) -> bool:
        most = self._room_for(row, self._most[:, row].tolist())
        has = zip(most, self._pods[row], self.has, self.wants, strict=True)
        return any(pods < best and had < wants for best, pods, had, wants in has)

    def shift(self, unit: EvictionUnit, sign: int) -> None:
        """It leaves (1), or it stays after all (-1)."""
        place = self.place
        if place is None:
            return
        for row, freed in self.freed(unit):
            if not place.low <= row < place.high:
                continue
            free = self._free.get(row)
            if free is None:
                free = self._field.free[:, row].tolist()
                self._pods[row] = self._room_for(row, free)
            free = self._free[row] = [a + sign * b for a, b in zip(free, freed, strict=True)]
            pods = self._room_for(row, free)
            changes = zip(self.has, pods, self._pods[row], strict=True)
            self.has = [has + now - before for has, now, before in changes]
            self._pods[row] = pods
            self._left[row] += sign

    def freed(self, unit: EvictionUnit) -> Iterator[tuple[int, list[int]]]:
        """What becomes free on a node of each row where it has pods."""
        field = self._field
        if unit.whole:
            for entry in field.entries_of(unit.at):
                yield int(field.entry_row[entry]), field.freed[:, entry].tolist()
            return
        gang = unit.holder.workload.demand.gang
        assert gang is not None
        shape = next(p.shape for p in gang.pod_sets if p.name == unit.pod_set)
        rows = dict(unit.holder.surplus)[unit.pod_set]  # type: ignore[index]
        column = field.column
        freed = [0] * len(field.axis)
        for name, amount in shape.requests:
            if name in column:
                freed[column[name]] = amount
        first = field.first_row(unit.at)
        for row in rows[unit.first : unit.first + unit.pods]:
            yield first + row, freed

    def _room_for(self, row: int, free: list[int]) -> list[int]:
        """Pods of each shape on all nodes of a row, with so much free on each."""
        field = self._field
        count = int(field.count[row])
        found = []
        for shape, request in zip(self._shapes, self._requests, strict=True):
            most = 1 if shape.anti_affine else 2**20
            caps = [free[column] // amount for column, amount in request]
            found.append(min([most, *caps]) * count if field.takes(shape)[row] else 0)
        return found
