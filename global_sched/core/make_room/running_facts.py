"""Facts of running workloads for quick looks, read once for each cluster."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from global_sched.core.make_room.by_cluster import ByCluster
from global_sched.core.make_room.occupancy import may_ever_leave
from global_sched.core.quota.min_runtime import MinRuntimes
from global_sched.shared.model.growth import cooldown_ends
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Running, Snapshot
from global_sched.shared.model.workload import Workload


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
            level = one.priority
            found[one.queue] = min(found.get(one.queue, level), level)
    return found


def _started(running: Running) -> dict[QueueName, list[Instant]]:
    """Since when the workloads of each queue run in one cluster, earliest first."""
    found: dict[QueueName, list[Instant]] = {}
    for one in running.workloads:
        if one.decision is not None:
            found.setdefault(one.queue, []).append(one.decision.runs_since)
    return {queue: sorted(those) for queue, those in found.items()}


def _claimed(running: Running) -> tuple[tuple[Instant, int], ...]:
    decisions = (one.decision for one in running.workloads)
    held = (one for one in decisions if one is not None and one.claimed)
    return tuple(sorted({(one.claimed, one.evictions) for one in held if one.claimed}))


def _elastic(running: Running) -> tuple[Workload, ...]:
    """Gangs with a cooldown."""
    gangs = ((one, one.demand.gang) for one in running.workloads)
    return tuple(one for one, gang in gangs if gang is not None and gang.elastic is not None)


_LOWEST = ByCluster(_lowest)
_CLAIMED = ByCluster(_claimed)
_STARTED = ByCluster(_started)
_ELASTIC = ByCluster(_elastic)


def protected_until(snapshot: Snapshot, policy: Policy, now: Instant) -> Iterator[Instant]:
    """When holds of what runs end, and the next minimum run times of each queue and cluster.

    And when cooldowns end.
    """
    for running in snapshot.running:
        ends = (cooldown_ends(one, policy) for one in _ELASTIC.of(running))
        yield from (end for end in ends if end is not None)
        for claimed, doublings in _CLAIMED.of(running):
            yield Instant(claimed + ((policy.hold_seconds * SECOND) << doublings))
    runtimes = MinRuntimes(snapshot.queues, policy)
    for running in snapshot.running if runtimes.any else ():
        for queue, started in _STARTED.of(running).items():
            for span in runtimes.of(queue):
                later = bisect_right(started, now - span)
                if later < len(started):
                    yield Instant(started[later] + span)
