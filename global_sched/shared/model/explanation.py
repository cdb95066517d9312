"""The explanation of one workload: its place, its wait and its remedies, as values."""

from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.model.ids import ClusterName, DomainId, QueueName, WorkloadKey
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Admission, Outcome
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import DomainVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A weighted dominant share as an exact fraction, and which resource dominates.

    `held` of `total` in base units; `numerator` / `denominator` divides that by the
    weight. A weight of 0 or less makes the denominator 0: such a share is last, whatever it holds.
    """

    resource: str = ""
    held: int = 0
    total: int = 0
    weight: int = 1

    @property
    def numerator(self) -> int:
        """The part over the bar."""
        return self.held

    @property
    def denominator(self) -> int:
        """The part under the bar."""
        return max(self.total, 1) * max(self.weight, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What a queue or tenant holds, its share, and a queue's capability or a tenant's limits.

    Of a queue also what it deserves, what of that it does not use (`unused`), what it holds over it
    (`borrowed`), and the queues above it, nearest first. Of a tenant the average of what it held
    before (`past`), where the Policy lets that count.
    """

    name: str
    held: Resources
    share: Share
    capability: tuple[tuple[str, int], ...] = ()
    kept: Resources = Resources()
    """The part of `held` that is not used yet: room kept for workloads that wait with a claim."""
    aside: Resources = Resources()
    """What is kept beside it for gangs that waited longer than their patience."""
    leaving: Resources = Resources()
    """What pods still use that were withdrawn or given up: limits count it, the share does not."""
    deserved: Resources = Resources()
    unused: Resources = Resources()
    borrowed: Resources = Resources()
    above: tuple[str, ...] = ()
    past: Resources = Resources()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDomains:
    """What the domains of a cluster answered, nearest first."""

    cluster: ClusterName
    domains: tuple[DomainVerdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """Who would have to leave, or `leaves`: `pods` of a workload, all of them when `whole`.

    `workload` is named only to its own namespace; others learn the queue and the priority.
    """

    cluster: ClusterName
    queue: QueueName
    priority: int
    pods: int
    whole: bool
    reclaim: bool
    """Whether its queue holds more than it deserves; else it has the lower priority."""
    workload: WorkloadKey | None = None
    leaves: bool = False
    """It was evicted, and its room is kept."""


class Change(StrEnum):
    """What could change so that a workload runs."""

    TURN = "Turn"
    """No other request is ahead of it in the queue order."""
    QUEUE_OPEN = "QueueOpen"
    QUEUE = "Queue"
    """Its queue is there and in order, or it names another one."""
    TENANT = "Tenant"
    """Its tenant is in order, may have more waiting, or it names another PriorityClass."""
    PRIORITY = "Priority"
    """The PriorityClass that it names is there."""
    HELD = "Held"
    """No room is kept for others."""
    QUOTA = "Quota"
    """Its queue, one above it or its tenant may hold more."""
    LENDING = "Lending"
    """Guarantees that others do not use are lent."""
    LEAVING = "Leaving"
    """Those that have to leave for it do."""
    ENDING = "Ending"
    """Others end."""
    CLUSTER = "Cluster"
    """A cluster that is left out now may be used."""
    TIER = "Tier"
    """Its pods may lie further apart."""
    MINIMUM = "Minimum"
    """Fewer pods are enough for it to start."""
    REQUESTS = "Requests"
    """Its pods ask for no more than the largest node has."""
    GROUP = "Group"
    """The other bindings of its group are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change, tried with the cycle's own checks: with it alone the workload runs.

    Where it is needed and not `enough`, `text` says what then still stands against it. A change of
    the job itself names the `field` of its object, and the new `value` (empty: removed).
    """

    change: Change
    text: str
    enough: bool = True
    cluster: ClusterName | None = None
    domain: DomainId | None = None
    field: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomHolder:
    """A gang that holds room that a workload waits for, with what of that it holds.

    `until` None: it has no run-time limit. `workload` is named only to its own namespace.
    """

    cluster: ClusterName
    domain: DomainId | None
    queue: QueueName
    priority: int
    pods: int
    amount: Resources
    since: Instant | None
    until: Instant | None
    workload: WorkloadKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One workload's turn in a cycle.

    `outcome` holds every cluster's own verdict, and the score where it fits; `domains` those of
    the clusters that had no room. `admission` is what this cycle would write. `position` of
    `length` is its place in its queue's order, 0 when it does not wait: what runs has none.
    `queue` and `tenant` are as they were when its turn came. `victims` would have to leave for it
    now, or are being evicted; `no_victims` says why there are none, also where victims were found
    and stay; empty when it needs none. `kept` says what room is kept from it, and for whom.
    `remedies` would let it run.
    """

    outcome: Outcome
    domains: tuple[ClusterDomains, ...] = ()
    admission: Admission | None = None
    position: int = 0
    length: int = 0
    queue: Holding
    tenant: Holding
    victims: tuple[Victim, ...] = ()
    no_victims: str = ""
    kept: tuple[str, ...] = ()
    occupants: tuple[RoomHolder, ...] = ()
    """Gangs that hold the room that it waits for, those that end first before the others."""
    remedies: tuple[Remedy, ...] = ()
