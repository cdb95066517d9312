"""Pods of several shapes, or in groups, in one domain: exact, by counting vectors.

For every domain the *front* says how many pods of one unit (the last) fit beside each number of
pods of the others. Nodes and domains combine by (max, +) convolution, so the answer at the top is
exact; groups of a partition are kept whole by leaving the highest allowed domain in multiples only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.fronts import NEVER, Front, join, join_all, nothing, powers
from global_sched.shared.placement.ground import SortKey
from global_sched.shared.placement.rows import Rows
from global_sched.shared.placement.table import Table
from global_sched.shared.placement.units import Unit

_LARGEST = 2**57
_MOST_CELLS = 4096
_MOST_NODE_CELLS = 4_000_000
_MOST_DOMAIN_CELLS = 200_000_000

Vector = tuple[int, ...]
"""Pods per unit, in the units' order."""


@dataclass(frozen=True, slots=True)
class NodePods:
    """Pods of every unit on one node of a row."""

    row: int
    pods: Vector


@dataclass(slots=True)
class Packer:
    """Exact answers for some units and numbers of pods, for the rows as they are now."""

    rows: Rows
    units: Sequence[Unit]
    tables: Sequence[Table]
    wanted: Vector
    _last: int = field(init=False)
    _others: list[int] = field(init=False)
    _shape: tuple[int, ...] = field(init=False)
    _coords: NDArray[np.int64] = field(init=False)
    _fronts: dict[int, Front] = field(default_factory=dict)
    _nodes: dict[int, Front] = field(default_factory=dict)
    _bests: dict[int, int] = field(default_factory=dict)
    """Per row the most pods of all units on one node."""

    def __post_init__(self) -> None:
        self._last = max(range(len(self.units)), key=lambda at: (self.wanted[at], -at))
        self._others = [at for at in range(len(self.units)) if at != self._last]
        self._shape = tuple(self.wanted[at] + 1 for at in self._others) or (1,)
        if self.cells() <= _MOST_CELLS:
            grid = np.indices(self._shape, dtype=np.int64)
            self._coords = grid.reshape(len(self._shape), -1).T
        else:
            self._coords = np.zeros((0, len(self._shape)), dtype=np.int64)

    def cells(self) -> int:
        """The size of a front."""
        size = 1
        for at in self._others:
            size *= self.wanted[at] + 1
        return size

    def affordable(self, domain: int, nodes: int) -> bool:
        """Whether the exact answer for a domain with so many nodes is within the budget."""
        cells = self.cells()
        if cells > _MOST_CELLS or self.wanted[self._last] >= 2**30:
            return False
        domains = len(self.rows.index.subtree(domain))
        return cells * nodes <= _MOST_NODE_CELLS and cells * cells * domains <= _MOST_DOMAIN_CELLS

    def fits(self, domain: int) -> bool:
        """Whether all that is wanted fits in a domain."""
        return int(self._front(domain)[self._cell(self.wanted)]) >= self.wanted[self._last]

    def holds(self, domain: int) -> int:
        """The most pods of what is wanted that fit in a domain together."""
        front = self._front(domain).reshape(-1)
        total = np.where(front >= 0, front + self._coords.sum(axis=1), 0)
        return int(total.max())

    def assign(self, domain: int) -> list[NodePods]:
        """Nodes for all that is wanted in a domain where it fits.

        Few domains and few nodes: the tightest child that takes all that is left, else the one that
        takes most. Pods follow the tree, so that groups lie together.
        """
        found: list[NodePods] = []
        stack: list[tuple[int, Vector]] = [(domain, self.wanted)]
        while stack:
            at, pods = stack.pop()
            whole = self._whole_child(at, pods)
            if whole is not None:
                stack.append((whole, pods))
                continue
            inner = self._distribute(at, pods, found)
            stack.extend(reversed(inner))
        return found

    def _cell(self, pods: Vector) -> tuple[int, ...]:
        return tuple(pods[at] for at in self._others) or (0,)

    def _vector(self, cell: Sequence[int], last: int) -> Vector:
        pods = [0] * len(self.units)
        for at, value in zip(self._others, cell, strict=False):
            pods[at] = value
        pods[self._last] = last
        return tuple(pods)

    # Fronts

    def _front(self, domain: int) -> Front:
        known = self._fronts.get(domain)
        if known is not None:
            return known
        index = self.rows.index
        order = [domain]
        for at in order:
            order.extend(
                child
                for child in index.children[at]
                if child not in self._fronts and self._has_room(child)
            )
        for at in reversed(order):
            self._fronts[at] = self._build(at)
        return self._fronts[domain]

    def _has_room(self, domain: int) -> bool:
        return any(int(table.sums[domain]) > 0 for table in self.tables)

    def _build(self, domain: int) -> Front:
        fronts: list[Front] = []
        for _, nodes, single in self._own(domain):
            fronts.extend(powers(single, min(nodes, sum(self.wanted)), self.wanted[self._last]))
        fronts.extend(
            self._fronts[child]
            for child in self.rows.index.children[domain]
            if child in self._fronts
        )
        return self._keep_whole(domain, join_all(fronts, self._shape, self.wanted[self._last]))

    def _own(self, domain: int) -> list[tuple[int, int, Front]]:
        """(row, nodes, front of one node) of the domain's own nodes that take any pod."""
        self._count_nodes(domain)
        result = []
        for _, row in self.rows.ordered(domain):
            single = self._nodes[row]
            if self._bests[row] > 0:
                result.append((row, self.rows.count[row], single))
        return result

    def _caps(self, domain: int, row: int) -> list[int]:
        """Pods of each unit on a node, alone: none where its groups may not be."""
        return [
            0 if self._barred(unit, domain) else min(table.cap(row), self.wanted[at])
            for at, (unit, table) in enumerate(zip(self.units, self.tables, strict=True))
        ]

    def _barred(self, unit: Unit, domain: int) -> bool:
        """Whether a unit's groups may not lie on a domain's own nodes."""
        index = self.rows.index
        if unit.tier is None:
            return False
        if unit.anchor is not None and unit.anchor not in index.chain[domain]:
            return True
        return domain == index.root or index.tier[domain] > unit.tier

    def _count_nodes(self, domain: int) -> None:
        """What fits on one node of each of the domain's rows, all rows at once."""
        new = [row for _, row in self.rows.ordered(domain) if row not in self._nodes]
        if not new:
            return
        caps = np.array([self._caps(domain, row) for row in new], dtype=np.int64)
        limit = np.array(
            [[min(f, _LARGEST) for f in self.rows.free[row]] for row in new], dtype=np.int64
        )
        usable = np.ones((len(new), len(self._coords)), dtype=np.bool_)
        used: dict[int, NDArray[np.int64]] = {}
        for axis, at in enumerate(self._others):
            pods = self._coords[:, axis]
            usable &= pods[None, :] <= caps[:, at, None]
            for position, amount in self._request(at):
                used[position] = used.get(position, np.zeros_like(pods)) + pods * amount
        for position, amounts in used.items():
            usable &= amounts[None, :] <= limit[:, position, None]
        value = np.repeat(caps[:, self._last, None], len(self._coords), axis=1)
        for position, amount in self._request(self._last):
            if amount:
                left = limit[:, position, None] - used.get(position, np.zeros(1, dtype=np.int64))
                np.minimum(value, left // amount, out=value)
        fronts = np.where(usable, value, NEVER)
        totals = np.where(usable, value + self._coords.sum(axis=1)[None, :], 0).max(axis=1)
        for place, row in enumerate(new):
            self._nodes[row] = fronts[place].reshape(self._shape)
            self._bests[row] = int(totals[place])

    def _request(self, at: int) -> list[tuple[int, int]]:
        """The unit's request. Larger amounts fit on no node, which their caps of 0 say."""
        return [(p, min(amount, _LARGEST)) for p, amount in self.tables[at].request or ()]

    def _most(self, front: Front) -> int:
        flat = front.reshape(-1)
        return int(np.where(flat >= 0, flat + self._coords.sum(axis=1), 0).max())

    def _keep_whole(self, domain: int, front: Front) -> Front:
        """Only whole groups count beyond the highest domain that their tier allows."""
        index = self.rows.index
        above = index.parent[domain]
        for at, unit in enumerate(self.units):
            if unit.tier is None or domain == index.root or index.tier[domain] > unit.tier:
                continue
            if above != index.root and index.tier[above] <= unit.tier:
                continue
            if at == self._last:
                front = np.where(front >= 0, front - front % unit.size, front)
            else:
                axis = self._others.index(at)
                broken = self._coords[:, axis] % unit.size != 0
                front = np.where(broken.reshape(self._shape), NEVER, front)
        return front

    # From counts to nodes

    def _whole_child(self, domain: int, pods: Vector) -> int | None:
        """The tightest child that takes all of it."""
        fitting = [
            child
            for child in self.rows.index.children[domain]
            if child in self._fronts
            and int(self._fronts[child][self._cell(pods)]) >= pods[self._last]
        ]
        return min(fitting, key=self._room, default=None)

    def _room(self, domain: int) -> int:
        return sum(int(table.sums[domain]) for table in self.tables)

    def _distribute(
        self, domain: int, pods: Vector, found: list[NodePods]
    ) -> list[tuple[int, Vector]]:
        """Shares of the children, which come first; the domain's own nodes take the rest."""
        children = [c for c in self.rows.index.children[domain] if c in self._fronts]
        children.sort(key=lambda c: -self._most(self._fronts[c]))
        own = sorted(self._own(domain), key=self._node_order)
        fronts = [self._fronts[child] for child in children]
        places: list[int] = list(children)
        for row, nodes, single in own:
            copies = min(nodes, sum(pods))
            fronts.extend([single] * copies)
            places.extend([row] * copies)
        after = [nothing(self._shape)]
        for front in reversed(fronts):
            after.append(join(after[-1], front, self.wanted[self._last]))
        after.reverse()
        inner: list[tuple[int, Vector]] = []
        left = pods
        for at, (place, front) in enumerate(zip(places, fronts, strict=True)):
            if not any(left):
                break
            if at < len(children):
                tightest = self._whole_later(children[at:], left)
                if tightest is not None:
                    inner.append((tightest, left))
                    left = (0,) * len(left)
                    break
            share = self._share(front, after[at + 1], left)
            if not any(share):
                continue
            left = tuple(a - b for a, b in zip(left, share, strict=True))
            if at < len(children):
                inner.append((place, share))
            else:
                found.append(NodePods(place, share))
        return inner

    def _whole_later(self, children: Sequence[int], pods: Vector) -> int | None:
        cell = self._cell(pods)
        fitting = [c for c in children if int(self._fronts[c][cell]) >= pods[self._last]]
        return min(fitting, key=self._room, default=None)

    def _node_order(self, item: tuple[int, int, Front]) -> tuple[int, SortKey]:
        return -self._bests[item[0]], self.rows.key(item[0])

    def _share(self, front: Front, rest: Front, pods: Vector) -> Vector:
        """The most pods for one place such that the other places take the rest."""
        cell, last = self._cell(pods), pods[self._last]
        best: tuple[int, Vector] | None = None
        for here in product(*(range(value + 1) for value in cell)):
            there = tuple(a - b for a, b in zip(cell, here, strict=True))
            most, others = int(front[here]), int(rest[there])
            value = min(most, last)
            if most < 0 or others < 0 or others < last - value:
                continue
            share = self._vector(here, value)
            rank = (sum(share), share)
            if best is None or rank > best:
                best = rank
        return best[1] if best is not None else (0,) * len(pods)
