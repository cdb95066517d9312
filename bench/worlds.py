"""Worlds of the size that the figures are stated for, from recorded sizes.

Jobs have the GPU counts of the Philly trace and the CPU and memory per GPU of openb's pods; nodes
are openb's, filled with openb's pods up to a part of their GPUs.
"""

import random
from dataclasses import dataclass, replace

from bench.traces import openb_nodes, openb_pods, philly_gpus
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.gang import Gang, Mode, PodSet, TopologyConstraint
from global_sched.shared.model.ids import (
    MAIN,
    BindingId,
    ClusterName,
    DomainId,
    QueueName,
    TenantName,
    workload_key,
)
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.queue import ROOT, Queue, Tenant, Usage
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.snapshot import Bucket, Snapshot
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology
from global_sched.shared.model.workload import Demand, Workload

NOW = parse_instant("2026-01-31T12:00:00Z")
GPU = "nvidia.com/gpu"
AXIS = ("cpu", "memory", GPU, PODS)
KIND = ("batch.volcano.sh/v1alpha1", "Job")
RACK = 8
_SPINE = 6
_MIB = 2**20
_ABOVE = (4, 12, 40)
"""Queues on the three levels above the leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a world is: `filled` is the part of the GPUs in use, `shapes` the pod sizes."""

    pending: int = 10_000
    clusters: int = 100
    queues: int = 200
    tenants: int = 100
    nodes: int = 96
    filled: float = 0.0
    shapes: int = 24
    seed: int = 1


def core_world(size: Size) -> Snapshot:
    """A snapshot with that much of everything, the same for the same size."""
    rng = random.Random(size.seed)
    clusters = tuple(_cluster(f"member-{i:03d}", size, rng) for i in range(size.clusters))
    names = [QueueName(f"queue-{i:03d}") for i in range(size.queues)]
    tenants = [TenantName(f"tenant-{i:03d}") for i in range(size.tenants)]
    queues = tuple(
        Queue(name=name, priority=rng.choice((0, 0, 0, 10)), weight=rng.randint(1, 4))
        for name in names
    )
    return Snapshot(
        clusters=clusters,
        queues=queues,
        tenants=tuple(Tenant(name=name, weight=rng.randint(1, 4)) for name in tenants),
        usage=_usage(clusters, names, tenants, rng),
        pending=_pending(size, names, tenants, rng),
        epoch=1,
    )


def _cluster(name: str, size: Size, rng: random.Random) -> Cluster:
    """One member: nodes of openb in racks of 8 and spines of 6 racks, filled with openb's pods."""
    pool, pods = [n for n in openb_nodes_once() if n[2]], openb_pods_once()
    nodes = [rng.choice(pool) for _ in range(size.nodes)]
    total = Resources.total(_resources(*node, 110) for node in nodes)
    free = [[cpu, memory * _MIB, gpus, 110] for cpu, memory, gpus in nodes]
    target = total.get(GPU) * size.filled
    used, misses = 0, 0
    while used < target and misses < 20_000:
        cpu, memory, gpus = rng.choice(pods)
        node = rng.choice(free)
        gpus = max(gpus, 1)
        asked = (cpu, memory * _MIB, gpus, 1)
        if all(has >= want for has, want in zip(node, asked, strict=True)):
            for at, want in enumerate(asked):
                node[at] -= want
            used += gpus
        else:
            misses += 1
    if size.filled >= 1:
        for node in free:
            node[2] = 0
    return Cluster(
        name=ClusterName(name),
        kinds=("/".join(KIND),),
        capacity=Capacity(
            topology=_topology(free),
            total=total,
            observed=Instant(NOW - 2 * SECOND),
            scheduler_names=("volcano",),
        ),
    )


def _resources(cpu: int, memory: int, gpus: int, pods: int) -> Resources:
    return Resources.of({"cpu": cpu, "memory": memory * _MIB, GPU: gpus, PODS: pods})


def domains_of(nodes: int) -> tuple[Domain, ...]:
    """Racks of `RACK` nodes (tier 1) under spines (tier 2) under one core (tier 3)."""
    racks = range(-(-nodes // RACK))
    spines = range(-(-len(racks) // _SPINE))
    core = DomainId("core")
    domains = [Domain(name=core, tier=3)]
    domains += [Domain(name=DomainId(f"spine-{i}"), tier=2, parent=core) for i in spines]
    domains += [
        Domain(name=DomainId(f"rack-{i}"), tier=1, parent=DomainId(f"spine-{i // _SPINE}"))
        for i in racks
    ]
    return tuple(sorted(domains))


def _topology(free: list[list[int]]) -> Topology:
    counts: dict[tuple[int, tuple[int, ...]], int] = {}
    for at, vector in enumerate(free):
        key = (at // RACK, tuple(vector))
        counts[key] = counts.get(key, 0) + 1
    leaves = tuple(
        Leaf(domain=DomainId(f"rack-{rack}"), node_class=NodeClass(), free=vector, count=count)
        for (rack, vector), count in sorted(counts.items())
    )
    return Topology(axis=AXIS, domains=domains_of(len(free)), leaves=leaves, label_keys=())


def _usage(
    clusters: tuple[Cluster, ...],
    queues: list[QueueName],
    tenants: list[TenantName],
    rng: random.Random,
) -> tuple[Usage, ...]:
    """What is used in each cluster, charged to a few tenants and queues."""
    found = []
    for cluster in clusters:
        assert cluster.capacity is not None
        free = Resources.total(
            Resources.of(dict(zip(AXIS, leaf.free, strict=True))).times(leaf.count)
            for leaf in cluster.capacity.topology.leaves
        )
        used = cluster.capacity.total.minus(free)
        parts = Resources.of({name: amount // 20 for name, amount in used.entries})
        pairs = {(rng.choice(queues), rng.choice(tenants)) for _ in range(20)}
        found += [
            Usage(queue=queue, tenant=tenant, cluster=cluster.name, amount=parts)
            for queue, tenant in pairs
        ]
    return tuple(sorted(found, key=lambda one: (one.queue, one.tenant, one.cluster)))


def _demands(size: Size, rng: random.Random) -> list[Demand]:
    """One demand per pending job, equal ones shared as the cache does."""
    gpus = philly_gpus_once()
    per_gpu = [
        (cpu // n, memory // n) for cpu, memory, n in openb_pods_once() if n and cpu and memory
    ]
    shapes = [rng.choice(per_gpu) for _ in range(size.shapes)]
    known: dict[tuple[int, tuple[int, int], int], Demand] = {}
    demands = []
    for _ in range(size.pending):
        key = (rng.choice(gpus), rng.choice(shapes), rng.choice((0, 0, 0, 1, 2, 3)))
        demand = known.get(key)
        if demand is None:
            demand = known[key] = _demand(*key)
        demands.append(demand)
    return demands


def _demand(gpus: int, shape: tuple[int, int], tier: int) -> Demand:
    """A gang of pods with at most 8 GPUs each; a tier of 0 is no constraint."""
    each = min(gpus, 8)
    count = -(-gpus // each)
    pods = PodSet(
        name=MAIN,
        count=count,
        minimum=count,
        shape=PodShape(requests=_resources(shape[0] * each, shape[1] * each, each, 1)),
    )
    limit = TopologyConstraint(mode=Mode.HARD, highest_tier=tier) if tier else None
    gang = Gang(pod_sets=(pods,), minimum=count, constraint=limit)
    return Demand(api_version=KIND[0], kind=KIND[1], gang=gang, scheduler_name="volcano")


def _pending(
    size: Size, queues: list[QueueName], tenants: list[TenantName], rng: random.Random
) -> tuple[Bucket, ...]:
    """The jobs in random queues, each tenant using a few of them."""
    homes = {tenant: rng.sample(queues, min(8, len(queues))) for tenant in tenants}
    buckets: dict[tuple[QueueName, TenantName], list[Workload]] = {}
    for at, demand in enumerate(_demands(size, rng)):
        tenant = rng.choice(tenants)
        queue = rng.choice(homes[tenant])
        one = Workload(
            key=workload_key(str(tenant), f"job-{at:06d}"),
            binding_id=BindingId(f"id-{at:06d}"),
            uid=f"uid-{at:06d}",
            resource_version="1",
            namespace=str(tenant),
            name=f"job-{at:06d}",
            created=Instant(NOW - rng.randint(1, 86_400) * SECOND),
            demand=demand,
            queue=queue,
            tenant=tenant,
            priority=rng.choice((0, 0, 0, 100, 1000)),
        )
        buckets.setdefault((queue, tenant), []).append(one)
    return tuple(
        Bucket(
            queue=queue,
            tenant=tenant,
            workloads=tuple(sorted(found, key=lambda w: (-w.priority, w.created, w.uid))),
        )
        for (queue, tenant), found in sorted(buckets.items())
    )


def in_tree(world: Snapshot) -> Snapshot:
    """The same world with its queues as the leaves of a tree of four levels below the root."""
    levels: list[list[QueueName]] = []
    queues: list[Queue] = []
    for level, number in enumerate(_ABOVE):
        names = [QueueName(f"level-{level}-{i:02d}") for i in range(number)]
        above = levels[-1] if levels else [ROOT]
        queues += [Queue(name=n, parent=above[i % len(above)]) for i, n in enumerate(names)]
        levels.append(names)
    homes = levels[-1]
    queues += [replace(q, parent=homes[i % len(homes)]) for i, q in enumerate(world.queues)]
    return replace(world, queues=tuple(sorted(queues, key=lambda one: one.name)))


class _Once:
    """The traces, read once per process."""

    nodes: list[tuple[int, int, int]] | None = None
    pods: list[tuple[int, int, int]] | None = None
    gpus: list[int] | None = None


def openb_nodes_once() -> list[tuple[int, int, int]]:
    """Nodes of openb."""
    _Once.nodes = _Once.nodes or openb_nodes()
    return _Once.nodes


def openb_pods_once() -> list[tuple[int, int, int]]:
    """Pods of openb."""
    _Once.pods = _Once.pods or openb_pods()
    return _Once.pods


def philly_gpus_once() -> list[int]:
    """Philly's GPU counts."""
    _Once.gpus = _Once.gpus or philly_gpus()
    return _Once.gpus
