"""The cost of a split in pairs, and a lower bound that takes every tier by itself.

Problem: the sum of tiers over all pairs telescopes along the tree,
    cost = sum over domains d of (tier(d) - tier(parent(d))) n_d (n_d - 1)/2  (root: its own tier).
Method, bound: for each tier alone, pairs within its domains are most when the largest are filled
(shares that majorize all others); that one placement does so for every tier at once is relaxed.
Exact: `sum_of_pairs` is; `least_cost` is a lower bound, tight where largest first is optimal in all
tiers. Cost: O(parts x depth), and O(domains log domains) for the bound.
docs/design/0003, "Algorithms" (one shape in a deep tree).
"""

from collections.abc import Iterator

import numpy as np

from global_sched.shared.placement.capacity.domain_room import Ints
from global_sched.shared.placement.search.math.min_plus import max_pairs, pairs
from global_sched.shared.placement.tree.domain_index import TreeIndex


def least_cost(index: TreeIndex, sums: Ints, domain: int, pods: int) -> int:
    """At least so much is the sum of tiers over all pairs of so many pods in a domain."""
    cost = index.height[domain] * (pods * (pods - 1) // 2)
    for saved, rooms in _tiers(index, sums, domain, pods):
        shares = np.diff(np.minimum(np.cumsum(rooms), pods), prepend=0)
        cost -= saved * int((shares * (shares - 1) // 2).sum())
    return cost


def least_costs(index: TreeIndex, sums: Ints, domain: int, most: int) -> Ints:
    """The same for 0 to `most` pods."""
    costs: Ints = index.height[domain] * pairs(most)
    for saved, rooms in _tiers(index, sums, domain, most):
        costs = costs - saved * max_pairs(rooms, most)
    return costs


def _tiers(index: TreeIndex, sums: Ints, domain: int, pods: int) -> Iterator[tuple[int, Ints]]:
    """Per tier below a domain: what a pair within it saves at best, and its rooms, falling."""
    for saved, positions in index.levels(domain):
        yield saved, -np.sort(-np.minimum(sums[positions], pods))[:pods]


Part = tuple[int, int]
"""(domain, pods on the nodes that hang directly on it)."""


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
        total += pairs * (index.height[at] - (index.height[above] if above >= 0 else 0))
    # Telescopes: a pair in domain d counts tier(d) - tier(parent) there and so on up to the root.
    return total


def fill_largest(children: list[tuple[int, int]], pods: int) -> list[tuple[int, int]]:
    """(child, pods) by filling the largest, which come first; the last is the tightest."""
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
