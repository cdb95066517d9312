"""Scarcity of room: which demand is placed first, where one takes what others need."""

import pytest

from global_sched.shared.model.gang import Amounts
from global_sched.shared.placement import NO_TIER, scarcity_key
from tests.builders import gang, pod_set


def choice(tier=1, **asked):
    """That of a gang with one pod."""
    small = pod_set("main", pods=1, **{"gpus": 0, "cpu": 1, "memory": 1} | asked)
    return scarcity_key(tier, gang(small), Amounts.of({"main": 1}))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param({"tier": 1}, {"tier": 2, "gpus": 8}, id="a lower tier"),
        pytest.param({"tier": 9, "cpu": 1}, {"tier": NO_TIER, "cpu": 9}, id="any tier"),
        pytest.param({"gpus": 2, "cpu": 1}, {"gpus": 1, "cpu": 9}, id="more devices"),
        pytest.param({"cpu": 2, "memory": 1}, {"cpu": 1, "memory": 9}, id="more CPU"),
        pytest.param({"memory": 2}, {"memory": 1}, id="more memory"),
    ],
)
def test_who_comes_first(first, then):
    """Tiers before devices, devices before CPU, CPU before memory."""
    assert choice(**first) < choice(**then)


def test_the_largest_pod_that_is_asked_for_counts():
    """Not a larger one of the gang for which no room is held."""
    mixed = gang(pod_set("a", cpu=1), pod_set("b", cpu=2), pod_set("c", cpu=4))
    held = scarcity_key(1, mixed, Amounts.of({"a": 5, "b": 1}))
    assert held == scarcity_key(1, gang(pod_set("b", cpu=2)), Amounts.of({"b": 1}))
    assert scarcity_key(1, mixed, Amounts()) == (1, 0, 0, 0)
