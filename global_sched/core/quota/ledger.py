"""Amounts held by queues and tenants at this moment of the cycle, and their shares."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from global_sched.core.offer import Refusal
from global_sched.core.quota.dominant_share import Amount, Scale, ShareKey, add
from global_sched.core.quota.fair_surplus import FairSurplus
from global_sched.core.quota.gates import Gates
from global_sched.core.quota.limits import (
    Bounds,
    QuotaLimit,
    Reserve,
    cluster_limits,
    over,
    queue_limits,
)
from global_sched.core.quota.min_runtime import MinRuntimes
from global_sched.core.quota.past_usage import past_usage
from global_sched.core.quota.reclaim import Reclaim
from global_sched.core.quota.tree import QueueNode, QueueTree
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Holding
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.past import whole
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.usage_sums import summed
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload


class Charge(NamedTuple):
    """An amount that a workload of a tenant in a queue was given in a cluster."""

    queue: QueueName
    tenant: TenantName
    cluster: ClusterName
    amount: Resources


class Ledger:
    """Held amounts by queue and all above it, by tenant, by tenant in a queue and in a cluster.

    Shares are kept as they change.
    `policy` says whether guarantees are lent, and whether the past counts (as of `now`).
    """

    def __init__(
        self, snapshot: Snapshot, policy: Policy | None = None, now: Instant | None = None
    ) -> None:
        self.policy = policy or Policy()
        self._past = None if now is None else past_usage(snapshot, self.policy, now)
        totals = Resources.total(
            cluster.capacity.total for cluster in snapshot.clusters if cluster.capacity is not None
        )
        self.tree = QueueTree(snapshot.queues, dict(totals.entries))
        sums = snapshot.usage_sums
        self._sums = summed(snapshot.usage) if sums is None else sums
        held = self._sums.queues
        self.opened = {name: dict(held[name].amount.entries) for name in sorted(held)}
        """What each queue held itself at the start."""
        self.gates = Gates(snapshot, self.tree, self.policy)
        self.entitlements = Reclaim(snapshot, self.tree, totals, self.opened, self.gates)
        self.min_runtimes = MinRuntimes(snapshot.queues, self.policy)
        self.surplus = FairSurplus(self.tree, self.entitlements)
        self.scale = Scale(totals, [tenant.weight for tenant in snapshot.tenants])
        self._touched: set[tuple[QueueName, TenantName]] = set()
        self.given_back = 0
        """How often an amount was taken back: shares may have fallen."""
        self.tenant_changes: dict[TenantName, int] = {}
        """How often each tenant was charged."""
        self._tenant_held: dict[TenantName, Amount] = {}
        self._tenant_aside: dict[TenantName, Amount] = {}
        self._tenant_leaving: dict[TenantName, Amount] = {}
        self._held: dict[TenantName, dict[ClusterName, Amount]] = {}
        self._queue_tenant_held: dict[tuple[QueueName, TenantName], Amount] = {}
        self._tenant_shares: dict[TenantName, ShareKey] = {}
        self._queue_tenant_shares: dict[tuple[QueueName, TenantName], ShareKey] = {}
        self._moved: dict[TenantName, set[ClusterName]] = {}
        self._bounds: dict[tuple[QueueName, TenantName, ClusterName | None], Bounds] = {}
        self._charges = 0
        """How many there were: what was worked out at the same number still holds."""
        self._refused: dict[tuple[int, QueueName, TenantName], tuple[int, Refusal | None]] = {}
        self.reserves = self.tree.guaranteed and not self.policy.lend_guarantees
        """Whether guarantees of others limit any queue."""
        self._open(snapshot)

    def node(self, name: QueueName) -> QueueNode:
        """The queue in the tree."""
        return self.tree.node(name)

    def queue(self, name: QueueName) -> Queue:
        """The queue; one with defaults when there is none of that name."""
        return self.tree.node(name).queue

    def tenant(self, name: TenantName) -> Tenant:
        """The tenant."""
        return self.gates.tenant(name)

    def _open(self, snapshot: Snapshot) -> None:
        """What is held at the start, up the tree; a tenant's amounts are copied when asked for."""
        tree = self.tree
        for queue in self.opened:
            tree.charge(tree.node(queue), None, self._sums.queues[queue].amount, 1)
        for usage in snapshot.usage if tree.limited_in else ():
            if usage.cluster in tree.limited_in:
                tree.charge_in(tree.node(usage.queue), usage.cluster, usage.amount, 1)
        for usage in snapshot.leaving:
            self.leave(Charge(usage.queue, usage.tenant, usage.cluster, usage.amount))

    def _places(self, tenant: TenantName) -> dict[ClusterName, Amount]:
        """What a tenant holds, by cluster."""
        found = self._held.get(tenant)
        if found is None:
            sums = self._sums.tenants.get(tenant)
            parts = {} if sums is None else sums.parts
            found = {cluster: dict(amount.entries) for cluster, amount in parts.items()}
            self._held[tenant] = found
        return found

    def _tenant(self, name: TenantName) -> Amount:
        """What a tenant holds."""
        found = self._tenant_held.get(name)
        if found is None:
            sums = self._sums.tenants.get(name)
            found = self._tenant_held[name] = {} if sums is None else dict(sums.amount.entries)
        return found

    def _tenant_in(self, key: tuple[QueueName, TenantName]) -> Amount:
        """What a tenant holds through a queue."""
        found = self._queue_tenant_held.get(key)
        if found is None:
            sums = self._sums.queues.get(key[0])
            part = None if sums is None else sums.parts.get(key[1])
            found = self._queue_tenant_held[key] = {} if part is None else dict(part.entries)
        return found

    def charge(self, charge: Charge, times: int = 1) -> None:
        """Give an amount, or take it back with times -1."""
        queue, tenant, cluster, amount = charge
        self.tree.charge(self.tree.node(queue), cluster, amount, times)
        key = (queue, tenant)
        for held in self._held_by(key, cluster):
            add(held, amount, times)
        self._touched.add((queue, tenant))
        self.given_back += times < 0
        self._charges += 1
        self.tenant_changes[tenant] = self.tenant_changes.get(tenant, 0) + 1
        self._queue_tenant_shares.pop(key, None)
        self._tenant_shares.pop(tenant, None)
        moved = self._moved.get(tenant)
        if moved is None:
            moved = self._moved[tenant] = set()
        moved.add(cluster)

    def set_aside(self, charge: Charge, times: int = 1) -> None:
        """Keep an amount for one that waits: limits count it for all others, shares do not."""
        queue, tenant, cluster, amount = charge
        self.tree.set_aside(self.tree.node(queue), cluster, amount, times)
        add(self.tenant_aside(tenant), amount, times)
        self._charges += 1

    def leave(self, charge: Charge, times: int = 1) -> None:
        """Pods that are to end use an amount still: limits count it, shares do not."""
        queue, tenant, cluster, amount = charge
        self.tree.leave(self.tree.node(queue), cluster, amount, times)
        add(self._tenant_leaving.setdefault(tenant, {}), amount, times)
        self._charges += 1

    def would_give(
        self, victim: QueueName, amount: Resources, asks: Iterable[tuple[QueueName, Resources]]
    ) -> list[bool]:
        """Whether a queue would have to give that amount for what each asks, if it held it."""
        node, gives = self.tree.node(victim), self.entitlements.gives
        self.tree.charge(node, None, amount, 1)
        found = [gives(victim, amount, claimant, asked) for claimant, asked in asks]
        self.tree.charge(node, None, amount, -1)
        return found

    def tenant_aside(self, name: TenantName) -> Amount:
        """What is kept for gangs of the tenant; do not change it."""
        return self._tenant_aside.setdefault(name, {})

    def _held_by(
        self, key: tuple[QueueName, TenantName], cluster: ClusterName
    ) -> tuple[Amount, Amount, Amount]:
        """What a tenant holds through a queue, in all, and in a cluster."""
        places = self._held.get(key[1]) or self._places(key[1])
        here = places.get(cluster)
        if here is None:
            here = places[cluster] = {}
        return self._tenant_in(key), self._tenant(key[1]), here

    def bounds(
        self, queue: QueueName, tenant: TenantName, cluster: ClusterName | None = None
    ) -> Bounds:
        """Every limit on what the tenant may hold through the queue; with those in a cluster."""
        key = (queue, tenant, cluster)
        found = self._bounds.get(key)
        if found is None:
            found = self._bounds[key] = self._make_bounds(queue, tenant, cluster)
        return found

    def _make_bounds(
        self, queue: QueueName, tenant: TenantName, cluster: ClusterName | None
    ) -> Bounds:
        node = self.tree.node(queue)
        found = queue_limits(node)
        if cluster is not None:
            found += cluster_limits(node, cluster)
        limits = self.tenant(tenant).limits
        if limits:
            held = self._tenant(tenant)
            aside = self.tenant_aside(tenant)
            leaving = self._tenant_leaving.setdefault(tenant, {})
            who, named = f"tenant {tenant}", dict(limits)
            found.append(QuotaLimit(who, named, held, Reason.TENANT_LIMIT, aside, leaving=leaving))
        if self.reserves:
            found.append(Reserve(node, self.tree, self.entitlements.totals))
        return tuple(found)

    def capped_clusters(self, queue: QueueName) -> frozenset[ClusterName]:
        """Clusters in which the queue or one above it has a limit of its own."""
        if not self.tree.limited_in:
            return frozenset()
        limits = self.tree.node(queue).limits
        return frozenset(name for node in limits for name in node.cluster_capability)

    def refusal(
        self, workload: Workload, cluster: ClusterName | None, amount: Resources
    ) -> Verdict | None:
        """Why the workload may not hold that much more (in that cluster), None when it may.

        Asks its queue and every queue above it, its tenant, and what is guaranteed to others.
        """
        return over(self.bounds(workload.queue, workload.tenant, cluster), amount)

    def refusal_of_equal(self, workload: Workload, minimum: Resources) -> Refusal | None:
        """The same without a cluster, worked out once for equal demands while nothing changes."""
        key = (id(workload.demand), workload.queue, workload.tenant)
        known = self._refused.get(key)
        if known is None or known[0] != self._charges:
            found = over(self.bounds(workload.queue, workload.tenant), minimum)
            refusal = None if found is None else Refusal(found)
            known = self._refused[key] = (self._charges, refusal)
        return known[1]

    def take_touched(self) -> set[tuple[QueueName, TenantName]]:
        """In which queues whose amounts changed since this was last asked."""
        found, self._touched = self._touched, set()
        return found

    def queue_held(self, name: QueueName) -> Amount:
        """What the queue holds with everything below it; do not change it."""
        return self.tree.node(name).held

    def tenant_held(self, name: TenantName) -> Amount:
        """What the tenant holds; do not change it."""
        return self._tenant(name)

    def held(self, tenant: TenantName, cluster: ClusterName) -> Amount:
        """What the tenant holds in a cluster; do not change it."""
        return self._places(tenant).get(cluster, {})

    def places(self, tenant: TenantName) -> Collection[ClusterName]:
        """The clusters where the tenant holds or held anything."""
        return self._places(tenant).keys()

    def moved(self, tenant: TenantName) -> set[ClusterName]:
        """The clusters where the tenant's amounts changed since this was last asked."""
        return self._moved.pop(tenant, set())

    def tenant_share(self, name: TenantName) -> ShareKey:
        """The tenant's share of the federation, to order by."""
        share = self._tenant_shares.get(name)
        if share is None:
            held = self.tenant_held(name)
            if self._past is not None:
                held = self._past.counted(held, name)
            share = self.scale.key(held, self.tenant(name).weight)
            self._tenant_shares[name] = share
        return share

    def tenant_share_in(self, queue: QueueName, name: TenantName) -> ShareKey:
        """The share that the tenant holds through one queue, to order by."""
        key = (queue, name)
        share = self._queue_tenant_shares.get(key)
        if share is None:
            held = self._tenant_in(key)
            if self._past is not None:
                held = self._past.counted(held, name, queue)
            share = self.scale.key(held, self.tenant(name).weight)
            self._queue_tenant_shares[key] = share
        return share

    def shown_queue(self, name: QueueName) -> Holding:
        """The queue's holding, for people."""
        node, held = self.node(name), self.queue_held(name)
        deserved = self.entitlements.deserved_of(node)
        rest = {
            resource: deserved.get(resource, 0) - held.get(resource, 0)
            for resource in (*deserved, *held)
            if self.entitlements.counts(node, resource)
        }
        return Holding(
            name=name,
            held=Resources.of(held),
            aside=Resources.of(node.aside),
            leaving=Resources.of(node.leaving),
            share=self.scale.share(held, node.queue.weight),
            capability=node.queue.capability,
            deserved=Resources.of(deserved),
            unused=Resources.of({one: more for one, more in rest.items() if more > 0}),
            borrowed=Resources.of({one: -more for one, more in rest.items() if more < 0}),
            above=self.entitlements.path(name)[1:],
        )

    def shown_tenant(self, name: TenantName) -> Holding:
        """The tenant's holding, for people."""
        held = self.tenant_held(name)
        share = self.scale.share(held, self.tenant(name).weight)
        limits = self.tenant(name).limits
        past = Resources() if self._past is None else whole(self._past.average(name))
        return Holding(
            name=name,
            held=Resources.of(held),
            aside=Resources.of(self.tenant_aside(name)),
            leaving=Resources.of(self._tenant_leaving.get(name, {})),
            share=share,
            capability=limits,
            past=past,
        )
