"""Pods of one shape in one domain, as close together as possible: exact, by dynamic programming."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.index import TreeIndex
from global_sched.shared.placement.table import Table

_FAR = np.int64(2**62)
_MOST_CELLS = 40_000_000
_MOST_EXACT_PODS = 16_384
"""Beyond so many steps or pods the split is made largest child first instead."""
_BLOCK = 1 << 20

Ints = NDArray[np.int64]
Part = tuple[int, int]
"""(domain, pods on the nodes that hang directly on it)."""


@dataclass(slots=True)
class _Stage:
    """The choice of one child: how many pods it gets for every number of pods so far."""

    child: int
    share: Ints


@dataclass(slots=True)
class Closest:
    """Least sums of tiers over all pairs of pods, and the splits that reach them.

    A pair counts the tier of the smallest domain around both pods. All answers are for the table as
    it was when this was made, and for at most `most` pods.
    """

    index: TreeIndex
    table: Table
    most: int
    _costs: dict[int, Ints] = field(default_factory=dict)
    _rooms: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    _large: dict[int, bool] = field(default_factory=dict)
    _flats: dict[int, bool] = field(default_factory=dict)
    _stages: dict[int, list[_Stage]] = field(default_factory=dict)

    def cost(self, domain: int, pods: int) -> int:
        """The least sum over pairs for so many pods in a domain (which holds them)."""
        if self._flat(domain):
            return self._flat_cost(domain, pods)
        if self._too_large(domain):
            return sum_of_pairs(self.index, self.largest_first(domain, pods))
        return int(self._vector(domain)[pods])

    def split(self, domain: int, pods: int) -> list[Part]:
        """Where these pods go: the least sum over pairs, then the tightest children."""
        if pods <= 0:
            return []
        if self._too_large(domain) or self._flat(domain):
            return self.largest_first(domain, pods)
        parts: list[Part] = []
        stack = [(domain, pods)]
        while stack:
            at, here = stack.pop()
            shares = self._shares(at, here)
            direct = here - sum(share for _, share in shares)
            if direct:
                parts.append((at, direct))
            stack.extend(reversed([item for item in shares if item[1]]))
        return parts

    def largest_first(self, domain: int, pods: int, *, without: int = -1) -> list[Part]:
        """Few children by filling the largest, the last one being the tightest that suffices.

        `without` names a child that is left out. Exact where children have no children.
        """
        parts: list[Part] = []
        stack = [(domain, pods)]
        while stack:
            at, here = stack.pop()
            children = self._children(at)
            if without >= 0:
                children = [item for item in children if item[0] != without]
            shares = _fill_largest(children, here)
            direct = here - sum(share for _, share in shares)
            if direct:
                parts.append((at, direct))
            stack.extend(reversed(shares))
        return parts

    def _children(self, domain: int) -> list[tuple[int, int]]:
        """(child, its room), largest first, then by name; those without room are left out."""
        known = self._rooms.get(domain)
        if known is None and not self.index.children[domain]:
            return []
        if known is None:
            below = self.index.below(domain)
            room = self.table.sums[below]
            order = np.argsort(-room, kind="stable")
            order = order[: int(np.count_nonzero(room > 0))]
            known = list(zip(below[order].tolist(), room[order].tolist(), strict=True))
            self._rooms[domain] = known
        return known

    def _too_large(self, domain: int) -> bool:
        known = self._large.get(domain)
        if known is None:
            known = self._large[domain] = self._cells(domain) > _MOST_CELLS
        return known

    def _cells(self, domain: int) -> int:
        """Steps of the dynamic program, all domains together."""
        if self._flat(domain):
            return 0
        if min(self.most, int(self.table.sums[domain])) > _MOST_EXACT_PODS:
            return _MOST_CELLS + 1
        cells = 0
        for at in self._inner_first(domain):
            children = self._children(at)
            if not self._flat(at):
                limit = min(self.most, int(self.table.sums[at])) + 1
                cells += limit * sum(min(room, self.most) + 1 for _, room in children)
        return cells

    def _vector(self, domain: int) -> Ints:
        """Least sums for 0, 1, … pods in a domain."""
        known = self._costs.get(domain)
        if known is not None:
            return known
        for at in self._inner_first(domain):
            self._costs[at] = self._combine(at)
        return self._costs[domain]

    def _inner_first(self, domain: int) -> list[int]:
        """The domain and what is below it and has room, children before parents."""
        found = [domain]
        for at in found:
            found.extend(child for child, _ in self._children(at) if child not in self._costs)
        return found[::-1]

    def _combine(self, domain: int) -> Ints:
        tier = self.index.tier[domain]
        limit = min(self.most, int(self.table.sums[domain]))
        pairs = _pairs(limit)
        children = self._children(domain)
        if not children:
            return tier * pairs
        if self._flat(domain):
            return tier * pairs - (tier - self.index.tier[children[0][0]]) * _together(
                [room for _, room in children], limit
            )
        gain: Ints = np.zeros(1, dtype=np.int64)
        stages: list[_Stage] = []
        for child, _ in children:
            vector = self._costs[child]
            gain, share = _merge(gain, vector - tier * _pairs(len(vector) - 1), limit)
            stages.append(_Stage(child, share))
        own = self.table.own(domain)
        direct: Ints = np.zeros(min(own, limit) + 1, dtype=np.int64)
        gain, share = _merge(gain, direct, limit)
        stages.append(_Stage(-1, share))
        self._stages[domain] = stages
        return tier * pairs + gain[: limit + 1]

    def _flat(self, domain: int) -> bool:
        """Whether all children are leaves of one tier: then filling the largest is exact.

        The sum of squares of the shares is what counts, and shares that fill the largest rooms
        majorize all others.
        """
        known = self._flats.get(domain)
        if known is None:
            children = self._children(domain)
            tiers = {self.index.tier[child] for child, _ in children}
            inner = [child for child, _ in children if self.index.children[child]]
            known = len(tiers) <= 1 and not any(self._has_room_below(c) for c in inner)
            self._flats[domain] = known
        return known

    def _flat_cost(self, domain: int, pods: int) -> int:
        tier = self.index.tier[domain]
        cost = tier * (pods * (pods - 1) // 2)
        for child, share in _fill_largest(self._children(domain), pods):
            cost -= (tier - self.index.tier[child]) * (share * (share - 1) // 2)
        return cost

    def _has_room_below(self, domain: int) -> bool:
        return bool((self.table.sums[self.index.below(domain)] > 0).any())

    def _shares(self, domain: int, pods: int) -> list[tuple[int, int]]:
        """(child, pods) for the best split of a domain; the rest goes on its own nodes."""
        self._vector(domain)
        stages = self._stages.get(domain)
        if stages is None:
            return _fill_largest(self._children(domain), pods)
        shares: list[tuple[int, int]] = []
        left = pods
        for stage in reversed(stages):
            share = int(stage.share[left])
            left -= share
            if stage.child >= 0 and share:
                shares.append((stage.child, share))
        shares.reverse()
        return shares


def sum_of_pairs(index: TreeIndex, parts: list[Part]) -> int:
    """The sum of tiers over all pairs of pods, for any parts."""
    held: dict[int, int] = {}
    for domain, pods in parts:
        for at in index.chain[domain]:
            held[at] = held.get(at, 0) + pods
    total = 0
    for at, pods in held.items():
        pairs = pods * (pods - 1) // 2
        above = index.parent[at]
        total += pairs * (index.tier[at] - (index.tier[above] if above >= 0 else 0))
    # Telescopes: a pair in domain d counts tier(d) - tier(parent) there and so on up to the root.
    return total


def _fill_largest(children: list[tuple[int, int]], pods: int) -> list[tuple[int, int]]:
    shares: list[tuple[int, int]] = []
    left = pods
    for position, (child, room) in enumerate(children):
        if left <= 0:
            break
        if room >= left:
            rest = [item for item in children[position:] if item[1] >= left]
            tightest = min(rest, key=lambda item: item[1])
            shares.append((tightest[0], left))
            break
        shares.append((child, room))
        left -= room
    return shares


def _pairs(most: int) -> Ints:
    """k(k-1)/2 for k from 0."""
    k = np.arange(most + 1, dtype=np.int64)
    return k * (k - 1) // 2


def _together(rooms: list[int], limit: int) -> Ints:
    """The most pairs that share a child, for 0 to `limit` pods over rooms, largest first."""
    sizes = np.minimum(np.array(rooms, dtype=np.int64), limit)
    filled = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    pairs = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes * (sizes - 1) // 2)))
    k = np.minimum(np.arange(limit + 1, dtype=np.int64), filled[-1])
    whole = np.searchsorted(filled, k, side="right") - 1
    rest = k - filled[whole]
    result: Ints = pairs[whole] + rest * (rest - 1) // 2
    return result


def _merge(left: Ints, right: Ints, limit: int) -> tuple[Ints, Ints]:
    """(min, +) convolution up to `limit`, and how much of each sum is right's.

    Ties give right the most: it is the smaller child, so larger ones stay free.
    """
    size = min(len(left) + len(right) - 2, limit) + 1
    width = len(right)
    padded = np.full(size + width - 1, _FAR, dtype=np.int64)
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
    return best, share
