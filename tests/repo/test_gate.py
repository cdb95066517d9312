"""The gate runs the end-to-end suite: always in CI, elsewhere where its programs can be built."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = '#!/bin/sh\necho "made $1"\n[ "$1" != "$FAILS" ]\n'
BUILD = '#!/bin/sh\necho building\n[ -z "$NO_GO" ] || { echo "Go is not installed" >&2; exit 1; }\n'
LEFT_OUT = "end-to-end suite left out: Go is not installed"


@pytest.fixture
def gate(tmp_path):
    """The gate with stand-ins for make and for the builder; gives what it said and its status."""
    for path, text in ((".venv/bin/python", BUILD), ("bin/make", MAKE)):
        program = tmp_path / path
        program.parent.mkdir(parents=True)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")

    def run(**settings):
        known = {name: value for name, value in os.environ.items() if name != "CI"}
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", str(tmp_path / ".ci" / "run")],
            env=known | settings | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.splitlines(), done.returncode

    return run


@pytest.mark.parametrize(
    ("settings", "said", "status"),
    [
        pytest.param({}, ["made check", "building", "made e2e"], 0, id="Go is here"),
        pytest.param({"CI": "true"}, ["made check", "made e2e"], 0, id="CI"),
        pytest.param(
            {"NO_GO": "1"}, ["made check", "building", LEFT_OUT], 0, id="no Go, and it says so"
        ),
        pytest.param(
            {"CI": "true", "NO_GO": "1", "FAILS": "e2e"},
            ["made check", "made e2e"],
            1,
            id="no Go in CI is a failure",
        ),
        pytest.param({"FAILS": "check"}, ["made check"], 1, id="a red check ends it"),
        pytest.param(
            {"FAILS": "e2e"}, ["made check", "building", "made e2e"], 1, id="a red suite ends it"
        ),
    ],
)
def test_what_the_gate_runs(gate, settings, said, status):
    """`make check`, then the suite; only a missing toolchain outside CI leaves the suite out."""
    assert gate(**settings) == (said, status)
