"""The gates that come before any figure; those of large traces are deep."""

import pytest

from global_sched.sim import gates
from tests.deep import DEEP


@pytest.mark.parametrize("gate", gates.SMALL, ids=lambda gate: gate.__name__)
def test_a_small_gate_holds(gate):
    """A closed form, the scenario simulator, two hash seeds."""
    found = list(gate())

    assert [one.text for one in found if one.met is not True] == []
    assert found


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not DEEP, reason="minutes of CPU time: make test-deep")
@pytest.mark.parametrize("gate", gates.LARGE, ids=lambda gate: gate.__name__)
def test_a_large_gate_holds(gate):
    """Published results and an independent program, on traces beside the repository."""
    found = list(gate())

    assert [one.text for one in found if one.met is False] == []
    if all(one.met is None for one in found):
        pytest.skip(found[0].text)


def test_the_closed_form_of_one_server():
    """M/M/1: the load times the mean time in the system."""
    assert gates.erlang_wait(1, 0.5, 100) == pytest.approx(100)


def test_a_large_trace_that_is_absent_is_said_to_be_absent(monkeypatch, tmp_path):
    """The gate is left out by name; nothing smaller runs in its place."""
    monkeypatch.setattr("global_sched.sim.files.TRACES", tmp_path)

    (found,) = gates.philly()

    assert found.met is None
    assert "traces/philly/philly.csv.gz: this large trace is not in the repository" in found.text
