"""Choice of a domain for pods of one shape: a lexicographic minimum over a tier's domains.

Problem: of the domains d of the lowest tier with room(d) >= pods choose the least
    (sum over pairs of tiers, devices left idle, room, slack, name).
Method: tier by tier from below; of one tier all domains at once as arrays, each criterion keeping
only the domains that are equal in the ones before (best fit, after closeness). The sum over pairs
is `one_shape_exact`, for domains without children 0 for all, so it is skipped.
Exact: yes, up to 2**21 pods (`sentinels.MOST_PODS_EXACT`); beyond, the largest are filled.
Cost: O(domains of the tier) besides `one_shape_exact`. docs/design/0003, "The rule", 2.
"""

from dataclasses import dataclass

import numpy as np

from global_sched.shared.placement.capacity.domain_room import (
    DomainRoom,
    FrozenRoom,
    Ints,
    RankedRoom,
)
from global_sched.shared.placement.request.compile import Limit
from global_sched.shared.placement.result import Glance
from global_sched.shared.placement.search.one_shape_exact import OneShapeOptimum
from global_sched.shared.placement.search.pair_costs import Part
from global_sched.shared.placement.sentinels import MOST_PODS_EXACT
from global_sched.shared.placement.tree.domain_index import TreeIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """Where to look: a limit on the tier, a domain to stay in, a domain where pods already run.

    `within` is a position; the root means anywhere. `around` None: nothing runs yet.
    """

    limit: Limit
    within: int
    around: int | None = None


def top_of(index: TreeIndex, at: int, limit: Limit) -> int | None:
    """The highest domain around a position that the limit allows; None when there is none."""
    if limit.tier is None:
        return index.root
    allowed = [a for a in index.chain[at][:-1] if index.tier[a] <= limit.tier]
    return allowed[-1] if allowed else None


def room_in(index: TreeIndex, table: DomainRoom, scope: SearchScope) -> int:
    """The most pods that any allowed domain holds."""
    if scope.around is not None:
        top = top_of(index, scope.around, scope.limit)
        return 0 if top is None else int(table.sums[top])
    if scope.limit.tier is None:
        return int(table.sums[scope.within])
    best = 0
    inside = index.under(scope.within)
    for tier, first, after in index.slices:
        if tier <= scope.limit.tier:
            sums = table.sums[first:after][inside[first:after]]
            best = max(best, int(sums.max(initial=0)))
    return best


def glance(index: TreeIndex, table: DomainRoom, least: int, limit: Limit) -> Glance:
    """The lowest tier with a domain for so many pods, as `choose` would find it."""
    sums = table.sums
    whole = int(sums[index.root])
    if whole < least:
        return Glance(fits=False)
    if limit.scatter:
        return Glance(fits=True, holds=whole)
    for tier, first, after in index.slices:
        if limit.tier is not None and tier > limit.tier:
            return Glance(fits=False)
        room = sums[first:after]
        room = room[room >= least]
        if len(room):
            return Glance(fits=True, tier=tier, holds=int(room.min()))
    return Glance(fits=limit.tier is None, holds=whole)


def choose(
    index: TreeIndex, table: FrozenRoom, least: int, most: int, scope: SearchScope
) -> list[Part] | None:
    """Pods per domain, for nodes that hang directly on it; None when `least` fits nowhere.

    The minimum decides the domain; surplus fills it and then spreads to the domains around it, as
    far as the limit allows.
    """
    if scope.around is not None:
        top = top_of(index, scope.around, scope.limit)
        if top is None or int(table.sums[top]) < least:
            return None
        return _spread(index, table, scope.around, most, top)
    if scope.limit.scatter:
        return _scatter(index, table, least, most, scope.within)
    domain = _domain(index, table, least, most, scope)
    if domain is None:
        return None
    top = top_of(index, domain, scope.limit)
    return _spread(index, table, domain, most, domain if top is None else top)


def _domain(
    index: TreeIndex, table: FrozenRoom, least: int, most: int, scope: SearchScope
) -> int | None:
    inside = None if scope.within == index.root else index.under(scope.within)
    for tier, first, after in index.slices:
        if scope.limit.tier is not None and tier > scope.limit.tier:
            return None
        fits = table.sums[first:after] >= least
        if inside is not None:
            fits &= inside[first:after]
        found = fits.nonzero()[0]
        if len(found):
            return _best(index, table, found + first, least, most)
    if scope.limit.tier is None and inside is None and int(table.sums[index.root]) >= least:
        return index.root
    return None


def _best(index: TreeIndex, table: FrozenRoom, candidates: Ints, least: int, most: int) -> int:
    """The best of several domains of one tier, which ascend by name and hold the least."""
    if len(candidates) == 1:
        return int(candidates[0])
    kept, target = candidates, most
    if least < most:
        holds = np.minimum(table.sums[candidates], most)
        target = int(holds.max())
        kept = candidates[holds == target]
    if (
        len(kept) > 1
        and target <= MOST_PODS_EXACT
        and not index.childless(int(kept[0]), int(kept[-1]))
    ):
        closest = OneShapeOptimum(index, table, target)
        costs = closest.costs(kept, target, least_only=True)
        first = int(costs.argmin())
        equal = costs == costs[first]
        if np.count_nonzero(equal) == 1:
            return int(kept[first])
        kept = kept[equal]
    device_free = table.device_free[kept] >= target
    if device_free.any():
        kept = kept[device_free]
    room = table.sums[kept]
    kept = kept[room == room.min()]
    return int(kept[table.slack[kept].argmin()])


def _spread(index: TreeIndex, table: FrozenRoom, domain: int, most: int, top: int) -> list[Part]:
    """Fill a domain, then the domains around it, up to the top."""
    chain = index.chain[domain]
    # Where groups stay whole a domain may hold fewer pods than one within it.
    here = min(most, *(int(table.sums[at]) for at in chain[: chain.index(top) + 1]))
    closest = OneShapeOptimum(index, table, most)
    parts = closest.split(domain, here)
    left = most - here
    at = domain
    while left and at != top:
        above = index.parent[at]
        more = min(left, int(table.sums[above]) - (most - left))
        if more:
            parts.extend(closest.largest_first(above, more, without=at))
        left -= more
        at = above
    return parts


def _scatter(
    index: TreeIndex, table: RankedRoom, least: int, most: int, within: int
) -> list[Part] | None:
    """Nodes outside any domain first, then the fullest domains, so that large ones stay free.

    Nodes with devices that the shape does not ask for are left out where the others suffice.
    """
    held = int(table.sums[within])
    if held < least:
        return None
    here = min(most, held)
    sums = table.device_free if int(table.device_free[within]) >= here else table.sums
    parts: list[Part] = []
    _collect(index, sums, table.slack, within, here, parts)
    if most > held and within != index.root:
        more = min(most - held, int(table.sums[index.root]) - held)
        _collect(index, table.sums, table.slack, index.root, more, parts, without=within)
    return parts


def _collect(
    index: TreeIndex,
    sums: Ints,
    slack: Ints,
    domain: int,
    pods: int,
    parts: list[Part],
    *,
    without: int = -1,
) -> None:
    left = pods
    stack = [domain]
    while stack and left:
        at = stack.pop()
        if at == without:
            continue
        below = index.below(at)
        room = sums[below].tolist()
        direct = min(left, int(sums[at]) - sum(room))
        if direct:
            parts.append((at, direct))
            left -= direct
        if left:
            fullest = sorted(zip(room, slack[below].tolist(), index.children[at], strict=True))
            stack.extend([child for pods, _, child in reversed(fullest) if pods > 0])
