"""Gauges that show the state: set when Prometheus asks, from the last snapshot."""

from collections import Counter

from global_sched.cache import State
from global_sched.shared.api.pod_kinds import group_kind
from global_sched.shared.clock import Clock
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.workload import Division
from global_sched.shared.telemetry import metrics as m
from global_sched.shared.telemetry.registry import Metrics


def refresh_gauges(metrics: Metrics, state: State, clock: Clock) -> None:
    """Clusters, queues and what is admitted."""
    snapshot, now = state.snapshot(), clock.now()
    for cluster in snapshot.clusters:
        _cluster(metrics, cluster, now)
        taken = state.builder.usage_index.takers_in(cluster.name)
        metrics.set(m.ASSUMED_PODS, sum(t.amounts.pods() for t in taken), cluster=cluster.name)
    admitted = Counter(one.queue for one in state.workloads() if one.admitted())
    metrics.replace(m.COPIED_OBJECTS, _copied(state))
    used: Counter[tuple[str, str]] = Counter()
    for usage in snapshot.usage:
        for resource, amount in usage.amount:
            used[usage.queue, resource] += amount
    oldest: dict[str, Instant] = {}
    for bucket in snapshot.pending:
        first = min(one.created for one in bucket.workloads)
        oldest[bucket.queue] = min(first, oldest.get(bucket.queue, first))
    for queue in snapshot.queues:
        waited = max(0, now - oldest.get(queue.name, now)) / SECOND
        metrics.set(m.OLDEST_PENDING, waited, queue=queue.name)
        metrics.set(m.QUEUE_OPEN, float(queue.open), queue=queue.name)
        metrics.set(m.ADMITTED, admitted[queue.name], queue=queue.name)
        for resource, amount in queue.capability:
            shown = _shown(resource, amount)
            metrics.set(m.QUEUE_CAPABILITY, shown, queue=queue.name, resource=resource)
    for (name, resource), amount in used.items():
        metrics.set(m.QUEUE_USAGE, _shown(resource, amount), queue=name, resource=resource)


def _copied(state: State) -> Counter[tuple[str, ...]]:
    """Admitted copies of objects without demand, by kind."""
    demands = (one.demand for one in state.workloads() if one.admitted())
    return Counter(
        (group_kind(one.api_version, one.kind),)
        for one in demands
        if one.division == Division.COPIED
    )


def _cluster(metrics: Metrics, cluster: Cluster, now: Instant) -> None:
    capacity = cluster.capacity
    if capacity is None:
        return
    age = max(0, now - capacity.observed) / SECOND
    metrics.set(m.CLUSTER_REPORT_AGE, age, cluster=cluster.name)
    free = [0] * len(capacity.topology.axis)
    for leaf in capacity.topology.leaves:
        for at, amount in enumerate(leaf.free):
            free[at] += amount * leaf.count
    for resource, amount in zip(capacity.topology.axis, free, strict=True):
        shown = _shown(resource, amount)
        metrics.set(m.CLUSTER_FREE, shown, cluster=cluster.name, resource=resource)
    for resource, amount in capacity.total:
        shown = _shown(resource, amount)
        metrics.set(m.CLUSTER_CAPACITY, shown, cluster=cluster.name, resource=resource)


def _shown(resource: str, amount: int) -> float:
    """Cores, bytes or pieces."""
    return amount / 1000 if resource == "cpu" else float(amount)
