"""What queues and tenants hold at this moment of the cycle, and their shares."""

from dataclasses import dataclass

from global_sched.core.fairness import Amount, Scale, ShareKey, add
from global_sched.shared.model.explanation import Holding
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount that a workload of a tenant in a queue was given in a cluster."""

    queue: QueueName
    tenant: TenantName
    cluster: ClusterName
    amount: Resources


class Ledger:
    """Held amounts by queue, by tenant, and by tenant and cluster; shares are kept as they change.

    A queue or tenant that has no object is taken to have the defaults.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._queues = {queue.name: queue for queue in snapshot.queues}
        self._tenants = {tenant.name: tenant for tenant in snapshot.tenants}
        self._existing = frozenset(self._queues)
        totals = Resources.total(
            cluster.capacity.total for cluster in snapshot.clusters if cluster.capacity is not None
        )
        weights = [queue.weight for queue in snapshot.queues]
        weights += [tenant.weight for tenant in snapshot.tenants]
        self.scale = Scale(totals, weights)
        self._queue_held: dict[QueueName, Amount] = {}
        self._tenant_held: dict[TenantName, Amount] = {}
        self._held: dict[TenantName, dict[ClusterName, Amount]] = {}
        self._queue_shares: dict[QueueName, ShareKey] = {}
        self._tenant_shares: dict[TenantName, ShareKey] = {}
        self._moved: dict[TenantName, set[ClusterName]] = {}
        for usage in snapshot.usage:
            self.charge(Charge(usage.queue, usage.tenant, usage.cluster, usage.amount))

    def has_queue(self, name: QueueName) -> bool:
        """Whether there is such a queue on the control plane."""
        return name in self._existing

    def queue(self, name: QueueName) -> Queue:
        """The queue."""
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = Queue(name=name)
        return queue

    def tenant(self, name: TenantName) -> Tenant:
        """The tenant."""
        tenant = self._tenants.get(name)
        if tenant is None:
            tenant = self._tenants[name] = Tenant(name=name)
        return tenant

    def charge(self, charge: Charge, times: int = 1) -> None:
        """Give an amount, or take it back with times -1."""
        add(self._queue_held.setdefault(charge.queue, {}), charge.amount, times)
        add(self._tenant_held.setdefault(charge.tenant, {}), charge.amount, times)
        places = self._held.setdefault(charge.tenant, {})
        add(places.setdefault(charge.cluster, {}), charge.amount, times)
        self._queue_shares.pop(charge.queue, None)
        self._tenant_shares.pop(charge.tenant, None)
        self._moved.setdefault(charge.tenant, set()).add(charge.cluster)

    def queue_held(self, name: QueueName) -> Amount:
        """What the queue holds; do not change it."""
        return self._queue_held.get(name, {})

    def tenant_held(self, name: TenantName) -> Amount:
        """What the tenant holds; do not change it."""
        return self._tenant_held.get(name, {})

    def held(self, tenant: TenantName, cluster: ClusterName) -> Amount:
        """What the tenant holds in a cluster; do not change it."""
        return self._held.get(tenant, {}).get(cluster, {})

    def moved(self, tenant: TenantName) -> set[ClusterName]:
        """The clusters where the tenant's amounts changed since this was last asked."""
        return self._moved.pop(tenant, set())

    def queue_share(self, name: QueueName) -> ShareKey:
        """The queue's share, to order by."""
        share = self._queue_shares.get(name)
        if share is None:
            share = self.scale.key(self.queue_held(name), self.queue(name).weight)
            self._queue_shares[name] = share
        return share

    def tenant_share(self, name: TenantName) -> ShareKey:
        """The tenant's share, to order by."""
        share = self._tenant_shares.get(name)
        if share is None:
            share = self.scale.key(self.tenant_held(name), self.tenant(name).weight)
            self._tenant_shares[name] = share
        return share

    def shown_queue(self, name: QueueName) -> Holding:
        """The queue's holding, for people."""
        queue, held = self.queue(name), self.queue_held(name)
        return Holding(
            name=name,
            held=Resources.of(held),
            share=self.scale.share(held, queue.weight),
            capability=queue.capability,
        )

    def shown_tenant(self, name: TenantName) -> Holding:
        """The tenant's holding, for people."""
        held = self.tenant_held(name)
        share = self.scale.share(held, self.tenant(name).weight)
        return Holding(name=name, held=Resources.of(held), share=share)
