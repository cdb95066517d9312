"""Victims that leave more than is asked for: what comes there is a claim of its own."""

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)


@pytest.mark.parametrize(
    ("deserved", "beside", "want_left"),
    [
        pytest.param((2, 0), 0, ["b0"], id="nobody waits beside it"),
        pytest.param((2, 0), 2, ["b0"], id="one of its queue fits in the rest"),
        pytest.param((2, 0), 3, ["b0"], id="one of its queue does not fit in the rest"),
        pytest.param((4, 2), 2, ["b0"], id="what its queue is owed does not wait for that"),
    ],
)
def test_who_leaves_while_others_wait_beside_the_claimant(deserved, beside, want_left):
    """Queue a runs 3 of 6 CPUs, and b the others; the claimant, of a, asks for one."""
    queues = [
        Queue(name=QueueName(name), deserved=(("cpu", cpus * 1000),))
        for name, cpus in zip("ab", deserved, strict=True)
    ]
    town = Town([Member("m", [6])], queues)
    town.run(
        workload("a0", cpu=1, pods=3, queue="a", priority=10),
        workload("b0", cpu=1, pods=3, queue="b"),
        policy=POLICY,
    )
    town.add(workload("one", cpu=1, queue="a", created=1))
    if beside:
        town.add(workload("beside", cpu=1, pods=beside, queue="a", created=2))

    plan = run_cycle(town.snapshot(), POLICY, town.now)

    assert [one.workload.split("/")[1] for one in plan.withdrawals] == want_left
