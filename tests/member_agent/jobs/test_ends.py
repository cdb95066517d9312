"""Ended Jobs stay ended, though the pod that showed it is gone."""

import msgspec
import pytest

from global_sched.shared.api.volcano import VolcanoJobStatus
from member_agent.jobs.record import JobRecord, read_record, write_record
from tests.member_agent.jobs.job_world import NOW, Town, policy, task


def collected(town: Town, *names: str, restart: bool = False) -> Town:
    """The objects of these pods go (their node is removed, or Kubernetes collects them).

    With `restart` the agent starts anew meanwhile, so that it sees none of it.
    """
    for name in names:
        town.remove(name)
    if restart:
        town.memory = type(town.memory)()
    return town.settle()


@pytest.mark.parametrize("restart", [False, True], ids=["seen", "while the agent restarts"])
@pytest.mark.parametrize(
    ("code", "want_phase", "want_counts"),
    [
        pytest.param(0, "Completed", (2, 0), id="a pod that succeeded"),
        pytest.param(1, "Failed", (1, 1), id="a pod that failed, and no policy answers"),
    ],
)
def test_an_ended_pod_does_not_run_again(code, want_phase, want_counts, restart):
    """It is not made again, and it counts when the others end."""
    town = Town().settle().run().end("train-worker-0", code=code)
    collected(town, "train-worker-0", restart=restart)
    assert (town.phase, town.created.count("train-worker-0")) == ("Running", 1)

    town.end("train-worker-1")

    assert town.phase == want_phase
    assert (town.status.get("succeeded", 0), town.status.get("failed", 0)) == want_counts


@pytest.mark.parametrize("restart", [False, True], ids=["seen", "while the agent restarts"])
@pytest.mark.parametrize("iteration", ["all", "any"])
def test_a_task_before_runs_once(iteration, restart):
    """A predecessor that ended is there for its dependents, and runs no second time."""
    waits = task("worker", 2, dependsOn={"name": ["a"], "iteration": iteration})
    town = Town(task("a", 1), waits).settle().run("train-a-0").end("train-a-0")
    collected(town, "train-a-0", restart=restart).run()

    assert sorted(town.pods) == ["train-worker-0", "train-worker-1"]
    assert town.created.count("train-a-0") == 1
    assert town.phase == "Running"


def test_dependents_start_after_an_end_that_is_gone():
    """Also where the predecessor's object went before its dependents could be made."""
    town = Town(task("a", 1), task("b", 1, dependsOn={"name": ["a"]})).settle().run("train-a-0")
    town.pods.pop("train-b-0", None)
    town._end("train-a-0", 0)
    town.remove("train-a-0")

    town.settle()

    assert (sorted(town.pods), town.created.count("train-a-0")) == (["train-b-0"], 1)


def test_a_job_whose_pods_all_succeeded_stays_so():
    """The last pods may be gone before the first look at them."""
    town = Town().settle().run()
    for name in ("train-worker-0", "train-worker-1"):
        town._end(name, 0)
        town.remove(name)
    town.settle()

    assert (town.phase, town.status["succeeded"]) == ("Completed", 2)
    assert town.wait(60).phase == "Completed"


def test_the_counts_of_a_completed_job_outlive_its_pods():
    """Its status says how many succeeded, of which task."""
    town = Town().settle().run().end()
    collected(town, "train-worker-0", "train-worker-1")

    assert (town.phase, town.status["succeeded"]) == ("Completed", 2)
    assert town.status["taskStatusCount"] == {"worker": {"phase": {"Succeeded": 2}}}


def test_the_gangs_minimum_goes_without_what_is_gone():
    """A scheduler cannot count a pod that is not there: the others would wait for it for ever."""
    town = Town(task("worker", 3)).settle().run().end("train-worker-0")
    assert town.group is not None
    assert town.group["spec"]["minMember"] == 3

    collected(town, "train-worker-0")

    assert town.group["spec"]["minMember"] == 2
    assert town.group["spec"]["minTaskMember"] == {"worker": 2}
    assert town.group["spec"]["minResources"]["pods"] == "2"
    assert town.group["status"]["succeeded"] == 1
    assert town.group["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("action", "want_ended"),
    [
        pytest.param("RestartPod", {"train-worker-1", "train-worker-3"}, id="other pods"),
        pytest.param("RestartPartition", {"train-worker-3"}, id="other partitions"),
        pytest.param("RestartTask", set(), id="no pod of the task"),
        pytest.param("RestartJob", set(), id="none"),
    ],
)
def test_a_restart_forgets_the_ends_in_its_reach(action, want_ended):
    """A new attempt runs all that it covers again, also what ended and is gone."""
    size = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 2}
    town = Town(
        task("worker", 4, partitionPolicy=size), policies=[policy(action, "PodFailed")]
    ).settle()
    ended = ("train-worker-1", "train-worker-3")
    collected(town.run().end(*ended), *ended)
    town.end("train-worker-0", code=1)

    everything = {f"train-worker-{i}" for i in range(4)}
    assert everything - set(town.pods) == want_ended
    town.memory = type(town.memory)()
    assert everything - set(town.settle().pods) == want_ended


def test_a_restart_for_another_task_keeps_the_ends_of_this_one():
    """RestartTask reaches its own task only."""
    workers = task("worker", 2, policies=[policy("RestartTask", "PodFailed")])
    town = Town(task("a", 1), workers).settle().run().end("train-a-0")
    collected(town, "train-a-0").end("train-worker-0", code=1)

    assert sorted(town.pods) == ["train-worker-0", "train-worker-1"]


def test_a_policy_with_a_timeout_answers_a_failure_that_is_gone():
    """The failure stands in the status, and the timer goes on."""
    town = Town(policies=[policy("RestartPod", "PodFailed", timeout="30s")]).settle().run()
    collected(town.end("train-worker-0", code=1), "train-worker-0")
    assert town.created.count("train-worker-0") == 1

    town.wait(30)

    assert (town.retries(), town.created.count("train-worker-0")) == (1, 2)


def test_a_task_is_completed_by_ends_that_are_gone():
    """TaskCompleted counts ends, not objects."""
    driver = task("driver", 2, policies=[policy("CompleteJob", "TaskCompleted")])
    town = Town(driver, task("worker", 1)).settle().run().end("train-driver-0")
    collected(town, "train-driver-0").end("train-driver-1")

    assert town.phase == "Completed"


def test_scaling_down_and_up_repeats_nothing():
    """What ended at an index stays so, also while the task has fewer replicas."""
    town = Town(task("worker", 3), minAvailable=1).settle().run().end("train-worker-2")
    town.edit(tasks=[task("worker", 2)]).edit(tasks=[task("worker", 3)])

    assert sorted(town.pods) == ["train-worker-0", "train-worker-1"]


@pytest.mark.parametrize(
    ("ends", "want"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {("w", 0): "Succeeded", ("w", 1): "Succeeded", ("w", 5): "Succeeded"},
            {"succeeded-w": "0-1,5"},
            id="ranges",
        ),
        pytest.param(
            {("a-b", 1): "Failed", ("w", 0): "Succeeded"},
            {"failed-a-b": "1", "succeeded-w": "0"},
            id="by end and task",
        ),
    ],
)
def test_what_the_status_says(ends, want):
    """It is written in ranges, and read back as it was."""
    record = JobRecord(ends=ends)
    status = VolcanoJobStatus(controlled_resources={"plugin-svc": "svc"} | write_record(record))

    assert write_record(record) == want
    assert read_record(status) == record


@pytest.mark.parametrize("text", ["", "x", "3-", "-3", "7-1", "1e9", "0-99999999999999999999"])
def test_what_cannot_be_read_says_nothing(text):
    """Nor does an absurd range cost memory."""
    found = read_record(VolcanoJobStatus(controlled_resources={"succeeded-w": text}))

    assert all(0 <= index < 100_000 for _, index in found.ends)
    assert bool(found.ends) == (text == "3-")


def test_carried_labels_are_read_back():
    """By label, as they are."""
    record = JobRecord(carried={"team.example/step": "7"})
    status = VolcanoJobStatus(controlled_resources=write_record(record))

    assert write_record(record) == {"carried-team.example/step": "7"}
    assert read_record(status) == record


def test_evictions_are_read_back():
    """How many in a row, and when the last was."""
    record = JobRecord(evictions=3, evicted_at=NOW)
    status = VolcanoJobStatus(controlled_resources=write_record(record))

    assert read_record(status) == record
    assert msgspec.to_builtins(status)["controlledResources"] == {
        "evictions": "3 2026-01-31T12:00:00Z"
    }
