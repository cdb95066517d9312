"""Delayed actions: a policy with a timeout acts only when it still holds."""

from global_sched.shared.model.instant import SECOND
from tests.member_agent.jobs.job_world import NOW, Town, policy


def test_a_pod_that_stays_pending():
    """PodPending acts when the pod has been pending for the timeout, and asks to be woken then."""
    town = Town(policies=[policy("AbortJob", "PodPending", timeout="1m30s")]).settle()
    assert town.wake == NOW + 90 * SECOND

    assert town.wait(89).phase == "Pending"
    assert town.wait(1).phase == "Aborted"


def test_a_pod_that_starts_in_time():
    """A pod that left Pending has no timer any more."""
    town = Town(policies=[policy("AbortJob", "PodPending", timeout="90s")]).settle()
    town.wait(60).run()

    assert town.wake is None
    assert town.wait(60).phase == "Running"


def test_restart_pod_on_pending():
    """A pod that hangs is made anew; its timer starts again with it."""
    town = Town(policies=[policy("RestartPod", "PodPending", timeout="90s")]).settle()
    town.run("train-worker-0").wait(90)

    assert (town.created.count("train-worker-1"), town.retries()) == (2, 1)
    assert town.created.count("train-worker-0") == 1
    assert town.wake == NOW + 180 * SECOND


def test_an_eviction_that_heals():
    """A delayed answer to an eviction is dropped when the new pod runs by then."""
    town = Town(policies=[policy("RestartJob", "PodEvicted", timeout="30s")]).settle().run()
    town.evict("train-worker-1")
    assert (town.phase, town.wake) == ("Pending", NOW + 30 * SECOND)

    town.run()

    assert town.wake is None
    assert town.wait(60).retries() == 0


def test_an_eviction_that_does_not_heal():
    """When the new pod does not run in time, the action is due."""
    town = Town(policies=[policy("RestartJob", "PodEvicted", timeout="30s")]).settle().run()
    town.evict("train-worker-1")

    town.wait(30)
    assert (town.status["version"], town.retries()) == (1, 0)


def test_a_failure_counts_from_its_end():
    """The timer of PodFailed starts when the container ended, also for an agent that starts now."""
    town = Town(policies=[policy("TerminateJob", "PodFailed", timeout="30s")]).settle().run()
    town.end("train-worker-0", code=1).wait(20)
    town.memory = type(town.memory)()
    town.settle()

    assert (town.phase, town.wake) == ("Running", NOW + 30 * SECOND)
    assert town.wait(10).phase == "Terminated"


def test_a_wider_action_cancels_narrower_timers():
    """What waited for pods of the old version is forgotten with them."""
    town = Town(
        policies=[
            policy("RestartPod", "PodEvicted", timeout="30s"),
            policy("RestartJob", "PodFailed"),
        ]
    )
    town.settle().run().evict("train-worker-1").end("train-worker-0", code=1)
    assert (town.retries(), town.wake) == (1, None)

    assert town.run().wait(60).retries() == 1
