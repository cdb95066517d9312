"""The minimum run time that protects the workloads of a queue."""

import pytest

from global_sched.core.quota.min_runtime import MinRuntimes
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import DAY, SECOND
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import ROOT, Queue

ASKS = ("min_runtime_before_reclaim", "min_runtime_before_preemption")


def tree(root=None, org=None, leaf=None, parent="org"):
    """A queue below another: what each says, (before reclaim, before preemption)."""
    said = {ROOT: (root, ROOT), "org": (org, ROOT), "leaf": (leaf, parent)}
    return [
        Queue(
            name=QueueName(name),
            parent=QueueName(above),
            **dict(zip(ASKS, times or (None, None), strict=True)),
        )
        for name, (times, above) in said.items()
    ]


@pytest.mark.parametrize(
    ("queues", "want"),
    [
        pytest.param(tree(), (0, 0), id="nothing is protected by default"),
        pytest.param(tree(leaf=(60, None)), (60, 0), id="a queue says it for each kind apart"),
        pytest.param(tree(org=(60, 30)), (60, 30), id="the queue above it says it for it"),
        pytest.param(tree(root=(9, 9), org=(60, None)), (60, 9), id="the nearest one does"),
        pytest.param(tree(org=(60, 30), leaf=(0, None)), (0, 30), id="0 is a word of its own"),
        pytest.param(tree(org=(60, 30), parent="leaf"), (0, 0), id="its own parent ends it"),
        pytest.param(tree(org=(60, 30), parent="gone"), (0, 0), id="so does one that is gone"),
    ],
)
def test_the_nearest_queue_says_it(queues, want):
    """Without a word on its path the Policy's default of 0 holds."""
    assert MinRuntimes(queues, Policy()).of(QueueName("leaf")) == tuple(n * SECOND for n in want)


@pytest.mark.parametrize(
    ("policy", "leaf", "want"),
    [
        pytest.param({"min_runtime_before_reclaim_seconds": 60}, None, 60, id="its default"),
        pytest.param({"min_runtime_before_reclaim_seconds": 60}, (5, 5), 5, id="a queue says less"),
        pytest.param({"min_runtime_limit_seconds": 90}, (7 * DAY, 0), 90, id="its limit"),
        pytest.param({"min_runtime_limit_seconds": 0}, (60, 60), 0, id="or none at all"),
    ],
)
def test_the_policy_bounds_it(policy, leaf, want):
    """What no queue says is the Policy's default; nothing is more than its limit."""
    found = MinRuntimes(tree(leaf=leaf), Policy(**policy)).of(QueueName("leaf"))

    assert found.reclaim == want * SECOND
