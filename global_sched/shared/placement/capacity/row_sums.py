"""The rows of some baselines side by side, in the order in which domains sum them up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.capacity.baseline import Baseline

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TreeReduction:
    """Numbers of domains that are summed up into others: `source`, grouped by where they go."""

    source: Ints
    starts: Ints
    target: Ints


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Rows grouped by domain, and the folds of domains into the domains around them."""

    free: Ints
    kinds: Ints
    sizes: Ints
    starts: Ints
    places: Ints
    folds: tuple[TreeReduction, ...]
    domains: int

    def sums(self, each: Ints) -> Ints:
        """From counts per node of each row (row, count) to sums (domain, count)."""
        sums = np.zeros((self.domains, each.shape[1]), dtype=np.int64)
        if not len(each):
            return sums
        held = each * self.sizes[:, None]
        sums[self.places] = np.add.reduceat(held, self.starts, axis=0)
        for fold in self.folds:
            sums[fold.target] += np.add.reduceat(sums[fold.source], fold.starts, axis=0)
        return sums


def row_layout(
    baselines: Sequence[Baseline],
    kinds: Sequence[Sequence[int]],
    onto: Sequence[Sequence[int] | None],
) -> RowLayout:
    """The layout of all rows, with node classes numbered and axes joined as the caller says."""
    firsts = _firsts(baselines)
    parts = [
        (
            _joined(g.matrix, columns),
            np.array(own, dtype=np.int64)[g.kinds] if len(g.kinds) else g.kinds,
            g.places + first,
            g.sizes,
        )
        for g, own, columns, first in zip(baselines, kinds, onto, firsts, strict=True)
    ]
    if len(parts) == 1:
        free, kind, place, sizes = parts[0]
    else:
        free, kind, place, sizes = (np.concatenate(one) for one in zip(*parts, strict=True))
    if (place[1:] < place[:-1]).any():
        order = np.argsort(place, kind="stable")
        free, kind, place, sizes = free[order], kind[order], place[order], sizes[order]
    starts = np.flatnonzero(place[1:] != place[:-1]) + 1
    starts = np.concatenate((np.zeros(min(1, len(place)), dtype=np.int64), starts))
    domains = firsts[-1] + baselines[-1].index.root + 1
    folds = tuple(_folds(baselines, firsts))
    return RowLayout(free, kind, sizes, starts, place[starts], folds, domains)


def _firsts(baselines: Sequence[Baseline]) -> list[int]:
    firsts, at = [], 0
    for baseline in baselines:
        firsts.append(at)
        at += baseline.index.root + 1
    return firsts


def _joined(matrix: Ints, columns: Sequence[int] | None) -> Ints:
    """The free vectors on the common axis; what a cluster does not have is 0."""
    if columns is None:
        return matrix
    joined = np.zeros((len(matrix), len(columns)), dtype=np.int64)
    for to, column in enumerate(columns):
        if column >= 0:
            joined[:, to] = matrix[:, column]
    return joined


def _folds(baselines: Sequence[Baseline], firsts: Sequence[int]) -> Iterator[TreeReduction]:
    """Level by level: a domain is folded once all below it are."""
    levels: dict[int, list[tuple[int, int]]] = {}
    for baseline, first in zip(baselines, firsts, strict=True):
        index = baseline.index
        height = [0] * (index.root + 1)
        for at in range(index.root):
            above = index.parent[at]
            height[above] = max(height[above], height[at] + 1)
            levels.setdefault(height[at], []).append((first + above, first + at))
    for _, pairs in sorted(levels.items()):
        pairs.sort()
        into = np.array([pair[0] for pair in pairs], dtype=np.int64)
        target, starts = np.unique(into, return_index=True)
        yield TreeReduction(np.array([pair[1] for pair in pairs], dtype=np.int64), starts, target)
