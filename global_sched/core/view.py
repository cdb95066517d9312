"""What an order, a filter or a score may look at besides its own arguments."""

from typing import Protocol

from global_sched.core.fairness import Amount, ShareKey
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources


class View(Protocol):
    """The world at this moment of the cycle, admissions so far included."""

    policy: Policy
    now: Instant

    def queue(self, name: QueueName) -> Queue:
        """The queue; one with defaults when there is none of that name."""

    def queue_share(self, name: QueueName) -> ShareKey:
        """How much the queue holds, weighted."""

    def tenant_share(self, name: TenantName) -> ShareKey:
        """How much the tenant holds, weighted."""

    def held(self, tenant: TenantName, cluster: ClusterName) -> Amount:
        """What the tenant holds in a cluster."""

    def total(self, cluster: ClusterName) -> Resources:
        """What a cluster's nodes have in all."""
