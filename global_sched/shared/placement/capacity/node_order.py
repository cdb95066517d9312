"""Many nodes in the order in which scattered pods take them, kept in step.

Sorted anew for every pod they would cost more than everything else together.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence

from global_sched.shared.placement.capacity.baseline import SortKey
from global_sched.shared.placement.capacity.node_groups import Rows

Rank = tuple[bool, int, int, int, int, SortKey]
"""(devices lie idle, cost, devices left, how ill the CPU suits, pods, key)."""
RowRoom = tuple[int, SortKey, int, int]
"""(pods per node, key, row, nodes)."""


class NodeOrder:
    """A domain's own rows that take a shape, by rank; `stamp` says what ranks depend on."""

    def __init__(
        self, rows: Rows, domain: int, ranks: Callable[[Sequence[int]], list[Rank | None]]
    ) -> None:
        self._rows = rows
        self._domain = domain
        self._ranks = ranks
        self._order: list[tuple[Rank, int]] = []
        self._rank: dict[int, Rank] = {}
        self._at = 0
        self._stamp: object = None

    def room(self, stamp: object) -> Iterator[RowRoom]:
        """The rows that have nodes now, best first. To be read before anything changes."""
        if stamp != self._stamp:
            self._stamp = stamp
            self._sort()
        else:
            self._follow()
        count = self._rows.count
        for rank, row in self._order:
            yield rank[4], rank[5], row, count[row]

    def _sort(self) -> None:
        self._at = len(self._rows.log)
        present = [row for _, row in self._rows.ordered(self._domain)]
        ranks = self._ranks(present)
        self._rank = {row: rank for row, rank in zip(present, ranks, strict=True) if rank}
        self._order = sorted((rank, row) for row, rank in self._rank.items())

    def _follow(self) -> None:
        """Take out rows without nodes, and put in those that have some now."""
        rows = self._rows
        changes = rows.changes_since(self._at)
        changed = [row for row in changes if rows.domain[row] == self._domain]
        self._at = len(rows.log)
        gone = [row for row in changed if not rows.count[row] and row in self._rank]
        for row in gone:
            entry = (self._rank.pop(row), row)
            del self._order[bisect_left(self._order, entry)]
        new = sorted(row for row in changed if rows.count[row] and row not in self._rank)
        for row, rank in zip(new, self._ranks(new) if new else (), strict=True):
            if rank:
                self._rank[row] = rank
                insort(self._order, (rank, row))
