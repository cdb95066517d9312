"""Objects of an earlier release are read as they are: nothing ends, hardly anything is written."""

from pathlib import Path

from tests.golden import read
from tests.virtual_time import virtual_time

FILE = Path(__file__).parents[1] / "data" / "golden" / "0.1.0.json"
"""Made by `tests/golden.py write` in the tree of the first release (commit c82940b)."""
ANEW = {
    "control-plane: update directives/ karmada-es-m1/directive-0": 1,
    "control-plane: update directives/ karmada-es-m2/directive-0": 1,
}
"""Directives name the leader's term, which every start of a leader raises."""
TOLD = {
    "control-plane: create events/ team-a/": 2,
    "control-plane: patch resourcebindings/status team-a/never-job": 1,
}
"""The reason of a job that fits nowhere has other words now: on its binding, and as Events."""
SETTINGS = {"control-plane: patch configmaps/ karmada-system/global-sched-policy": 1}
"""The published Policy has settings that the first release did not know."""


@virtual_time
async def test_objects_of_the_first_release():
    """Gangs that run, wait and have ended: no pod ends or begins, no decision is written."""
    found = await read(FILE.read_text(encoding="utf-8"), seconds=40)

    assert found["pods"] == 11
    assert (found["ended"], found["begun"], found["refused"]) == ([], [], [])
    assert found["written"] == ANEW | TOLD | SETTINGS
