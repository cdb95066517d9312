"""Queues and tenants: who shares what."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.resources import Resources

ROOT: Final = QueueName("root")
"""The queue above all others; it is there whether it has an object or not."""

Named = tuple[tuple[str, int], ...]
"""Amounts by resource in base units, sorted by name. An amount of 0 says 0; a name that is not
there says nothing."""


class QueueState(StrEnum):
    """Volcano's states of a queue."""

    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    """Closed to what is new; what it holds goes on."""
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A Volcano Queue on the control plane.

    `capability` limits the resources that it names (an amount of 0 allows none); a name that is
    not there is unlimited. `problem` tells why nothing is admitted from it, empty when all is well.
    """

    name: QueueName
    priority: int = 0
    weight: int = 1
    capability: Named = ()
    open: bool = True
    problem: str = ""
    parent: QueueName = ROOT
    """The queue that it is a part of; of no meaning for `root` itself."""
    deserved: Named = ()
    """What it is entitled to. Without any, its weight decides; with some, a resource that is not
    named is not deserved at all."""
    guarantee: Named = ()
    """What is kept for it, also while it does not use it."""
    reclaimable: bool = True
    """Whether others may take back what it holds over its deserved."""
    cluster_capability: tuple[tuple[ClusterName, Named], ...] = ()
    """Limits in single clusters, sorted by name."""
    min_runtime_before_reclaim: int | None = None
    """Seconds that its workloads run before other queues may reclaim their place; None: as the
    nearest queue above it says, else the Policy."""
    min_runtime_before_preemption: int | None = None
    """The same, before a higher priority of the queue may take their place."""
    notice: str = ""
    """What of it cannot be read and stops nothing."""
    state: QueueState = QueueState.OPEN
    """What its status says; `open` is what follows for admission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A `Tenant` object, or a namespace that is its own tenant.

    `queues` and `priority_classes` list what its namespaces may use; empty allows all.
    """

    name: TenantName
    weight: int = 1
    namespaces: tuple[str, ...] = ()
    queues: tuple[QueueName, ...] = ()
    priority_classes: tuple[str, ...] = ()
    created: Instant = Instant(0)
    limits: Named = ()
    """The most that its workloads may hold over the whole federation, by resource."""
    pending_limit: int | None = None
    """At most so many of its waiting workloads are considered, oldest first; None: all."""
    problem: str = ""
    """Why nothing of it is admitted: a limit that cannot be read is not no limit."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Usage:
    """What the admitted, unfinished workloads of a tenant in a queue hold in a cluster."""

    queue: QueueName
    tenant: TenantName
    cluster: ClusterName
    amount: Resources
