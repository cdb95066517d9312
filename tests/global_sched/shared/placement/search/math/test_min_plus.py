"""Costs by number of pods: of every sum the least, and of one sum the best split."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.placement.search.math.lagrangian_split import Child, min_plus_entry
from global_sched.shared.placement.search.math.min_plus import merge, pairs, share_of
from global_sched.shared.placement.sentinels import FAR
from tests.deep import examples

VECTORS = st.lists(st.one_of(st.integers(-30, 30), st.just(int(FAR))), min_size=1, max_size=14).map(
    lambda tail: np.array([0, *tail], dtype=np.int64)
)


def sums(left, right, limit):
    """The least of every sum, over all ways."""
    found = [int(FAR)] * (min(len(left) + len(right) - 2, limit) + 1)
    for at, one in enumerate(left.tolist()):
        for more, other in enumerate(right.tolist()):
            if at + more < len(found) and FAR not in (one, other):
                found[at + more] = min(found[at + more], one + other)
    return found


@settings(max_examples=examples(150), deadline=None)
@given(left=VECTORS, right=VECTORS, limit=st.integers(0, 30), stretch=st.integers(1, 3))
@pytest.mark.parametrize("small", [-1, 1 << 14], ids=["by bends", "all sums"])
def test_merging_finds_the_least_of_every_sum(small, left, right, limit, stretch):
    """Whatever the costs are, possible or not, no sum is missed."""
    wide = np.full((len(left) - 1) * stretch + 1, FAR, dtype=np.int64)
    wide[::stretch] = left
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("global_sched.shared.placement.search.math.min_plus._FEW_SUMS", small)
        patch.setattr("global_sched.shared.placement.search.math.min_plus._PASS_ADDITIONS", 0)
        found = merge(wide, right, limit)
    assert found.tolist() == sums(wide, right, limit)


@settings(max_examples=examples(150), deadline=None)
@given(left=VECTORS, right=VECTORS, pods=st.integers(0, 28))
def test_the_share_of_the_second(left, right, pods):
    """Of the ways to reach a sum at the least cost, the one with most for the second."""
    least = sums(left, right, pods)
    if pods >= len(least):
        return
    costs = {
        here: int(left[pods - here] + right[here])
        for here in range(len(right))
        if pods - here in range(len(left))
    }
    share = share_of(left, right, pods)
    assert costs[share] == min(costs.values())
    assert share == max(here for here, cost in costs.items() if cost == costs[share])


def child(draw):
    """A child that saves more per pod the more pods it has, up to a kink and then anew."""
    rooms = [draw.randint(1, 9) for _ in range(draw.randint(1, 4))]
    parts = [-draw.randint(0, 3) * pairs(room) for room in rooms]
    costs = parts[0]
    for part in parts[1:]:
        costs = np.concatenate((costs, costs[-1] + part[1:]))
    if draw.random() < 0.3:
        costs[1:-1:2] = FAR
    return costs


@pytest.mark.parametrize("seed", range(300))
def test_one_number_of_pods_costs_the_least(seed):
    """The best split for one number is found whenever it is better than what is known already."""
    draw = random.Random(seed)
    costs = [child(draw) for _ in range(draw.randint(1, 5))]
    total = np.zeros(1, dtype=np.int64)
    for one in costs:
        total = np.array(sums(total, one, 200), dtype=np.int64)
    pods = draw.choice(np.flatnonzero(total < FAR).tolist())
    least = int(total[pods])

    def asked():
        """Every other child tells the truth only when it is asked for it."""
        for at, one in enumerate(costs):
            guess = np.where(one < FAR, one - 2 * np.arange(len(one)), one)
            guess = np.minimum(guess, 0)
            yield Child(guess, lambda one=one: one) if at % 2 else Child(one)

    shares = min_plus_entry(list(asked()), pods, least + draw.randint(1, 40))

    assert shares is not None
    assert sum(shares) == pods
    assert sum(int(one[n]) for one, n in zip(costs, shares, strict=True)) == least
    again = min_plus_entry(list(asked()), pods, least)
    assert again in (None, shares)
