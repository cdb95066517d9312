"""A sharper lower bound for several units where children are leaves: Lagrangian relaxation.

Problem: as in `leaf_program`, bounded from above without combining leaves:
    saved <= min over prices p of  sum_l max_v (saving(l, v) - p.v) + p.wanted.
Method: every leaf takes the vector that gains most at the prices; the prices move against what the
leaves take too much or too little of, by Polyak's subgradient step towards the target (Polyak 1969;
Held, Wolfe and Crowder 1974), eight rounds. The leaves' vectors of the best round are a plan that
`greedy` tries.
Exact: a bound at any prices (weak duality); mostly tight, since few leaves are split.
Cost: O(rounds x leaves x vectors), at most 10**6 numbers. docs/design/0003, "Several units".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.capacity.domain_room import DomainRoom, Ints
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import Unit
from global_sched.shared.placement.tree.domain_index import TreeIndex

_MOST_CELLS = 4096
_MOST_NUMBERS = 1_000_000
_ROUNDS = 8
_LOOSE = 1e-6

Floats = NDArray[np.float64]


Plan = list[tuple[int, tuple[int, ...]]]
"""(leaf, pods per unit), what saves most first: a placement to try."""


@dataclass(frozen=True, slots=True)
class LagrangianBound:
    """Bounds by domain, in the domains' order, and for each what the leaves took at its prices."""

    costs: Ints
    plans: dict[int, Plan]


def lagrangian_costs(
    index: TreeIndex,
    units: Sequence[Unit],
    tables: Sequence[ShapeTable],
    rooms: Sequence[DomainRoom],
    wanted: Sequence[int],
    free: Floats,
    domains: Ints,
    target: int,
) -> LagrangianBound | None:
    """At least so much is the sum over pairs in each of several domains of one tier.

    None where their children are not leaves, or where it would take too long. The prices aim at
    showing that nothing costs less than the `target`.
    """
    tier = index.height[int(domains[0])]
    fan = index.fan(index.tier[int(domains[0])])
    rows = None if fan is None else fan.rows[domains]
    if fan is None or rows is None or rows.min() < 0:
        return None
    leaves = fan.children[rows]
    grid = _grid(units, wanted, fan.tiers[rows].min())
    if grid is None or leaves.size * len(grid) > _MOST_NUMBERS:
        return None
    own = leaves.reshape(-1)
    usable = _usable(grid, tables, rooms, free[own], own)
    if fan.there is not None:
        usable[~fan.there[rows].reshape(-1), 1:] = False
    pods = grid.sum(axis=1)
    pairs = (pods * (pods - 1) // 2).astype(np.float64)
    gains = np.repeat((tier - fan.heights[rows]).astype(np.float64), leaves.shape[1])
    saved = np.where(usable, gains[:, None] * pairs[None, :], -np.inf)
    every = sum(wanted) * (sum(wanted) - 1) // 2
    most, chosen, worth = _most_saved(
        saved.reshape(*leaves.shape, len(grid)),
        grid.astype(np.float64),
        np.array(wanted, dtype=np.float64),
        float(tier * every - target),
    )
    costs: Ints = np.ceil(tier * every - most - _LOOSE).astype(np.int64)
    plans: dict[int, Plan] = {}
    for at, domain in enumerate(domains.tolist()):
        order = np.argsort(-worth[at], kind="stable")
        plans[domain] = [
            (int(leaves[at, leaf]), tuple(grid[chosen[at, leaf]].tolist()))
            for leaf in order.tolist()
            if chosen[at, leaf]
        ]
    return LagrangianBound(costs, plans)


def _grid(units: Sequence[Unit], wanted: Sequence[int], leaf_tier: int) -> Ints | None:
    """Every vector of pods that one leaf may get, the empty one first."""
    steps = []
    for unit, pods in zip(units, wanted, strict=True):
        whole = unit.tier is not None and unit.size > 1 and unit.anchor is None
        # Groups that may straddle leaves are counted by pods.
        steps.append(unit.size if whole and (unit.tier or 0) <= leaf_tier and pods else 1)
    lengths = [pods // step + 1 for pods, step in zip(wanted, steps, strict=True)]
    cells = 1
    for length in lengths:
        cells *= length
    if cells > _MOST_CELLS:
        return None
    grid = np.indices(lengths, dtype=np.int64).reshape(len(lengths), -1).T
    result: Ints = grid * np.array(steps, dtype=np.int64)
    return result


def _usable(
    grid: Ints,
    tables: Sequence[ShapeTable],
    rooms: Sequence[DomainRoom],
    free: Floats,
    leaves: Ints,
) -> NDArray[np.bool_]:
    """Which vectors may fit on each leaf: unit by unit, and in all they ask for together."""
    usable = np.ones((len(leaves), len(grid)), dtype=np.bool_)
    asked: dict[int, NDArray[np.float64]] = {}
    for at, (table, room) in enumerate(zip(tables, rooms, strict=True)):
        usable &= grid[:, at][None, :] <= room.sums[leaves][:, None]
        for position, amount in table.request or ():
            more = grid[:, at].astype(np.float64) * amount
            asked[position] = asked[position] + more if position in asked else more
    for position, amounts in asked.items():
        usable &= amounts[None, :] <= free[:, position, None] * (1 + _LOOSE) + _LOOSE
    return usable


def _most_saved(
    saved: Floats, grid: Floats, wanted: Floats, target: float
) -> tuple[Floats, Ints, Floats]:
    """By domain at most so much is saved; `saved` is (domain, leaf, vector).

    And by domain and leaf the vector at the prices of that bound, and what it is worth.
    """
    best = np.full(len(saved), np.inf)
    kept = np.zeros(saved.shape[:2], dtype=np.int64)
    worth = np.zeros(saved.shape[:2])
    prices = _first_prices(saved, grid, wanted)
    for _ in range(_ROUNDS):
        value = saved - (prices @ grid.T)[:, None, :]
        chosen = value.argmax(axis=2)
        gain = np.take_along_axis(value, chosen[:, :, None], axis=2)[:, :, 0]
        bound = prices @ wanted + gain.sum(axis=1)
        better = bound < best
        best[better], kept[better], worth[better] = bound[better], chosen[better], gain[better]
        lacking = wanted - grid[chosen].sum(axis=1)
        size = (lacking * lacking).sum(axis=1)
        active = (size > 0) & (best - target > -1)
        if not active.any():
            break
        step = np.where(active, np.maximum(bound - target, 1.0) / np.maximum(size, 1.0), 0.0)
        prices = np.maximum(prices - step[:, None] * lacking, 0.0)
    return best, kept, worth


def _first_prices(saved: Floats, grid: Floats, wanted: Floats) -> Floats:
    """Per domain and unit what a pod saves at best where the unit is alone on a leaf."""
    alone = np.zeros((len(saved), len(wanted)))
    for at in range(len(wanted)):
        only = np.flatnonzero((grid[:, at] > 0) & (np.delete(grid, at, axis=1) == 0).all(axis=1))
        if len(only):
            each = saved[:, :, only] / grid[only, at]
            alone[:, at] = np.maximum(each.max(axis=(1, 2)), 0.0)
    return alone
