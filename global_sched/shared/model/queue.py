"""Queues and tenants: who shares what."""

from dataclasses import dataclass

from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.resources import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A Volcano Queue on the control plane.

    `capability` limits the resources that it names (an amount of 0 allows none); a name that is
    not there is unlimited. `problem` tells why nothing is admitted from it, empty when all is well.
    """

    name: QueueName
    priority: int = 0
    weight: int = 1
    capability: tuple[tuple[str, int], ...] = ()
    open: bool = True
    problem: str = ""


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


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Usage:
    """What the admitted, unfinished workloads of a tenant in a queue hold in a cluster."""

    queue: QueueName
    tenant: TenantName
    cluster: ClusterName
    amount: Resources
