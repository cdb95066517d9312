"""The lowest tier that holds a gang in each of many clusters, worked out for all of them at once.

A cluster's domains ascend by tier in `FitCounts`, the whole cluster last, so every tier of every
cluster is one stretch of its rows: a few vector operations answer for the whole federation.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.sentinels import LARGEST_AMOUNT
from global_sched.shared.placement.tree.domain_index import TreeIndex

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_TIER = 2**62
"""Stands for the tier of a whole cluster, which has none."""


Near = tuple[int | None, int]
"""The lowest tier that holds the minimum (None: only the whole cluster, or no tier counts), and how
many pods the tightest domain of that tier has room for."""


class Nearby(NamedTuple):
    """By cluster: whether it fits, its lowest tier, and the pods that its tightest domain holds.

    `tier` is `NO_TIER` where only the whole cluster holds it, and None where no tier counts.
    """

    fits: Mask
    tier: Ints | None
    holds: Ints


class TierLevels:
    """Where the tiers of all clusters lie in the rows of `FitCounts`."""

    def __init__(self, indexes: Sequence[TreeIndex], first: Sequence[int]) -> None:
        self.roots: Ints = np.array([at - 1 for at in first[1:]], dtype=np.int64)
        """The row of each whole cluster."""
        width = 1 + max((len(index.slices) for index in indexes), default=0)
        self.tiers: Ints = np.full((len(indexes), width), NO_TIER, dtype=np.int64)
        starts, places = [], []
        for at, index in enumerate(indexes):
            for level, (tier, begin, _) in enumerate(index.slices):
                self.tiers[at, level] = min(tier, NO_TIER - 1)
                starts.append(first[at] + begin)
                places.append(at * width + level)
            starts.append(first[at] + index.root)
            places.append(at * width + len(index.slices))
        self._starts = np.array(starts, dtype=np.int64)
        self._places = None if len(places) == self.tiers.size else np.array(places, dtype=np.int64)
        self._before = np.arange(len(indexes)) * width
        """How many levels the clusters before have."""

    def up_to(self, highest: Sequence[int | None]) -> Mask:
        """The tiers that count, by cluster and level, for the highest one allowed in each.

        None allows all of them and the whole cluster.
        """
        most = [NO_TIER if tier is None else min(tier, NO_TIER - 1) for tier in highest]
        found: Mask = self.tiers <= np.array(most, dtype=np.int64)[:, None]
        return found

    def nearest(self, sums: Ints, least: int, counts: Mask) -> Nearby:
        """By cluster the lowest of the levels that count with a domain for so many pods."""
        room = np.minimum.reduceat(np.where(sums >= least, sums, LARGEST_AMOUNT), self._starts)
        if self._places is None:
            levels = room.reshape(self.tiers.shape)
        else:
            levels = np.full(self.tiers.shape, LARGEST_AMOUNT, dtype=np.int64)
            levels.reshape(-1)[self._places] = room
        there = counts & (levels < LARGEST_AMOUNT)
        lowest = there.argmax(axis=1)
        lowest += self._before
        return Nearby(there.take(lowest), self.tiers.take(lowest), levels.take(lowest))

    def whole(self, sums: Ints, least: int) -> Nearby:
        """The same where any domain will do."""
        holds = sums[self.roots]
        return Nearby(holds >= least, None, holds)
