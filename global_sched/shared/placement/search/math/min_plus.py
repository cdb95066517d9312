"""Costs by number of pods: (min, +) convolution of vectors that are concave nearly everywhere.

Problem: c(n) = min over i + j = n of a(i) + b(j), for all n up to a limit.
Method: costs are concave where pods are cheaper the more of them are together. Of two summands at
points where both are concave, shifting pods one way does not cost more, so an optimum has all but
one summand at a non-concave point (extreme points of concave costs: Zangwill 1968). So each side's
few non-concave points meet all points of the other side. Small products are made as they are, and
vectors with gaps (whole groups) by their common step.
Exact: yes; `sentinels.FAR` marks numbers that cannot be.
Cost: O((non-concave points of a) |b| + (those of b) |a|), at worst |a| |b|.
docs/design/0003, "Bends".
"""

import numpy as np

from global_sched.shared.placement.capacity.domain_room import Ints
from global_sched.shared.placement.sentinels import FAR

_FEW_SUMS = 1 << 14
"""So many sums are looked at as they are."""
_PASS_ADDITIONS = 2_000
"""What going once over a vector costs by itself, in additions."""


def pairs(most: int) -> Ints:
    """k(k-1)/2 for k from 0."""
    k = np.arange(most + 1, dtype=np.int64)
    return k * (k - 1) // 2


def max_pairs(rooms: Ints, limit: int) -> Ints:
    """The most pairs that share a child, for 0 to `limit` pods over rooms, largest first."""
    sizes = np.minimum(rooms, limit)
    filled = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    pairs = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes * (sizes - 1) // 2)))
    k = np.minimum(np.arange(limit + 1, dtype=np.int64), filled[-1])
    whole = np.searchsorted(filled, k, side="right") - 1
    rest = k - filled[whole]
    result: Ints = pairs[whole] + rest * (rest - 1) // 2
    return result


def less(costs: Ints, amounts: Ints) -> Ints:
    """Costs less something; what is not possible stays so."""
    return np.where(costs < FAR, costs - amounts, FAR)


def non_concave_points(costs: Ints) -> Ints:
    """The numbers that all children but one may be limited to, ascending.

    Let two children be at numbers that both are no bends: possible, with possible neighbours, and
    concave there (the costs of one pod more and one less add up to no more than twice the cost).
    Pods moved one way or the other then cost no more in sum, one of the two ways; and so on that
    way, since the sum stays concave, until one of the children is at a bend.
    """
    possible = costs < FAR
    bent = possible.copy()
    inner = possible[1:-1] & possible[:-2] & possible[2:]
    bent[1:-1] &= ~inner | (costs[2:] + costs[:-2] > 2 * costs[1:-1])
    return np.flatnonzero(bent)


def merge(left: Ints, right: Ints, limit: int) -> Ints:
    """(min, +) convolution up to `limit`."""
    size = min(len(left) + len(right) - 2, limit) + 1
    left, right = left[:size], right[:size]
    if len(left) * len(right) <= _FEW_SUMS:
        return _all_sums(left, right, size)
    here, there = np.flatnonzero(left < FAR), np.flatnonzero(right < FAR)
    step = int(np.gcd(np.gcd.reduce(here), np.gcd.reduce(there)))
    if step > 1:
        result = np.full(size, FAR, dtype=np.int64)
        few = merge(left[::step], right[::step], (size - 1) // step)
        result[: len(few) * step : step] = few
        return result
    return _over_few(left, right, here, there, size)


def _over_few(left: Ints, right: Ints, here: Ints, there: Ints, size: int) -> Ints:
    """Over the possible numbers of one side, or over the bends of both: what is least work."""
    bent_here, bent_there = non_concave_points(left), non_concave_points(right)
    by_left, by_right = _PASS_ADDITIONS + len(right), _PASS_ADDITIONS + len(left)
    works = (
        len(here) * by_left,
        len(there) * by_right,
        len(bent_here) * by_left + len(bent_there) * by_right,
    )
    result = np.full(size, FAR, dtype=np.int64)
    least = works.index(min(works))
    if least != 1:
        _add(result, left, here if least == 0 else bent_here, right)
    if least != 0:
        _add(result, right, there if least == 1 else bent_there, left)
    return _possible(result)


def _add(result: Ints, costs: Ints, numbers: Ints, others: Ints) -> None:
    """Let some numbers of one side meet all of the other's."""
    size = len(result)
    for number, cost in zip(numbers.tolist(), costs[numbers].tolist(), strict=True):
        part = result[number : number + len(others)]
        np.minimum(part, others[: size - number] + cost, out=part)


def _all_sums(left: Ints, right: Ints, size: int) -> Ints:
    if len(right) > len(left):
        left, right = right, left
    width = len(right)
    padded = np.full(size + width - 1, FAR, dtype=np.int64)
    padded[width - 1 : width - 1 + len(left)] = left
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)
    best: Ints = (windows + right[::-1]).min(axis=1)
    return _possible(best)


def _possible(costs: Ints) -> Ints:
    """Sums with something impossible in them are so, whatever was added."""
    costs[costs > FAR // 2] = FAR
    return costs


def share_of(left: Ints, right: Ints, pods: int) -> int:
    """How many of these pods are right's where both together cost least.

    Ties give right the most: it is the smaller child, so larger ones stay free.
    """
    most, least = min(pods, len(right) - 1), max(0, pods - len(left) + 1)
    end = pods - most
    sums = right[least : most + 1][::-1] + left[end : pods - least + 1]
    return most - int(sums.argmin())
