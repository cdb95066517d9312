"""The world of an experiment: members, queues and tenants, in the words of scenario files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from global_sched.cache.readers.queues import read_queue
from global_sched.cache.stores.tenants import read_tenant
from global_sched.scenario.members import Read, hyper_nodes_of, nodes_of
from global_sched.scenario.objects import queue_object, tenant_object
from global_sched.scenario.world import ClusterSpec, QueueSpec, TenantSpec, World
from global_sched.shared.api.core import Node
from global_sched.shared.api.federation import Tenant as WireTenant
from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.api.volcano import Queue as WireQueue
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import Leaf, NodeClass, Topology
from global_sched.shared.placement import (
    NodeUse,
    allocatable,
    assemble,
    axis_of,
    build_tree,
    node_leaf,
    usable,
)
from global_sched.sim.jobs import GPU, Job


def topology_of(cluster: ClusterSpec, read: Read) -> Topology:
    """One leaf for each usable node of a cluster, all of it free."""
    nodes = [msgspec.convert(one, Node) for one in nodes_of(cluster, read)]
    nodes = sorted((one for one in nodes if usable(one)), key=lambda one: one.metadata.name)
    hyper_nodes = [msgspec.convert(one, HyperNode) for one in hyper_nodes_of(cluster, read)]
    tree = build_tree(hyper_nodes, {one.metadata.name: one.metadata.labels or {} for one in nodes})
    axis = axis_of(allocatable(one) for one in nodes)
    leaves = [node_leaf(tree, one, NodeUse(), axis=axis) for one in nodes]
    # Jobs of traces select no nodes: of a node's labels only its name is left, in the leaf.
    plain = [replace(one, node_class=replace(one.node_class, labels=())) for one in leaves]
    return replace(assemble(tree, axis, plain), label_keys=())


def asked_for(jobs: Sequence[Job], world: World) -> frozenset[str]:
    """The resources that any job asks for, and those of which a queue or a tenant speaks."""
    found = {GPU, PODS}
    found |= {"cpu"} if any(job.cpu for job in jobs) else set()
    found |= {"memory"} if any(job.memory for job in jobs) else set()
    for queue in queues_of(world.queues, {}):
        found.update(name for name, _ in (*queue.deserved, *queue.guarantee, *queue.capability))
        found.update(name for _, named in queue.cluster_capability for name, _ in named)
    for tenant in tenants_of(world.tenants, (), {}):
        found.update(name for name, _ in tenant.limits)
    return frozenset(found)


def narrowed(topology: Topology, names: frozenset[str]) -> Topology:
    """The same nodes with these resources only: what no job asks for costs time in every cycle."""
    kept = [at for at, name in enumerate(topology.axis) if name in names]
    axis = tuple(topology.axis[at] for at in kept)
    leaves = tuple(
        replace(leaf, free=tuple(leaf.free[at] for at in kept)) for leaf in topology.leaves
    )
    return replace(topology, axis=axis, leaves=leaves)


def silo_topology(nodes: int, leaf: Leaf, axis: tuple[str, ...]) -> Topology:
    """A cluster of one tenant: so many nodes like a given one, in no HyperNode."""
    leaves = tuple(
        replace(leaf, domain=None, node_class=NodeClass(), node=f"node-{at:04d}")
        for at in range(nodes)
    )
    return Topology(axis=axis, leaves=leaves, label_keys=())


def pooled(topologies: Sequence[Topology]) -> Topology:
    """All nodes in one cluster, in no HyperNode: the bound for any federation."""
    leaves = tuple(
        replace(leaf, domain=None, node=f"{at:03d}-{leaf.node}")
        for at, topology in enumerate(topologies)
        for leaf in topology.leaves
    )
    return Topology(axis=topologies[0].axis, leaves=leaves, label_keys=())


def gpus_of(topology: Topology) -> int:
    """All GPUs of a topology that is free."""
    if GPU not in topology.axis:
        return 0
    at = topology.axis.index(GPU)
    return sum(leaf.free[at] * leaf.count for leaf in topology.leaves)


def queues_of(specs: Sequence[QueueSpec], weights: Mapping[str, int]) -> tuple[Queue, ...]:
    """The queues of the file, the default one, and one for each tenant with a weight."""
    named = {spec.name: spec for spec in specs}
    named.setdefault("default", QueueSpec(name="default"))
    for name, weight in weights.items():
        named.setdefault(name, QueueSpec(name=name, weight=weight))
    found = [read_queue(msgspec.convert(queue_object(one), WireQueue)) for one in named.values()]
    return tuple(sorted(found, key=lambda one: one.name))


def tenants_of(
    specs: Sequence[TenantSpec], jobs: Sequence[Job], weights: Mapping[str, int]
) -> tuple[Tenant, ...]:
    """The tenants of the file, and those that the trace names."""
    found = {
        TenantName(spec.name): read_tenant(msgspec.convert(tenant_object(spec), WireTenant)).tenant
        for spec in specs
    }
    for name in sorted({job.tenant for job in jobs}):
        tenant = Tenant(name=TenantName(name), weight=weights.get(name, 1))
        found.setdefault(TenantName(name), tenant)
    return tuple(found[name] for name in sorted(found))


def without_reclaim(queues: Sequence[Queue]) -> tuple[Queue, ...]:
    """The same queues; what they borrow is never reclaimed."""
    return tuple(replace(one, reclaimable=False) for one in queues)


def gpu_sizes(jobs: Sequence[Job]) -> tuple[tuple[int, float], ...]:
    """How often a pod of so many GPUs comes, ascending by size."""
    counts: Counter[int] = Counter()
    for job in jobs:
        counts[job.gpus] += job.pods
    whole = sum(counts.values())
    return tuple((size, pods / whole) for size, pods in sorted(counts.items()))


def with_queue(job: Job, queues: frozenset[str]) -> Job:
    """The job in the queue of its tenant where it names none and there is one."""
    if job.queue:
        return job
    return replace(job, queue=job.tenant if job.tenant in queues else "default")


def queue_set(queues: Sequence[Queue]) -> frozenset[str]:
    """The names of the queues."""
    return frozenset(QueueName(one.name) for one in queues)
