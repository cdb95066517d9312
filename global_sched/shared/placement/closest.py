"""Pods of one shape in one domain, as close together as possible: exact, by dynamic programming."""

from dataclasses import dataclass, field

import numpy as np

from global_sched.shared.placement.index import TreeIndex
from global_sched.shared.placement.merges import FAR, merge
from global_sched.shared.placement.merges import pairs as pairs_of
from global_sched.shared.placement.merges import together as together_of
from global_sched.shared.placement.views import Ints, Room

_MOST_CELLS = 40_000_000
_MOST_EXACT_PODS = 16_384
"""Beyond so many steps or pods the split is made largest child first instead."""
MOST_COUNTED = 2**20
"""More room than this in a domain counts as so much, where only better and worse matter."""

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
    room: Room
    most: int
    exact: bool = True
    """False once an answer was only a good one, because the exact one would take too long."""
    _full: Ints | None = None
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
            self.exact = False
            return sum_of_pairs(self.index, self.largest_first(domain, pods))
        return int(self._vector(domain)[pods])

    def costs(self, domains: Ints, pods: int) -> Ints:
        """The least sums over pairs in several domains of one tier, which all hold these pods."""
        tier = self.index.tier[int(domains[0])]
        fan = self.index.fan(tier)
        rows = None if fan is None else fan.rows[domains]
        if fan is None or rows is None or rows.min() < 0:
            return np.array([self.cost(at, pods) for at in domains.tolist()], dtype=np.int64)
        rooms = self.room.sums[fan.children[rows]]
        np.minimum(rooms, pods, out=rooms)
        if fan.there is not None:
            rooms *= fan.there[rows]
        rooms.sort(axis=1)
        filled = rooms[:, ::-1].cumsum(axis=1)
        np.minimum(filled, pods, out=filled)
        shares = filled.copy()
        shares[:, 1:] -= filled[:, :-1]
        # The squares of the shares: twice the pairs within children, and all pods once.
        pairs = (np.einsum("ij,ij->i", shares, shares) - filled[:, -1]) // 2
        result: Ints = tier * (pods * (pods - 1) // 2) - (tier - fan.tiers[rows]) * pairs
        return result

    def split(self, domain: int, pods: int) -> list[Part]:
        """Where these pods go: the least sum over pairs, then the tightest children."""
        if pods <= 0:
            return []
        if self._flat(domain):
            return self.largest_first(domain, pods)
        plain = self._plain(domain, pods)
        if plain is not None:
            return plain
        if self._too_large(domain):
            self.exact = False
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

    def _plain(self, domain: int, pods: int) -> list[Part] | None:
        """The largest children first, where a bound shows that nothing is closer.

        The bound takes every tier by itself: as many pairs as can be within domains of that tier.
        """
        if domain in self._costs:
            return None
        index, sums = self.index, self.room.sums
        inside = None if domain == index.root else index.under(domain)
        cost = index.tier[domain] * (pods * (pods - 1) // 2)
        for tier, first, after in index.slices:
            if tier >= index.tier[domain]:
                break
            rooms, above = sums[first:after], index.tiers_of[index.parents[first:after]]
            if inside is not None:
                rooms, above = rooms[inside[first:after]], above[inside[first:after]]
            if len(rooms):
                largest = -np.sort(-np.minimum(rooms, pods))[:pods]
                shares = np.diff(np.minimum(np.cumsum(largest), pods), prepend=0)
                saved = int(above.max()) - tier
                cost -= saved * int((shares * (shares - 1) // 2).sum())
        parts = self.largest_first(domain, pods)
        return parts if sum_of_pairs(index, parts) <= cost else None

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
            room = self.room.sums[below]
            if self.index.flat(domain):
                order = np.argsort(-room, kind="stable")
            else:
                order = np.lexsort((-self._filled()[below], -room))
            order = order[: int(np.count_nonzero(room > 0))]
            known = list(zip(below[order].tolist(), room[order].tolist(), strict=True))
            self._rooms[domain] = known
        return known

    def _filled(self) -> Ints:
        """Per domain what all its pairs save when it is full: of equal rooms the better ones."""
        if self._full is None:
            index, sums = self.index, np.minimum(self.room.sums, MOST_COUNTED)
            full = sums * (sums - 1) // 2 * (index.tiers_of[index.parents] - index.tiers_of)
            for _, first, after in index.slices:
                np.add.at(full, index.parents[first:after], full[first:after])
            self._full = full
        return self._full

    def _too_large(self, domain: int) -> bool:
        known = self._large.get(domain)
        if known is None:
            known = self._large[domain] = self._cells(domain) > _MOST_CELLS
        return known

    def _cells(self, domain: int) -> int:
        """Steps of the dynamic program, all domains together."""
        if self._flat(domain):
            return 0
        if min(self.most, int(self.room.sums[domain])) > _MOST_EXACT_PODS:
            return _MOST_CELLS + 1
        cells = 0
        for at in self._inner_first(domain):
            children = self._children(at)
            if not self._flat(at):
                limit = min(self.most, int(self.room.sums[at])) + 1
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
        limit = min(self.most, int(self.room.sums[domain]))
        pairs = pairs_of(limit)
        children = self._children(domain)
        if not children:
            return self._whole(domain, tier * pairs)
        if self._flat(domain):
            inner = self.index.tier[children[0][0]]
            together = together_of([room for _, room in children], limit)
            return self._whole(domain, tier * pairs - (tier - inner) * together)
        gain: Ints = np.zeros(1, dtype=np.int64)
        stages: list[_Stage] = []
        for child, _ in children:
            vector = self._costs[child]
            gain, share = merge(gain, vector - tier * pairs_of(len(vector) - 1), limit)
            stages.append(_Stage(child, share))
        own = self.room.own(domain)
        direct: Ints = np.zeros(min(own, limit) + 1, dtype=np.int64)
        gain, share = merge(gain, direct, limit)
        stages.append(_Stage(-1, share))
        self._stages[domain] = stages
        return self._whole(domain, tier * pairs + gain[: limit + 1])

    def _whole(self, domain: int, costs: Ints) -> Ints:
        """The costs, but only for numbers in which pods leave the domain."""
        step = self.room.step(domain)
        if step > 1:
            costs[np.arange(len(costs)) % step != 0] = FAR
        return np.minimum(costs, FAR)

    def _flat(self, domain: int) -> bool:
        """Whether all children are leaves of one tier: then filling the largest is exact.

        The sum of squares of the shares is what counts, and shares that fill the largest rooms
        majorize all others.
        """
        known = self._flats.get(domain)
        if known is None:
            known = not self.index.children[domain] or self.index.flat(domain)
            self._flats[domain] = known = known or self._is_flat_now(domain)
        return known

    def _is_flat_now(self, domain: int) -> bool:
        children = self._children(domain)
        tiers = {self.index.tier[child] for child, _ in children}
        inner = [child for child, _ in children if self.index.children[child]]
        return len(tiers) <= 1 and not any(self._has_room_below(c) for c in inner)

    def _flat_cost(self, domain: int, pods: int) -> int:
        tier = self.index.tier[domain]
        cost = tier * (pods * (pods - 1) // 2)
        for child, share in _fill_largest(self._children(domain), pods):
            cost -= (tier - self.index.tier[child]) * (share * (share - 1) // 2)
        return cost

    def _has_room_below(self, domain: int) -> bool:
        return bool((self.room.sums[self.index.below(domain)] > 0).any())

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
