"""Worlds that differ from a snapshot in one thing, for trials."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from global_sched.core.make_room.occupancy import freed_by
from global_sched.core.quota.tree import QueueNode
from global_sched.core.statement import Statement
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import BindingId, ClusterName, QueueName, TenantName
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue import Named, Queue, Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Bucket, Snapshot
from global_sched.shared.model.topology import Leaf
from global_sched.shared.model.workload import Workload


def only_these(snapshot: Snapshot, workloads: Iterable[Workload]) -> Snapshot:
    """Nothing else waits, except workloads for which room is kept."""
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


def without_claims(snapshot: Snapshot, own: Workload) -> Snapshot:
    """No room is kept but for this workload."""

    def free(one: Workload) -> Workload:
        decision = one.decision
        if one.key == own.key or decision is None or decision.claim is None:
            return one
        return replace(one, decision=replace(decision, claim=None))

    return replace(
        snapshot,
        pending=tuple(
            replace(bucket, workloads=tuple(map(free, bucket.workloads)))
            for bucket in snapshot.pending
        ),
        unsettled=tuple(map(free, snapshot.unsettled)),
    )


def ended(snapshot: Snapshot, gone: Iterable[Workload]) -> Snapshot:
    """These gangs have ended: their nodes and quotas are free, and they are listed no more."""
    gangs: dict[BindingId, Gang] = {}
    less: dict[tuple[QueueName, TenantName, ClusterName], list[Resources]] = {}
    for one in gone:
        gang, decision = one.demand.gang, one.decision
        if gang is None or decision is None or one.binding_id in gangs:
            continue  # what is in several clusters is listed in each
        gangs[one.binding_id] = gang
        for grant in decision.grants:
            amount = gang.requests(grant.amounts)
            less.setdefault((one.queue, one.tenant, grant.cluster), []).append(amount)
    held: dict[tuple[QueueName, TenantName, ClusterName], list[Resources]] = {}
    for row in snapshot.usage:
        held.setdefault((row.queue, row.tenant, row.cluster), []).append(row.amount)
    usage = tuple(
        Usage(
            queue=key[0],
            tenant=key[1],
            cluster=key[2],
            amount=Resources.total(amounts).minus(Resources.total(less.get(key, ()))),
        )
        for key, amounts in sorted(held.items())
    )
    return replace(
        snapshot,
        clusters=tuple(_vacated(one, gangs) for one in snapshot.clusters),
        usage=usage,
        usage_sums=None,
        unsettled=tuple(one for one in snapshot.unsettled if one.binding_id not in gangs),
        running=tuple(
            replace(one, workloads=tuple(w for w in one.workloads if w.binding_id not in gangs))
            for one in snapshot.running
        ),
    )


def _vacated(cluster: Cluster, gangs: Mapping[BindingId, Gang]) -> Cluster:
    """The cluster with the nodes of these gangs given back."""
    capacity = cluster.capacity
    if capacity is None:
        return cluster
    topology = capacity.topology
    freed = freed_by(topology.leaves, dict.fromkeys(gangs), gangs)

    def less(leaf: Leaf) -> Leaf:
        more = freed.get(leaf.occupants)
        if more is None:
            return leaf
        pairs = zip(topology.axis, leaf.free, strict=True)
        free = tuple(has + more.get(name) for name, has in pairs)
        stay = tuple(one for one in leaf.occupants if one.binding not in gangs)
        return replace(leaf, free=free, occupants=stay)

    vacated = replace(topology, leaves=tuple(map(less, topology.leaves)))
    return replace(cluster, capacity=replace(capacity, topology=vacated))


def existing(snapshot: Snapshot, name: QueueName) -> Snapshot:
    """There is a queue of that name, with defaults."""
    queues = sorted((*snapshot.queues, Queue(name=name)), key=lambda one: one.name)
    return replace(snapshot, queues=tuple(queues))


def waiting(snapshot: Snapshot, tenant: TenantName, limit: int) -> Snapshot:
    """So many of the tenant's workloads may wait."""
    tenants = (
        replace(one, pending_limit=limit) if one.name == tenant else one for one in snapshot.tenants
    )
    return replace(snapshot, tenants=tuple(tenants))


def leaves_of(node: QueueNode) -> list[QueueName]:
    """The queues below one that have none below them, by name; without recursion (`QueueTree`)."""
    below = [node]
    for one in below:  # grows while it is walked
        below += one.children
    return sorted(one.queue.name for one in below if not one.children and one.parent is not None)


def opened(snapshot: Snapshot, names: Collection[QueueName]) -> Snapshot:
    """These queues are open."""
    queues = (replace(q, open=True) if q.name in names else q for q in snapshot.queues)
    return replace(snapshot, queues=tuple(queues))


def lent(policy: Policy) -> Policy:
    """Guarantees are lent."""
    return replace(policy, lend_guarantees=True)


def exchanged(snapshot: Snapshot, workload: Workload, other: Workload) -> Snapshot:
    """One that waits is another one, in the bucket where that belongs."""
    buckets: dict[tuple[QueueName, TenantName], list[Workload]] = {}
    for bucket in snapshot.pending:
        stay = [one for one in bucket.workloads if one.key != workload.key]
        buckets[bucket.queue, bucket.tenant] = stay
    buckets.setdefault((other.queue, other.tenant), []).append(other)
    pending = tuple(
        Bucket(
            queue=queue,
            tenant=tenant,
            workloads=tuple(sorted(found, key=lambda one: (-one.priority, one.created, one.uid))),
        )
        for (queue, tenant), found in sorted(buckets.items())
        if found
    )
    return replace(snapshot, pending=pending)


def with_gang(workload: Workload, gang: Gang) -> Workload:
    """It asks for another gang."""
    return replace(workload, demand=replace(workload.demand, gang=gang))


def raised(
    workload: Workload, asked: Resources, statement: Statement, *, beside_aside: bool = False
) -> tuple[Snapshot, list[str]]:
    """Every limit that keeps so much of it out raised by what it lacks, and each as a sentence.

    `beside_aside`: what is set aside for gangs that wait counts as held.
    """
    ledger = statement.ledger
    lacks: list[str] = []
    queues: dict[QueueName, Queue] = {}
    for node in ledger.node(workload.queue).path:
        kept = node.aside if beside_aside else {}
        limits, told = _enough(node.queue.capability, asked, _Held("capability", node.held, kept))
        if told:
            lacks += [f"queue {node.queue.name} may hold {text}" for text in told]
            queues[node.queue.name] = replace(node.queue, capability=limits)
    tenant = ledger.tenant(workload.tenant)
    kept = ledger.tenant_aside(tenant.name) if beside_aside else {}
    held = _Held("limits", ledger.tenant_held(tenant.name), kept)
    limits, told = _enough(tenant.limits, asked, held)
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


def raised_in(
    workload: Workload, asked: Resources, cluster: ClusterName, statement: Statement
) -> tuple[Snapshot, list[str]]:
    """The same for the limits in one cluster."""
    lacks: list[str] = []
    queues: dict[QueueName, Queue] = {}
    for node in statement.ledger.node(workload.queue).path:
        limits = dict(node.queue.cluster_capability)
        if cluster not in limits:
            continue
        used, kept = node.cluster_held.get(cluster, {}), node.cluster_aside.get(cluster, {})
        held = _Held("extendClusters", used, kept)
        limits[cluster], told = _enough(limits[cluster], asked, held, f" in {cluster}")
        if told:
            lacks += [f"queue {node.queue.name} may hold {text}" for text in told]
            queues[node.queue.name] = replace(
                node.queue, cluster_capability=tuple(sorted(limits.items()))
            )
    snapshot = statement.snapshot
    changed = tuple(queues.get(one.name, one) for one in snapshot.queues)
    return replace(snapshot, queues=changed), lacks


class _Held(NamedTuple):
    """What counts against a limit, and the field of the `spec` in which the limit stands."""

    field: str
    held: Mapping[str, int]
    aside: Mapping[str, int]


def _enough(
    limits: Named, asked: Resources, held: _Held, there: str = ""
) -> tuple[Named, list[str]]:
    """The limits with as much more as is lacking, and what that is."""
    found, told = [], []
    for name, limit in limits:
        aside = held.aside.get(name, 0)
        has = held.held.get(name, 0) + aside
        more = has + asked.get(name) - limit
        if not asked.get(name) or more <= 0:
            found.append((name, limit))
            continue
        left = max(0, limit - has)
        shown = [format_quantity(value, name) for value in (more, left, limit, aside)]
        beside = f" beside {shown[3]} set aside" if aside else ""
        left_of = f"spec.{held.field}, {shown[1]} left of {shown[2]}{beside}"
        told.append(f"{shown[0]} {name} more{there} ({left_of})")
        found.append((name, limit + more))
    return tuple(found), told
