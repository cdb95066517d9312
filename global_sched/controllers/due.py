"""When time alone changes what a cycle would decide."""

from collections.abc import Iterator

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot


def next_due(snapshot: Snapshot, policy: Policy, now: Instant) -> Instant | None:
    """The next moment at which a report goes stale, a back-off ends or a placement times out."""
    return min((due for due in _dues(snapshot, policy) if due > now), default=None)


def _dues(snapshot: Snapshot, policy: Policy) -> Iterator[Instant]:
    for cluster in snapshot.clusters:
        if cluster.capacity is not None:
            trust = max(policy.report_trust_seconds, 3 * cluster.capacity.period_seconds)
            yield Instant(cluster.capacity.observed + trust * SECOND + 1)
    for workload in snapshot.unsettled:
        decision = workload.decision
        if decision is None:
            continue
        if not all(workload.minimum_reached(grant) for grant in decision.grants):
            yield Instant(decision.at + policy.placement_timeout_seconds * SECOND)
        for backoff in decision.backoffs:
            yield backoff.until
    for bucket in snapshot.pending:
        for workload in bucket.workloads:
            if workload.decision is not None:
                for backoff in workload.decision.backoffs:
                    yield backoff.until
