"""Waiting workloads of a snapshot: what equal ones share, and all for which room may be kept."""

from collections.abc import Iterator

from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload

Alike = tuple[int, QueueName, int]
"""What equal ones have in common."""


def alike(one: Workload) -> Alike:
    """Its demand, by identity, its queue and its priority."""
    return id(one.demand), one.queue, one.priority


def claimants(snapshot: Snapshot) -> Iterator[Workload]:
    """All for whom room may be kept: those that wait, and those that run and want more."""
    for bucket in snapshot.pending:
        yield from bucket.workloads
    yield from snapshot.unsettled
