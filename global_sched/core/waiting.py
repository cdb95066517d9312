"""Those that wait in a snapshot, one kind for all of a queue with one demand and priority."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.snapshot import Bucket, Snapshot
from global_sched.shared.model.workload import Division, Workload


@dataclass(slots=True, eq=False)
class WaitingKind:
    """Those of one queue that wait with one demand and priority."""

    one: Workload
    """The first by name, which stands for all."""
    those: list[Workload]
    to_come: list[Workload]
    """Those that may have their turn still; who had it goes when it is looked at."""


Waiting = dict[QueueName, list[WaitingKind]]
Alike = tuple[int, QueueName, int]
"""What all of a kind have in common."""


def alike(one: Workload) -> Alike:
    """Its demand, by identity, its queue and its priority."""
    return id(one.demand), one.queue, one.priority


def kinds_of(pending: Iterable[Bucket]) -> Waiting:
    """Every kind of gang that wants one cluster and has none, by queue and name."""
    kinds: dict[Alike, list[Workload]] = {}
    for bucket in pending:
        for one in bucket.workloads:
            if one.demand.division != Division.WHOLE or one.demand.gang is None:
                continue
            if not one.targets and not one.finished:
                kinds.setdefault(alike(one), []).append(one)
    found: Waiting = {}
    for those in kinds.values():
        kind = WaitingKind(min(those, key=_key), those, [*those])
        found.setdefault(kind.one.queue, []).append(kind)
    return {
        queue: sorted(those, key=lambda kind: kind.one.key)
        for queue, those in sorted(found.items())
    }


def with_more(waiting: Waiting, more: Iterable[Workload]) -> Waiting:
    """The same, and these, each as a kind of its own."""
    found = dict(waiting)
    for one in more:
        found[one.queue] = [*found.get(one.queue, ()), WaitingKind(one, [one], [one])]
    return found


def _key(one: Workload) -> WorkloadKey:
    return one.key


def claimants(snapshot: Snapshot) -> Iterator[Workload]:
    """All for whom room may be kept: those that wait, and those that run and want more."""
    for bucket in snapshot.pending:
        yield from bucket.workloads
    yield from snapshot.unsettled
