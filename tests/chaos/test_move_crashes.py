"""A program dies before or after any write of a move between clusters: it ends as without.

So does a move before which the gang is called for a checkpoint, and does not answer.
"""

import json
from functools import cache

import pytest

from tests.chaos.choice import some
from tests.chaos.network import CrashPoint
from tests.chaos.run import run
from tests.chaos.story import Act

SEED = 0
PROGRAMS = ("global-sched", "m1", "m2")
FEW = 5
"""Points of this script in the gate, which looks at ten of the first one (`test_crash_points`)."""
MOST_WRITES = 400
"""Of all programs: a crash point beyond the last one is left out."""
RULES = json.dumps({"scopes": ["pod", "cluster"], "hold": "5s"})
GANG = {"pods": 2, "gpus": 8, "seconds": 900, "tier": None, "queue": "small", "recovery": RULES}


GRACES = ("", "10s")
"""Without a call for a checkpoint, and with one."""


def script(grace):
    """A gang fills its queue; all nodes of its member m1 are shut, and a pod of it is deleted.

    Both the shutting and another gang of its queue come when a program that died at the start is
    back: the other gang is one that its queue deserves, and would go first if both waited then. It
    waits, and takes neither quota nor room of the gang that moves.
    """
    shut = [Act(40 + at / 10, "cordon", "m1", {"number": at}) for at in range(4)]
    return [
        Act(1, "submit", "moves", GANG | ({"grace": grace} if grace else {})),
        Act(30, "submit", "waits", GANG | {"pods": 1, "recovery": "{}"}),
        *shut,
        Act(41, "end a pod", "m1", {"number": 1}),
    ]


def played(grace, crash=None):
    seconds = 100 if grace else 80
    return run(SEED, script(grace), schedulers=1, seconds=seconds, crash=crash)


@cache
def numbered(grace):
    """Writes of every program in the run in which nothing fails."""
    result = played(grace)
    assert result.violations == []
    assert result.clusters == {"moves": ["m2"], "waits": []}
    return {program: result.writes[program] for program in PROGRAMS}


def points(grace):
    for program, writes in sorted(numbered(grace).items()):
        for nth in range(1, writes + 1):
            yield CrashPoint(program, nth, after=False)
            yield CrashPoint(program, nth, after=True)


@pytest.mark.slow
@pytest.mark.parametrize("grace", GRACES)
def test_every_write_of_a_move_has_its_number(grace):
    """The gang moves, all promises are kept, and the matrix has room for every write."""
    assert sum(numbered(grace).values()) <= MOST_WRITES


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("grace", GRACES)
@pytest.mark.parametrize("number", some(2 * MOST_WRITES, FEW))
def test_a_crash_point_of_a_move_is_survived(number, grace):
    """It runs in one member at a time, in the new one at the end; its queue is never over."""
    found = list(points(grace))
    if number >= len(found):
        pytest.skip(f"the script has {len(found)} crash points")
    result = played(grace, found[number])

    assert result.fired["crash"] == 1, found[number]
    assert result.violations == [], found[number]
    assert result.clusters == {"moves": ["m2"], "waits": []}, found[number]
