"""The room of one unit, per domain: as counted, or in whole groups only."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.tree.domain_index import TreeIndex

Ints = NDArray[np.int64]


class DomainRoom(Protocol):
    """Pods per domain, and in which numbers they leave it upwards."""

    @property
    def sums(self) -> Ints:
        """Pods per domain."""

    def own(self, domain: int) -> int:
        """Pods on the nodes that hang directly on a domain."""

    def step(self, domain: int) -> int:
        """Only multiples of this are in a domain: 1 nearly everywhere."""


class RankedRoom(DomainRoom, Protocol):
    """A room that can say which of several domains is the tightest."""

    @property
    def device_free(self) -> Ints:
        """Pods per domain on nodes where no other device lies idle."""

    @property
    def slack(self) -> Ints:
        """Free amounts per domain, in parts of a request."""


class FrozenRoom:
    """A room that does not change while a choice is made: its numbers lie side by side."""

    def __init__(self, room: RankedRoom) -> None:
        self._room = room
        self.sums: Ints = np.ascontiguousarray(room.sums)
        self.own = room.own
        self.step = room.step

    @property
    def device_free(self) -> Ints:
        """Pods per domain on nodes where no other device lies idle."""
        return self._room.device_free

    @property
    def slack(self) -> Ints:
        """Free amounts per domain, in parts of a request."""
        return self._room.slack


class WholeGroups:
    """The room of a unit whose groups of `size` each stay under one domain of at most a tier.

    The highest such domains hold whole groups only; above them a domain holds what those under it
    hold, and nodes that hang there directly hold nothing. With an `anchor` only that domain counts.
    """

    def __init__(
        self, index: TreeIndex, room: RankedRoom, *, tier: int, size: int, anchor: int | None = None
    ) -> None:
        self._room = room
        self._size = size
        self._cut = index.cut(tier)
        self._tops = frozenset(self._cut.tops.tolist()) if size > 1 else frozenset[int]()
        self.sums = self._rounded(index, anchor)

    def _rounded(self, index: TreeIndex, anchor: int | None) -> Ints:
        cut = self._cut
        sums: Ints = self._room.sums.copy()
        if anchor is not None:
            sums[~index.under(anchor)] = 0
        sums[cut.high] = 0
        tops = cut.tops
        if anchor is None:
            sums[tops] -= sums[tops] % self._size
            np.add.at(sums, index.parents[tops], sums[tops])
        else:
            for at in index.chain[anchor][1:]:
                sums[at] = sums[anchor]
        for level in cut.levels if anchor is None else ():
            np.add.at(sums, index.parents[level], sums[level])
        return sums

    @property
    def device_free(self) -> Ints:
        """Pods per domain on nodes where no other device lies idle."""
        return self._room.device_free

    @property
    def slack(self) -> Ints:
        """Free amounts per domain, in parts of a request."""
        return self._room.slack

    def own(self, domain: int) -> int:
        """Pods on the nodes that hang directly on a domain."""
        return 0 if self._cut.high[domain] else self._room.own(domain)

    def step(self, domain: int) -> int:
        """The size of a group in the highest domains that one may lie in."""
        return self._size if domain in self._tops else 1


class PooledRoom:
    """The room of several units at once, as if they did not compete: never less than there is."""

    def __init__(self, rooms: list[DomainRoom], wanted: list[int]) -> None:
        parts = [np.minimum(r.sums, pods) for r, pods in zip(rooms, wanted, strict=True)]
        self.sums: Ints = np.sum(parts, axis=0)
        self._rooms = rooms

    def own(self, domain: int) -> int:
        """Pods on the nodes that hang directly on a domain, at most."""
        return sum(room.own(domain) for room in self._rooms)

    def step(self, domain: int) -> int:
        """Any number."""
        del domain
        return 1
