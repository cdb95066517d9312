"""`gsched demo --faults`: when a gang counts as whole, and what is no success."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from global_sched.cli.demo_faults import FaultCost, problems, whole
from global_sched.cli.main import cli

COST = FaultCost(
    fault="a pod crashes",
    gang="gang-a",
    lost=1,
    disturbed=0,
    kept=3,
    racks=("m1-0",),
    same_decision=True,
    noticed=0.5,
    whole=1.5,
)


def pods(*, ready="True", count=4, **meta):
    """Pods of a gang with their condition Ready."""
    conditions = [{"type": "Ready", "status": ready}]
    return {
        f"p{at}": {"metadata": meta, "status": {"conditions": conditions}} for at in range(count)
    }


def test_whole_means_that_all_pods_are_ready_and_stay():
    """Neither one less, nor one that is not Ready, nor one that is asked to go."""
    assert whole(pods())
    assert not whole(pods(count=3))
    assert not whole(pods(ready="False"))
    assert not whole(pods(deletionTimestamp="2026-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"whole": None}, "gang-a is not whole 90 s after: a pod crashes"),
        ({"disturbed": 2}, "2 other pods of gang-a were disturbed: a pod crashes"),
        ({"racks": ("m1-0", "m1-1")}, "gang-a lies in racks m1-0, m1-1: a pod crashes"),
        ({"same_decision": False}, "gang-a was decided anew: a pod crashes"),
    ],
)
def test_what_is_no_success(change, line):
    """Each with a line of its own."""
    assert problems(COST) == []
    assert problems(replace(COST, **change)) == [line]


def test_other_options_are_left_out():
    """The faults bring their own jobs."""
    result = CliRunner().invoke(cli, ["demo", "--faults", "--kinds"])

    assert result.exit_code == 2
    assert "--faults brings its own jobs" in result.output
