"""Pods of one shape lie as close as possible: checked against every distribution."""

from itertools import product
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.placement import Placed, Space, closest
from tests.global_sched.shared.placement.brute import ancestors
from tests.global_sched.shared.placement.drawing import trees
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    domain,
    free,
    hard,
    leaf,
    topology,
    workers,
)


def mean_tier(world, homes):
    """The sum over pairs of the tier of their smallest common domain; the cluster is above all."""
    above = ancestors(world)
    tier = {d.name: d.tier for d in world.domains}
    top = max(tier.values(), default=0) + 1
    total = 0
    for at, left in enumerate(homes):
        for right in homes[at + 1 :]:
            common = [d for d in above[left] if d in above[right] and d is not None]
            total += tier[common[0]] if common else top
    return total


@st.composite
def worlds(draw):
    domains = draw(trees())
    places = [d.name for d in domains] + [None]
    leaves = [
        leaf(draw(st.sampled_from(places)), free(draw(st.integers(1, 4))), node=f"n{at}")
        for at in range(draw(st.integers(1, 6)))
    ]
    return topology(domains, leaves)


def homes_of(world, placed):
    """The domain of every pod."""
    return [world.leaves[t.leaf].domain for t in placed.takes for _ in range(t.pods_per_node)]


def least(world, placed, pods):
    """The least sum of tiers over all pairs, of all ways in a domain of the tier that was taken."""
    tier = {d.name: d.tier for d in world.domains}
    above = ancestors(world)
    room = {}
    for item in world.leaves:
        room[item.domain] = room.get(item.domain, 0) + item.free[0]
    best = None
    for name in [d.name for d in world.domains] if placed.domain else [None]:
        if placed.domain and tier[name] != placed.tier:
            continue
        own = [d for d in room if name in above[d]]
        for counts in product(*(range(room[d] + 1) for d in own)):
            if sum(counts) == pods:
                spread = [d for d, n in zip(own, counts, strict=True) for _ in range(n)]
                cost = mean_tier(world, spread)
                best = cost if best is None else min(best, cost)
    return best


CONSTRAINTS = st.sampled_from([SOFT, hard(1), hard(2), hard(3), hard(5)])


@settings(max_examples=300, deadline=None)
@given(world=worlds(), pods=st.integers(1, 7), constraint=CONSTRAINTS)
def test_least_mean_tier(world, pods, constraint):
    """Of all ways to place the gang in a domain of the lowest tier, the closest is taken."""
    placed = Space(world).place(workers(pods, constraint=constraint))
    if isinstance(placed, Placed):
        assert placed.exact
        assert mean_tier(world, homes_of(world, placed)) == least(world, placed, pods)


@settings(max_examples=300, deadline=None)
@given(world=worlds(), pods=st.integers(3, 7), constraint=CONSTRAINTS)
def test_beyond_the_size_that_is_solved_exactly(world, pods, constraint):
    """What is called exact is the closest at any size; the rest is told not to be proven."""
    with patch.object(closest, "_MOST_EXACT_PODS", 2):
        placed = Space(world).place(workers(pods, constraint=constraint))
    if isinstance(placed, Placed):
        cost, best = mean_tier(world, homes_of(world, placed)), least(world, placed, pods)
        assert cost == best if placed.exact else cost >= best


def test_a_large_gang_in_an_uneven_tree_is_flagged():
    """20,000 pods over racks of all sizes: placed at once, and told that closer may exist."""
    sizes = [(at * 7919) % 2000 for at in range(320)]
    domains = [domain("c", 3), *(domain(f"s{at}", 2, "c") for at in range(20))]
    domains += [domain(f"r{at}", 1, f"s{at // 16}") for at in range(320)]
    leaves = [leaf(f"r{at}", free(size), node=f"n{at}") for at, size in enumerate(sizes)]
    world = topology(domains, leaves)

    small = Space(world).place(workers(5_000, constraint=hard(3)))
    large = Space(world).place(workers(20_000, constraint=hard(3)))

    assert isinstance(small, Placed)
    assert isinstance(large, Placed)
    assert (small.exact, large.exact) == (True, False)
