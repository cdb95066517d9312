"""Lower bounds on the cost of several units in a domain: the larger of two relaxations.

Problem: a bound below the cost of every placement of the vector `wanted` in a domain, for all
domains of a tier at once, so that `multi_shape` can order and cut them off.
Method: (1) units do not compete: each as close as it can be alone (`one_shape_exact`), and each
pair of units saves at most what the better placed of both allows; (2) units share nodes freely:
all pods as one shape in the sum of the rooms. The larger of both counts.
Exact: a lower bound; a placement that meets it is the closest.
Cost: that of `one_shape_exact` per unit and once for all, O(domains) else.
docs/design/0003, "Several units".
"""

from collections.abc import Sequence

import numpy as np

from global_sched.shared.placement.capacity.domain_room import DomainRoom, Ints, PooledRoom
from global_sched.shared.placement.search.one_shape_exact import OneShapeOptimum
from global_sched.shared.placement.sentinels import MOST_PODS_EXACT
from global_sched.shared.placement.tree.domain_index import TreeIndex


def least_costs(
    index: TreeIndex, rooms: Sequence[DomainRoom], wanted: Sequence[int], domains: Ints
) -> Ints:
    """At least so much is the sum over pairs in each of several domains of one tier.

    The larger of two bounds: all pods as if units shared nodes freely; and every unit as close as
    it can be alone, with as many pods beside the others' largest share as there are.

    Shapes:  `domains` hold each unit's pods; the result has one entry per domain.
    """
    asked = [(room, pods) for room, pods in zip(rooms, wanted, strict=True) if pods]
    tier = index.height[int(domains[0])]
    pods = sum(number for _, number in asked)
    if pods > MOST_PODS_EXACT:
        return np.zeros(len(domains), dtype=np.int64)
    if not any(index.children[at] for at in domains.tolist()):
        return np.full(len(domains), tier * (pods * (pods - 1) // 2), dtype=np.int64)
    alone = [OneShapeOptimum(index, room, number).costs(domains, number) for room, number in asked]
    if len(asked) == 1:
        return alone[0]
    apart: Ints = np.sum(alone, axis=0)
    gains = [_most_beside(index, room, number)[domains] for room, number in asked]
    for at, (_, first) in enumerate(asked):
        for other in range(at + 1, len(asked)):
            second = asked[other][1]
            beside = np.minimum(gains[at] * second, gains[other] * first)
            apart = (
                apart
                + tier * first * second
                - np.minimum(beside, (tier - index.height[0]) * first * second)
            )
    together = PooledRoom([room for room, _ in asked], [number for _, number in asked])
    return np.maximum(apart, OneShapeOptimum(index, together, pods).costs(domains, pods))


def _most_beside(index: TreeIndex, room: DomainRoom, pods: int) -> Ints:
    """Per domain how many tiers one more pod in it can save at best, over pairs with these pods."""
    tiers = index.heights_of
    saved = np.zeros(index.root + 1, dtype=np.int64)
    steps = np.minimum(room.sums, pods) * (tiers[index.parents] - tiers)
    for _, first, after in index.slices:
        np.maximum.at(saved, index.parents[first:after], saved[first:after] + steps[first:after])
    return saved
