"""Worlds in one line: plain keyword functions, one per model type, with sane defaults.

Amounts are in people's units: whole GPUs, whole CPUs, GiB. A workload is `pods` equal pods, each
with the `gpus`, `cpu` and `memory` given. A cluster has `racks` of tier 1 under a spine of
tier 2, with `nodes` in each rack and `gpus`, `cpu` and `memory` on each node.

`snapshot(...)` counts usage and room exactly as the cache does; `after(world, plan)` is the world
once the plan was executed.
"""

from collections.abc import Iterable, Sequence

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.ids import (
    QueueName,
    TenantName,
    WorkloadKey,
)
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.workload import Workload
from tests.gangs import (
    GIB,
    GPU,
    KINDS,
    NOW,
    POLICY,
    gang,
    hard,
    pod,
    pod_set,
    resources,
    soft,
)
from tests.members import cluster, topology
from tests.workloads import backoff, decision, demand, grant, rule, workload
from tests.worlds import World, after, world_of

__all__ = [
    "GIB",
    "GPU",
    "KINDS",
    "NOW",
    "POLICY",
    "World",
    "after",
    "backoff",
    "cluster",
    "decision",
    "demand",
    "gang",
    "grant",
    "hard",
    "ids",
    "pod",
    "pod_set",
    "queue",
    "resources",
    "rule",
    "snapshot",
    "soft",
    "tenant",
    "topology",
    "workload",
]


def queue(
    name: str,
    *,
    priority: int = 0,
    weight: int = 1,
    gpus: int | None = None,
    cpu: int | None = None,
    memory: int | None = None,
    pods: int | None = None,
    is_open: bool = True,
    problem: str = "",
) -> Queue:
    """A queue; amounts that are given are its capability."""
    limits = {
        GPU: gpus,
        "cpu": None if cpu is None else cpu * 1000,
        "memory": None if memory is None else memory * GIB,
        PODS: pods,
    }
    return Queue(
        name=QueueName(name),
        priority=priority,
        weight=weight,
        capability=tuple(sorted((n, v) for n, v in limits.items() if v is not None)),
        open=is_open,
        problem=problem,
    )


def tenant(
    name: str,
    *,
    weight: int = 1,
    queues: Sequence[str] = (),
    priority_classes: Sequence[str] = (),
    namespaces: Sequence[str] = (),
) -> Tenant:
    """A tenant."""
    return Tenant(
        name=TenantName(name),
        weight=weight,
        namespaces=tuple(namespaces),
        queues=tuple(QueueName(q) for q in queues),
        priority_classes=tuple(priority_classes),
    )


def snapshot(
    clusters: Iterable[Cluster] = (),
    queues: Iterable[Queue] | None = None,
    tenants: Iterable[Tenant] | None = None,
    running: Iterable[Workload] = (),
    pending: Iterable[Workload] = (),
    epoch: int = 1,
) -> World:
    """A world; the clusters' room is what they have before `running` takes its part.

    Queues and tenants that are not given at all are made for the workloads with defaults.
    """
    workloads = [*running, *pending]
    if queues is None:
        queues = [queue(name) for name in sorted({one.queue for one in workloads})]
    if tenants is None:
        tenants = [tenant(name) for name in sorted({one.tenant for one in workloads})]
    return world_of(
        clusters=tuple(clusters),
        queues=tuple(queues),
        tenants=tuple(tenants),
        workloads=tuple(workloads),
        epoch=epoch,
    )


def ids(workloads: Iterable[object]) -> list[str]:
    """The short names behind keys or actions, in their order."""
    return [_short(one) for one in workloads]


def _short(one: object) -> str:
    """`a` from the key `jobs/a`, or from an action or outcome on it."""
    key: WorkloadKey = getattr(one, "workload", one)  # type: ignore[arg-type]
    return str(key).partition("/")[2]
