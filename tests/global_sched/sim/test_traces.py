"""Traces: what is read, and what is refused with line, column and remedy."""

import pytest

from global_sched.shared.model.gang import Mode
from global_sched.shared.model.instant import SECOND
from global_sched.sim.errors import SimulationError
from global_sched.sim.jobs import arriving, pods_of
from global_sched.sim.traces import read_jobs

HEAD = "id,submit_s,duration_s,pods,gpus_per_pod"


def test_a_history_of_ones_own():
    """All columns; times begin with the first job, comments are left out."""
    text = (
        "# mine\n"
        f"{HEAD},cpu,memory,tenant,queue,priority,tier,mode,min_pods\n"
        "a,100,60.5,4,8,32,64Gi,red,train,7,1,soft,2\n"
        "b,130,10,1,1,,,,,,,,\n"
    )

    first, second = read_jobs(text, "jobs", "jobs.csv")

    assert (first.number, first.name, first.submit, first.duration) == (0, "a", 0, 60_500_000)
    assert (first.pods, first.gpus, first.cpu, first.memory) == (4, 8, 32_000, 64 << 30)
    assert (first.tenant, first.queue, first.priority) == ("red", "train", 7)
    assert (first.tier, first.mode, first.least, first.width) == (1, Mode.SOFT, 2, 32)
    assert (second.submit, second.tenant, second.queue, second.least) == (30 * SECOND, "all", "", 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            "id,submit_s,pods\n",
            "line 1: has no column duration_s, gpus_per_pod; the first line names the columns",
            id="missing columns",
        ),
        pytest.param(
            f"{HEAD},pods\na,0,1,1,1,2\n",
            "line 1: names the column pods twice; leave one of them",
            id="a column twice",
        ),
        pytest.param(
            f"{HEAD},cpu\na,0,1,1,1,-5\n", "line 2: cpu: '-5' is no quantity", id="negative cpu"
        ),
        pytest.param(
            f"{HEAD}\na,0,1,1,1e9\n",
            "line 2: gpus_per_pod: is 1e9; use 1 to 1024",
            id="absurd GPUs",
        ),
        pytest.param(f"{HEAD}\n", "has no jobs; give one line for each", id="no job"),
        pytest.param(
            f"{HEAD}\na,5,1,1,1\n# c\nb,3,1,1,1\n",
            "line 4: submit_s: is 3, before the line above (5); sort by it",
            id="times out of order",
        ),
        pytest.param(
            f"{HEAD}\na,0,-1,1,1\n", "line 2: duration_s: is -1; use 0.001 to", id="negative"
        ),
        pytest.param(f"{HEAD}\na,0,1e12,1,1\n", "line 2: duration_s: is 1e12; use", id="absurd"),
        pytest.param(f"{HEAD}\na,nan,1,1,1\n", "line 2: submit_s: 'nan' is no number", id="nan"),
        pytest.param(f"{HEAD}\na,0,x,1,1\n", "line 2: duration_s: 'x' is no number", id="text"),
        pytest.param(f"{HEAD}\na,0,,1,1\n", "line 2: duration_s: is empty; give a", id="empty"),
        pytest.param(f"{HEAD}\na,0,1,1,0\n", "line 2: gpus_per_pod: is 0; use 1 to", id="no GPU"),
        pytest.param(
            f"{HEAD}\na,0,1,1.5,1\n", "line 2: pods: is 1.5; use a whole number", id="half a pod"
        ),
        pytest.param(
            f"{HEAD}\na,0,1,1,1\na,1,1,1,1\n",
            "line 3: id: 'a' is that of line 2, too; rename one",
            id="the same id twice",
        ),
        pytest.param(f"{HEAD}\na,0,1,1\n", "line 2: has not the 5 cells", id="a cell too few"),
        pytest.param(
            f"{HEAD},gpu\na,0,1,1,1,2\n", "line 2: gpu: is no column; they are id,", id="a column"
        ),
        pytest.param(
            f"{HEAD},mode\na,0,1,1,1,firm\n", "line 2: mode: is 'firm'; use hard or soft", id="mode"
        ),
        pytest.param(
            f"{HEAD},min_pods\na,0,1,2,1,3\n", "line 2: min_pods: is 3; use 1 to 2", id="minimum"
        ),
        pytest.param(
            f"{HEAD},memory\na,0,1,1,1,much\n", "line 2: memory: 'much' is no quantity", id="memory"
        ),
    ],
)
def test_a_history_that_cannot_be_used(text, says):
    """The message begins with the file and names line, column, reason and remedy."""
    with pytest.raises(SimulationError) as refused:
        read_jobs(text, "jobs", "jobs.csv")

    assert str(refused.value).startswith("jobs.csv: ")
    assert says in str(refused.value)


def test_a_mark_before_the_text_is_no_part_of_the_first_column():
    """As spreadsheets write it."""
    (job,) = read_jobs(f"\ufeff{HEAD}\na,0,1,1,1\n", "jobs", "jobs.csv")

    assert job.name == "a"


def test_a_format_that_is_not_known():
    """The known ones are listed."""
    with pytest.raises(SimulationError, match="'slurm' is not known; use one of: jobs, kalos"):
        read_jobs("", "slurm", "x.csv")


def test_public_traces_are_sorted_and_cut_into_pods():
    """Philly's rows are in no order; twelve GPUs are two pods of six; no run is below a second."""
    text = (
        "timestamp,duration,num_gpus,cluster\n"
        "2017-10-09 07:01:55,66.0,12,b\n"
        "2017-10-09 07:00:00,0,1,a\n"
    )

    first, second = read_jobs(text, "philly", "philly.csv")

    assert (first.tenant, first.submit, first.duration, first.pods) == ("a", 0, SECOND, 1)
    assert (second.submit, second.pods, second.gpus) == (115 * SECOND, 2, 6)


def test_a_public_trace_with_an_absurd_time():
    """A year that is mistyped would make a simulation of centuries."""
    text = (
        "timestamp,duration,num_gpus,cluster\n"
        "2917-10-09 07:01:55,66.0,12,b\n"
        "2017-10-09 07:00:00,0,1,a\n"
    )

    with pytest.raises(SimulationError) as refused:
        read_jobs(text, "philly", "philly.csv")

    assert str(refused.value) == (
        "philly.csv: line 2: timestamp: is more than ten years after that of line 3; correct one "
        "of them"
    )


def test_kalos_and_muri_have_their_own_units():
    """Iterations of half a second; milliseconds."""
    kalos = "job_id,arrival_time,num_iteration,gpu_workers,gpu_per_worker\n7,10.0,208,8,8.0\n"
    muri = "job_id,num_gpu,submit_time,duration\n0,4,1456000,926133000\n"

    (one,) = read_jobs(kalos, "kalos", "k.csv")
    (two,) = read_jobs(muri, "muri", "m.csv", per_node=64)

    assert (one.duration, one.pods, one.gpus) == (104 * SECOND, 8, 8)
    assert (two.duration, two.pods, two.gpus) == (926_133 * SECOND, 1, 4)


@pytest.mark.parametrize(
    ("gpus", "want"), [(1, (1, 1)), (8, (1, 8)), (12, (2, 6)), (9, (3, 3)), (11, (11, 1))]
)
def test_pods_are_equal_and_few(gpus, want):
    """As few pods as fill their nodes, all equal."""
    assert pods_of(gpus, 8) == want


def test_windows_and_loads():
    """A window starts at 0; at twice the load everything comes in half of the time."""
    text = f"{HEAD}\n" + "".join(f"j{day},{day * 86400},1,1,1\n" for day in range(4))
    jobs = read_jobs(text, "jobs", "jobs.csv")

    found = arriving(jobs, (1, 3), 2)

    assert [(job.name, job.submit) for job in found] == [("j1", 0), ("j2", 43_200 * SECOND)]
