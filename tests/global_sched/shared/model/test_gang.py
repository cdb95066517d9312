"""Gangs and amounts of pods."""

import pytest

from global_sched.shared.model.gang import Amounts
from tests.builders import GPU, gang, pod_set, resources


@pytest.mark.parametrize(
    ("minimums", "minimum", "want"),
    [
        pytest.param((1, 2), 3, {"a": 1, "b": 2}, id="the sum of the pod sets' own"),
        pytest.param((1, 2), 4, {"a": 2, "b": 2}, id="more: the first pods in template order"),
        pytest.param((1, 2), 6, {"a": 2, "b": 4}, id="all of it"),
        pytest.param((1, 2), 9, {"a": 2, "b": 4}, id="never more than there are"),
        pytest.param((1, 2), 2, {"a": 2}, id="less: the pod sets' own do not bind"),
        pytest.param((0, 0), 0, {}, id="none"),
    ],
)
def test_minimum_amounts(minimums, minimum, want):
    """Volcano's rule: minAvailable against the tasks' own minimums."""
    first, second = minimums
    one = gang(
        pod_set("a", pods=2, minimum=first),
        pod_set("b", pods=4, minimum=second),
        minimum=minimum,
    )

    assert one.minimum_amounts() == Amounts.of(want)


def test_gang():
    """How many pods, and what so many of them ask for."""
    one = gang(pod_set("a", pods=2, gpus=1), pod_set("b", pods=4, cpu=2))

    assert one.pods() == 6
    assert one.all_amounts() == Amounts.of({"a": 2, "b": 4})
    assert one.requests(Amounts.of({"a": 1, "b": 2})) == resources(gpus=1, cpu=4, pods=3)
    assert one.requests(Amounts()).get(GPU) == 0


def test_amounts():
    """Sorted, without zeros; sum, difference and cover by pod set."""
    one, two = Amounts.of({"b": 2, "a": 1, "c": 0}), Amounts.of({"b": 3, "d": 1})

    assert one.entries == (("a", 1), ("b", 2))
    assert (one.get("b"), one.get("x"), one.pods()) == (2, 0, 3)
    assert one.plus(two) == Amounts.of({"a": 1, "b": 5, "d": 1})
    assert one.minus(two) == Amounts.of({"a": 1})
    assert one.covers(Amounts.of({"b": 2}))
    assert not one.covers(two)
    assert one.covers(Amounts())
