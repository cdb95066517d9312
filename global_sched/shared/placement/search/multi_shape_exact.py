"""Pods of several units in one domain, as close as possible: exact dynamic programming on vectors.

Problem: cost(d, v) for every vector v of pods per unit that fits under d, where a pair costs the
tier of the smallest domain around both, whatever units its pods are of:
    cost(d, v) = tier(d) |v|(|v|-1)/2 + min over v = sum v_c of sum_c (cost(c, v_c) - same pairs).
Method: (min, +) convolution over vectors, leaves first; what fits on nodes comes from
`node_packing`. Groups count as one step above the tier in which they are whole. A child that m
others dominate is left out, where no better placement has pods in more than m children.
Exact: yes, when it ends within its `Budget`; `complete` is False otherwise.
Cost: O(vectors**2) per child, at most 2**18 vectors; the budget is spent before each join.
docs/design/0003, "Several units".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import Unit
from global_sched.shared.placement.search.math.max_plus import Front
from global_sched.shared.placement.search.node_packing import NodePods, Packer, SearchBudget, Vector
from global_sched.shared.placement.sentinels import FAR

_MOST_COSTS = 2**18
"""Vectors beyond which no costs are made."""
_MOST_COMPARED = 2**23
_HALF = FAR // 2

Costs = NDArray[np.int64]
"""By pods of the other units, then of the last unit."""
Share = tuple[int, Vector]
"""(domain, pods per unit on the nodes that hang directly on it)."""


@dataclass(slots=True)
class _Stage:
    """One child (or, with -1, the own nodes): what it adds, and the sums before it."""

    child: int
    before: Costs
    added: Costs


@dataclass(frozen=True, slots=True)
class _Grid:
    """The vectors that a domain counts in: per axis so many steps of so many pods each.

    Where groups are whole they are what is counted, which makes vectors of partitions few.
    """

    steps: tuple[int, ...]
    shape: tuple[int, ...]
    pods: NDArray[np.int64]
    pairs: NDArray[np.int64]


class MultiShapeOptimum:
    """Exact answers for some units and numbers of pods, for the rows as they are now."""

    def __init__(
        self,
        rows: Rows,
        units: Sequence[Unit],
        tables: Sequence[ShapeTable],
        wanted: Vector,
        budget: SearchBudget,
    ) -> None:
        self.complete = True
        """False once the budget ended a search."""
        self._rows = rows
        self._index = rows.index
        self._budget = budget
        self._packer = Packer(rows, units, tables, wanted, budget)
        self._wanted = wanted
        packer = self._packer
        self._axes = [*(packer.others or [-1]), packer.last]
        """The unit of each axis; -1 where there is no other unit."""
        self._grids: dict[tuple[int, ...], _Grid] = {}
        self._costs: dict[int, Costs] = {}
        self._stages: dict[int, list[_Stage]] = {}

    def solve(self, domain: int, limit: int | None) -> list[Share]:
        """Where the pods go for the least cost, if that is below the limit; empty when it is not.

        After an empty answer `complete` says whether nothing better exists.
        """
        packer = self._packer
        below = self._inner_first(domain)
        if not packer.possible() or not self._fits_in_memory(below) or not packer.prepare(below):
            self.complete = False
            return []
        for at in below:
            if not self._combine(at, limit if at == domain else None):
                self.complete = False
                return []
        cost = int(self._costs[domain][self._goal(domain)])
        if cost >= _HALF or (limit is not None and cost >= limit):
            return []
        return self._split(domain)

    def _fits_in_memory(self, domains: Sequence[int]) -> bool:
        grids = {self._steps(at) for at in domains}
        return all(math.prod(self._lengths(steps)) <= _MOST_COSTS for steps in grids)

    # Grids

    def _steps(self, domain: int) -> tuple[int, ...]:
        """In which numbers pods come into a domain: whole groups where it is above their tier."""
        return tuple(1 if at < 0 else self._step_into(at, domain) for at in self._axes)

    def _step_into(self, at: int, domain: int) -> int:
        unit = self._packer.units[at]
        if unit.tier is None:
            return 1
        high = domain == self._index.root or self._index.tier[domain] > unit.tier
        return unit.size if high else 1

    def _steps_out(self, domain: int) -> tuple[int, ...]:
        """In which numbers pods leave a domain: whole groups from the highest they may lie in."""
        above = self._index.parent[domain]
        return self._steps(self._index.root if above < 0 else above)

    def _lengths(self, steps: tuple[int, ...]) -> tuple[int, ...]:
        wanted = (0 if at < 0 else self._wanted[at] for at in self._axes)
        return tuple(pods // step + 1 for pods, step in zip(wanted, steps, strict=True))

    def _grid(self, steps: tuple[int, ...]) -> _Grid:
        found = self._grids.get(steps)
        if found is None:
            shape = self._lengths(steps)
            pods = np.zeros(shape, dtype=np.int64)
            for axis, step in enumerate(steps):
                line = [1] * len(shape)
                line[axis] = -1
                pods = pods + (np.arange(shape[axis]) * step).reshape(line)
            found = self._grids[steps] = _Grid(steps, shape, pods, pods * (pods - 1) // 2)
        return found

    def _goal(self, domain: int) -> tuple[int, ...]:
        return tuple(n - 1 for n in self._lengths(self._steps_out(domain)))

    # Costs

    def assign(self, shares: Sequence[Share]) -> list[NodePods]:
        """Nodes for the pods of each domain."""
        return [node for domain, pods in shares for node in self._packer.spread(domain, pods)]

    def _inner_first(self, domain: int) -> list[int]:
        found = [domain]
        for at in found:
            found.extend(c for c in self._index.children[at] if self._packer.has_room(c))
        return found[::-1]

    def _combine(self, domain: int, limit: int | None) -> bool:
        """The costs of a domain from those of its children; False when the budget is spent."""
        tier = self._index.height[domain]
        grid = self._grid(self._steps(domain))
        added: list[tuple[int, Costs]] = [
            (child, np.minimum(self._costs[child] - tier * grid.pairs, FAR))
            for child in self._index.children[domain]
            if child in self._costs
        ]
        added = self._undominated(added, domain, grid, limit)
        own = self._packer.own(domain)
        if own is not None:
            added.append((-1, np.where(self._fits(own, grid), np.int64(0), FAR)))
        if not self._affordable(added):
            return False
        total = np.full(grid.shape, FAR, dtype=np.int64)
        total[(0,) * len(grid.shape)] = 0
        stages = self._stages[domain] = []
        for child, more in added:
            stages.append(_Stage(child, total, more))
            total = more if len(stages) == 1 else self._join(total, more)
        self._costs[domain] = self._whole(domain, grid, np.minimum(total + tier * grid.pairs, FAR))
        return True

    def _fits(self, front: Front, grid: _Grid) -> NDArray[np.bool_]:
        """Which vectors are within a front."""
        own = front[tuple(slice(None, None, step) for step in grid.steps[:-1])]
        last = np.arange(grid.shape[-1], dtype=np.int64) * grid.steps[-1]
        result: NDArray[np.bool_] = last <= own[..., None]
        return result

    def _whole(self, domain: int, grid: _Grid, costs: Costs) -> Costs:
        """Only whole groups leave the highest domain that their tier allows; families together."""
        out = self._steps_out(domain)
        steps = zip(out, grid.steps, strict=True)
        costs = costs[tuple(slice(None, None, large // small) for large, small in steps)]
        for family in self._packer.families(domain):
            groups: NDArray[np.int64] | None = None
            for at in family if len(family) > 1 else ():
                line = [1] * costs.ndim
                line[self._axes.index(at)] = -1
                here = np.arange(costs.shape[self._axes.index(at)]).reshape(line)
                groups = here if groups is None else groups
                costs = np.where(here == groups, costs, FAR)
        return costs

    def _undominated(
        self, added: list[tuple[int, Costs]], domain: int, grid: _Grid, limit: int | None
    ) -> list[tuple[int, Costs]]:
        """The children without those that a better placement cannot need.

        A child can give way to one that is nowhere dearer. So when at most m children have pods in
        any placement below the limit, one that m others can replace is left out.
        """
        count = len(added)
        if count < 2:
            return added
        order = sorted(added, key=lambda item: -int((item[1] < _HALF).sum()))
        most = self._most_children([costs for _, costs in order], domain, grid, limit)
        if most >= count or count * count * order[0][1].size > _MOST_COMPARED:
            return order
        stacked = np.stack([costs.reshape(-1) for _, costs in order])
        replaced = np.zeros(count, dtype=np.int64)
        for at in range(count):
            better = (stacked[:at] <= stacked[at]).all(axis=1)
            later = (stacked[at + 1 :] <= stacked[at]).all(axis=1)
            same = (stacked[at + 1 :] == stacked[at]).all(axis=1)
            replaced[at] = int(better.sum()) + int((later & ~same).sum())
        return [
            item for item, others in zip(order, replaced.tolist(), strict=True) if others < most
        ]

    def _most_children(
        self, costs: Sequence[Costs], domain: int, grid: _Grid, limit: int | None
    ) -> int:
        """In so many children at most has a placement below the limit pods."""
        pods = sum(self._wanted)
        if limit is None:
            return pods
        tier = self._index.height[domain]
        saving = tier - min(self._index.height[at] for at in self._index.subtree(domain))
        needed = tier * (pods * (pods - 1) // 2) - limit + 1
        rooms = sorted((int(grid.pods[c < _HALF].max(initial=0)) for c in costs), reverse=True)
        most = 0
        for used in range(1, min(len(rooms), pods) + 1):
            left, pairs = pods - used, 0
            for room in rooms[:used]:
                more = min(left, room - 1)
                left -= more
                pairs += (more + 1) * more // 2
            if saving * pairs >= needed:
                most = used
        return max(most, 1)

    def _affordable(self, added: Sequence[tuple[int, Costs]]) -> bool:
        """Whether all joins of a domain are within the budget, which they then have used."""
        additions = 0
        for _, costs in added[1:]:
            usable = costs < _HALF
            width = int(np.flatnonzero(usable.reshape(-1, costs.shape[-1]).any(axis=0))[-1]) + 1
            additions += int(usable.any(axis=-1).sum()) * costs.size * width
        return self._budget.spend(additions)

    def _join(self, left: Costs, right: Costs) -> Costs:
        """(min, +) convolution."""
        flat = right.reshape(-1, right.shape[-1])
        usable = flat < _HALF
        cells = np.flatnonzero(usable.any(axis=1)).tolist()
        width = int(np.flatnonzero(usable.any(axis=0))[-1]) + 1
        size = left.shape[-1]
        padded = np.full((*left.shape[:-1], size + width - 1), FAR, dtype=np.int64)
        padded[..., width - 1 :] = left
        windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=-1)
        result = np.full(left.shape, FAR, dtype=np.int64)
        heads = np.array(np.unravel_index(cells, left.shape[:-1])).T.tolist()
        for cell, head in zip(cells, heads, strict=True):
            source = tuple(slice(0, n - c) for n, c in zip(left.shape, head, strict=False))
            target = tuple(slice(c, None) for c in head)
            sums = (windows[source] + flat[cell, width - 1 :: -1][:width]).min(axis=-1)
            np.minimum(result[target], sums, out=result[target])
        return result

    def _split(self, domain: int) -> list[Share]:
        """The way back from the costs: pods of every domain's own nodes, following the tree."""
        found: list[Share] = []
        stack = [(domain, self._goal(domain))]
        while stack:
            at, groups = stack.pop()
            if not any(groups):
                continue
            inner: list[tuple[int, tuple[int, ...]]] = []
            steps = self._steps(at)
            left = tuple(
                n * (large // small)
                for n, large, small in zip(groups, self._steps_out(at), steps, strict=True)
            )
            for stage in reversed(self._stages[at]):
                share = _share(stage, left)
                left = tuple(a - b for a, b in zip(left, share, strict=True))
                if stage.child >= 0:
                    inner.append((stage.child, share))
                elif any(share):
                    found.append((at, self._vector(share, steps)))
            stack.extend(inner)
        return found

    def _vector(self, cell: Sequence[int], steps: Sequence[int]) -> Vector:
        pods = [0] * len(self._packer.units)
        for at, value, step in zip(self._axes, cell, steps, strict=True):
            if at >= 0:
                pods[at] = value * step
        return tuple(pods)


def _share(stage: _Stage, pods: tuple[int, ...]) -> tuple[int, ...]:
    """How many of these pods the stage takes at the least cost: the most of equally good ones."""
    upto = tuple(slice(0, n + 1) for n in pods)
    back = tuple(slice(n, None, -1) for n in pods)
    sums = stage.added[upto] + stage.before[back]
    best = np.flatnonzero(sums.reshape(-1) == sums.min())
    cells = np.array(np.unravel_index(best, sums.shape)).T
    return tuple(cells[int(cells.sum(axis=1).argmax())].tolist())
