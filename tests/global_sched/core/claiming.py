"""A town with one member in which jobs run already, and its cycles."""

from global_sched.core import run_cycle
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)


def town_of(*running, racks=(2, 2), queues=("a", "b"), cpu=1):
    """A town in which these run already."""
    named = [q if isinstance(q, Queue) else Queue(name=QueueName(q)) for q in queues]
    town = Town([Member("m", racks, cpu=cpu)], named)
    town.run(*running, policy=POLICY)
    return town


def job(name, pods=1, priority=0, queue="a", **more):
    return workload(name, cpu=1, pods=pods, priority=priority, queue=queue, **more)


def cycle(town, policy=POLICY):
    return run_cycle(town.snapshot(), policy, town.now)


def verdict_of(plan, name):
    return next(o.verdict for o in plan.outcomes if o.workload.endswith(f"/{name}"))
