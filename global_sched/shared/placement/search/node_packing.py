"""Packing of several units on the nodes of a domain: exact, by Pareto fronts.

Problem: for every vector of pods per unit, does it fit on these nodes (vector bin packing)?
Method: the front of some nodes holds, for each vector of the other units, the most pods of the last
unit beside it (only undominated vectors matter: Nemhauser and Ullmann 1969). Fronts of two sets of
nodes combine by (max, +) convolution (`math.max_plus`); of n equal nodes by doubling, in log n
joins. Groups of a partition leave the highest allowed domain in multiples of their size only.
Exact: yes, up to 4,096 entries per front and within the `Budget`; None where it takes too long.
Cost: O(entries**2) per join; nodes with equal free vectors share a front.
docs/design/0003, "Several units".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.capacity.baseline import SortKey
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import NOWHERE, Unit
from global_sched.shared.placement.search.math.max_plus import (
    Front,
    join,
    join_all,
    joined_each,
    nothing,
)
from global_sched.shared.placement.sentinels import NEVER
from global_sched.shared.placement.tree.domain_index import TreeIndex

_LARGEST_SUM = 2**57
_DOMAIN, _ROW = 15_000, 300
"""What a domain and a row cost by themselves, in additions."""
MOST_CELLS = 4096
"""A front of more entries is never made."""

Vector = tuple[int, ...]
"""Pods per unit, in the units' order."""


@dataclass(slots=True)
class SearchBudget:
    """Additions that exact searches may still take."""

    left: int

    def spend(self, additions: int) -> bool:
        """Whether there is enough for so many; then they are gone."""
        if additions > self.left:
            return False
        self.left -= additions
        return True


@dataclass(frozen=True, slots=True)
class NodePods:
    """Pods of every unit on one node of a row."""

    row: int
    pods: Vector


def barred(index: TreeIndex, unit: Unit, domain: int) -> bool:
    """Whether a unit's groups may not lie on a domain's own nodes."""
    if unit.tier is None:
        return False
    if unit.anchor == NOWHERE:
        return True
    if unit.anchor is not None and unit.anchor not in index.chain[domain]:
        return True
    return domain == index.root or index.tier[domain] > unit.tier


@dataclass(slots=True)
class Packer:
    """Fronts for some units and numbers of pods, for the rows as they are now."""

    rows: Rows
    units: Sequence[Unit]
    tables: Sequence[ShapeTable]
    wanted: Vector
    budget: SearchBudget
    last: int = field(init=False)
    others: list[int] = field(init=False)
    shape: tuple[int, ...] = field(init=False)
    coords: NDArray[np.int64] = field(init=False)
    """Pods of the other units, for every entry of a front."""
    _own: dict[int, Front] = field(default_factory=dict)
    _fronts: dict[int, Front] = field(default_factory=dict)
    _nodes: dict[int, Front] = field(default_factory=dict)
    _kinds: dict[int, Front] = field(default_factory=dict)
    """Fronts of single nodes by identity, and what so many of them (1, 2, 4, …) are together."""
    _doubled: dict[int, list[Front]] = field(default_factory=dict)
    _by_room: dict[tuple[tuple[int, ...], Vector], tuple[Front, int]] = field(default_factory=dict)
    _bests: dict[int, int] = field(default_factory=dict)
    """Per row the most pods of all units on one node."""

    def __post_init__(self) -> None:
        self.last = max(range(len(self.units)), key=lambda at: (self.wanted[at], -at))
        self.others = [at for at in range(len(self.units)) if at != self.last]
        self.shape = tuple(self.wanted[at] + 1 for at in self.others) or (1,)
        if self.possible():
            grid = np.indices(self.shape, dtype=np.int64)
            self.coords = grid.reshape(len(self.shape), -1).T
        else:
            self.coords = np.zeros((0, len(self.shape)), dtype=np.int64)

    def cells(self) -> int:
        """The size of a front."""
        size = 1
        for at in self.others:
            size *= self.wanted[at] + 1
        return size

    def possible(self) -> bool:
        """Whether fronts are small enough to be made at all."""
        return self.cells() <= MOST_CELLS and self.wanted[self.last] < 2**30

    def holds(self, domain: int) -> int | None:
        """The most pods of what is wanted that fit in a domain together; None: it takes too long.

        The first question about a domain pays for everything below it.
        """
        if not self.possible():
            return None
        below = self._unknown(domain)
        if not self.prepare(below) or not self.budget.spend(len(below) * self.cells() ** 2):
            return None
        for at in reversed(below):
            fronts = [self._own[at]] if at in self._own else []
            children = self.rows.index.children[at]
            fronts += [self._fronts[child] for child in children if child in self._fronts]
            front = join_all(fronts, self.shape, self.wanted[self.last])
            self._fronts[at] = self._keep_whole(at, front)
        front = self._fronts[domain].reshape(-1)
        return int(np.where(front >= 0, front + self.coords.sum(axis=1), 0).max())

    def _unknown(self, domain: int) -> list[int]:
        """The domain and those below it that have room and no front yet, parents first."""
        order = [] if domain in self._fronts else [domain]
        for at in order:
            order.extend(
                child
                for child in self.rows.index.children[at]
                if child not in self._fronts and self.has_room(child)
            )
        return order

    def has_room(self, domain: int) -> bool:
        """Whether any unit finds room in a domain."""
        return any(int(table.sums[domain]) > 0 for table in self.tables)

    # Nodes

    def prepare(self, domains: Sequence[int]) -> bool:
        """Make the fronts of the domains' own nodes; False when that would take too long."""
        new = [at for at in domains if at not in self._own and self.rows.ordered(at)]
        nodes = sum(len(self.rows.ordered(at)) for at in new)
        if not self.budget.spend(len(new) * _DOMAIN + nodes * _ROW):
            return False
        stacks: list[list[Front]] = []
        for at in new:
            self._count_nodes(at)
            places: dict[int, int] = {}
            for _, row in self.rows.ordered(at):
                if self._bests[row] > 0:
                    kind = id(self._nodes[row])
                    places[kind] = places.get(kind, 0) + self.rows.count[row]
            stacks.append([f for kind, count in places.items() for f in self._alike(kind, count)])
        if not self.budget.spend(sum(map(len, stacks)) * self.cells() ** 2):
            return False
        joined = joined_each(stacks, self.shape, self.wanted[self.last])
        self._own.update(zip(new, joined, strict=True))
        return True

    def _alike(self, kind: int, places: int) -> list[Front]:
        """Few fronts that together are so many alike nodes."""
        doubled = self._doubled.setdefault(kind, [self._kinds[kind]])
        result: list[Front] = []
        left, power = min(places, sum(self.wanted)), 0
        while left:
            if power == len(doubled):
                half = doubled[-1]
                doubled.append(join(half, half, self.wanted[self.last]))
            if left & 1:
                result.append(doubled[power])
            left >>= 1
            power += 1
        return result

    def own(self, domain: int) -> Front | None:
        """The front of the nodes that hang directly on a domain; None where there are none."""
        return self._own.get(domain)

    def _copies(self, row: int) -> int:
        return min(self.rows.count[row], sum(self.wanted))

    def _count_nodes(self, domain: int) -> None:
        """What fits on one node of each of the domain's rows; alike rows share a front."""
        free, known = self.rows.free, self._by_room
        new = [row for _, row in self.rows.ordered(domain) if row not in self._nodes]
        caps = self._caps(domain, new)
        fresh: dict[tuple[tuple[int, ...], Vector], int] = {}
        for row, limits in zip(new, caps, strict=True):
            if (free[row], limits) not in known:
                fresh.setdefault((free[row], limits), row)
        if fresh:
            for key, front in zip(fresh, self._fronts_of(list(fresh)), strict=True):
                flat = front.reshape(-1)
                most = int(np.where(flat >= 0, flat + self.coords.sum(axis=1), 0).max())
                known[key] = (front, most)
                self._kinds[id(front)] = front
        for row, limits in zip(new, caps, strict=True):
            self._nodes[row], self._bests[row] = known[free[row], limits]

    def _fronts_of(self, rooms: Sequence[tuple[tuple[int, ...], Vector]]) -> list[Front]:
        """One node's front for each free vector with the pods of each unit that it takes alone."""
        limit = np.array(
            [[min(f, _LARGEST_SUM) for f in free] for free, _ in rooms], dtype=np.int64
        )
        caps = np.array([limits for _, limits in rooms], dtype=np.int64)
        usable = np.ones((len(rooms), len(self.coords)), dtype=np.bool_)
        used: dict[int, NDArray[np.int64]] = {}
        for axis, at in enumerate(self.others):
            pods = self.coords[:, axis]
            usable &= pods[None, :] <= caps[:, at, None]
            for position, amount in self._request(at):
                used[position] = used.get(position, np.zeros_like(pods)) + pods * amount
        for position, amounts in used.items():
            usable &= amounts[None, :] <= limit[:, position, None]
        value = np.repeat(caps[:, self.last, None], len(self.coords), axis=1)
        for limit_here, others, last in self._shared():
            pods = self.coords[:, others].sum(axis=1)
            usable &= (pods <= limit_here)[None, :]
            if last:
                np.minimum(value, limit_here - pods, out=value)
        for position, amount in self._request(self.last):
            if amount:
                left = limit[:, position, None] - used.get(position, np.zeros(1, dtype=np.int64))
                np.minimum(value, left // amount, out=value)
        fronts = np.where(usable, value, NEVER)
        return [front.reshape(self.shape) for front in fronts]

    def _shared(self) -> list[tuple[int, list[int], bool]]:
        """Limits per node that several units share: (limit, columns, whether the last is in it)."""
        found: dict[tuple[str, int], list[int]] = {}
        for at, table in enumerate(self.tables):
            for mark in table.marks:
                found.setdefault(mark, []).append(at)
        return [
            (limit, [self.others.index(at) for at in units if at != self.last], self.last in units)
            for (_, limit), units in found.items()
            if len(units) > 1
        ]

    def _caps(self, domain: int, rows: Sequence[int]) -> list[Vector]:
        """Pods of each unit on a node of each row, alone: none where its groups may not be."""
        columns = []
        for at, (unit, table) in enumerate(zip(self.units, self.tables, strict=True)):
            most = 0 if barred(self.rows.index, unit, domain) else self.wanted[at]
            columns.append([min(table.cap(row), most) for row in rows] if most else [0] * len(rows))
        return list(zip(*columns, strict=True))

    def _request(self, at: int) -> list[tuple[int, int]]:
        """The unit's request. Larger amounts fit on no node, which their caps of 0 say."""
        return [(p, min(amount, _LARGEST_SUM)) for p, amount in self.tables[at].request or ()]

    def leaves_whole(self, unit: Unit, domain: int) -> bool:
        """Whether a domain is the highest that a unit's groups may lie in."""
        index = self.rows.index
        if unit.tier is None or domain == index.root or index.tier[domain] > unit.tier:
            return False
        above = index.parent[domain]
        return above == index.root or index.tier[above] > unit.tier

    def families(self, domain: int) -> list[list[int]]:
        """Units whose groups only leave a domain whole: alone, or with those of their family."""
        found: dict[str, list[int]] = {}
        for at, unit in enumerate(self.units):
            if self.wanted[at] and self.leaves_whole(unit, domain):
                found.setdefault(unit.family or f"-{at}", []).append(at)
        return list(found.values())

    def _keep_whole(self, domain: int, front: Front) -> Front:
        """Only whole groups count beyond the highest domain that their tier allows."""
        for family in self.families(domain):
            others = [at for at in family if at != self.last]
            columns = [self.coords[:, self.others.index(at)] for at in others]
            sizes = [self.units[at].size for at in others]
            whole = np.ones(len(self.coords), dtype=np.bool_)
            for pods, size in zip(columns, sizes, strict=True):
                whole &= (pods % size == 0) & (pods // size == columns[0] // sizes[0])
            front = np.where(whole.reshape(self.shape), front, NEVER)
            if len(others) == len(family):
                continue
            size = self.units[self.last].size
            if not others:
                front = np.where(front >= 0, front - front % size, front)
                continue
            needed = (columns[0] // sizes[0] * size).reshape(self.shape)
            front = np.where(front >= needed, needed, NEVER)
        return front

    # From counts to nodes

    def spread(self, domain: int, pods: Vector) -> list[NodePods]:
        """Few of a domain's own nodes for pods that fit on them."""
        own = [row for _, row in self.rows.ordered(domain) if self._bests[row] > 0]
        own.sort(key=self._node_order)
        places = [row for row in own for _ in range(min(self._copies(row), sum(pods)))]
        after = [nothing(self.shape)]
        for row in reversed(places):
            after.append(join(after[-1], self._nodes[row], self.wanted[self.last]))
        after.reverse()
        found: list[NodePods] = []
        left = pods
        for at, row in enumerate(places):
            if not any(left):
                break
            share = self._share(self._nodes[row], after[at + 1], left)
            if any(share):
                left = tuple(a - b for a, b in zip(left, share, strict=True))
                found.append(NodePods(row, share))
        return found

    def _node_order(self, row: int) -> tuple[int, SortKey]:
        return -self._bests[row], self.rows.key(row)

    def _share(self, front: Front, rest: Front, pods: Vector) -> Vector:
        """The most pods for one place such that the other places take the rest."""
        cell, last = tuple(pods[at] for at in self.others) or (0,), pods[self.last]
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

    def _vector(self, cell: Sequence[int], last: int) -> Vector:
        pods = [0] * len(self.units)
        for at, value in zip(self.others, cell, strict=False):
            pods[at] = value
        pods[self.last] = last
        return tuple(pods)
