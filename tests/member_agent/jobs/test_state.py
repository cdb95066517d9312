"""Phases of a Job without policies: start, run, end."""

import pytest

from member_agent.jobs.state import step
from tests.member_agent.jobs.job_world import NOW, Town, task


def test_a_new_job_gets_its_objects_at_once():
    """The first step makes PodGroup, companions and every pod, and the Job is Pending."""
    town = Town(task("master", 1), task("worker", 2), plugins={"svc": [], "env": []}).settle()

    assert town.created == ["train-master-0", "train-worker-0", "train-worker-1"]
    assert town.group is not None
    assert town.group["metadata"]["name"] == "train-job-uid"
    assert town.companions
    assert (town.phase, town.history) == ("Pending", ["Pending"])
    assert town.status["pending"] == 3
    assert town.status["controlledResources"] == {"plugin-env": "env", "plugin-svc": "svc"}


def test_a_settled_job_makes_no_further_write():
    """The same state again leads to nothing, whatever the phase."""
    town = Town().settle()
    for act in (town.settle, town.run, town.end):
        act()
        again = step(town.view(), town.now)
        assert again.status is None
        assert not again.deletes + again.creates
        assert again.group_spec is None
        assert again.group_status is None
        assert not again.delete_group


def test_the_same_view_gives_the_same_outcome():
    """A step is a function of its view and the instant."""
    view = Town().settle().run().view()

    assert step(view, NOW) == step(view, NOW)


@pytest.mark.parametrize(
    ("spec", "codes", "want_phase", "want_history"),
    [
        pytest.param({}, [0, 0, 0], "Completed", ["Pending", "Running", "Completed"], id="all ok"),
        pytest.param({}, [0, 0, 1], "Failed", ["Pending", "Running", "Failed"], id="one failed"),
        pytest.param(
            {"minAvailable": 2},
            [0, 1, 0],
            "Completed",
            ["Pending", "Running", "Completed"],
            id="a job minimum below the tasks' sum needs only that many, of any task",
        ),
        pytest.param(
            {"minSuccess": 2, "minAvailable": 1},
            [0, 1, 1],
            "Failed",
            ["Pending", "Running", "Failed"],
            id="fewer than minSuccess succeeded",
        ),
    ],
)
def test_how_a_job_ends(spec, codes, want_phase, want_history):
    """When all pods have ended, the minimums and minSuccess decide between the two ends."""
    town = Town(task("worker", 3), plugins={"svc": []}, **spec).settle().run()
    for index, code in enumerate(codes):
        town._end(f"train-worker-{index}", code)
    town.settle()

    assert (town.phase, town.history) == (want_phase, want_history)
    assert town.group is None
    assert not town.companions
    assert sorted(town.pods) == ["train-worker-0", "train-worker-1", "train-worker-2"]


def test_a_task_minimum_counts_when_the_job_does_not_undercut_it():
    """All pods of the other task do not make up for a task below its own minimum."""
    town = Town(task("a", 2), task("b", 2, minAvailable=1), minAvailable=3).settle().run()
    town._end("train-a-0", 1)
    for name in ("train-a-1", "train-b-0", "train-b-1"):
        town._end(name, 0)
    town.settle()

    assert town.phase == "Failed"
    assert town.status["state"]["message"] == "1 pods of task a succeeded, it needs 2"


def test_min_success_ends_the_job_while_others_run():
    """As soon as enough succeeded, the rest is killed; ended pods stay."""
    town = Town(task("worker", 3), minSuccess=1, minAvailable=1).settle().run()
    town.end("train-worker-1")

    assert town.phase == "Completed"
    assert town.deleted == ["train-worker-2", "train-worker-0"]
    assert sorted(town.pods) == ["train-worker-1"]
    assert town.status["succeeded"] == 1
    assert town.status["runningDuration"] == "1m0s"


def test_running_needs_the_minimum():
    """Pods that run or have ended count; one less than the minimum is still Pending."""
    town = Town(task("worker", 3), minAvailable=2).settle().run("train-worker-0")
    assert town.phase == "Pending"

    assert town.run("train-worker-2").phase == "Running"


def test_a_pod_that_its_node_refuses_is_replaced():
    """OutOf… is the scheduler's failure: no retry, no policy, a new pod."""
    town = Town(policies=[{"event": "PodFailed", "action": "AbortJob"}]).settle()
    town.refuse("train-worker-1", "OutOfnvidia.com/gpu")

    assert town.phase == "Pending"
    assert town.created.count("train-worker-1") == 2
    assert town.retries() == 0


def test_a_pending_pod_that_goes_is_replaced():
    """A pod that never started is no eviction: the binder took it back."""
    town = Town(policies=[{"event": "PodEvicted", "action": "AbortJob"}]).settle()
    town.evict("train-worker-0")

    assert (town.phase, town.created.count("train-worker-0")) == ("Pending", 2)


def test_too_many_pods_to_create_at_once_are_made_in_portions():
    """A step creates a bounded number of pods and asks to be called again at once."""
    town = Town(task("worker", 1200))
    first = step(town.view(), NOW)
    town.settle()

    assert (len(first.creates), first.wake) == (500, NOW)
    assert len(town.pods) == 1200


def test_a_job_that_is_being_deleted_is_left_alone():
    """Its objects go with it, because they name it as their owner."""
    town = Town().settle()
    town.job["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    town.pods.clear()

    assert step(town.view(), NOW).creates == ()


@pytest.mark.parametrize(
    ("labels", "want_deleted"),
    [
        pytest.param(None, True, id="a job that was made here"),
        pytest.param(
            {"karmada.io/managed": "true"}, False, id="Karmada would bring it back and run it again"
        ),
    ],
)
def test_ttl(labels, want_deleted):
    """A finished Job is deleted after its TTL, unless Karmada brought it."""
    town = Town(labels=labels, ttlSecondsAfterFinished=30).settle().run().end()
    assert not town.job_deleted
    assert (town.wake is not None) is want_deleted

    town.wait(29)
    assert not town.job_deleted
    town.wait(1)

    assert town.job_deleted is want_deleted
