"""Counts, amounts and shares in the status of Queues and Tenants."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """One queue. `starting` are admitted and have not reached their minimum."""

    name: str
    pending: int
    starting: int
    running: int
    allocated: Resources
    share: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantCounts:
    """One tenant."""

    name: str
    admitted: int
    pending: int
    share: Fraction


def count_queues(snapshot: Snapshot, workloads: Iterable[Workload]) -> list[QueueCounts]:
    """Every queue that exists, by name."""
    pending: defaultdict[str, int] = defaultdict(int)
    for bucket in snapshot.pending:
        pending[bucket.queue] += len(bucket.workloads)
    starting: defaultdict[str, int] = defaultdict(int)
    running: defaultdict[str, int] = defaultdict(int)
    for one in workloads:
        if one.admitted() and one.demand.gang is not None and one.decision is not None:
            reached = all(one.minimum_reached(grant) for grant in one.decision.grants)
            (running if reached else starting)[one.queue] += 1
    total = _total(snapshot)
    amounts: defaultdict[str, list[Resources]] = defaultdict(list)
    for usage in snapshot.usage:
        amounts[usage.queue].append(usage.amount)
    counts = []
    for queue in snapshot.queues:
        held = Resources.total(amounts[queue.name])
        counts.append(
            QueueCounts(
                name=queue.name,
                pending=pending[queue.name],
                starting=starting[queue.name],
                running=running[queue.name],
                allocated=held,
                share=_share(held, total, queue.weight),
            )
        )
    return counts


def count_tenants(snapshot: Snapshot, workloads: Iterable[Workload]) -> list[TenantCounts]:
    """Every tenant, by name."""
    pending: defaultdict[str, int] = defaultdict(int)
    for bucket in snapshot.pending:
        pending[bucket.tenant] += len(bucket.workloads)
    admitted: defaultdict[str, int] = defaultdict(int)
    for one in workloads:
        if one.admitted():
            admitted[one.tenant] += 1
    total = _total(snapshot)
    held: defaultdict[str, list[Resources]] = defaultdict(list)
    for usage in snapshot.usage:
        held[usage.tenant].append(usage.amount)
    return [
        TenantCounts(
            name=tenant.name,
            admitted=admitted[tenant.name],
            pending=pending[tenant.name],
            share=_share(Resources.total(held[tenant.name]), total, tenant.weight),
        )
        for tenant in snapshot.tenants
    ]


def _total(snapshot: Snapshot) -> Resources:
    return Resources.total(
        cluster.capacity.total for cluster in snapshot.clusters if cluster.capacity is not None
    )


def _share(held: Resources, total: Resources, weight: int) -> Fraction:
    """The weighted dominant share, to four decimals: it is for people."""
    parts = [Fraction(amount, total.get(name)) for name, amount in held if total.get(name)]
    share = max(parts, default=Fraction(0)) / max(1, weight)
    return Fraction(round(share * 10_000), 10_000)
