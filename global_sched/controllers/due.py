"""When time alone changes what a cycle would decide."""

from collections.abc import Iterator

from global_sched.core import protected_until
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot


def next_due(snapshot: Snapshot, policy: Policy, now: Instant) -> Instant | None:
    """The next moment at which time alone matters.

    A report goes stale, a back-off or a claim ends, a placement times out, a victim may search,
    a hold or a minimum run time of what runs ends.
    """
    return min((due for due in _dues(snapshot, policy, now) if due > now), default=None)


def _dues(snapshot: Snapshot, policy: Policy, now: Instant) -> Iterator[Instant]:
    """Every such moment, passed ones among them."""
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
        if decision.claim is not None:
            yield decision.claim.until
    if snapshot.pending:
        yield from protected_until(snapshot, policy, now)
    for bucket in snapshot.pending:
        for workload in bucket.workloads:
            decision = workload.decision
            if decision is None:
                continue
            for backoff in decision.backoffs:
                yield backoff.until
            if decision.claim is not None:
                yield decision.claim.until
            if decision.evicted is not None:
                yield Instant(decision.evicted + decision.hold(policy.hold_seconds))
