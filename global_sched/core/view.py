"""The view that orders, filters and scores have besides their own arguments."""

from typing import Protocol

from global_sched.core.quota.dominant_share import Amount, ShareKey
from global_sched.core.quota.water_filling import Ratio
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload


class CycleView(Protocol):
    """The world at this moment of the cycle, admissions so far included."""

    policy: Policy
    now: Instant

    def queue(self, name: QueueName) -> Queue:
        """The queue; one with defaults when there is none of that name."""

    def queue_path(self, name: QueueName) -> tuple[QueueName, ...]:
        """The queue and all above it, to the root."""

    def queues_below(self, name: QueueName) -> bool:
        """Whether it has queues below it."""

    def queue_standing(self, name: QueueName, wanted: tuple[str, ...] | None) -> tuple[bool, Ratio]:
        """Whether it has what it deserves of what its next workload wants, and its share."""

    def touched(self) -> set[tuple[QueueName, TenantName]]:
        """In which queues whose amounts changed since this was last asked."""

    def shares_fallen(self) -> int:
        """How often anything was given back: shares may be less than before."""

    def tenant_changes(self, name: TenantName) -> int:
        """How often the tenant's amounts changed: as long as they did not, its shares stay."""

    def tenant_share(self, name: TenantName) -> ShareKey:
        """How much the tenant holds, weighted."""

    def tenant_share_in(self, queue: QueueName, name: TenantName) -> ShareKey:
        """How much the tenant holds through one queue, weighted."""

    def capped_clusters(self, queue: QueueName) -> frozenset[ClusterName]:
        """Clusters in which the queue or one above it has a limit of its own."""

    def refusal(
        self, workload: Workload, cluster: ClusterName, amount: Resources
    ) -> Verdict | None:
        """Why the limits do not let it hold that much more in a cluster, None when they do."""

    def held(self, tenant: TenantName, cluster: ClusterName) -> Amount:
        """What the tenant holds in a cluster."""

    def total(self, cluster: ClusterName) -> Resources:
        """What a cluster's nodes have in all."""
