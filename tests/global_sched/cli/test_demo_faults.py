"""`gsched demo --faults`: when a gang counts as whole, and what is no success."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from global_sched.cli.demo_faults import FaultCost, Outcome, problems, table_of, whole
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
    others=9,
    untouched=9,
)
MOVED = replace(
    COST,
    outcome=Outcome.MOVES,
    fault="m2 cannot hold it",
    disturbed=1,
    kept=0,
    racks=("m3-0",),
    same_decision=False,
)
FEWER = replace(COST, outcome=Outcome.FEWER, fault="no seat", same_decision=False)
STORM = replace(COST, outcome=Outcome.HELD, gang="gang-f … i", gangs=2, racks=("m2-1", "m2-2"))


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
    assert whole(pods(count=2), 2)


@pytest.mark.parametrize(
    ("cost", "change", "line"),
    [
        (COST, {"whole": None}, "gang-a is not whole 90 s after: a pod crashes"),
        (COST, {"disturbed": 2}, "2 other pods of gang-a were disturbed: a pod crashes"),
        (COST, {"racks": ("m1-0", "m1-1")}, "gang-a lies in racks m1-0, m1-1: a pod crashes"),
        (COST, {"same_decision": False}, "gang-a was decided anew: a pod crashes"),
        (COST, {"untouched": 8}, "1 other gang lost pods: a pod crashes"),
        (MOVED, {"racks": ("m2-0",)}, "gang-a did not move to m3: m2 cannot hold it"),
        (FEWER, {"disturbed": 2}, "2 other pods of gang-a were disturbed: no seat"),
        (STORM, {"same_decision": False}, "gang-f … i was decided anew: a pod crashes"),
        (STORM, {"racks": ("m2-1",)}, "gang-f … i lies in racks m2-1: a pod crashes"),
    ],
)
def test_what_is_no_success(cost, change, line):
    """Each with a line of its own."""
    assert problems(cost) == []
    assert problems(replace(cost, **change)) == [line]


def test_the_table_says_what_was_not_disturbed():
    """Beside the cost of each fault, and what became of the gang."""
    table = table_of([COST, MOVED, STORM, FEWER])
    columns = {one.header: list(one.cells) for one in table.columns}

    assert columns["other gangs untouched"] == ["9 of 9"] * 4
    assert columns["then"] == ["stays", "moves", "stays until mended", "goes on with fewer"]
    assert columns["kept"] == ["3", "0", "3", "3"]


def test_other_options_are_left_out():
    """The faults bring their own jobs."""
    result = CliRunner().invoke(cli, ["demo", "--faults", "--kinds"])

    assert result.exit_code == 2
    assert "--faults brings its own jobs" in result.output
