"""The pause between two cycles."""

import pytest

from global_sched.controllers.scheduling_timer import Pace


def paced(*took):
    """After cycles of so many seconds, the last of which ended at 10."""
    pace = Pace(debounce=0.005, budget=0.05)
    for seconds in took:
        pace.cycle(began=10 - seconds, ended=10)
    return pace


@pytest.mark.parametrize(
    ("took", "now", "want"),
    [
        pytest.param((), 10, 0.0, id="the first one begins at once"),
        pytest.param((0.001, 0.001), 10, 0.005, id="changes are collected"),
        pytest.param((0.001, 0.001), 10.004, 0.001, id="the time since the last one counts"),
        pytest.param((0.001, 0.001), 11, 0.0, id="none after a quiet time"),
        pytest.param((0.02, 0.02), 10, 0.02, id="half of the time is for everything else"),
        pytest.param((0.007, 0.035), 10, 0.007, id="one slow cycle is no backlog"),
        pytest.param((0.035, 0.030), 10, 0.030, id="two are"),
        pytest.param((0.007, 0.3), 10, 0.3, id="one above the budget is a backlog by itself"),
        pytest.param((0.007, 30.0), 10, 1.0, id="at most a second"),
    ],
)
def test_the_next_cycle_waits(took, now, want):
    """The longer of the debounce and the rest, less the time that has passed."""
    assert paced(*took).pause(now) == pytest.approx(want, abs=1e-9)
