"""Units of eviction: the pods that leave together when room is made."""

from dataclasses import dataclass

from global_sched.core.make_room.occupancy import Holder
from global_sched.shared.model.ids import ClusterName, PodSetName, QueueName
from global_sched.shared.model.resources import Resources

UnitName = tuple[int, PodSetName | None, int]
Blocked = tuple[QueueName, ClusterName | None]
"""A queue that has all that it may have, in all clusters or in that one."""
QueueResources = tuple[QueueName, tuple[str, ...]]
"""Units of one queue with amounts of the same resources: whether it gives any is asked once."""


@dataclass(frozen=True, slots=True, eq=False)
class EvictionUnit:
    """What leaves together: a whole gang, or so many of its surplus pods, next in their turns."""

    at: int
    """The holder's number in the field."""
    holder: Holder
    amount: Resources
    reclaim: bool
    pod_set: PodSetName | None = None
    first: int = 0
    pods: int = 0
    """Surplus: the turns from `first` (counting from 0), so many; else all pods of the gang."""
    before: int = 0
    """Where the unit begins that leaves before this one."""

    @property
    def name(self) -> "UnitName":
        """What tells it apart."""
        return self.at, self.pod_set, self.first

    @property
    def kind(self) -> QueueResources:
        """Of which kind it is."""
        return self.holder.workload.queue, self.amount.names()

    @property
    def whole(self) -> bool:
        """Whether the gang leaves."""
        return self.pod_set is None

    @property
    def cluster(self) -> ClusterName:
        """Where its pods are."""
        return self.holder.grant.cluster
