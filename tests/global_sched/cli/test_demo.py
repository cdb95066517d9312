"""The demo: its pieces, and its processes on two tiny clusters. `make e2e` runs whole demos."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from global_sched.cli.demo_progress import (
    first_pending,
    print_result,
    progress_table,
    reasons,
    result_table,
    summary,
)
from global_sched.cli.main import cli
from global_sched.scenario import parse
from global_sched.scenario.run import compare_live
from tests.global_sched.cli.worlds import RACKS, scenario_view
from tests.processes import processes_with

SMALL = Path(__file__).parents[2] / "data" / "small-demo"


@pytest.mark.parametrize(
    ("expect", "want"),
    [
        pytest.param("default/rack: {cluster: b, pods: 4}", [], id="what holds"),
        pytest.param(
            "default/rack: {cluster: a}",
            ["default/rack: cluster is b, wanted a"],
            id="another cluster",
        ),
        pytest.param(
            "default/gone: {pods: 1}", ["default/gone: has no binding yet"], id="an unknown job"
        ),
        pytest.param(
            "default/too-wide: {says: of 9}",
            [
                (
                    "default/too-wide: says 'waits for a HyperNode of tier 1 with room for 5 "
                    "pods; the largest have room for 3 (a-1 and a-2 in a) and 1 (b-2 and b-10 in "
                    "b)', wanted 'of 9' in it"
                )
            ],
            id="another reason",
        ),
    ],
)
def test_expectations_on_a_live_federation(expect, want):
    """Every difference is one sentence with what is and what was wanted."""
    view = scenario_view()
    scenario = parse(f"{RACKS}expect:\n  {expect}\n", "x")

    assert compare_live(scenario.expect, view.state, view.plan) == want


def test_what_the_demo_shows():
    """Counts by state; who waits comes first; the result says why a job waits."""
    view = scenario_view()
    console = Console(width=150, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - closed below
    console.print(progress_table(view))
    console.print(result_table(view))
    console.file.close()
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]

    assert summary(view) == "1 pending, 1 running"
    assert first_pending(view) == "-n default too-wide"
    assert lines[:4] == [
        "1 pending, 1 running",
        "job state cluster domain pods",
        "default/too-wide Pending - - 0/5",
        "default/rack Running b b-1 4/4",
    ]
    assert "default/rack ns/default default 0 b b-1 (1) 4/4 0s Running" in lines
    assert "default/too-wide ns/default default 0 - - 0/5 0s NO_FIT TopologyDoesNotFit" in lines
    assert reasons(view) == [
        (
            "default/too-wide: waits for a HyperNode of tier 1 with room for 5 pods; the largest "
            "have room for 3 (a-1 and a-2 in a) and 1 (b-2 and b-10 in b)"
        )
    ]


def test_the_result_is_whole_on_a_narrow_terminal(capsys):
    """A table that is wider than the terminal wraps there; no word of it is cut off."""
    print_result(Console(width=40), scenario_view())

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "default/too-wide ns/default default 0 - - 0/5 0s NO_FIT TopologyDoesNotFit" in lines
    assert "…" not in "".join(lines)


def test_a_folder_without_examples(tmp_path):
    """One line that says what is missing."""
    result = CliRunner().invoke(cli, ["demo", "--examples", str(tmp_path)])

    assert result.exit_code == 1
    assert result.output == (
        f"Error: {tmp_path}/demo.yaml is not there: --examples needs a folder that has it\n"
    )


def test_a_state_folder_that_cannot_be_made(tmp_path):
    """One line with the path and the reason."""
    (tmp_path / "file").write_text("")
    where = tmp_path / "file" / "state"

    result = CliRunner().invoke(cli, ["demo", "--examples", str(SMALL), "--state", str(where)])

    assert (result.exit_code, result.output) == (1, f"Error: {where}: Not a directory\n")


def demo(examples, state, *more):
    """The command line of the demo."""
    code = "from global_sched.cli.main import main; main()"
    options = ("--examples", str(examples), "--state", str(state))
    return [sys.executable, "-c", code, "demo", *options, *more]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_signal_ends_every_process(tmp_path):
    """SIGTERM in the middle: a word, exit code 130, and nothing is left behind."""
    run = subprocess.Popen(demo(SMALL, tmp_path, "--keep"), stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    for line in run.stdout:
        if line.startswith("applied"):
            break
    assert processes_with(tmp_path)
    run.send_signal(signal.SIGTERM)
    said = run.communicate(timeout=60)[0]

    assert (run.returncode, said.splitlines()[-1]) == (130, "stopped before the result was known")
    assert processes_with(tmp_path) == []
