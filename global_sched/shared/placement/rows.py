"""Rows of alike nodes while room is taken and given back, with a trail to undo it."""

from bisect import bisect_left, insort
from collections.abc import Sequence

from global_sched.shared.model.errors import InvariantError
from global_sched.shared.placement.ground import Ground, SortKey

Request = tuple[tuple[int, int], ...]
"""What a pod asks for: (position on the axis, amount)."""


class Rows:
    """How many nodes are in each row. Rows are only added, so a row number stays valid.

    A *mark* says, during one placement, that a node has one more pod of a pod set with a limit per
    node; the row without marks is its `base`.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.index = ground.index
        self.domain = list(ground.domain)
        self.kind = list(ground.kind)
        self.free = list(ground.free)
        self.tenant = list(ground.tenant)
        self.marks: list[tuple[str, ...]] = [()] * len(self.domain)
        self.base = list(range(len(self.domain)))
        self.count = list(ground.count)
        self.log: list[tuple[int, int]] = []
        """(row, change of its count), for tables to follow."""
        self.skips: dict[int, int] = {}
        """Stretches of the log that cancel out: first entry to the one after the last."""
        self._ordered = list(ground.ordered)
        self._owned: set[int] = set()
        self._by_key: dict[int, dict[SortKey, int]] = {}
        """Per domain, once it is needed: the row of each key."""
        self._steps: dict[tuple[int, Request, int, tuple[str, ...]], int] = {}
        self._trail: list[tuple[int, int, int]] = []

    def key(self, row: int) -> SortKey:
        """What orders the row in its domain."""
        return self.free[row], self.tenant[row], self.kind[row], self.marks[row]

    def ordered(self, domain: int) -> Sequence[tuple[SortKey, int]]:
        """The rows that a domain holds itself and that have nodes, ascending."""
        return self._ordered[domain]

    def after(self, row: int, request: Request, pods: int, added: tuple[str, ...] = ()) -> int:
        """The row of a node of `row` once `pods` more (or, negative, fewer) pods are on it."""
        known = self._steps.get((row, request, pods, added))
        if known is not None:
            return known
        free = list(self.free[row])
        for position, amount in request:
            free[position] -= amount * pods
            if free[position] < 0:
                raise InvariantError(f"row {row} would have {free[position]} of axis {position}")
        marks = self.marks[row]
        if added:
            marks = tuple(sorted((*marks, *added)))
        result = self._row(row, tuple(free), marks)
        self._steps[(row, request, pods, added)] = result
        return result

    def _row(self, like: int, free: tuple[int, ...], marks: tuple[str, ...]) -> int:
        domain = self.domain[like]
        known = self._by_key.get(domain)
        if known is None:
            known = self._by_key[domain] = dict(self.ground.ordered[domain])
        key = (free, self.tenant[like], self.kind[like], marks)
        row = known.get(key)
        if row is not None:
            return row
        base = self._row(like, free, ()) if marks else -1
        row = known[key] = len(self.domain)
        self.domain.append(domain)
        self.kind.append(self.kind[like])
        self.free.append(free)
        self.tenant.append(self.tenant[like])
        self.marks.append(marks)
        self.base.append(base if marks else row)
        self.count.append(0)
        return row

    def move(self, source: int, target: int, nodes: int) -> None:
        """Move nodes from one row to another, on the trail."""
        self._shift(source, target, nodes)
        self._trail.append((source, target, nodes))

    def here(self) -> int:
        """A point on the trail."""
        return len(self._trail)

    def back_to(self, point: int) -> None:
        """Undo every move since."""
        while len(self._trail) > point:
            source, target, nodes = self._trail.pop()
            self._shift(target, source, nodes)

    def _shift(self, source: int, target: int, nodes: int) -> None:
        if source == target or nodes == 0:
            return
        left = self.count[source] - nodes
        if left < 0:
            raise InvariantError(f"row {source} has {self.count[source]} nodes, not {nodes}")
        self.count[source] = left
        if left == 0:
            own = self._own(self.domain[source])
            del own[bisect_left(own, (self.key(source), source))]
        if self.count[target] == 0:
            insort(self._own(self.domain[target]), (self.key(target), target))
        self.count[target] += nodes
        self.log.append((source, -nodes))
        self.log.append((target, nodes))

    def _own(self, domain: int) -> list[tuple[SortKey, int]]:
        """The domain's list of rows, copied from the ground before its first change."""
        if domain not in self._owned:
            self._ordered[domain] = list(self._ordered[domain])
            self._owned.add(domain)
        return self._ordered[domain]
