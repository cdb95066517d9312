"""Gates before room and amounts are looked at: the workload's queue and its tenant."""

from dataclasses import replace

from global_sched.core.quota.dominant_share import Amount
from global_sched.core.quota.tree import QueueNode, QueueTree
from global_sched.shared.api.pod_kinds import group_kind
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.queue import Tenant
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.words import did_you_mean
from global_sched.shared.model.workload import Demand, Division, Workload

_NAMED = 3
"""So many queues below one are named."""


class Gates:
    """The gates of one cycle, each worked out once. A tenant without an object has the defaults."""

    def __init__(self, snapshot: Snapshot, tree: QueueTree, policy: Policy | None = None) -> None:
        self._tree = tree
        self._policy = policy or Policy()
        self._tenants = {tenant.name: tenant for tenant in snapshot.tenants}
        self._classes = [name for name, _ in snapshot.priorities]
        self._clusters = [cluster.name for cluster in snapshot.clusters]
        self._shut: dict[tuple[QueueName, TenantName], Verdict | None] = {}
        self._limits: dict[
            tuple[QueueName, TenantName], tuple[list[Amount], list[dict[ClusterName, Amount]]]
        ] = {}
        self.beyond_pending_limit = _beyond(snapshot)
        """Waiting workloads that are more than their tenant may have considered, and how many of it
        are before them."""

    def tenant(self, name: TenantName) -> Tenant:
        """The tenant."""
        tenant = self._tenants.get(name)
        if tenant is None:
            tenant = self._tenants[name] = Tenant(name=name)
        return tenant

    def refusal(self, workload: Workload) -> Verdict | None:
        """Why the workload may not be admitted, wherever there is room; None when it may.

        Copies of an object without demand pass all gates, unless its kind makes pods.
        """
        copied = workload.demand.division == Division.COPIED
        if workload.left and not (workload.targets or workload.problem or copied):
            return _being_left(workload)
        return self.once_it_left(workload)

    def once_it_left(self, workload: Workload) -> Verdict | None:
        """The same as if nothing of it were left in clusters that it was withdrawn from."""
        if workload.problem is not None:
            return self._class_meant(workload, workload.problem)
        if workload.demand.division == Division.COPIED:
            return _uncounted(workload, self._policy)
        return self.shut(workload.queue, workload.tenant) or self._own(workload)

    def _class_meant(self, workload: Workload, problem: Verdict) -> Verdict:
        """The problem, with the PriorityClass that is nearest to one that does not exist."""
        if problem.reason != Reason.PRIORITY_CLASS_MISSING:
            return problem
        meant = did_you_mean(workload.priority_class, self._classes)
        return replace(problem, detail=f"{problem.detail}{meant}")

    def _meant(self, queue: QueueName) -> str:
        """The queue that is nearest to one that does not exist."""
        return did_you_mean(queue, [one.queue.name for one in self._tree.order if one.exists])

    def shut(self, queue: QueueName, tenant: TenantName) -> Verdict | None:
        """Why the queue takes nothing from the tenant at all."""
        key = (queue, tenant)
        if key not in self._shut:
            self._shut[key] = self._queue_refusal(queue) or self._tenant_refusal(queue, tenant)
        return self._shut[key]

    def within(self, queue: QueueName, tenant: TenantName, demand: Demand) -> bool:
        """Whether the minimum is within the limits of queues and tenant, were they empty.

        Where queues have limits in clusters, there has to be a cluster that all of them let it in.
        """
        limits, capped = self._limits_of(queue, tenant)
        gang = demand.gang
        if not (limits or capped) or gang is None or demand.division != Division.WHOLE:
            return True
        least = gang.requests(gang.minimum_amounts())
        if not all(least.get(n) <= most for limit in limits for n, most in limit.items()):
            return False
        return not capped or any(
            all(least.get(n) <= most for at in capped for n, most in at.get(cluster, {}).items())
            for cluster in self._clusters
        )

    def _limits_of(
        self, queue: QueueName, tenant: TenantName
    ) -> tuple[list[Amount], list[dict[ClusterName, Amount]]]:
        """What limits the tenant in the queue, in all and by cluster; empty ones are left out."""
        found = self._limits.get((queue, tenant))
        if found is None:
            nodes = self._tree.node(queue).limits
            limits = [*(one.capability for one in nodes), dict(self.tenant(tenant).limits)]
            capped = [one.cluster_capability for one in nodes if one.cluster_capability]
            found = self._limits[queue, tenant] = ([one for one in limits if one], capped)
        return found

    def _queue_refusal(self, name: QueueName) -> Verdict | None:
        """The queue is missing, cannot be read, or takes nothing now."""
        node = self._tree.node(name)
        if not node.exists and node is not self._tree.root:
            return _wait(
                Reason.QUEUE_MISSING,
                f"queue {name} does not exist on the control plane{self._meant(name)}",
            )
        if node.frozen:
            return _wait(Reason.QUEUE_INVALID, f"queue {name}: {node.frozen}")
        if node.children or node.parent is None:
            names = [str(child.queue.name) for child in node.children]
            below = ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])
            why = f"has queues below it ({below})" if below else "is above all others"
            return _never(
                Reason.QUEUE_NOT_LEAF, f"queue {name} {why}; name one that has none below it"
            )
        return _closed(node)

    def _tenant_refusal(self, queue: QueueName, name: TenantName) -> Verdict | None:
        """The tenant may not use the queue."""
        tenant = self.tenant(name)
        if tenant.problem:
            return _wait(Reason.TENANT_INVALID, f"tenant {tenant.name}: {tenant.problem}")
        if tenant.queues and queue not in tenant.queues:
            allowed = ", ".join(sorted(tenant.queues))
            return _never(
                Reason.QUEUE_NOT_ALLOWED,
                f"tenant {tenant.name} may not use queue {queue}, only {allowed}",
            )
        return None

    def _own(self, workload: Workload) -> Verdict | None:
        """The tenant has too many that wait, or may not use the PriorityClass."""
        chosen = workload.priority_class
        before = self.beyond_pending_limit.get(workload.key)
        if not chosen and before is None:
            return None
        tenant = self.tenant(workload.tenant)
        if before is not None:
            return _wait(
                Reason.TENANT_PENDING_LIMIT,
                f"tenant {tenant.name} may have {tenant.pending_limit} pending, and it has "
                f"{counted(before, 'older pending workload')}",
            )
        if chosen and tenant.priority_classes and chosen not in tenant.priority_classes:
            allowed = ", ".join(sorted(tenant.priority_classes))
            return _never(
                Reason.PRIORITY_CLASS_NOT_ALLOWED,
                f"tenant {tenant.name} may not use PriorityClass {chosen}, only {allowed}",
            )
        return None


def _uncounted(workload: Workload, policy: Policy) -> Verdict | None:
    """Why an object without demand may not be copied; None when it may."""
    if not workload.demand.uncounted(policy):
        return None
    kind = group_kind(workload.demand.api_version, workload.demand.kind)
    where = f"{workload.namespace}/{workload.name}" if workload.namespace else workload.name
    return _never(
        Reason.KIND_NOT_COUNTED,
        f"{kind} {where}: the kind makes pods, and the binding has no replicas, requirements or "
        "components to count them by; use a kind that is read (docs/kinds.md), give the kind a "
        f"resource interpreter in Karmada, or have {kind} listed in the Policy's copied_kinds",
    )


def _being_left(workload: Workload) -> Verdict:
    """It goes nowhere before it has left: its pods would run twice."""
    places = [f"{one.cluster} since {format_instant(one.at)}" for one in workload.left]
    text = (
        f"it was withdrawn from {', '.join(places)}, and may run there until "
        "the agent reports that nothing of it is left"
    )
    backoffs = () if workload.decision is None else workload.decision.backoffs
    names = {one.cluster for one in workload.left}
    why = [f"; {b.cluster}: {b.reason}" for b in backoffs if b.cluster in names and b.reason]
    return _wait(Reason.BEING_EVICTED, text + "".join(why))


def _closed(node: QueueNode) -> Verdict | None:
    name = node.queue.name
    shut = next((one.queue.name for one in node.path if not one.queue.open), None)
    if shut is None:
        return None
    above = "" if shut == name else f", which is above queue {name},"
    return _wait(Reason.QUEUE_CLOSED, f"queue {shut}{above} is not open")


def _wait(reason: Reason, detail: str) -> Verdict:
    return Verdict(code=Code.WAIT, reason=reason, detail=detail, missing=1)


def _never(reason: Reason, detail: str) -> Verdict:
    return Verdict(code=Code.NEVER, reason=reason, detail=detail, missing=1)


def _beyond(snapshot: Snapshot) -> dict[WorkloadKey, int]:
    """The waiting workloads beyond their tenants' pending limits, the oldest counted first.

    Those that others left for come before all: else their own victims, older than they are, would
    put them beyond the limit and take the room back.
    """
    limits = {
        one.name: one.pending_limit for one in snapshot.tenants if one.pending_limit is not None
    }
    waiting: dict[TenantName, list[Workload]] = {}
    for bucket in snapshot.pending if limits else ():
        if bucket.tenant in limits:
            waiting.setdefault(bucket.tenant, []).extend(
                one
                for one in bucket.workloads
                if not one.targets
                and not one.finished
                and one.problem is None
                and one.demand.division != Division.COPIED
            )
    found: dict[WorkloadKey, int] = {}
    for tenant, workloads in waiting.items():
        workloads.sort(key=lambda one: (not _made_room(one), one.created, one.uid))
        for before in range(limits[tenant], len(workloads)):
            found[workloads[before].key] = before
    return found


def _made_room(workload: Workload) -> bool:
    """Whether victims were evicted for it."""
    decision = workload.decision
    return decision is not None and decision.claim is not None and bool(decision.claim.victims)
