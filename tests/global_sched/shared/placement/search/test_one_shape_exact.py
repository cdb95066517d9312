"""Pods of one shape lie as close as possible: checked against every distribution."""

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.placement import Placed, Space
from global_sched.shared.placement.search import one_shape_exact
from global_sched.shared.placement.search.math import min_plus
from tests.deep import examples
from tests.global_sched.shared.placement.brute import ancestors
from tests.global_sched.shared.placement.drawing import trees
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    domain,
    free,
    hard,
    leaf,
    parts,
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


@settings(max_examples=examples(100), deadline=None)
@given(world=worlds(), pods=st.integers(1, 7), constraint=CONSTRAINTS)
def test_least_mean_tier(world, pods, constraint):
    """Of all ways to place the gang in a domain of the lowest tier, the closest is taken."""
    placed = Space(world).place(workers(pods, constraint=constraint))
    if isinstance(placed, Placed):
        assert placed.exact
        assert mean_tier(world, homes_of(world, placed)) == least(world, placed, pods)


@settings(max_examples=examples(100), deadline=None)
@given(world=worlds(), pods=st.integers(3, 7), constraint=CONSTRAINTS)
def test_the_search_for_one_number_of_pods(world, pods, constraint):
    """The way that large gangs are split is as exact as the one for small gangs."""
    with patch.object(one_shape_exact, "_MOST_SUMS", -1):
        placed = Space(world).place(workers(pods, constraint=constraint))
    if isinstance(placed, Placed):
        assert placed.exact
        assert mean_tier(world, homes_of(world, placed)) == least(world, placed, pods)


@settings(max_examples=examples(80), deadline=None)
@given(world=worlds(), groups=st.integers(1, 3), tier=st.integers(1, 3), by_one=st.booleans())
def test_groups_lie_as_close_whichever_way_they_are_split(world, groups, tier, by_one):
    """In groups, too, both ways give the same sum over pairs."""
    wanted = workers(2 * groups, partition=parts(2, groups, constraint=hard(tier)), constraint=SOFT)
    want = Space(world).place(wanted)
    with (
        patch.object(one_shape_exact, "_MOST_SUMS", -1),
        patch.object(min_plus, "_FEW_SUMS", -by_one),
    ):
        placed = Space(world).place(wanted)
    assert type(placed) is type(want)
    if isinstance(placed, Placed):
        found = mean_tier(world, homes_of(world, placed))
        assert found == mean_tier(world, homes_of(world, want))


def spines_of_racks(sizes, racks):
    """A core over spines of so many racks; a rack is one node with room for so many pods."""
    names = {at: f"s{at // racks}" for at in range(len(sizes))}
    domains = [domain("c", 3), *(domain(name, 2, "c") for name in dict.fromkeys(names.values()))]
    domains += [domain(f"r{at}", 1, names[at]) for at in range(len(sizes))]
    leaves = [leaf(f"r{at}", free(size, 0, 0, 999), node=f"n{at}") for at, size in enumerate(sizes)]
    return topology(domains, leaves)


def least_over_spines(sizes, racks, pods):
    """The least sum over pairs in `spines_of_racks`, by a program over all numbers of pods."""
    saved = np.zeros(1, dtype=np.int64)
    for first in range(0, len(sizes), racks):
        own = np.zeros(1, dtype=np.int64)
        for size in sorted(sizes[first : first + racks], reverse=True):
            k = np.arange(1, size + 1)
            own = np.concatenate((own, own[-1] + k * (k - 1) // 2))
        k = np.arange(len(own))
        own += k * (k - 1) // 2
        joined = np.zeros(min(pods, len(saved) + len(own) - 2) + 1, dtype=np.int64)
        for share, more in enumerate(own.tolist()):
            part = joined[share : share + len(saved)]
            np.maximum(part, saved[: len(part)] + more, out=part)
        saved = joined
    return 3 * (pods * (pods - 1) // 2) - int(saved[pods])


@pytest.mark.parametrize("pods", [5_000, 20_000, 25_000])
def test_a_large_gang_in_an_uneven_tree(pods):
    """Tens of thousands of pods over racks of all sizes lie as close as a plain program finds."""
    sizes = [(at * 7919) % 200 for at in range(320)]
    placed = Space(spines_of_racks(sizes, 16)).place(workers(pods, constraint=hard(3)))

    assert isinstance(placed, Placed)
    assert placed.exact
    held, spines = {}, {}
    for take in placed.takes:
        rack = take.leaf
        held[rack] = held.get(rack, 0) + take.pods_per_node
        spines[rack // 16] = spines.get(rack // 16, 0) + take.pods_per_node
    together = sum(n * (n - 1) // 2 for found in (held, spines) for n in found.values())
    found = 3 * (pods * (pods - 1) // 2) - together
    assert found == least_over_spines(sizes, 16, pods)
