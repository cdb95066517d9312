"""Demand of a Volcano Job, with the webhook's defaults."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS
from global_sched.shared.model.gang import Amounts, Mode, Partition, TopologyConstraint
from global_sched.shared.model.verdict import Code
from tests.wire import decode, pod_template, task, vcjob

READER = KINDS[("batch.volcano.sh/v1alpha1", "Job")]
HARD_1 = TopologyConstraint(mode=Mode.HARD, highest_tier=1)


def read(job):
    return READER.reading(decode(job, READER.wire))


def parts(reading):
    return [(p.name, p.count, p.minimum) for p in reading.pod_sets], reading.minimum


@pytest.mark.parametrize(
    ("job", "want_sets", "want_minimum"),
    [
        pytest.param(
            vcjob("j", task("a", 2), task("b", 3)),
            [("a", 2, 2), ("b", 3, 3)],
            5,
            id="without minAvailable the minimum is every pod of every task",
        ),
        pytest.param(
            vcjob("j", task("a", 2, minAvailable=1), task("b", 3)),
            [("a", 2, 1), ("b", 3, 3)],
            4,
            id="the job's minimum defaults to the sum of the tasks'",
        ),
        pytest.param(
            vcjob("j", task("a", 2), task("b", 3), spec={"minAvailable": 4}),
            [("a", 2, 2), ("b", 3, 3)],
            4,
            id="the job's own minimum wins over the tasks' sum",
        ),
        pytest.param(
            vcjob(
                "j",
                task(
                    "a",
                    8,
                    partitionPolicy={"totalPartitions": 4, "partitionSize": 2, "minPartitions": 3},
                ),
            ),
            [("a", 8, 6)],
            6,
            id="a partitioned task's minimum is minPartitions times partitionSize",
        ),
        pytest.param(
            vcjob("j", task("a", 8, partitionPolicy={"totalPartitions": 4, "partitionSize": 2})),
            [("a", 8, 8)],
            8,
            id="a partitioned task without minPartitions needs all its replicas",
        ),
        pytest.param(
            vcjob("j", task("a", 0), task("b", 1), spec={"minAvailable": 0}),
            [("a", 0, 0), ("b", 1, 1)],
            1,
            id="a minAvailable of 0 is not set, as in Volcano",
        ),
    ],
)
def test_pods_and_minimum(job, want_sets, want_minimum):
    """Tasks become pod sets in order; what the webhook would fill in is filled in."""
    reading = read(job)

    assert reading.problem is None
    assert parts(reading) == (want_sets, want_minimum)


def test_partitions_carry_their_own_constraint():
    """A task's partitionPolicy becomes a Partition with its networkTopology."""
    policy = {
        "totalPartitions": 2,
        "partitionSize": 4,
        "minPartitions": 1,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    [pod_set] = read(vcjob("j", task("a", 8, partitionPolicy=policy))).pod_sets

    assert pod_set.partition == Partition(size=4, total=2, minimum=1, constraint=HARD_1)


@pytest.mark.parametrize(
    ("topology", "want"),
    [
        pytest.param(None, None, id="no networkTopology is no constraint"),
        pytest.param({"highestTierAllowed": 1}, HARD_1, id="the mode defaults to hard"),
        pytest.param(
            {"mode": "hard", "highestTierName": "rack"},
            TopologyConstraint(mode=Mode.HARD, highest_tier_name="rack"),
            id="a tier may be named",
        ),
        pytest.param(
            {"mode": "hard"},
            TopologyConstraint(mode=Mode.HARD),
            id="hard without a tier stays a constraint, for the clusters to refuse",
        ),
        pytest.param({"mode": "soft"}, TopologyConstraint(mode=Mode.SOFT), id="soft needs no tier"),
    ],
)
def test_topology(topology, want):
    """The Job's networkTopology is the gang's constraint."""
    spec = {} if topology is None else {"networkTopology": topology}

    assert read(vcjob("j", spec=spec)).constraint == want


def test_queue_priority_and_scheduler_defaults():
    """Queue `default`, scheduler `volcano`; the priority class of a task when the Job has none."""
    high = task("a", 1, template=pod_template(priorityClassName="high"))
    reading = read(vcjob("j", task("b", 1), high, spec={"schedulerName": ""}))

    assert (reading.queue, reading.priority_class) == ("default", "high")
    assert reading.scheduler_name() == "volcano"


def test_tasks_with_different_schedulers_have_no_common_name():
    """A gang has one scheduler; a task's own name wins over the Job's."""
    own = task("a", 1, template=pod_template(schedulerName="mine"))

    assert read(vcjob("j", own)).scheduler_name() == "mine"
    assert read(vcjob("j", own, task("b", 1))).scheduler_name() is None


@pytest.mark.parametrize(
    ("job", "want_text"),
    [
        pytest.param(vcjob("j", spec={"tasks": []}), "spec.tasks: is empty", id="no tasks"),
        pytest.param(
            vcjob("j", task("a", -1)), "spec.tasks[0].replicas: is -1", id="negative replicas"
        ),
        pytest.param(
            vcjob("j", task("a", 10**9)),
            "spec.tasks[0].replicas: is 1000000000; at most 1000000 pods",
            id="a billion pods",
        ),
        pytest.param(
            vcjob("j", task("a", 600_000), task("b", 600_000)),
            "add up to 1200000 pods",
            id="too many pods in all",
        ),
        pytest.param(
            vcjob("j", task("a", 1), task("a", 1)), "two tasks of one name", id="duplicate tasks"
        ),
        pytest.param(vcjob("j", task("", 1)), "spec.tasks[0].name: is missing", id="no name"),
        pytest.param(
            vcjob("j", task("a", 2), spec={"minAvailable": 3}),
            "spec.minAvailable: is 3, but the tasks have 2 pods",
            id="a minimum above all pods",
        ),
        pytest.param(
            vcjob("j", task("a", 2, minAvailable=3)),
            "spec.tasks[0].minAvailable: is 3 of 2",
            id="a task's minimum above its replicas",
        ),
        pytest.param(
            vcjob("j", task("a", 7, partitionPolicy={"totalPartitions": 2, "partitionSize": 4})),
            "2 partitions of 4 are not 7 replicas",
            id="partitions that do not divide the replicas",
        ),
        pytest.param(
            vcjob("j", spec={"networkTopology": {"mode": "strict", "highestTierAllowed": 1}}),
            "spec.networkTopology",
            id="an unknown mode",
        ),
        pytest.param(
            vcjob("j", task("a", 1, template={"spec": {}})),
            "template.spec.containers: is empty",
            id="a pod without containers",
        ),
        pytest.param(
            vcjob("j", task("a", 1, template=pod_template(cpu="-1"))),
            "'-1' is negative",
            id="a negative request",
        ),
        pytest.param(
            vcjob("j", task("a", 1, template=pod_template(cpu="1e200000"))),
            "cpu",
            id="an absurd exponent",
        ),
        pytest.param(
            vcjob("j", task("a", 1, template=pod_template(cpu="NaN"))),
            "'NaN' is not a quantity",
            id="not a number",
        ),
    ],
)
def test_refusals_name_object_field_and_reason(job, want_text):
    """What cannot be read is NEVER with InvalidSpec, and the text says where and why."""
    problem = read(job).problem

    assert problem is not None
    assert (problem.code, problem.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert problem.detail.startswith("Job.batch.volcano.sh team-a/j: ")
    assert want_text in problem.detail


def test_minimum_amounts_follow_the_template():
    """With a job minimum below the tasks' sum, the first pods in template order make it up."""
    reading = read(vcjob("j", task("a", 2), task("b", 3), spec={"minAvailable": 4}))

    assert Amounts.of({"a": 2, "b": 2}).pods() == reading.minimum
