"""The end of a pod: by its program, or by Kubernetes."""

from typing import Any

import pytest

from global_sched.shared.model.instant import SECOND
from tests.member_agent.jobs.job_world import NOW, Town, policy, task

LOW = "The node was low on resource: memory. Container c was using 9Gi, request is 1Gi. "
FULL = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "
DIR = 'Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". '


def target(reason: str, status: str = "True") -> dict[str, Any]:
    """The condition with which Kubernetes says that it ends a pod."""
    return {"conditions": [{"type": "DisruptionTarget", "status": status, "reason": reason}]}


def ended(town: Town, name: str = "train-worker-0", **status: Any) -> Town:
    """The pod ends with phase Failed; further fields of its status."""
    container = {"name": "c", "state": {"terminated": {"exitCode": 137}}}
    town.pods[name]["status"] = {"phase": "Failed", "containerStatuses": [container]} | status
    return town.settle()


BY_KUBERNETES = [
    pytest.param(target("EvictionByEvictionAPI"), id="a drain"),
    pytest.param(target("PreemptionByScheduler"), id="a preemption"),
    pytest.param(target("DeletionByTaintManager"), id="a taint"),
    pytest.param(target("DeletionByPodGC"), id="its node is gone"),
    pytest.param(
        target("TerminationByKubelet") | {"reason": "Evicted", "message": LOW}, id="pressure"
    ),
    pytest.param({"reason": "Evicted", "message": LOW}, id="pressure, no condition"),
    pytest.param(
        target("TerminationByKubelet")
        | {
            "reason": "Terminated",
            "message": "Pod was terminated in response to imminent node shutdown.",
        },
        id="a shutdown",
    ),
    pytest.param({"reason": "Terminated"}, id="a shutdown, no condition"),
    pytest.param({"reason": "Preempting"}, id="room for a critical pod"),
]
BY_ITSELF = [
    pytest.param({}, id="an exit code"),
    pytest.param({"reason": "Evicted", "message": FULL}, id="its storage limit"),
    pytest.param({"reason": "Evicted", "message": DIR}, id="the limit of its emptyDir"),
    pytest.param({"reason": "DeadlineExceeded"}, id="its own deadline"),
    pytest.param(target("PreemptionByScheduler", "False"), id="a preemption that was given up"),
]


@pytest.mark.parametrize("status", BY_KUBERNETES)
def test_what_kubernetes_ends_was_evicted(status):
    """PodFailed stays silent, PodEvicted answers, and it burns no retry."""
    rules = [policy("AbortJob", "PodFailed"), policy("RestartJob", "PodEvicted")]
    town = ended(Town(policies=rules, maxRetry=1).settle().run(), **status)

    assert (town.phase, town.retries(), town.status["version"]) == ("Pending", 0, 1)
    assert town.created.count("train-worker-0") == 2


@pytest.mark.parametrize("status", BY_ITSELF)
def test_what_ends_by_itself_failed(status):
    """PodFailed answers, PodEvicted stays silent."""
    rules = [policy("RestartJob", "PodFailed"), policy("AbortJob", "PodEvicted")]
    town = ended(Town(policies=rules).settle().run(), **status)

    assert (town.phase, town.retries()) == ("Pending", 1)


@pytest.mark.parametrize("status", BY_KUBERNETES)
def test_without_a_policy_an_evicted_pod_is_made_again(status):
    """It is no end of its program, so that the Job neither fails nor goes on without it."""
    town = ended(Town().settle().run(), **status)
    assert town.created.count("train-worker-0") == 2
    assert "pod train-worker-0 was evicted" in town.notes[-1].message

    assert town.run().end().phase == "Completed"


@pytest.mark.parametrize("action", ["RestartPod", "RestartPartition", "RestartTask", "RestartJob"])
def test_no_restart_after_an_eviction_burns_a_retry(action):
    """Whatever its reach; and one that a failure asks for at the same time does burn one."""
    size = {"totalPartitions": 1, "partitionSize": 2, "minPartitions": 1}
    rules = [policy(action, events=["PodEvicted", "PodFailed"])]
    town = Town(task(partitionPolicy=size), policies=rules).settle().run()
    ended(town, **target("EvictionByEvictionAPI"))
    assert (town.retries(), len(town.pods)) == (0, 2)

    town.run().evict("train-worker-1")
    assert town.retries() == 0

    town.wait(60).run()
    town.pods["train-worker-1"]["status"] = {"phase": "Failed"}
    ended(town, **target("EvictionByEvictionAPI"))
    assert town.retries() == 1


def test_any_event_burns_none_for_an_eviction():
    """`*` answers evictions, too."""
    town = Town(policies=[policy("RestartJob", "*")], maxRetry=1).settle().run()
    ended(town, reason="Evicted", message=LOW)

    assert (town.phase, town.retries()) == ("Pending", 0)


def test_a_task_has_not_failed_by_evictions():
    """TaskFailed counts failures of the program only."""
    town = Town(policies=[policy("AbortJob", "TaskFailed")]).settle().run()

    assert ended(town, reason="Evicted", message=LOW).phase == "Pending"


def test_a_pod_that_its_node_refused_was_never_evicted():
    """`Evicted` before it started is a refusal: it is replaced, and no policy answers."""
    town = Town(policies=[policy("AbortJob", "*")]).settle()
    ended(town, reason="Evicted", message="The node had condition: [DiskPressure]. ")

    assert (town.phase, town.created.count("train-worker-0")) == ("Pending", 2)


@pytest.mark.parametrize(
    "rules", [[], [policy("RestartJob", "PodEvicted")]], ids=["none", "a policy"]
)
@pytest.mark.parametrize("crash", [False, True], ids=["seen", "the agent restarts between"])
def test_restarts_after_evictions_back_off(rules, crash):
    """At once, then after 10, 20, 40 s …, at most 300; after ten calm minutes at once again."""
    town = Town(policies=rules).settle()
    waits = []
    for _ in range(8):
        begun = town.run().now
        ended(town, **target("TerminationByKubelet"))
        if crash:
            town.memory = type(town.memory)()
            town.settle()
        while "train-worker-0" not in town.pods:
            assert town.wake is not None
            town.wait((town.wake - town.now) / SECOND)
        waits.append((town.now - begun) / SECOND)
        town.wait(1)

    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
    begun = town.run().wait(601).now
    ended(town, **target("TerminationByKubelet"))
    assert ("train-worker-0" in town.pods, town.now - begun) == (True, 0)


def test_pods_that_are_lost_one_after_the_other_count_once():
    """While pods are held back, further losses (a drain goes on) make them wait no longer."""
    town = Town(task("worker", 6), minAvailable=1).settle().run()
    for i in range(5):
        ended(town, f"train-worker-{i}", **target("EvictionByEvictionAPI"))
        town.wait(1)

    assert town.wake == NOW + (1 + 10) * SECOND
    assert len(town.wait(10).pods) == 6
