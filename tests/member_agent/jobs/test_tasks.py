"""Tasks that wait for others, and tasks that grow and shrink."""

from typing import Any

import pytest

from tests.member_agent.jobs.job_world import Town, policy, task


def waits(*names: str, iteration: str = "all", **fields: Any) -> dict[str, Any]:
    """A worker task that waits for these."""
    return task("worker", 2, dependsOn={"name": list(names), "iteration": iteration}, **fields)


@pytest.mark.parametrize(
    ("iteration", "running", "want_workers"),
    [
        pytest.param("all", [], 0, id="none is there"),
        pytest.param("all", ["train-a-0"], 0, id="all waits for both"),
        pytest.param("all", ["train-a-0", "train-b-0"], 2, id="both run"),
        pytest.param("any", ["train-b-0"], 2, id="any needs one of them"),
    ],
)
def test_depends_on(iteration, running, want_workers):
    """Pods of a task are made when the tasks before it run and are ready, or succeeded."""
    town = Town(task("a", 1), task("b", 1), waits("a", "b", iteration=iteration)).settle()
    if running:
        town.run(*running)

    assert sum("worker" in name for name in town.pods) == want_workers


def test_depends_on_counts_succeeded_pods_and_the_minimum():
    """A task before is there when its minimum is, and pods that succeeded are there."""
    town = Town(task("a", 3, minAvailable=2), waits("a")).settle().run("train-a-0")
    assert len(town.pods) == 3

    assert len(town.end("train-a-1").pods) == 5


def test_running_but_not_ready_is_not_there():
    """A pod that runs without being ready holds dependent tasks back."""
    town = Town(task("a", 1), waits("a")).settle()
    town.pods["train-a-0"]["status"] = {"phase": "Running"}

    assert len(town.settle().pods) == 1


def test_the_groups_minimum_covers_only_tasks_that_may_start():
    """Else the first task would wait for pods that do not exist, and they for it."""
    town = Town(task("a", 1), waits("a")).settle()
    assert town.group is not None
    assert (town.group["spec"]["minMember"], town.group["spec"]["minTaskMember"]) == (1, {"a": 1})
    assert town.group["spec"]["minResources"]["pods"] == "1"

    town.run("train-a-0")

    assert town.group["spec"]["minMember"] == 3
    assert town.group["spec"]["minTaskMember"] == {"a": 1, "worker": 2}
    assert town.group["spec"]["minResources"]["pods"] == "3"


def test_a_dependent_task_is_not_taken_back():
    """Once a task has pods, a lost pod before it changes nothing for it."""
    town = Town(task("a", 1), waits("a")).settle().run("train-a-0").evict("train-a-0")

    assert len(town.pods) == 3
    assert town.group is not None
    assert town.group["spec"]["minMember"] == 3


def test_scale_up():
    """More replicas: the missing indices are made, minimum and host lists follow."""
    town = Town(task("worker", 1), plugins={"svc": []}).settle().run()
    town.edit(tasks=[task("worker", 3)])

    assert sorted(town.pods) == ["train-worker-0", "train-worker-1", "train-worker-2"]
    assert town.group is not None
    assert town.group["spec"]["minMember"] == 3
    assert town.status["minAvailable"] == 3


def test_scale_down_takes_the_highest_indices():
    """Fewer replicas: the pods beyond them go, highest index first; the others stay."""
    town = Town(task("worker", 4), minAvailable=1).settle().run()
    town.edit(tasks=[task("worker", 2)])

    assert town.deleted == ["train-worker-3", "train-worker-2"]
    assert (town.phase, sorted(town.pods)) == ("Running", ["train-worker-0", "train-worker-1"])


@pytest.mark.parametrize("event", ["PodEvicted", "*", "TaskCompleted", "TaskFailed"])
def test_scale_to_zero_pauses(event):
    """All pods go, no policy answers, and the Job waits with the reason; more replicas go on."""
    town = Town(task("worker", 4), minAvailable=4, policies=[policy("AbortJob", event)], maxRetry=1)
    town.settle().run().edit(tasks=[task("worker", 0)])
    assert (town.phase, town.pods, town.retries()) == ("Pending", {}, 0)
    assert town.status["state"]["reason"] == "Paused"
    assert town.status["state"]["message"] == "all tasks have 0 replicas; raise them to go on"

    town.edit(tasks=[task("worker", 4)]).run()

    assert (town.phase, len(town.pods)) == ("Running", 4)
    assert town.group is not None
    assert town.group["spec"]["minMember"] == 4


def test_a_pause_keeps_ends_and_asks_nothing_of_partitions():
    """What ended before the pause does not run again after it; several tasks, one of partitions."""
    size = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 2}
    tasks = [task("a", 1), task("worker", 4, partitionPolicy=size)]
    town = Town(*tasks).settle().run().end("train-a-0")
    town.edit(tasks=[one | {"replicas": 0} for one in tasks])
    assert (town.phase, town.pods) == ("Pending", {})

    town.edit(tasks=tasks).run()

    assert town.phase == "Running"
    assert sorted(town.pods) == [f"train-worker-{i}" for i in range(4)]


def test_a_job_that_begins_with_zero():
    """It waits; it is not Completed before it began."""
    town = Town(task("worker", 0)).settle()
    assert (town.phase, town.pods) == ("Pending", {})

    town.edit(tasks=[task("worker", 2)])

    assert len(town.pods) == 2


def test_partitions():
    """Pods carry the number of their partition, and the PodGroup names the subgroups."""
    partition = {
        "totalPartitions": 2,
        "partitionSize": 2,
        "minPartitions": 1,
        "networkTopology": {"highestTierAllowed": 1},
    }
    town = Town(task("worker", 4, partitionPolicy=partition)).settle()

    labels = [town.labels(f"train-worker-{i}")["volcano.sh/partition-id"] for i in range(4)]
    assert labels == ["0", "0", "1", "1"]
    assert town.group is not None
    assert town.group["spec"]["minTaskMember"] == {"worker": 2}
    assert town.group["spec"]["subGroupPolicy"] == [
        {
            "name": "worker",
            "subGroupSize": 2,
            "minSubGroups": 1,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        }
    ]
