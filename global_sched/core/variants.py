"""Worlds that differ from a snapshot in one thing, for trials."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue import Named, Queue
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload


def only_these(snapshot: Snapshot, workloads: Iterable[Workload]) -> Snapshot:
    """Nobody else waits, but for those for whom room is kept."""
    kept, keys = [], {one.key for one in workloads}
    for bucket in snapshot.pending:
        there = tuple(
            one
            for one in bucket.workloads
            if one.key in keys or (one.decision is not None and one.decision.claim is not None)
        )
        if there:
            kept.append(replace(bucket, workloads=there))
    return replace(snapshot, pending=tuple(kept))


def opened(snapshot: Snapshot, names: Collection[QueueName]) -> Snapshot:
    """These queues are open."""
    queues = (replace(q, open=True) if q.name in names else q for q in snapshot.queues)
    return replace(snapshot, queues=tuple(queues))


def lent(policy: Policy) -> Policy:
    """Guarantees are lent."""
    return replace(policy, lend_guarantees=True)


def with_gang(workload: Workload, gang: Gang) -> Workload:
    """It asks for another gang."""
    return replace(workload, demand=replace(workload.demand, gang=gang))


def raised(
    workload: Workload, asked: Resources, statement: Statement
) -> tuple[Snapshot, list[str]]:
    """Every limit that keeps so much of it out raised by what it lacks, and each as a sentence."""
    ledger = statement.ledger
    lacks: list[str] = []
    queues: dict[QueueName, Queue] = {}
    for node in ledger.node(workload.queue).path:
        held = ledger.queue_held(node.queue.name)
        limits, told = _enough(node.queue.capability, held, dict(asked.entries))
        if told:
            lacks += [f"queue {node.queue.name} may hold {text}" for text in told]
            queues[node.queue.name] = replace(node.queue, capability=limits)
    tenant = ledger.tenant(workload.tenant)
    limits, told = _enough(tenant.limits, ledger.tenant_held(tenant.name), dict(asked.entries))
    lacks += [f"tenant {tenant.name} may hold {text}" for text in told]
    snapshot = statement.snapshot
    changed = replace(
        snapshot,
        queues=tuple(queues.get(one.name, one) for one in snapshot.queues),
        tenants=tuple(
            replace(one, limits=limits) if told and one.name == tenant.name else one
            for one in snapshot.tenants
        ),
    )
    return changed, lacks


def _enough(limits: Named, held: dict[str, int], asked: dict[str, int]) -> tuple[Named, list[str]]:
    """The limits with as much more as is lacking, and what that is."""
    found, told = [], []
    for name, limit in limits:
        has = held.get(name, 0)
        more = has + asked.get(name, 0) - limit
        if not asked.get(name) or more <= 0:
            found.append((name, limit))
            continue
        left = max(0, limit - has)
        shown = [format_quantity(value, name) for value in (more, left, limit)]
        told.append(f"{shown[0]} {name} more ({shown[1]} left of {shown[2]})")
        found.append((name, limit + more))
    return tuple(found), told
