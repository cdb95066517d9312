"""Candidates for eviction for a claimant, in the order in which they are asked."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, DomainRows, Mask, minimum_by_shape
from global_sched.core.make_room.leaving import Blocked, EvictionUnit
from global_sched.core.make_room.occupancy import Holder
from global_sched.core.make_room.rights import Rights
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import PodSetName

UnitCost = tuple[bool, bool, tuple[bool, int], int]
"""Whether a gang leaves whole, and one that works; whose it is; its priority."""


class Candidates:
    """The units that may leave: surplus first, then gangs below their minimum, then others.

    In each, reclaim before preemption, and the cheapest first.
    """

    def __init__(self, gang: Gang, may: Mask, rights: Rights, field: AllRows) -> None:
        self._gang, self._may, self._rights, self._field = gang, may, rights, field
        self.most_free = field.without(may)
        """What may become free, as `AllRows.free`."""

    def in_place(self, place: DomainRows) -> Iterator[EvictionUnit]:
        """Those with pods in the domain, on nodes that would hold a pod of the claimant.

        That is without all that may leave.
        """
        field = self._field
        low, high = field.entries_in(place.low, place.high)
        rows = field.entry_row[low:high]
        helps = np.zeros(len(rows), dtype=np.bool_)
        for shape in minimum_by_shape(self._gang):
            helps |= field.caps(shape, self.most_free)[rows] > 0
        found = dict.fromkeys(field.entry_holder[low:high][helps].tolist())
        yield from self._ordered(at for at in found if self._may[at])

    def cost(self, unit: EvictionUnit) -> UnitCost:
        """What counts before the work that is lost, in the order of the list."""
        field, at = self._field, unit.at
        works = unit.whole and not field.broken[at]
        return unit.whole, works, self._rights.order(unit.holder), int(field.priority[at])

    def relieving(self, blocked: Sequence[Blocked], listed: Collection[int]) -> list[EvictionUnit]:
        """Those anywhere else who hold something of what these queues have no more of."""
        field, rights = self._field, self._rights
        return list(
            self._ordered(
                at
                for at in self._may.nonzero()[0].tolist()
                if at not in listed and rights.relieves(field.holders[at], blocked)
            )
        )

    def _ordered(self, holders: Iterable[int]) -> Iterator[EvictionUnit]:
        field, rights = self._field, self._rights
        ranked = sorted(
            holders, key=lambda at: (rights.order(field.holders[at]), int(field.rank[at]))
        )
        for at in ranked if rights.takes_surplus else ():
            if not rights.rests[at]:
                yield from self._surplus(at, field.holders[at])
        ranked.sort(key=lambda at: not field.broken[at])
        for at in ranked:
            if rights.stays_whole[at]:
                continue
            holder = field.holders[at]
            yield EvictionUnit(at, holder, holder.amount, rights.reclaims(holder))

    def _surplus(self, at: int, holder: Holder) -> Iterator[EvictionUnit]:
        gang = holder.workload.demand.gang
        assert gang is not None
        reclaim = self._rights.reclaims(holder)
        for name, rows in holder.surplus:
            requests = next(p.shape.requests for p in gang.pod_sets if p.name == name)
            first = before = 0
            for pods in _chunks(holder, name):
                if first + pods > len(rows):
                    break
                amount = requests.times(pods)
                yield EvictionUnit(at, holder, amount, reclaim, name, first, pods, before)
                first, before = first + pods, first


def _chunks(holder: Holder, name: PodSetName) -> Iterator[int]:
    """How many surplus pods leave together, first ones first: down to the next smaller size."""
    gang, size = holder.workload.demand.gang, holder.grant.amounts.pods()
    assert gang is not None
    partition = next(p.partition for p in gang.pod_sets if p.name == name)
    step = 1 if partition is None else max(1, partition.size)
    while gang.elastic is not None and (less := gang.size_within(size - 1)):
        yield size - less
        size = less
    while gang.elastic is None:
        yield step
