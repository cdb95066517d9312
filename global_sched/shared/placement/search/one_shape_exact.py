"""Pods of one shape in one domain, as close as possible: exact dynamic programming on the tree.

Problem: split n pods over the children c of a domain, at most room(c) each, minimising
    cost(d, n) = tier(d) n(n-1)/2 + min over splits of sum_c (cost(c, n_c) - tier(d) n_c(n_c-1)/2).
Method: (min, +) convolution of the children's cost vectors, leaves first (a tree knapsack: Johnson
and Niemi 1983). Where all children are leaves of one tier, filling the largest is optimal: its
shares majorize all others and the gain is Schur-convex (Marshall and Olkin). Largest first is tried
before, and is optimal where it meets the bound of `pair_costs`. For one number of pods in a large
domain only one entry is made (`math.lagrangian_split`).
Exact: yes, up to 2**21 pods (`sentinels.MOST_PODS_EXACT`).
Cost: O(children) where they are leaves; else O(pods x rooms) at worst, far less by non-concave
points (`math.min_plus`). docs/design/0003, "Algorithms", one shape.
"""

from dataclasses import dataclass, field

import numpy as np

from global_sched.shared.placement.capacity.domain_room import DomainRoom, Ints
from global_sched.shared.placement.search.math.lagrangian_split import Child, min_plus_entry
from global_sched.shared.placement.search.math.min_plus import less, merge, share_of
from global_sched.shared.placement.search.math.min_plus import max_pairs as max_pairs_of
from global_sched.shared.placement.search.math.min_plus import pairs as pairs_of
from global_sched.shared.placement.search.pair_costs import (
    Part,
    fill_largest,
    least_cost,
    least_costs,
    sum_of_pairs,
)
from global_sched.shared.placement.sentinels import FAR, MOST_PODS_EXACT
from global_sched.shared.placement.tree.domain_index import TreeIndex

_MOST_SUMS = 2**20
"""Up to so many sums are the costs for all numbers of pods made."""
MOST_COUNTED = 2**20
"""More room than this in a domain counts as so much, where only better and worse matter."""


@dataclass(slots=True)
class _Stage:
    """One child (or, with -1, the own nodes): what it adds, and the sums before it."""

    child: int
    before: Ints
    added: Ints


@dataclass(slots=True)
class OneShapeOptimum:
    """Least sums of tiers over all pairs of pods, and the splits that reach them.

    A pair counts the tier of the smallest domain around both pods. All answers are for the table as
    it was when this was made, and for at most `most` pods.
    """

    index: TreeIndex
    room: DomainRoom
    most: int
    _full: Ints | None = None
    _costs: dict[int, Ints] = field(default_factory=dict)
    _rooms: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    _small: dict[int, bool] = field(default_factory=dict)
    _flats: dict[int, bool] = field(default_factory=dict)
    _stages: dict[int, list[_Stage]] = field(default_factory=dict)

    def cost(self, domain: int, pods: int) -> int:
        """The least sum over pairs for so many pods in a domain (which holds them)."""
        if self._flat(domain):
            return self._flat_cost(domain, pods)
        if self._is_small(domain):
            return int(self._vector(domain)[pods])
        parts = self._plain(domain, pods)
        return sum_of_pairs(self.index, self.split(domain, pods) if parts is None else parts)

    def costs(self, domains: Ints, pods: int, *, least_only: bool = False) -> Ints:
        """The least sums over pairs in several domains of one tier, which all hold these pods.

        With `least_only` costs that are not the least may come out too low, but above the least.
        """
        height = self.index.height[int(domains[0])]
        fan = self.index.fan(self.index.tier[int(domains[0])])
        rows = None if fan is None else fan.rows[domains]
        if fan is None or rows is None or rows.min() < 0:
            asked = domains.tolist()
            return self._least_of(asked, pods) if least_only else self._all_of(asked, pods)
        rooms = self.room.sums[fan.children[rows]]
        if fan.there is not None:
            rooms *= fan.there[rows]
        rooms.sort(axis=1)
        filled = rooms[:, ::-1].cumsum(axis=1)
        np.minimum(filled, pods, out=filled)
        shares = filled.copy()
        shares[:, 1:] -= filled[:, :-1]
        # The squares of the shares: twice the pairs within children, and all pods once.
        pairs = (np.einsum("ij,ij->i", shares, shares) - filled[:, -1]) // 2
        result: Ints = height * (pods * (pods - 1) // 2) - (height - fan.heights[rows]) * pairs
        return result

    def _all_of(self, domains: list[int], pods: int) -> Ints:
        return np.array([self.cost(at, pods) for at in domains], dtype=np.int64)

    def _least_of(self, domains: list[int], pods: int) -> Ints:
        """The costs of those domains that a bound does not rule out, the bound for the others."""
        index, sums = self.index, self.room.sums
        found = np.array([least_cost(index, sums, at, pods) for at in domains], dtype=np.int64)
        best: int | None = None
        for place in found.argsort(kind="stable").tolist():
            if best is not None and found[place] > best:
                break
            found[place] = self.cost(domains[place], pods)
            cost = int(found[place])
            best = cost if best is None else min(best, cost)
        return found

    def split(self, domain: int, pods: int) -> list[Part]:
        """Where these pods go: the least sum over pairs, then the tightest children."""
        if pods <= 0:
            return []
        if self._flat(domain) or pods > MOST_PODS_EXACT:
            return self.largest_first(domain, pods)
        plain = self._plain(domain, pods)
        if plain is not None:
            return plain
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
        """The largest children first, where a bound shows that nothing is closer."""
        if domain in self._costs:
            return None
        parts = self.largest_first(domain, pods)
        least = least_cost(self.index, self.room.sums, domain, pods)
        return parts if sum_of_pairs(self.index, parts) <= least else None

    def largest_first(self, domain: int, pods: int, *, without: int = -1) -> list[Part]:
        """Few children by filling the largest, the last one being the tightest that suffices.

        `without` names a child that is left out. Exact where children have no children.
        """
        parts: list[Part] = []
        stack = [(domain, pods)]
        while stack:
            at, here = stack.pop()
            children = self._children(at)
            if not children:
                parts.append((at, here))
                continue
            if without >= 0:
                children = [item for item in children if item[0] != without]
            shares = fill_largest(children, here)
            direct = here - sum([share for _, share in shares])
            if direct:
                parts.append((at, direct))
            if self.index.flat(at):
                parts += shares
            else:
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
            full = sums * (sums - 1) // 2 * (index.heights_of[index.parents] - index.heights_of)
            for _, first, after in index.slices:
                np.add.at(full, index.parents[first:after], full[first:after])
            self._full = full
        return self._full

    def _is_small(self, domain: int) -> bool:
        """Whether costs for all numbers of pods are made sooner than for one number alone."""
        known = self._small.get(domain)
        if known is None:
            rooms = sum(min(room, self.most) for _, room in self._children(domain))
            limit = min(self.most, int(self.room.sums[domain]))
            known = self._small[domain] = limit * rooms <= _MOST_SUMS
        return known

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
        height = self.index.height[domain]
        limit = min(self.most, int(self.room.sums[domain]))
        pairs = pairs_of(limit)
        children = self._children(domain)
        if not children:
            return self._whole(domain, height * pairs)
        if self._flat(domain):
            inner = self.index.height[children[0][0]]
            max_pairs = max_pairs_of(
                np.array([room for _, room in children], dtype=np.int64), limit
            )
            return self._whole(domain, height * pairs - (height - inner) * max_pairs)
        gain: Ints = np.zeros(1, dtype=np.int64)
        stages: list[_Stage] = []
        for child, _ in children:
            vector = self._costs[child]
            added = less(vector, height * pairs_of(len(vector) - 1))
            stages.append(_Stage(child, gain, added))
            gain = merge(gain, added, limit)
        own = self.room.own(domain)
        direct: Ints = np.zeros(min(own, limit) + 1, dtype=np.int64)
        stages.append(_Stage(-1, gain, direct))
        gain = merge(gain, direct, limit)
        self._stages[domain] = stages
        return self._whole(domain, height * pairs + gain[: limit + 1])

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
        height = self.index.height[domain]
        cost = height * (pods * (pods - 1) // 2)
        for child, share in fill_largest(self._children(domain), pods):
            cost -= (height - self.index.height[child]) * (share * (share - 1) // 2)
        return cost

    def _has_room_below(self, domain: int) -> bool:
        return bool((self.room.sums[self.index.below(domain)] > 0).any())

    def _shares(self, domain: int, pods: int) -> list[tuple[int, int]]:
        """(child, pods) for the best split of a domain; the rest goes on its own nodes."""
        if self._flat(domain):
            return fill_largest(self._children(domain), pods)
        if domain not in self._costs and not self._is_small(domain):
            return self._for_one_number(domain, pods)
        self._vector(domain)
        shares: list[tuple[int, int]] = []
        left = pods
        for stage in reversed(self._stages[domain]):
            if not left:
                break
            share = share_of(stage.before, stage.added, left)
            left -= share
            if stage.child >= 0 and share:
                shares.append((stage.child, share))
        shares.reverse()
        return shares

    def _for_one_number(self, domain: int, pods: int) -> list[tuple[int, int]]:
        """The best split where costs for all numbers of pods would take long."""
        all_apart = self.index.height[domain] * (pods * (pods - 1) // 2)
        known = sum_of_pairs(self.index, self.largest_first(domain, pods)) - all_apart
        groups = self._groups(domain)
        asked = [self._child(domain, group, pods) for group in groups]
        asked.append(Child(np.zeros(min(self.room.own(domain), pods) + 1, dtype=np.int64)))
        shares = min_plus_entry(asked, pods, known)
        if shares is None:
            return fill_largest(self._children(domain), pods)
        return [
            part
            for group, share in zip(groups, shares, strict=False)
            for part in fill_largest(group, share)
        ]

    def _groups(self, domain: int) -> list[list[tuple[int, int]]]:
        """The children; leaves of one tier together, since they are filled largest first."""
        groups: dict[int, list[tuple[int, int]]] = {}
        for child, room in self._children(domain):
            leaf = not self.index.children[child]
            groups.setdefault(-self.index.height[child] if leaf else child, []).append(
                (child, room)
            )
        return list(groups.values())

    def _child(self, domain: int, group: list[tuple[int, int]], pods: int) -> Child:
        """What a child, or leaves, add to the costs of a domain, which have all pairs apart."""
        child = group[0][0]
        most = min(sum(room for _, room in group), pods)
        apart = self.index.height[domain] * pairs_of(most)
        if len(group) > 1:
            saved = self.index.height[domain] - self.index.height[child]
            max_pairs = max_pairs_of(np.array([room for _, room in group], dtype=np.int64), most)
            return Child(self._whole(child, -saved * max_pairs))

        def exactly() -> Ints:
            return less(self._vector(child)[: most + 1], apart)

        if self._flat(child) or child in self._costs:
            return Child(exactly())
        return Child(least_costs(self.index, self.room.sums, child, most) - apart, exactly)
