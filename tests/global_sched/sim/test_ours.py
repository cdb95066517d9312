"""The product as an arm: what agents do with the room that claims keep."""

from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.queue import Queue
from global_sched.sim.engine import Stage
from global_sched.sim.gates import nodes
from global_sched.sim.jobs import Gangs, Job
from global_sched.sim.member import Member
from global_sched.sim.ours import Ours, Sharing

QUEUES = (
    Queue(name=QueueName("first"), priority=1),
    Queue(name=QueueName("second"), reclaimable=False),
)


def job(number, submit, pods, gpus, queue, priority=0):
    """One of an hour."""
    return Job(
        number=number,
        name=f"job-{number}",
        submit=submit * SECOND,
        duration=3600 * SECOND,
        pods=pods,
        gpus=gpus,
        queue=queue,
        priority=priority,
        tenant=queue,
    )


def test_small_jobs_leave_the_room_of_a_claim_alone():
    """They are admitted before the claimant for which others left, and take what is beside it.

    All on one node they would leave room for one of its pods of 6.
    """
    low, high = job(0, 0, 2, 8, "second"), job(1, 60, 2, 6, "second", priority=10)
    small = [job(number, 60, 1, 1, "first") for number in (2, 3, 4)]
    stage = Stage([low, high, *small], [Member("east", nodes(2, 8))], Gangs())

    stage.run(Ours(stage, Sharing(queues=QUEUES)))

    assert stage.misplaced == 0
    assert stage.history[low.number].evictions == 1
    assert {stage.history[one.number].started for one in (high, *small)} == {60 * SECOND}
