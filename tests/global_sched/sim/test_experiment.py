"""Experiment files: what they say, and what is refused with line and field."""

import pytest

from global_sched.sim.errors import SimulationError
from global_sched.sim.experiment import parse
from global_sched.sim.report import gains, lines_of, result_json, runs_csv, table
from global_sched.sim.run import cases, prepare, reasons, simulate

JOBS = """\
id,submit_s,duration_s,pods,gpus_per_pod,tenant
a,0,600,1,8,red
b,10,600,1,8,red
c,20,600,1,8,red
d,30,60,2,8,blue
e,700,60,1,1,blue
"""
FILE = """\
experiment: two tenants on two nodes
trace: {file: jobs.csv}
world:
  clusters:
    - {name: east, nodes: [{count: 2}]}
    - {name: west, nodes: [{count: 1}]}
silos: {red: 1, blue: 2}
arms:
  - baseline: silos-like
  - name: global-sched
"""


def prepared(text=FILE, jobs=JOBS, **files):
    """The experiment with its files."""
    there = {"jobs.csv": jobs} | files
    return prepare(parse(text, "two.yaml"), lambda name: there[name])


def results(found):
    """Every run of it."""
    return [simulate(found, case) for case in cases(found, found.experiment.arms)]


def test_every_arm_gets_the_same_jobs():
    """In the silos red waits for red; in the federation it does not."""
    found = prepared()

    silos, ours = results(found)

    assert [one.started // 10**6 for one in silos.stage.history.values()] == [0, 600, 1200, 30, 700]
    assert ours.figures.wait < silos.figures.wait
    assert ours.figures.misplaced == 0
    assert ours.figures.cycles > 0


def test_gains_are_relative_to_the_arm_that_is_named():
    """Goodput ÷ that of the silos, less 1: work that evictions undid is no gain."""
    found = prepared()
    lines = lines_of(results(found))

    gained = gains(found, lines)

    assert gained["silos-like"] == [0]
    want = lines[1].figures.goodput / lines[0].figures.goodput - 1
    assert gained["global-sched"] == [want]
    assert [row["arm"] for row in table(found, lines)] == ["silos-like", "global-sched"]


def test_the_same_run_gives_the_same_bytes():
    """result.json and runs.csv hold no time of day and no machine."""
    first, second = (prepared() for _ in range(2))

    one, two = (lines_of(results(found)) for found in (first, second))

    assert result_json(first, one) == result_json(second, two)
    assert runs_csv(one) == runs_csv(two)


def test_a_seed_moves_arrivals_and_the_first_does_not():
    """Seed 0 is the trace as it is."""
    found = prepared(FILE + "seeds: 2\n")
    first, _, moved, _ = results(found)

    submits = [[one.job.submit for one in x.stage.history.values()] for x in (first, moved)]

    assert submits[0] == [0, 10_000_000, 20_000_000, 30_000_000, 700_000_000]
    assert submits[1] != submits[0]


def test_jobs_that_a_silo_cannot_hold_are_refused_or_dropped_from_all_arms():
    """By default an error; with `drop` they are counted by reason."""
    jobs = JOBS + "f,800,1,3,8,red\ng,900,1,1,1,green\n"

    with pytest.raises(
        SimulationError, match=r"jobs.csv: line 7: pods, gpus_per_pod: 3 × 8 .*2 such"
    ):
        prepared(jobs=jobs)
    found = prepared(FILE.replace("jobs.csv}", "jobs.csv, tooLarge: drop}"), jobs)

    assert reasons(found.dropped) == {"has no silo": 1, "more than any cluster holds": 1}
    assert [one.figures.jobs for one in results(found)] == [5, 5]


def test_hard_tiers_are_the_lowest_that_can_hold_a_gang():
    """A gang of two fits a rack, a gang of three only the spine; one pod has no constraint."""
    text = FILE.replace("jobs.csv}", "jobs.csv, hardTiers: true}").replace(
        "{name: east, nodes: [{count: 2}]}",
        "{name: east, domains: {s: {tier: 2}, r1: {tier: 1, parent: s}, r2: {tier: 1, parent: s}},"
        " nodes: [{domain: r1, count: 2}, {domain: r2, count: 2}]}",
    )
    jobs = "id,submit_s,duration_s,pods,gpus_per_pod,tenant\na,0,1,1,8,red\nb,1,1,2,8,blue\n"

    found = prepared(
        text.replace("silos: {red: 1, blue: 2}\n", "").replace(
            "  - baseline: silos-like\n", "  - baseline: fifo-skip-like\n"
        ),
        jobs + "c,2,1,3,8,blue\n",
    )

    assert [job.tier for job in found.jobs] == [None, 1, 2]


def test_early_binding_pins_a_job_where_most_was_free():
    """It waits there although the other cluster is empty."""
    text = (
        FILE.replace("  - baseline: silos-like\n", "")
        .replace("name: global-sched", "{name: early, earlyBinding: true}")
        .replace("silos: {red: 1, blue: 2}\n", "")
    )
    jobs = "id,submit_s,duration_s,pods,gpus_per_pod\na,0,100,2,8\nb,0,100,1,8\nc,0,100,1,8\n"

    (found,) = results(prepared(text, jobs))

    assert [one.started // 10**6 for one in found.stage.history.values()] == [0, 100, 100]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("silos-like", "silo-like", "line 9: arms[0].baseline: 'silo-like' is no baseline; use"),
        ("name: global-sched", "name: silos-like", "line 10: arms[1].name: 'silos-like' is the"),
        ("file: jobs", "fil: jobs", "line 2: trace: Object contains unknown field `fil`"),
        ("count: 2", "count: 0", "line 5: world.clusters[0].nodes[0].count: Expected `int` >= 1"),
        ("red: 1", "7: 1", "line 7: silos: Expected `str`, got `int`: quote keys that are numbers"),
        ("experiment: two", "experiment: [two", "not YAML: while parsing"),
        ("arms:", "windows: [[3, 1]]\narms:", "line 8: windows[0]: ends before it begins"),
        ("arms:", "against: x\narms:", "line 8: against: 'x' is no arm; use one of silos-like"),
        (
            "name: global-sched",
            "policy: {patience_second: 1}",
            "patience_second: is no field of a Policy; did you mean patience_seconds?",
        ),
        ("name: global-sched", "policy: {usageHalfLifeSeconds: 9}", "keeps no past usage"),
    ],
)
def test_an_experiment_that_cannot_be_used(old, new, says):
    """The message names the line, the field, and what to do."""
    with pytest.raises(SimulationError) as refused:
        prepared(FILE.replace(old, new, 1))

    assert says in str(refused.value)


def test_a_queue_that_is_not_there():
    """A job's queue is one of the world's."""
    jobs = "id,submit_s,duration_s,pods,gpus_per_pod,tenant,queue\na,0,1,1,1,red,gold\n"

    with pytest.raises(SimulationError, match=r"jobs.csv: line 2: queue: 'gold' is not in world"):
        prepared(jobs=jobs)
