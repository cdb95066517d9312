"""A program dies before or after any of its writes: nothing is lost, no promise is broken."""

import pytest

from tests.chaos.choice import some
from tests.chaos.crashes import PROGRAMS, numbered, points, survived
from tests.chaos.network import CrashPoint

MOST_WRITES = 300
"""Of all programs in the script: a crash point beyond the last one is left out."""


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("number", some(2 * MOST_WRITES))
def test_a_crash_point_is_survived(number):
    """The program is back three seconds later, and the run ends as one without a crash."""
    found = list(points())
    if number >= len(found):
        pytest.skip(f"the script has {len(found)} crash points")
    point = found[number]
    result = survived(point)

    assert result.fired["crash"] == 1, point
    assert result.violations == [], point


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_last_write_is_a_crash_point(program):
    """No point lies after the run, where the programs end one after another."""
    point = CrashPoint(program, numbered()[program], after=True)
    result = survived(point)

    assert result.fired["crash"] == 1, point
    assert result.violations == [], point


@pytest.mark.slow
def test_every_write_has_its_number():
    """The script makes every program write, and no more than the matrix has room for."""
    writes = numbered()

    assert all(writes[program] > 20 for program in PROGRAMS)
    assert sum(writes.values()) <= MOST_WRITES
