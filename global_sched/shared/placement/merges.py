"""Vectors of costs by number of pods: how those of several children become one."""

import numpy as np

from global_sched.shared.placement.views import Ints

FAR = np.int64(2**60)
"""The cost of what is not possible."""
_BLOCK = 1 << 20


def pairs(most: int) -> Ints:
    """k(k-1)/2 for k from 0."""
    k = np.arange(most + 1, dtype=np.int64)
    return k * (k - 1) // 2


def together(rooms: list[int], limit: int) -> Ints:
    """The most pairs that share a child, for 0 to `limit` pods over rooms, largest first."""
    sizes = np.minimum(np.array(rooms, dtype=np.int64), limit)
    filled = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    pairs = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes * (sizes - 1) // 2)))
    k = np.minimum(np.arange(limit + 1, dtype=np.int64), filled[-1])
    whole = np.searchsorted(filled, k, side="right") - 1
    rest = k - filled[whole]
    result: Ints = pairs[whole] + rest * (rest - 1) // 2
    return result


def merge(left: Ints, right: Ints, limit: int) -> tuple[Ints, Ints]:
    """(min, +) convolution up to `limit`, and how much of each sum is right's.

    Ties give right the most: it is the smaller child, so larger ones stay free.
    """
    size = min(len(left) + len(right) - 2, limit) + 1
    width = len(right)
    padded = np.full(size + width - 1, FAR, dtype=np.int64)
    usable = min(len(left), size)
    padded[width - 1 : width - 1 + usable] = left[:usable]
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)
    flipped = right[::-1]
    best = np.empty(size, dtype=np.int64)
    share = np.empty(size, dtype=np.int64)
    block = max(1, _BLOCK // width)
    for first in range(0, size, block):
        sums = windows[first : first + block] + flipped
        at = sums.argmin(axis=1)
        best[first : first + block] = sums[np.arange(len(at)), at]
        share[first : first + block] = width - 1 - at
    return np.minimum(best, FAR), share
