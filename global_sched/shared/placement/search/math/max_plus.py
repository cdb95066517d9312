"""Pareto fronts: (max, +) convolution of "how many more fit beside".

Problem: f(v) = max over u + w = v of g(u) + h(w), where g and h say how many pods of one unit fit
beside a vector of pods of the others (one axis for each of those).
Method: one vectorised pass per entry of the right front that is in use; many fronts are joined in
pairs, pairs of pairs and so on (a balanced tree of joins), many stacks side by side.
Exact: yes, for places that share no nodes; `sentinels.NEVER` marks vectors that do not fit.
Cost: O(entries x used entries) per join. docs/design/0003, "Several units".
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.sentinels import NEVER

Front = NDArray[np.int64]


def nothing(shape: tuple[int, ...]) -> Front:
    """The front of a place without room."""
    front = np.full(shape, NEVER, dtype=np.int64)
    front[(0,) * len(shape)] = 0
    return front


def join(left: Front, right: Front, most: int) -> Front:
    """What fits in two places together, `most` pods at most."""
    result: Front = _join_pairs(left[None], right[None], most)[0]
    return result


def join_all(fronts: Sequence[Front], shape: tuple[int, ...], most: int) -> Front:
    """What fits in all places together: pairs, pairs of pairs, and so on."""
    if not fronts:
        return nothing(shape)
    stacked = np.stack(fronts)
    while len(stacked) > 1:
        odd = stacked[-1:] if len(stacked) % 2 else stacked[:0]
        even = len(stacked) - len(odd)
        joined = _join_pairs(stacked[0:even:2], stacked[1:even:2], most)
        stacked = np.concatenate((joined, odd))
    result: Front = stacked[0]
    return result


def joined_each(
    stacks: Sequence[Sequence[Front]], shape: tuple[int, ...], most: int
) -> list[Front]:
    """What fits in the places of each stack together, for many stacks at once."""
    result = [nothing(shape)] * len(stacks)
    sizes: dict[int, list[int]] = {}
    for at, fronts in enumerate(stacks):
        if fronts:
            sizes.setdefault((len(fronts) - 1).bit_length(), []).append(at)
    empty = nothing(shape)
    for bits, chosen in sorted(sizes.items()):
        width = 1 << bits
        padded = [[*stacks[at], *([empty] * (width - len(stacks[at])))] for at in chosen]
        stacked = np.array(padded, dtype=np.int64).reshape(len(chosen) * width, *shape)
        while len(stacked) > len(chosen):
            stacked = _join_pairs(stacked[0::2], stacked[1::2], most)
        for at, front in zip(chosen, stacked, strict=True):
            result[at] = np.minimum(front, most)
    return result


def _join_pairs(left: Front, right: Front, most: int) -> Front:
    """Joins many pairs at once, along the first axis."""
    shape = left.shape[1:]
    result = np.full(left.shape, NEVER, dtype=np.int64)
    used = (right >= 0).any(axis=0)
    for cell in np.argwhere(used).tolist():
        source = (slice(None), *(slice(0, n - c) for n, c in zip(shape, cell, strict=True)))
        target = (slice(None), *(slice(c, None) for c in cell))
        one = (slice(None), *(slice(c, c + 1) for c in cell))
        np.maximum(result[target], left[source] + right[one], out=result[target])
    result[result < 0] = NEVER
    return np.minimum(result, most)
