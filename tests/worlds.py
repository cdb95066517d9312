"""A snapshot with its past: builds one as the cache does, and moves it on by a plan."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import ClusterName, DomainId, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.instant import Instant, answered_at
from global_sched.shared.model.plan import Plan, Withdrawal
from global_sched.shared.model.queue import Queue, Tenant, Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Bucket, Snapshot
from global_sched.shared.model.workload import Progress, Target, Workload
from global_sched.shared.placement import Placed, Space


@dataclass(frozen=True, slots=True, order=True)
class Given:
    """Room that was given in one cluster by one decision, in the order of the decisions.

    Growth is a second one: the pods that were there before keep their nodes.
    """

    at: Instant
    order: int
    workload: WorkloadKey
    cluster: ClusterName
    amounts: Amounts
    domain: DomainId | None = None
    beside: tuple[DomainId | None, ...] = ()
    """The domain of pods that were there before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World(Snapshot):
    """A snapshot that remembers what it was made of: empty clusters, workloads, room given."""

    base: tuple[Cluster, ...] = ()
    workloads: tuple[Workload, ...] = ()
    given: tuple[Given, ...] = ()

    def workload(self, name: str) -> Workload:
        """The workload with this name, in any namespace."""
        return next(one for one in self.workloads if one.name == name)

    def snapshot(self) -> Snapshot:
        """The plain snapshot, for comparing and for JSON."""
        return Snapshot(
            clusters=self.clusters,
            queues=self.queues,
            tenants=self.tenants,
            usage=self.usage,
            pending=self.pending,
            unsettled=self.unsettled,
            epoch=self.epoch,
        )


def world_of(
    *,
    clusters: tuple[Cluster, ...],
    queues: tuple[Queue, ...],
    tenants: tuple[Tenant, ...],
    workloads: tuple[Workload, ...],
    epoch: int = 1,
    given: Iterable[Given] = (),
) -> World:
    """The world of these workloads, admitted ones deducted from the clusters and charged."""
    workloads = tuple(sorted(workloads, key=lambda one: one.key))
    admitted = [one for one in workloads if one.admitted()]
    room = tuple(part for one in admitted for part in _room(one, given))
    return World(
        base=clusters,
        workloads=workloads,
        given=room,
        clusters=tuple(sorted(_less(clusters, admitted, room), key=lambda one: one.name)),
        queues=tuple(sorted(queues, key=lambda one: one.name)),
        tenants=tuple(sorted(tenants, key=lambda one: one.name)),
        usage=_usage(admitted),
        pending=_buckets(one for one in workloads if not one.targets and not one.finished),
        unsettled=tuple(one for one in admitted if not _settled(one, clusters)),
        epoch=epoch,
    )


def _settled(one: Workload, clusters: tuple[Cluster, ...]) -> bool:
    """Whether a cycle need not look at it."""
    there = {cluster.name for cluster in clusters if not cluster.terminating}
    return one.settled() and all(target.cluster in there for target in one.targets)


def _buckets(pending: Iterable[Workload]) -> tuple[Bucket, ...]:
    """Pending workloads by queue and tenant, in the order that a bucket promises."""
    buckets: dict[tuple[QueueName, TenantName], list[Workload]] = {}
    for one in pending:
        buckets.setdefault((one.queue, one.tenant), []).append(one)
    return tuple(
        Bucket(
            queue=queue,
            tenant=tenant,
            workloads=tuple(sorted(found, key=lambda w: (-w.priority, w.created, w.uid))),
        )
        for (queue, tenant), found in sorted(buckets.items())
    )


def _usage(admitted: Iterable[Workload]) -> tuple[Usage, ...]:
    """What the admitted workloads hold, by queue, tenant and cluster."""
    held: dict[tuple[QueueName, TenantName, ClusterName], list[Resources]] = {}
    for one in admitted:
        if one.demand.gang is None or one.decision is None:
            continue
        for grant in one.decision.grants:
            amount = one.demand.gang.requests(grant.amounts)
            held.setdefault((one.queue, one.tenant, grant.cluster), []).append(amount)
    return tuple(
        Usage(queue=queue, tenant=tenant, cluster=cluster, amount=Resources.total(amounts))
        for (queue, tenant, cluster), amounts in sorted(held.items())
    )


def _room(one: Workload, given: Iterable[Given]) -> Iterable[Given]:
    """The room that a workload holds: what it was given before as far as it keeps it, and more."""
    decision = one.decision
    for grant in decision.grants if decision is not None else ():
        left = grant.amounts
        beside: tuple[DomainId | None, ...] = ()
        mine = sorted(p for p in given if (p.workload, p.cluster) == (one.key, grant.cluster))
        for part in mine:
            kept = Amounts.of({n: min(pods, left.get(n)) for n, pods in part.amounts.entries})
            left = left.minus(kept)
            beside = (*beside, part.domain)
            if kept.entries:
                yield replace(part, amounts=kept)
        if left.entries:
            assert decision is not None
            yield Given(
                decision.at, decision.order, one.key, grant.cluster, left, grant.domain, beside
            )


def _less(
    clusters: tuple[Cluster, ...], admitted: list[Workload], room: tuple[Given, ...]
) -> Iterable[Cluster]:
    """The clusters less what the admitted workloads hold: minimums, then surplus, by decision."""
    gangs = {one.key: one.demand.gang for one in admitted}
    for cluster in clusters:
        takers = sorted(part for part in room if part.cluster == cluster.name)
        if cluster.capacity is None or not takers:
            yield cluster
            continue
        space = Space(cluster.capacity.topology)
        # As in the cache: of a paused template nothing is counted.
        counted = [part for part in takers if gangs[part.workload] is not None]
        least = [replace(part, amounts=_least(gangs[part.workload], part)) for part in counted]
        surplus = [
            replace(part, amounts=part.amounts.minus(one.amounts))
            for part, one in zip(counted, least, strict=True)
        ]
        for part in (*least, *surplus):
            gang = gangs[part.workload]
            assert gang is not None
            placed = space.place(
                gang,
                amounts=part.amounts,
                minimum=part.amounts,
                prefer=part.domain,
                bound=part.beside[:1],
            )
            assert isinstance(placed, Placed), f"{part} does not fit {cluster.name}: {placed}"
            space.take(placed)
        capacity = replace(cluster.capacity, topology=space.remaining())
        yield replace(cluster, capacity=capacity)


def _least(gang: Gang | None, part: Given) -> Amounts:
    """What of it makes up the minimum; of growth nothing does."""
    return Amounts() if gang is None or part.beside else gang.minimum_amounts().within(part.amounts)


def after(world: World, plan: Plan, *, bound: bool = True) -> World:
    """The world once the plan was executed and, by default, every pod was bound."""
    changed: dict[WorkloadKey, Workload] = {one.key: one for one in world.workloads}
    for admission in plan.admissions:
        one = changed[admission.workload]
        one = _placed(one, admission.decision, admission.targets, bound=bound)
        changed[one.key] = replace(one, observed_affinity=admission.affinity)
    for withdrawal in plan.withdrawals:
        changed[withdrawal.workload] = _withdrawn(
            changed[withdrawal.workload], withdrawal, bound=bound
        )
    for confirmation in plan.confirmations:
        one = changed[confirmation.workload]
        changed[one.key] = replace(
            one,
            observed_generation=confirmation.generation,
            scheduled=True,
            last_scheduled=_now(one) if confirmation.scheduled_now else one.last_scheduled,
        )
    return world_of(
        clusters=world.base,
        queues=world.queues,
        tenants=world.tenants,
        workloads=tuple(changed.values()),
        epoch=world.epoch,
        given=world.given,
    )


def _placed(
    one: Workload, decision: Decision, targets: tuple[Target, ...], *, bound: bool
) -> Workload:
    """A workload once its decision and its status were written."""
    progress = tuple(
        Progress(
            cluster=grant.cluster,
            bound=grant.amounts if bound else Amounts(),
            minimum_reached=bound,
            decision=decision.id,
        )
        for grant in decision.grants
    )
    stamp = answered_at(decision.at, one.reschedule_at)
    return replace(
        one,
        decision=decision,
        targets=targets,
        progress=progress,
        placement_applied=True,
        forged="",
        shrunk=False,
        observed_generation=one.generation,
        scheduled=True,
        last_scheduled=stamp,
        resource_version=str(int(one.resource_version) + 1),
    )


def _withdrawn(one: Workload, withdrawal: Withdrawal, *, bound: bool) -> Workload:
    """A workload once a cluster was taken from it; its eviction task is still there."""
    one = replace(one, leaving=(*one.leaving, withdrawal.cluster))
    decision = replace(withdrawal.decision, left=())  # the member has shown it
    if withdrawal.targets:
        return _placed(one, decision, withdrawal.targets, bound=bound)
    return replace(
        one,
        decision=decision,
        targets=(),
        progress=(),
        scheduled=False,
        resource_version=str(int(one.resource_version) + 1),
    )


def _now(one: Workload) -> Instant:
    """An instant at which a confirmation is no longer due."""
    return answered_at(one.last_scheduled or one.created, one.reschedule_at)
