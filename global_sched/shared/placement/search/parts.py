"""Pods per domain: what a split costs, and the plain way to make one."""

from global_sched.shared.placement.tree.domain_index import TreeIndex

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
