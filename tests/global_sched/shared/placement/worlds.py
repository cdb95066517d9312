"""Builders of topologies, gangs and nodes for the placement tests."""

from global_sched.shared.model.gang import (
    Amounts,
    Gang,
    Mode,
    Partition,
    PodSet,
    TopologyConstraint,
)
from global_sched.shared.model.ids import DomainId, PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology

AXIS = ("cpu", "gpu", "memory", "pods")
PLAIN = NodeClass()


def hard(tier=None, name=""):
    return TopologyConstraint(mode=Mode.HARD, highest_tier=tier, highest_tier_name=name)


SOFT = TopologyConstraint(mode=Mode.SOFT)


def shape(cpu=0, gpu=0, memory=0, **more):
    requests = {"cpu": cpu, "gpu": gpu, "memory": memory, "pods": 1}
    return PodShape(requests=Resources.of(requests), **more)


def pod_set(name, count, minimum=None, partition=None, like=None, **sizes):
    return PodSet(
        name=PodSetName(name),
        count=count,
        minimum=count if minimum is None else minimum,
        shape=like or shape(**sizes),
        partition=partition,
    )


def gang(*pod_sets, minimum=None, constraint=None):
    least = sum(p.minimum for p in pod_sets) if minimum is None else minimum
    return Gang(pod_sets=pod_sets, minimum=least, constraint=constraint)


def workers(count, minimum=None, constraint=None, partition=None, **sizes):
    """A gang of one pod set, one CPU each unless said."""
    sizes = sizes or {"cpu": 1}
    one = pod_set("worker", count, minimum, partition, **sizes)
    return gang(one, constraint=constraint)


def parts(size, total, minimum=0, constraint=None, together=""):
    return Partition(
        size=size, total=total, minimum=minimum, constraint=constraint, together=together
    )


def amounts(**pods):
    return Amounts.of({PodSetName(name): n for name, n in pods.items()})


def domain(name, tier, parent=None, tier_name=""):
    return Domain(
        name=DomainId(name),
        tier=tier,
        tier_name=tier_name,
        parent=DomainId(parent) if parent else None,
    )


def free(cpu=0, gpu=0, memory=0, pods=100):
    return (cpu, gpu, memory, pods)


def leaf(where, room, count=1, node="", kind=PLAIN, occupants=()):
    return Leaf(
        domain=DomainId(where) if where else None,
        node_class=kind,
        free=room,
        count=count,
        occupants=occupants,
        node=node,
    )


def tree(**parents):
    """Domains from name=(tier, parent)."""
    return tuple(domain(name, tier, parent) for name, (tier, parent) in parents.items())


def topology(domains, leaves, label_keys=None, axis=AXIS):
    return Topology(axis=axis, domains=tuple(domains), leaves=tuple(leaves), label_keys=label_keys)


def racks(**cpus):
    """Racks of tier 1 under one spine of tier 2; per rack the free CPUs of its nodes."""
    domains = [domain("spine", 2)] + [domain(name, 1, "spine") for name in cpus]
    leaves = [
        leaf(name, free(cpu), node=f"{name}-n{at}")
        for name, nodes in cpus.items()
        for at, cpu in enumerate(nodes)
    ]
    return topology(domains, leaves)


def where(world, placed):
    """Pods per domain of a placement on named nodes."""
    found = {}
    for take in placed.takes:
        name = world.leaves[take.leaf].domain
        found[name] = found.get(name, 0) + take.pods_per_node * take.nodes
    return found


def nodes_used(world, placed):
    """Pods per node of a placement on named nodes."""
    found = {}
    for take in placed.takes:
        name = world.leaves[take.leaf].node
        found[name] = found.get(name, 0) + take.pods_per_node
    return found
