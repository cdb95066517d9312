"""`gsched record` and `gsched replay`: a history for the simulator, and a cycle to decide again."""

import json

import msgspec
from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.cli.record import case_of, history
from global_sched.scenario import parse
from global_sched.scenario.run import start
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from global_sched.shared.model.values import from_json, to_json
from global_sched.sim.traces import read_jobs
from global_sched.view.ends import ends_of
from tests.global_sched.cli.worlds import scenario_view

WORLD = """
scenario: three jobs
world:
  clusters: [{name: a, domains: {r: {tier: 1}}, nodes: [{domain: r, count: 4}]}]
  queues: [{name: gold}]
  jobs:
  - {name: one, queue: gold, created: 5, tasks: [{replicas: 2}], topology: {highestTierAllowed: 1}}
  - {name: two, created: 9, tasks: [{requests: {cpu: 4}}]}
  - {name: three, created: 7}
"""


def finished():
    """The world once the first two have ended, and their workloads."""
    play = start(parse(WORLD, "w.yaml").world, lambda _: "")
    play.settle()
    play.finish("one")
    play.finish("two")
    play.state.settle()
    return play, play.state.workloads()


def test_finished_jobs_become_a_history_that_the_simulator_reads():
    """From submission to admission to end; what has no GPU or no end is counted by reason."""
    play, workloads = finished()
    ends = {play.key(name): Instant(play.now + 90 * SECOND) for name in ("one", "two")}

    text, left_out = history(workloads, ends)

    (job,) = read_jobs(text, "jobs", "jobs.csv")
    assert (job.name, job.queue, job.tenant) == (play.key("one"), "gold", "ns/default")
    assert (job.submit, job.duration) == (0, 90 * SECOND)
    assert (job.pods, job.gpus, job.least, job.tier) == (2, 8, 2, 1)
    assert left_out == {"not finished": 1, "without GPUs, or with pods of several sizes": 1}


def test_a_job_of_which_no_end_is_known_is_left_out_by_name_of_the_reason():
    """Nothing is guessed."""
    _, workloads = finished()

    _, left_out = history(workloads, {})

    assert left_out == {"not finished": 1, "of which no status says when they ended": 2}


def binding(status):
    """A binding with one copy."""
    item = {"clusterName": "a", "applied": True, "status": status}
    wire = {
        "metadata": {"name": "j", "namespace": "n"},
        "spec": {"resource": {"apiVersion": "v1", "kind": "Job", "name": "j"}},
        "status": {"aggregatedStatus": [item]},
    }
    return msgspec.convert(wire, ResourceBinding)


def test_the_end_of_a_job_is_where_its_kind_says_it():
    """Volcano's state, a completion time, the condition that says that it ended."""
    at = "2026-01-01T10:00:00Z"
    for status in (
        {"state": {"phase": "Completed", "lastTransitionTime": at}},
        {"completionTime": at},
        {"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": at}]},
    ):
        assert ends_of([binding(status)]) == {"n/j": parse_instant(at)}
    running = {"conditions": [{"type": "Failed", "status": "False", "lastTransitionTime": at}]}
    assert ends_of([binding(running)]) == {}


def test_a_replay_gives_the_recorded_plan(tmp_path):
    """The same snapshot, Policy and instant; another Policy's plan is said to differ."""
    case = case_of(scenario_view())
    assert from_json(to_json(case), type(case)) == case
    same, other = tmp_path / "same.json", tmp_path / "other.json"
    same.write_bytes(to_json(case))
    value = json.loads(to_json(case))
    value["plan"]["outcomes"] = []
    other.write_text(json.dumps(value))

    first = CliRunner().invoke(cli, ["replay", str(same)])
    second = CliRunner().invoke(cli, ["replay", str(other)])

    assert (first.exit_code, second.exit_code) == (0, 1)
    assert "default/too-wide-job" in first.stdout
    assert "the plan is the recorded one" in first.stderr
    assert "differs" in second.stderr


def test_a_file_that_is_no_replay_case(tmp_path):
    """The field, and what writes one."""
    (tmp_path / "x.json").write_text('{"version": 1}')

    found = CliRunner().invoke(cli, ["replay", str(tmp_path / "x.json")])

    assert found.exit_code == 1
    assert "x.json: is no replay case of this version: " in found.stderr
