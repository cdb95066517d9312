"""The whole federation for searches: every cluster's rows and holders side by side.

A bound is counted over it in a few passes: which domains would hold a gang if all that may leave
left. Room that this cycle gave away since is not subtracted, so it is a bound and no proof.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from global_sched.core.make_room.occupancy import FACTS, Holder, Ints, Occupancy, occupancy_of
from global_sched.shared.model.gang import Gang, TopologyConstraint
from global_sched.shared.model.ids import ClusterName, DomainId, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Running, Snapshot
from global_sched.shared.placement import is_device, node_class_admits

Mask = NDArray[np.bool_]
_MOST_PODS = 2**20
_WHOLE = 2**24
_PARTS = 1024
"""A pod's request is so many parts where the room of one victim is weighed."""
_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class DomainRows:
    """A domain that may hold a gang: rows from `low` to `high` of the field."""

    occupancy: Occupancy
    position: int
    """The domain's in the cluster's tree."""
    low: int
    high: int

    @property
    def domain(self) -> DomainId | None:
        """Its name; None for the whole cluster."""
        index = self.occupancy.index
        return None if self.position == index.root else index.domains[self.position].name


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Domains as ranges of rows, and their entries, cheapest first in each."""

    low: Ints
    high: Ints
    cluster: Ints
    position: list[int]
    entries: Ints
    first: Ints
    last: Ints
    """By domain: where its entries begin in `entries`, and where they end."""


class AllRows:
    """All clusters with a report, by name. Rows, holders and entries are numbered through.

    Amounts are by column (a resource) and then by row or entry.
    """

    def __init__(self, snapshot: Snapshot, now: Instant) -> None:
        running = {one.cluster: one for one in snapshot.running}
        empty = ((c, Running(cluster=c.name, workloads=())) for c in snapshot.clusters)
        found = (occupancy_of(c, running.get(c.name, none)) for c, none in empty)
        self.parts = sorted((o for o in found if o is not None), key=lambda o: o.cluster)
        self.axis = tuple(sorted({name for part in self.parts for name in part.axis}))
        self.column = {name: at for at, name in enumerate(self.axis)}
        self._entry_at = _starts(len(part.entry_row) for part in self.parts)
        self.row_at = _starts(len(part.leaves) for part in self.parts)
        self.holder_at = _starts(len(part.holders) for part in self.parts)
        self.holders: list[Holder] = [one for part in self.parts for one in part.holders]
        self._at_key = {one.workload.key: at for at, one in enumerate(self.holders)}
        self._several: dict[WorkloadKey, list[int]] = {}
        if len(self._at_key) < len(self.holders):
            for at, one in enumerate(self.holders):
                self._several.setdefault(one.workload.key, []).append(at)
        self.free = self._wide([(part.free, part.axis) for part in self.parts])
        self.freed = self._wide([(part.freed, part.axis) for part in self.parts])
        self.count = _joined(part.count for part in self.parts)
        rows = zip(self.parts, self.row_at, strict=False)
        self.entry_row = _joined(part.entry_row + at for part, at in rows)
        starts = zip(self.parts, self.holder_at, strict=False)
        self.entry_holder = _joined(part.entry_holder + at for part, at in starts)
        kind_at = _starts(len(part.kinds) for part in self.parts)
        kinds = zip(self.parts, kind_at, strict=False)
        self._kind = _joined(part.kind + at for part, at in kinds)
        self._rows_with, self._first = np.unique(self.entry_row, return_index=True)
        self._rank(snapshot, now)
        self._ranges: dict[TopologyConstraint | None, _Ranges] = {}
        self._takes: dict[PodShape, Mask] = {}
        self._caps: dict[PodShape, Ints] = {}
        self._gains: dict[PodShape, Ints] = {}
        self._ended: Ints | None = None

    def _rank(self, snapshot: Snapshot, now: Instant) -> None:
        """What leaving costs: `rank` is cheapest first; of equal ones the last to start.

        Before them one of which no surplus might leave alone.
        """
        facts = np.concatenate([np.zeros((0, FACTS), np.int64), *(p.facts for p in self.parts)])
        self.priority, began, order, since, leaves, ends, *protected = facts.T
        self.claimed, self.evictions, self.began, broken, self.resized, self.cooldown = protected
        self.broken: Mask = broken.astype(np.bool_)
        """Gangs that fell below their minimum: they do no work."""
        self.may_leave: Mask = leaves.astype(np.bool_)
        self.ends: Mask = ends.astype(np.bool_)
        """Gangs end; what is divided or duplicated over clusters runs until it is stopped."""
        totals = Resources.total(
            cluster.capacity.total for cluster in snapshot.clusters if cluster.capacity is not None
        )
        amounts = self._wide([(part.amounts, part.axis) for part in self.parts])
        size = np.zeros(len(self.holders), dtype=np.int64)
        for name, total in totals:
            if name in self.column:
                scaled = np.minimum(amounts[self.column[name]], 2**38) * _WHOLE
                np.maximum(size, scaled // min(total, _FAR), out=size)
        self.size: Ints = np.minimum(size, _WHOLE) + 1
        """The dominant part of the federation that it has."""
        worked = (np.maximum(0, now - since) // SECOND) * ~self.broken
        self.lost: Ints = self.size * worked
        """Seconds since the start or the last checkpoint, times the part of the federation."""
        devices = [amounts[at] for name, at in self.column.items() if is_device(name)]
        most = np.maximum.reduce([np.zeros_like(worked), *devices])
        self.device_seconds: Ints = np.minimum(most, _WHOLE) * worked
        """The same times its devices, of those it has most of."""
        surplus = [bool(one.surplus) for one in self.holders]
        self.has_surplus: Mask = np.array(surplus, dtype=np.bool_)
        keys = (-order, -began, self.has_surplus, self.size, self.lost, self.priority, ~self.broken)
        ranked = np.lexsort(keys)
        self.rank = np.empty(len(self.holders), dtype=np.int64)
        self.rank[ranked] = np.arange(len(self.holders))
        names = [name for part in self.parts for name in part.queues]
        self.queues = sorted(set(names))
        at_queue = {name: at for at, name in enumerate(self.queues)}
        self.queue = np.array([at_queue[name] for name in names], dtype=np.int64)

    def _wide(self, parts: list[tuple[Ints, tuple[str, ...]]]) -> Ints:
        """Amounts of all clusters on one axis, column by column."""
        wide = np.zeros((len(self.axis), sum(len(amounts) for amounts, _ in parts)), np.int64)
        first = 0
        for amounts, axis in parts:
            for at, name in enumerate(axis):
                wide[self.column[name], first : first + len(amounts)] = amounts[:, at]
            first += len(amounts)
        return wide

    # --- looking up -----------------------------------------------------------------------

    def holders_of(self, key: WorkloadKey) -> Sequence[int]:
        """The holders of a workload, one for each cluster where it has pods."""
        at = self._at_key.get(key)
        return () if at is None else self._several.get(key, (at,))

    def entries_in(self, low: int, high: int) -> tuple[int, int]:
        """The stretch of entries on these rows."""
        first, last = np.searchsorted(self.entry_row, (low, high))
        return int(first), int(last)

    def entries_of(self, holder: int) -> Iterable[int]:
        """The entries of one holder."""
        at = self._part_of(holder)
        first = self._entry_at[at]
        return (first + one for one in self.parts[at].entries_of[holder - self.holder_at[at]])

    def in_cluster(self, cluster: ClusterName) -> Mask:
        """The holders in one cluster."""
        there = np.array([part.cluster == cluster for part in self.parts], dtype=np.bool_)
        return np.repeat(there, np.diff(self.holder_at))

    def first_row(self, holder: int) -> int:
        """Where the rows of the holder's cluster begin."""
        return self.row_at[self._part_of(holder)]

    def _part_of(self, holder: int) -> int:
        return bisect_right(self.holder_at, holder) - 1

    # --- counting -------------------------------------------------------------------------

    def request(self, shape: PodShape) -> tuple[tuple[int, int], ...] | None:
        """The shape's request by column; None when no cluster has one of the resources."""
        if any(name not in self.column for name, _ in shape.requests):
            return None
        return tuple((self.column[name], amount) for name, amount in shape.requests if amount)

    def caps(self, shape: PodShape, free: Ints | None = None) -> Ints:
        """How many pods of a shape each row's nodes hold in all, with so much free on each."""
        if free is None:
            found = self._caps.get(shape)
            if found is None:
                found = self._caps[shape] = self.caps(shape, self.free)
            return found
        request = self.request(shape)
        if request is None:
            return np.zeros(len(self.count), dtype=np.int64)
        caps = np.full(len(self.count), shape.most_per_node() or _MOST_PODS, dtype=np.int64)
        for column, amount in request:
            np.minimum(caps, free[column] // amount, out=caps)
        caps *= self.takes(shape)
        caps *= self.count
        return caps

    def takes(self, shape: PodShape) -> Mask:
        """The rows whose nodes take pods of the shape at all."""
        found = self._takes.get(shape)
        if found is None:
            kinds = [node_class_admits(kind, shape) for part in self.parts for kind in part.kinds]
            found = self._takes[shape] = np.array(kinds, dtype=np.bool_)[self._kind]
        return found

    def without(self, may: Mask) -> Ints:
        """What would be free on each row's nodes if these holders left."""
        free = self.free.copy()
        if len(self._first):
            leaving = may[self.entry_holder]
            for column in range(len(self.axis)):
                gone = np.add.reduceat(self.freed[column] * leaving, self._first)
                free[column][self._rows_with] += gone
        return free

    def _gain(self, shape: PodShape) -> Ints:
        """By entry about how many pods, in parts, its leaving makes room for."""
        found = self._gains.get(shape)
        if found is None:
            found = np.full(len(self.entry_row), _MOST_PODS * _PARTS, dtype=np.int64)
            for column, amount in self.request(shape) or ():
                np.minimum(found, self.freed[column] * _PARTS // amount, out=found)
            found *= self.count[self.entry_row]
            self._gains[shape] = found
        return found

    def _ranges_of(self, constraint: TopologyConstraint | None) -> _Ranges:
        found = self._ranges.get(constraint)
        if found is None:
            tops = [part.tops(constraint) for part in self.parts]
            low = _joined(top.low + at for top, at in zip(tops, self.row_at, strict=False))
            high = _joined(top.high + at for top, at in zip(tops, self.row_at, strict=False))
            cluster = _joined(np.full(len(top.low), at, np.int64) for at, top in enumerate(tops))
            top_of = np.full(len(self.count) + 1, len(low), dtype=np.int64)
            for at, (start, end) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
                top_of[start:end] = at
            of_entry = top_of[self.entry_row]
            entries = np.lexsort((self.rank[self.entry_holder], of_entry))
            sorted_tops, places = of_entry[entries], np.arange(len(low))
            found = self._ranges[constraint] = _Ranges(
                low,
                high,
                cluster,
                [position for top in tops for position in top.position],
                entries,
                np.searchsorted(sorted_tops, places),
                np.searchsorted(sorted_tops, places, side="right"),
            )
        return found

    # --- domains --------------------------------------------------------------------------

    def places(
        self, gang: Gang, may: Mask, allowed: Mask, most: int
    ) -> tuple[list[DomainRows], int]:
        """Up to `most` domains that would hold the gang, cheapest by estimate; and how many do.

        `may` are the holders that may leave, `allowed` the clusters by their place in the field.
        """
        ranges = self._ranges_of(gang.constraint)
        if not len(ranges.low):
            return [], 0
        full = self.without(may)
        fits = allowed[ranges.cluster]
        shape, need = None, np.zeros(len(ranges.low), dtype=np.int64)
        for wanted, pods in minimum_by_shape(gang).items():
            fits &= _sums(self.caps(wanted, full), ranges) >= pods
            lacks = pods - _sums(self.caps(wanted), ranges)
            if shape is None or lacks.sum() > need.sum():
                shape, need = wanted, lacks
        found = np.flatnonzero(fits)
        if not len(found) or shape is None:
            return [], 0
        priority, lost = self._estimate(shape, need, may, ranges)
        best = found[np.lexsort((found, lost[found], priority[found]))][:most]
        return [self._place(int(at), ranges) for at in best.tolist()], len(found)

    def drained(self, gang: Gang, allowed: Mask, most: int) -> list[DomainRows]:
        """Up to `most` domains that hold the gang when all gangs there have ended, fullest last."""
        ranges = self._ranges_of(gang.constraint)
        if not len(ranges.low):
            return []
        full = self._ended = self.without(self.ends) if self._ended is None else self._ended
        fits = allowed[ranges.cluster]
        lacks = np.zeros(len(ranges.low), dtype=np.int64)
        for shape, pods in minimum_by_shape(gang).items():
            fits &= _sums(self.caps(shape, full), ranges) >= pods
            lacks += np.maximum(0, pods - _sums(self.caps(shape), ranges))
        found = np.flatnonzero(fits)
        best = found[np.lexsort((found, lacks[found]))][:most]
        return [self._place(int(at), ranges) for at in best.tolist()]

    def _place(self, at: int, ranges: _Ranges) -> DomainRows:
        return DomainRows(
            self.parts[int(ranges.cluster[at])],
            ranges.position[at],
            int(ranges.low[at]),
            int(ranges.high[at]),
        )

    def _estimate(
        self, shape: PodShape, need: Ints, may: Mask, ranges: _Ranges
    ) -> tuple[Ints, Ints]:
        """By domain about the highest priority and the work that would be lost there."""
        priority = np.full(len(ranges.low), _FAR, dtype=np.int64)
        lost = np.full(len(ranges.low), _FAR, dtype=np.int64)
        if not len(ranges.entries):
            return priority, lost
        holder = self.entry_holder[ranges.entries]
        leaves = may[holder]
        total = _summed(self._gain(shape)[ranges.entries] * leaves)
        wanted = total[ranges.first] + np.maximum(need, 1) * _PARTS
        reached = np.searchsorted(total, wanted)
        has = reached <= ranges.last
        at = np.minimum(reached, len(holder))
        work = _summed(self.lost[holder] * leaves)
        priority[has] = self.priority[holder[np.maximum(at[has] - 1, 0)]]
        lost[has] = (work[at] - work[ranges.first])[has]
        return priority, lost


def minimum_by_shape(gang: Gang) -> dict[PodShape, int]:
    """How many pods of each shape the minimum has."""
    minimum = gang.minimum_amounts()
    found: dict[PodShape, int] = {}
    for pod_set in gang.pod_sets:
        pods = minimum.get(pod_set.name)
        if pods:
            found[pod_set.shape] = found.get(pod_set.shape, 0) + pods
    return found


def _starts(sizes: Iterable[int]) -> list[int]:
    found = [0]
    for size in sizes:
        found.append(found[-1] + size)
    return found


def _joined(parts: Iterable[Ints]) -> Ints:
    listed = [part for part in parts if len(part)]
    return np.concatenate(listed) if listed else np.zeros(0, dtype=np.int64)


def _summed(values: Ints) -> Ints:
    """Running sums, beginning with 0."""
    found = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=found[1:])
    return found


def _sums(pods: Ints, ranges: _Ranges) -> Ints:
    total = _summed(pods)
    found: Ints = total[ranges.high] - total[ranges.low]
    return found
