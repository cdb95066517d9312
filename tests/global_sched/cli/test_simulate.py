"""`gsched simulate` as a command: files, arms, exit codes, and what it says of bad input."""

import json
import re

import pytest
from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.shared.assets import asset
from global_sched.sim.experiment import parse
from global_sched.sim.files import Reader
from global_sched.sim.run import prepare
from tests.global_sched.sim.test_experiment import FILE, JOBS


@pytest.fixture
def folder(tmp_path):
    """An experiment with its trace."""
    (tmp_path / "two.yaml").write_text(FILE)
    (tmp_path / "jobs.csv").write_text(JOBS)
    return tmp_path


def gsched(*words):
    """The command, with what it printed."""
    return CliRunner().invoke(cli, ["simulate", *map(str, words)])


def test_a_table_and_all_files(folder):
    """Results and plots; a second run writes the same bytes."""
    first = gsched(folder / "two.yaml", "--out", folder / "one")
    second = gsched(folder / "two.yaml", "--out", folder / "two")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "global-sched" in first.stdout
    assert "global-sched, whole, load 1: 10 events in " in first.stderr
    assert re.search(r"^memory: \d+ MB at most$", first.stderr, re.MULTILINE)
    names = sorted(path.name for path in (folder / "one").iterdir())
    assert names[:5] == ["fragmentation.png", "fragmentation.svg", "gains.png", "gains.svg",
                         "result.json"]  # fmt: skip
    for name in names:
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes(), name
    value = json.loads((folder / "one" / "result.json").read_text())
    assert [run["arm"] for run in value["runs"]] == ["silos-like", "global-sched"]
    assert value["trace"]["jobs"] == 5


def test_a_policy_file_is_an_arm_beside_the_others(folder):
    """Named after the file; an arm's name alone chooses that arm."""
    (folder / "eager.yaml").write_text("patienceSeconds: 60\n")

    more = gsched(folder / "two.yaml", "--policy", folder / "eager.yaml", "-o", "json")
    less = gsched(folder / "two.yaml", "--policy", "fifo-skip-like", "-o", "json")

    assert [row["arm"] for row in json.loads(more.stdout)] == [
        "silos-like",
        "global-sched",
        "eager",
    ]
    assert [row["arm"] for row in json.loads(less.stdout)] == ["fifo-skip-like"]


def test_a_history_of_ones_own(folder):
    """Without an experiment, in the world that comes with gsched."""
    found = gsched("--from", folder / "jobs.csv", "--policy", "global-sched", "-o", "json")

    (row,) = json.loads(found.stdout)
    assert (row["arm"], row["jobs"], row["misplaced"]) == ("global-sched", 5, "0")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["two.yaml", "--policy", "fast"], 1, "--policy fast: is no arm, no baseline and no file"),
        (["bad.yaml"], 1, "Error: bad.yaml: line 2: trace: Object contains unknown field `fil`"),
        (["large.yaml"], 3, "Error: traces/none.csv: this large trace is not in the repository"),
        ([], 2, "give an EXPERIMENT, --from FILE, or --check"),
    ],
)
def test_what_cannot_be_run(folder, words, code, says, monkeypatch):
    """One line with the place and the remedy; 3 where a large trace is absent."""
    (folder / "bad.yaml").write_text(FILE.replace("file: jobs", "fil: jobs"))
    (folder / "large.yaml").write_text(FILE.replace("jobs.csv", "traces/none.csv"))
    monkeypatch.chdir(folder)

    found = gsched(*words)

    assert found.exit_code == code
    assert says in found.stderr


def test_plots_without_matplotlib_are_refused_before_the_run(folder, monkeypatch):
    """What to install, and how to do without."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)

    without = gsched(folder / "two.yaml", "--out", folder / "one")
    plain = gsched(folder / "two.yaml", "--out", folder / "one", "--no-plots")

    assert without.exit_code == 1
    assert "pip install 'global-sched[sim]'" in without.stderr
    assert plain.exit_code == 0
    assert (folder / "one" / "runs.csv").exists()


SHIPPED = sorted((asset("examples") / "experiments").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_experiment_can_be_prepared(path):
    """Its trace is read, its world made, its arms checked; large and own traces are not there."""
    experiment = parse(path.read_text(encoding="utf-8"), path.name)
    given = {"jobs.csv": JOBS}
    if experiment.trace.file.startswith("traces/"):
        pytest.skip("it reads a large trace")

    found = prepare(experiment, Reader(path.parent, given))

    assert found.jobs
