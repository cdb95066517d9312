"""What quick looks need to know of what runs, read once for each cluster's workloads."""

from collections.abc import Iterable

from global_sched.core.make_room.by_cluster import ByCluster
from global_sched.core.make_room.occupancy import may_ever_leave
from global_sched.core.order.ageing import priority_of
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.snapshot import Running


def lowest_running(running: Iterable[Running]) -> dict[QueueName, int]:
    """The lowest priority of what may leave, by queue."""
    found: dict[QueueName, int] = {}
    for one in running:
        for queue, priority in _LOWEST.of(one).items():
            found[queue] = min(found.get(queue, priority), priority)
    return found


def _lowest(running: Running) -> dict[QueueName, int]:
    """The lowest priorities in one cluster."""
    found: dict[QueueName, int] = {}
    for one in running.workloads:
        if may_ever_leave(one):
            level = priority_of(one)
            found[one.queue] = min(found.get(one.queue, level), level)
    return found


def _claimed(running: Running) -> tuple[tuple[Instant, int], ...]:
    decisions = (one.decision for one in running.workloads)
    held = (one for one in decisions if one is not None and one.claimed)
    return tuple(sorted({(one.claimed, one.evictions) for one in held if one.claimed}))


_LOWEST = ByCluster(_lowest)
_CLAIMED = ByCluster(_claimed)


def claimed_in(running: Running) -> tuple[tuple[Instant, int], ...]:
    """Since when holds protect what runs in one cluster, and how often each has doubled."""
    return _CLAIMED.of(running)
