"""Policies: what happened, which rule answers, and what the action does."""

import msgspec
import pytest

from tests.member_agent.jobs.job_world import Town, policy, task


@pytest.mark.parametrize(
    ("action", "want_deleted", "want_history"),
    [
        pytest.param(
            "RestartPod",
            ["train-worker-0"],
            ["Pending", "Running", "Restarting", "Pending"],
            id="RestartPod takes the failed pod only",
        ),
        pytest.param(
            "RestartPartition",
            ["train-worker-1", "train-worker-0"],
            ["Pending", "Running", "Restarting", "Pending"],
            id="RestartPartition takes the pod's partition",
        ),
        pytest.param(
            "RestartTask",
            ["train-worker-3", "train-worker-2", "train-worker-1", "train-worker-0"],
            ["Pending", "Running", "Restarting", "Pending"],
            id="RestartTask takes the pod's task",
        ),
        pytest.param(
            "RestartJob",
            [
                "train-master-0",
                "train-worker-3",
                "train-worker-2",
                "train-worker-1",
                "train-worker-0",
            ],
            ["Pending", "Running", "Restarting", "Pending"],
            id="RestartJob takes all",
        ),
    ],
)
def test_how_far_a_restart_reaches(action, want_deleted, want_history):
    """Each restart kills its scope, counts one retry, and the Job starts again."""
    workers = task(
        "worker", 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 2}
    )
    town = Town(task("master", 1), workers, policies=[policy(action, "PodFailed")]).settle().run()
    town.end("train-worker-0", code=3)

    assert town.deleted == want_deleted
    assert town.history == want_history
    assert town.retries() == 1
    assert len(town.pods) == 5
    assert town.group is not None
    assert town.run().phase == "Running"


@pytest.mark.parametrize(
    ("action", "want_phase", "want_left"),
    [
        pytest.param("AbortJob", "Aborted", ["train-worker-0"], id="abort"),
        pytest.param("TerminateJob", "Terminated", ["train-worker-0"], id="terminate"),
        pytest.param("CompleteJob", "Completed", ["train-worker-0"], id="complete"),
    ],
)
def test_actions_that_end_a_job(action, want_phase, want_left):
    """All that runs is killed; pods that ended stay for their logs; the PodGroup goes."""
    town = Town(policies=[policy(action, "PodFailed")]).settle().run()
    town.end("train-worker-0", code=1)

    assert (town.phase, sorted(town.pods), town.group) == (want_phase, want_left, None)
    assert town.status["version"] == 1
    assert town.status["state"].get("reason", "") == ""


@pytest.mark.parametrize(
    ("rules", "want_phase"),
    [
        pytest.param([policy("AbortJob", exitCode=3)], "Aborted", id="the exit code matches"),
        pytest.param([policy("AbortJob", exitCode=4)], "Failed", id="another exit code"),
        pytest.param(
            [policy("AbortJob", events=["PodEvicted", "PodFailed"])], "Aborted", id="one of a list"
        ),
        pytest.param([policy("AbortJob", "*")], "Aborted", id="any event"),
        pytest.param([policy("AbortJob", "PodEvicted")], "Failed", id="another event"),
        pytest.param([policy("TerminateJob", "TaskFailed")], "Terminated", id="the task failed"),
        pytest.param([policy("ResumeJob", "PodFailed")], "Failed", id="resume is a command only"),
    ],
)
def test_which_rule_answers_a_failed_pod(rules, want_phase):
    """Event, event list, `*` and exit code; without a rule the completion rules decide."""
    town = Town(policies=rules).settle().run()
    town.end("train-worker-0", code=3)
    if town.phase == "Running":
        town.end("train-worker-1")

    assert town.phase == want_phase


def test_a_task_policy_beats_the_jobs():
    """The task's own rule answers for its pods; the Job's for all others."""
    own = task("worker", 1, policies=[policy("RestartPod", "PodFailed")])
    town = Town(task("master", 1), own, policies=[policy("AbortJob", "PodFailed")]).settle().run()

    assert town.end("train-worker-0", code=1).phase == "Pending"
    assert town.run().end("train-master-0", code=1).phase == "Aborted"


def test_a_completed_task_may_complete_the_job():
    """TaskCompleted: the driver is done, the workers need not go on."""
    driver = task("driver", 1, policies=[policy("CompleteJob", "TaskCompleted")])
    town = Town(driver, task("worker", 2)).settle().run()
    town.end("train-driver-0")

    assert town.phase == "Completed"
    assert sorted(town.pods) == ["train-driver-0"]
    assert town.status["state"].get("reason") is None


def test_any_event_is_not_a_success():
    """`*` answers what went wrong; a task that completes does not restart the Job."""
    town = Town(task("a", 1), task("b", 1), policies=[policy("RestartJob", "*")]).settle().run()
    town.end("train-a-0")

    assert (town.phase, town.retries()) == ("Running", 0)


@pytest.mark.parametrize(
    ("max_retry", "want_restarts"),
    [pytest.param(None, 3, id="default"), pytest.param(1, 1, id="1")],
)
def test_max_retry(max_retry, want_restarts):
    """So many restarts; the last failure ends the Job, and its pods stay for their logs."""
    spec = {} if max_retry is None else {"maxRetry": max_retry}
    town = Town(policies=[policy("RestartJob", "PodFailed")], **spec).settle()
    for _ in range(want_restarts - 1):
        town.run().end("train-worker-0", code=1)
        assert town.phase == "Pending"
    town.run().end("train-worker-0", code=1)

    assert (town.phase, town.retries()) == ("Failed", want_restarts)
    assert sorted(town.pods) == ["train-worker-0"]
    assert f"maxRetry is {want_restarts}" in town.status["state"]["message"]


def test_a_restart_raises_the_version_and_older_events_do_not_count():
    """New pods carry the new version; pods of the old one are deleted, whatever they report."""
    town = Town(policies=[policy("RestartJob", "PodFailed")]).settle().run()
    old = msgspec.convert(town.pods["train-worker-1"], dict)
    town.end("train-worker-0", code=1).run()
    assert (town.status["version"], town.versions()) == (1, {"1"})

    old["metadata"] |= {"uid": "straggler"}
    town.pods["train-worker-1"] = old
    town._end("train-worker-1", 1)
    town.settle()

    assert (town.retries(), town.versions()) == (1, {"1"})


def test_an_eviction_restarts_the_job_once():
    """Losing several pods of one version is one event: the others are outdated by then.

    The program did not fail, so that it burns no retry.
    """
    town = Town(task("worker", 3), policies=[policy("RestartJob", "PodEvicted")]).settle().run()
    town.evict("train-worker-0", "train-worker-2")

    assert (town.phase, town.retries(), len(town.pods)) == ("Pending", 0, 3)
    assert town.status["version"] == 1


def test_what_we_delete_is_no_eviction():
    """Neither scaling down nor a restart answers itself with another restart."""
    town = Town(
        task("worker", 3), minAvailable=1, policies=[policy("RestartJob", "PodEvicted")]
    ).settle()
    town.run().edit(tasks=[task("worker", 1)])

    assert (town.phase, town.retries(), sorted(town.pods)) == ("Running", 0, ["train-worker-0"])


def test_a_loss_that_nobody_saw_is_unknown():
    """An agent that starts and finds a pod going does not know why, so no policy answers."""
    town = Town(policies=[policy("AbortJob", "PodEvicted")]).settle().run()
    town.memory = type(town.memory)()
    town.pods["train-worker-0"]["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    town.settle()
    town.evict("train-worker-0")

    assert (town.phase, town.created.count("train-worker-0")) == ("Pending", 2)


def test_unknown_is_the_gangs():
    """The PodGroup's Unknown phase (some run, the others cannot) is the event of that name."""
    town = Town(policies=[policy("RestartJob", "Unknown")]).settle().run("train-worker-0")
    assert town.group is not None
    town.group["status"] = {"phase": "Unknown"}
    town.settle()

    assert (town.phase, town.retries(), town.status["version"]) == ("Pending", 1, 1)
    assert town.group["status"]["phase"] == "Inqueue"


def test_job_updated():
    """An edit of the Job is an event for policies that name it."""
    town = Town(policies=[policy("RestartJob", "JobUpdated")], minAvailable=1).settle().run()
    town.edit(minAvailable=2)

    assert (town.retries(), town.status["version"]) == (1, 1)
