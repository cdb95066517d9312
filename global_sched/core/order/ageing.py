"""Waiting raises a job in its queue: who comes first by it is not sent away by whom it overtook."""

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.workload import Workload


def aged(priority: int, created: Instant, now: Instant, policy: Policy) -> int:
    """The priority, raised by how long it waited: at most by the Policy's `ageing_limit`."""
    if policy.ageing_period_seconds <= 0:
        return priority
    waited = max(0, now - created) // (policy.ageing_period_seconds * SECOND)
    return priority + min(max(0, policy.ageing_limit), waited * policy.ageing_step)


def overtook(running: Workload, waiting: Workload, policy: Policy) -> bool:
    """Whether one that waits was there when the other was admitted, and stood behind it by ageing.

    Else the one would start and leave for the other in the next cycle, and ageing be for nothing.
    """
    if policy.ageing_period_seconds <= 0 or running.decision is None:
        return False
    at = running.decision.at
    first = aged(running.priority, running.created, at, policy)
    return waiting.created <= at and first >= aged(waiting.priority, waiting.created, at, policy)
