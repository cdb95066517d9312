"""Several units in domains whose children are leaves: (max, +) program with lazily added cuts.

Problem: maximise what pairs save by sharing a leaf,
    max over v = sum v_l of sum_l (tier(d) - tier(l)) |v_l|(|v_l|-1)/2,  v_l fits in leaf l.
Method: (max, +) convolution of the leaves, two by two, over all vectors (groups count as one step).
Which vectors fit in a leaf is first relaxed: room per unit, and the sum of all free amounts. What
the program chose is put on nodes; a leaf that does not take it gets its exact vectors from
`node_packing` and the program runs again (logic-based Benders cuts: Hooker and Ottosson 2003).
Only the first m leaves that take a vector matter, where no placement as good uses more than m: an
earlier free leaf can be exchanged for a later one.
Exact: yes; `stuck` where a leaf could not be counted. Refused above 2**15 ways to split vectors.
Cost: O(leaves x ways) per domain and run. docs/design/0003, "Several units".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.capacity.domain_room import DomainRoom, Ints
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import NOWHERE, Task
from global_sched.shared.placement.search.greedy import Greedy
from global_sched.shared.placement.search.lagrangian_bound import Floats, Plan
from global_sched.shared.placement.search.node_packing import (
    NodePods,
    Packer,
    SearchBudget,
    Vector,
    barred,
)
from global_sched.shared.placement.search.one_shape_exact import MOST_COUNTED
from global_sched.shared.placement.search.trial import Trial
from global_sched.shared.placement.sentinels import NOTHING_SAVED
from global_sched.shared.placement.tree.domain_index import Fan

_FEW_WAYS = 1024
_MOST_WAYS = 2**15
"""Ways to split the vectors in two, beyond which the program would take too long."""
_MOST_ADDED = 2**21
"""Additions in one go, for the memory that they take."""
_LARGEST_SUM = 2**58
_MOST_PENALTY = 1024
"""More room than this in a leaf counts as so much, where only tight and loose matter."""
_LOOSE = 1e-6

Usable = NDArray[np.bool_]
_Number = TypeVar("_Number", np.bool_, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Vectors of pods, and every way to make one from two."""

    vectors: Ints
    left: Ints
    right: Ints
    starts: Ints
    """Where the ways of each vector begin."""


def _kept_grid(rows: Rows, wanted: tuple[int, ...], steps: tuple[int, ...]) -> Grid | None:
    """The grid, kept for clusters of one kind."""
    grids, key = rows.baseline.class_set.grids, (wanted, steps)
    found = grids[key] if key in grids else grids.keep(key, _grid(wanted, steps))
    return found if isinstance(found, Grid) else None


def _grid(wanted: tuple[int, ...], steps: tuple[int, ...]) -> Grid | None:
    lengths = [pods // step + 1 for pods, step in zip(wanted, steps, strict=True)]
    ways = math.prod(length * (length + 1) // 2 for length in lengths)
    if ways > _MOST_WAYS or any(pods % step for pods, step in zip(wanted, steps, strict=True)):
        return None
    cells = np.indices(lengths, dtype=np.int64).reshape(len(lengths), -1).T
    within = np.all(cells[None, :, :] <= cells[:, None, :], axis=2)
    total, left = np.nonzero(within)
    strides = np.array([math.prod(lengths[at + 1 :]) for at in range(len(lengths))])
    right = (cells[total] - cells[left]) @ strides
    starts = np.searchsorted(total, np.arange(len(cells)))
    return Grid(cells * np.array(steps, dtype=np.int64), left, right, starts)


@dataclass(slots=True)
class _Counted:
    """One domain: its leaves, which vectors each may take, and what follows from that."""

    leaves: Ints
    gains: Ints
    filled: Ints
    """Per leaf how many pods it holds at most."""
    usable: Usable
    saved: int = NOTHING_SAVED
    most: int = 0
    """In so many leaves at most has a placement pods that saves as much."""


@dataclass(slots=True)
class LeafProgram:
    """The program for some units and numbers of pods in domains of one tier, for the rows now."""

    rows: Rows
    fan: Fan
    tier: int
    task: Task
    tables: Sequence[ShapeTable]
    rooms: Sequence[DomainRoom]
    wanted: Vector
    grid: Grid
    free: Floats
    """What is free on each domain's own nodes."""
    _pods: Ints = field(init=False)
    _pairs: Ints = field(init=False)
    _together: Usable = field(init=False)
    _counted: dict[int, _Counted] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pods = self.grid.vectors.sum(axis=1)
        self._pairs = self._pods * (self._pods - 1) // 2
        self._together = _whole_families(self.task, self.grid.vectors, self.tier)

    @property
    def quick(self) -> bool:
        """Whether vectors are so few that nothing simpler is worth a try before."""
        return len(self.grid.left) <= _FEW_WAYS

    def count(self, domains: Ints) -> None:
        """Work out what is saved at best in each of these domains."""
        step = max(1, _MOST_ADDED // (self.fan.children.shape[1] * len(self.grid.left)))
        for first in range(0, len(domains), step):
            self._count(domains[first : first + step])

    def cost(self, domain: int) -> int:
        """At least so much is the sum over pairs in a domain; -1: it cannot be placed there."""
        saved = self._counted[domain].saved
        if saved <= NOTHING_SAVED // 2:
            return -1
        pods = sum(self.wanted)
        return self.fan.height * (pods * (pods - 1) // 2) - saved

    def forbid(self, domain: int, leaf: int, usable: Usable) -> None:
        """Only these vectors fit in a leaf: count the domain again."""
        known = self._counted[domain]
        known.usable[known.leaves.tolist().index(leaf)] &= usable
        self._find_least([domain])

    def _count(self, domains: Ints) -> None:
        rows = self.fan.rows[domains]
        below = self.fan.children[rows]
        count, width = below.shape
        leaves = np.empty((count, width + 1), dtype=np.int64)
        leaves[:, :width], leaves[:, width] = below, domains
        gains = np.zeros((count, width + 1), dtype=np.int64)
        gains[:, :width] = (self.fan.height - self.fan.heights[rows])[:, None]
        caps = [np.minimum(room.sums[leaves], MOST_COUNTED) for room in self.rooms]
        self._own_caps(domains, caps)
        usable = self._usable(leaves, caps)
        if self.fan.there is not None:
            usable[:, :width][~self.fan.there[rows]] = False
        usable[:, :, 0] = True
        filled = np.sum(caps, axis=0)
        for at, domain in enumerate(domains.tolist()):
            self._counted[domain] = _Counted(leaves[at], gains[at], filled[at], usable[at])
        self._find_least(domains.tolist())

    def _own_caps(self, domains: Ints, caps: Sequence[Ints]) -> None:
        """The last of the leaves are the domain's own nodes."""
        for place, domain in enumerate(domains.tolist()):
            alone = not self.rows.ordered(domain)
            for unit, own, room in zip(self.task.units, caps, self.rooms, strict=True):
                none = alone or barred(self.rows.index, unit, domain)
                own[place, -1] = 0 if none else min(room.own(domain), MOST_COUNTED)

    def _usable(self, leaves: Ints, caps: Sequence[Ints]) -> Usable:
        """Which vectors may fit on each leaf: unit by unit, and in all they ask for together."""
        vectors = self.grid.vectors
        usable = np.broadcast_to(self._together, (*leaves.shape, len(vectors))).copy()
        asked: dict[int, Floats] = {}
        for at, table in enumerate(self.tables):
            usable &= vectors[:, at] <= caps[at][:, :, None]
            for position, amount in table.request or ():
                more: Floats = vectors[:, at].astype(np.float64) * float(amount)
                asked[position] = asked[position] + more if position in asked else more
        free = self.free[leaves] * (1 + _LOOSE) + _LOOSE
        for position, amounts in asked.items():
            usable &= amounts <= free[:, :, position, None]
        return usable

    # What is saved

    def _find_least(self, domains: Sequence[int]) -> None:
        """What each domain saves at best: with few leaves first, then with as many as matter."""
        known = [self._counted[domain] for domain in domains]
        usable = np.stack([one.usable for one in known])
        gains = np.stack([one.gains for one in known])
        order = np.argsort(
            -usable.sum(axis=2) - (gains > 0) * usable.shape[2], axis=1, kind="stable"
        )
        usable = _along(usable, order)
        gains = _along(gains, order)
        pods = -np.sort(-np.where(usable, self._pods, 0).max(axis=2), axis=1)
        filled = int((pods.cumsum(axis=1) < sum(self.wanted)).sum(axis=1).max()) + 1
        limit = min(usable.shape[1], sum(self.wanted) // int(self._pods[1:].min()))
        most, enough = 0, min(limit, filled + 1)
        while most < enough:
            most = enough
            best = self._least(usable, gains, most)
            if (best <= NOTHING_SAVED // 2).any():
                enough = min(limit, 2 * most)
                continue
            while enough < limit and (self._most_saved(pods, enough + 1) >= best).any():
                enough += 1
        for one, saved in zip(known, best.tolist(), strict=True):
            one.saved, one.most = saved, most

    def _least(self, usable: Usable, gains: Ints, most: int) -> Ints:
        chosen, some = _first_of(usable, most)
        saved = _along(gains, chosen)[:, :, None] * self._pairs
        saved[~some] = NOTHING_SAVED
        return self._levels(saved)[-1][:, 0, -1]

    def _most_saved(self, pods: Ints, used: int) -> Ints:
        """No placement with pods in so many leaves saves more; `pods` that leaves hold, sorted.

        Beyond those that hold everything it falls with every leaf.
        """
        step = int(self._pods[1:].min())
        left = sum(self.wanted) - used * step
        more = np.minimum(np.maximum(pods[:, :used] - step, 0).cumsum(axis=1), left)
        shares = np.diff(more, axis=1, prepend=0) + step
        gain = self.fan.height - int(self.fan.heights.min())
        most: Ints = (shares * (shares - 1) // 2).sum(axis=1) * gain
        return most

    def _levels(self, saved: Ints) -> list[Ints]:
        """What leaves save together, two by two, up to all; `saved` is (domain, leaf, vector)."""
        levels = [saved]
        while levels[-1].shape[1] > 1:
            below = levels[-1]
            even = below.shape[1] // 2 * 2
            pairs = below[:, :even].reshape(-1, 2, below.shape[2])
            ways = pairs[:, 0].take(self.grid.left, axis=1)
            ways += pairs[:, 1].take(self.grid.right, axis=1)
            joined = np.maximum(np.maximum.reduceat(ways, self.grid.starts, axis=1), NOTHING_SAVED)
            joined = joined.reshape(len(saved), even // 2, below.shape[2])
            if even < below.shape[1]:
                joined = np.concatenate((joined, below[:, even:]), axis=1)
            levels.append(joined)
        return levels

    # From what is saved to leaves

    def plan(self, domain: int) -> Plan:
        """The vector of each leaf that gets pods, for the least cost; of such, tight leaves."""
        known = self._counted[domain]
        order = np.lexsort((known.filled, known.gains == 0))
        chosen, usable = _first_of(known.usable[None, order], known.most)
        leaves = order[chosen[0]]
        # What is saved counts first, then that leaves with little room are taken.
        scale = _MOST_PENALTY * (sum(self.wanted) + 1)
        penalty = np.minimum(known.filled[leaves], _MOST_PENALTY - 1)
        saved = known.gains[leaves][:, None] * (self._pairs * scale) - penalty[:, None]
        saved[:, 0] = 0
        saved[~usable[0]] = NOTHING_SAVED
        levels = [level[0] for level in self._levels(saved[None])]
        return [(int(known.leaves[leaves[at]]), vector) for at, vector in self._split(levels)]

    def _split(self, levels: Sequence[Ints]) -> Plan:
        """The way back: the vector of each position that gets one."""
        grid = self.grid
        found: Plan = []
        stack = [(len(levels) - 1, 0, len(grid.vectors) - 1)]
        while stack:
            level, at, cell = stack.pop()
            if not cell:
                continue
            if not level:
                found.append((at, tuple(grid.vectors[cell].tolist())))
                continue
            below = levels[level - 1]
            if 2 * at + 1 == len(below):
                stack.append((level - 1, 2 * at, cell))
                continue
            after = grid.starts[cell + 1] if cell + 1 < len(grid.starts) else len(grid.left)
            ways = slice(grid.starts[cell], after)
            left, right = grid.left[ways], grid.right[ways]
            best = int((below[2 * at, left] + below[2 * at + 1, right]).argmax())
            stack.append((level - 1, 2 * at + 1, int(right[best])))
            stack.append((level - 1, 2 * at, int(left[best])))
        return found


def leaf_program_of(
    rows: Rows,
    task: Task,
    tables: Sequence[ShapeTable],
    rooms: Sequence[DomainRoom],
    wanted: tuple[int, ...],
    domains: Ints,
) -> LeafProgram | None:
    """The program for these domains of one tier; None where it cannot say or would take too long.

    That is where their children are not leaves, vectors are many, or sums would be too large.
    """
    tier = rows.index.tier[int(domains[0])]
    fan = rows.index.fan(tier)
    if fan is None or fan.rows[domains].min() < 0:
        return None
    if any(unit.anchor == NOWHERE for unit in task.units):
        return None
    steps = tuple(
        max(1, unit.size)
        if unit.tier is not None and unit.tier < tier and unit.anchor is None
        else 1
        for unit in task.units
    )
    pods = sum(wanted)
    if (tier + 1) * pods * pods * _MOST_PENALTY * (pods + 1) > _LARGEST_SUM:
        return None
    grid = _kept_grid(rows, wanted, steps)
    if grid is None or len(grid.vectors) < 2:
        return None
    return LeafProgram(rows, fan, tier, task, tables, rooms, wanted, grid, rows.own_free())


def _first_of(usable: Usable, most: int) -> tuple[Ints, Usable]:
    """The leaves that a placement in `most` leaves can need, and which vectors each may take.

    Leaves come in an order in which earlier ones are preferred. Where a placement has a vector in a
    leaf that `most` earlier ones can take, one of those is free: so for each vector the first of so
    many leaves suffice. As positions; padded with leaves that take nothing.
    """
    soon = (usable & (usable.cumsum(axis=1) <= most))[:, :, 1:]
    needed: Usable = np.logical_or.reduce(soon, axis=2)
    width = max(1, int(needed.sum(axis=1).max()))
    chosen = np.argsort(~needed, axis=1, kind="stable")[:, :width]
    some = _along(usable, chosen)
    some[:, :, 1:] &= _along(needed, chosen)[:, :, None]
    return chosen, some


def _along(values: NDArray[_Number], places: Ints) -> NDArray[_Number]:
    """Row by row the values at some places, each with all that belongs to it."""
    return values[np.arange(len(values))[:, None], places]


def _whole_families(task: Task, vectors: Ints, tier: int) -> Usable:
    """The vectors in which units of a family that lie whole in leaves have equally many groups."""
    whole = np.ones(len(vectors), dtype=np.bool_)
    first: dict[str, int] = {}
    for at, unit in enumerate(task.units):
        if unit.family and unit.tier is not None and unit.tier < tier:
            lead = first.setdefault(unit.family, at)
            whole &= vectors[:, at] * task.units[lead].size == vectors[:, lead] * unit.size
    return whole


_FIRST = 4
"""So many domains are counted at first, then four times as many."""

Rank = tuple[int, int, int, int]
"""(cost, room, slack, domain)."""


@dataclass(slots=True)
class LeafProgramSearch:
    """Finds the placement of least rank with the program of `LeafProgram`."""

    flat: LeafProgram
    plain: Greedy
    budget: SearchBudget
    stuck: bool = False
    """True once something could not be counted: then nothing that is said here is certain."""
    _packer: Packer | None = None
    _counted: set[int] = field(default_factory=set)

    def closest(self, ranks: Sequence[Rank]) -> tuple[Rank, Trial] | None:
        """The closest placement, not applied, from ranks at best; None when there is none."""
        left = list(ranks)
        heapify(left)
        many = _FIRST
        while left:
            rank = left[0]
            if rank[3] not in self._counted:
                self._count(left, many)
                many *= 4
                continue
            heappop(left)
            trial = self._place(rank[3])
            if trial is not None:
                trial.undo()
                self.plain.follow()
                return rank, trial
            if self.stuck:
                return None
            self._push(left, rank)
        return None

    def _count(self, left: list[Rank], many: int) -> None:
        """Put the true costs on some of the ranks that come first."""
        chosen: list[Rank] = []
        known: list[Rank] = []
        while left and len(chosen) < many:
            rank = heappop(left)
            (known if rank[3] in self._counted else chosen).append(rank)
        domains: Ints = np.array([rank[3] for rank in chosen], dtype=np.int64)
        self.flat.count(domains)
        self._counted.update(domains.tolist())
        for rank in known:
            heappush(left, rank)
        for rank in chosen:
            self._push(left, rank)

    def _push(self, left: list[Rank], rank: Rank) -> None:
        cost = self.flat.cost(rank[3])
        if cost >= 0:
            heappush(left, (cost, *rank[1:]))

    def _place(self, domain: int) -> Trial | None:
        """What costs least by the count; None where a leaf does not take it, which then counts."""
        trial = Trial(self.plain.rows)
        for leaf, vector in self.flat.plan(domain):
            start = trial.here()
            if self._put(trial, leaf, vector):
                continue
            trial.back_to(start)
            usable = self._usable(leaf)
            at = (self.flat.grid.vectors == vector).all(axis=1)
            if usable is not None and usable[at].all():
                assert self._packer is not None, "made to count"
                self._apply(trial, self._packer.spread(leaf, vector))
                continue
            trial.undo()
            self.plain.follow()
            if usable is None:
                self.stuck = True
            else:
                self.flat.forbid(domain, leaf, usable)
            return None
        return trial

    def _put(self, trial: Trial, leaf: int, vector: Vector) -> bool:
        """One unit after the other on a leaf's nodes, the scarcest first; False: not all fit."""
        tables, units = self.plain.tables, self.plain.task.units
        asked = [at for at, pods in enumerate(vector) if pods]
        if len(asked) > 1:
            room = {at: max(1, int(tables[at].sums[leaf])) for at in asked}
            asked.sort(key=lambda at: (-vector[at] / room[at], at))
        for at in asked:
            before = trial.count(units[at])
            self.plain.put(trial, units[at], tables[at], [(leaf, vector[at])], scatter=False)
            if trial.count(units[at]) - before < vector[at]:
                return False
        return True

    def _usable(self, leaf: int) -> Usable | None:
        """Which vectors fit on a leaf's nodes, counted exactly; None when it takes too long."""
        if self._packer is None:
            task, flat = self.plain.task, self.flat
            self._packer = Packer(
                self.plain.rows, task.units, self.plain.tables, flat.wanted, self.budget
            )
        packer = self._packer
        if not packer.possible() or not packer.prepare([leaf]):
            return None
        front = packer.own(leaf)
        if front is None:
            return None
        vectors = self.flat.grid.vectors
        beside = vectors[:, packer.others] if packer.others else np.zeros((len(vectors), 1), int)
        usable: Usable = front[tuple(beside.T)] >= vectors[:, packer.last]
        return usable

    def _apply(self, trial: Trial, nodes: Sequence[NodePods]) -> None:
        for node in nodes:
            row = node.row
            for at, pods in enumerate(node.pods):
                if pods:
                    unit, table = self.plain.task.units[at], self.plain.tables[at]
                    row = trial.put(unit, table, row, 1, pods)
