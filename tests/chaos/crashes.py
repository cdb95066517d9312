"""The crash matrix: a run whose writes are numbered, and a death before and after each of them."""

from collections.abc import Iterator
from functools import cache

from tests.chaos.network import CrashPoint
from tests.chaos.run import Result, run
from tests.chaos.story import MEMBERS, Act

SEED = 0
"""Jitter and identities of all these runs."""
PROGRAMS = ("global-sched", *MEMBERS)
JOB = {"pods": 4, "gpus": 8, "seconds": 20, "tier": 1, "queue": "default"}


def script() -> list[Act]:
    """Gangs in three queues: one fits, one waits for it, one takes what its queue is owed."""
    return [
        Act(1, "submit", "first", JOB | {"pods": 2}),
        Act(2, "submit", "large", JOB | {"pods": 3, "tier": None, "seconds": 90, "queue": "small"}),
        Act(6, "submit", "owed", JOB | {"pods": 2, "queue": "urgent"}),
        Act(9, "submit", "many", JOB | {"gpus": 2}),
        Act(20, "delete", "first"),
        Act(25, "submit", "last", JOB | {"pods": 1, "tier": None, "seconds": 5}),
    ]


@cache
def numbered() -> dict[str, int]:
    """Writes of every program in the run in which nothing fails."""
    result = run(SEED, script(), schedulers=1, seconds=60)
    assert result.violations == []
    return {program: result.writes[program] for program in PROGRAMS}


def points() -> Iterator[CrashPoint]:
    """Every crash point, in order."""
    for program, writes in sorted(numbered().items()):
        for nth in range(1, writes + 1):
            yield CrashPoint(program, nth, after=False)
            yield CrashPoint(program, nth, after=True)


def survived(point: CrashPoint) -> Result:
    """The run with one death; the program is started again three seconds later."""
    return run(SEED, script(), schedulers=1, seconds=60, crash=point)
