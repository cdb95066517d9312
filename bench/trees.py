"""Clusters and gangs for the figures of the topology engine: from sizes, or from real trees."""

import random
from collections.abc import Collection, Sequence

from global_sched.shared.model.gang import Gang, Mode, Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import DomainId, PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology

AXIS = ("cpu", "memory", "nvidia.com/gpu", "pods")
RACK, RACKS = 25, 40
"""Nodes of a rack, racks of a spine."""

Host = tuple[str, tuple[str, ...]]
"""A host and its domains, from the top."""


def synthetic(nodes: int, *, named: bool = True, seed: int = 1) -> Topology:
    """A core over spines of 40 racks of 25 nodes, each node with a random part of its 8 GPUs."""
    draw = random.Random(seed)
    racks = nodes // RACK
    spines = max(2, racks // RACKS)
    domains = [Domain(name=DomainId("core"), tier=3)]
    domains += [
        Domain(name=DomainId(f"s{spine}"), tier=2, parent=DomainId("core"))
        for spine in range(spines)
    ]
    leaves = []
    kind = NodeClass()
    for rack in range(racks):
        spine = rack * spines // racks
        name = DomainId(f"s{spine}-r{rack}")
        domains.append(Domain(name=name, tier=1, parent=DomainId(f"s{spine}")))
        for node in range(RACK):
            free = (64_000, 512 << 30, draw.choice((0, 0, 2, 4, 8, 8)), 110)
            node_name = f"{name}-n{node}" if named else ""
            leaves.append(Leaf(domain=name, node_class=kind, free=free, count=1, node=node_name))
    return Topology(
        axis=AXIS,
        domains=tuple(sorted(domains, key=lambda one: one.name)),
        leaves=tuple(sorted(leaves, key=lambda one: one.node)),
        label_keys=None if named else (),
    )


def nested(nodes: int, sizes: Sequence[int]) -> Topology:
    """Domains of so many nodes each, tier by tier from the smallest: one inside the other."""
    domains = []
    for tier, size in enumerate(sizes, 1):
        for at in range(nodes // size):
            above = sizes[tier] if tier < len(sizes) else 0
            parent = DomainId(f"t{tier + 1}-{at * size // above:05d}") if above else None
            name = DomainId(f"t{tier}-{at:05d}")
            domains.append(Domain(name=name, tier=tier, parent=parent))
    leaves = tuple(
        Leaf(
            domain=DomainId(f"t1-{node // sizes[0]:05d}"),
            node_class=NodeClass(),
            free=(64_000, 512 << 30, 8, 110),
            count=1,
            node=f"n{node:05d}",
        )
        for node in range(nodes)
    )
    return Topology(axis=AXIS, domains=tuple(sorted(domains, key=lambda d: d.name)), leaves=leaves)


def from_hosts(hosts: Sequence[Host], free: Collection[str]) -> Topology:
    """A real tree in which these hosts are free and the others are full."""
    domains: dict[str, Domain] = {}
    for _, path in hosts:
        for depth, name in enumerate(path):
            parent = DomainId(path[depth - 1]) if depth else None
            tier = len(path) - depth
            domains[name] = Domain(name=DomainId(name), tier=tier, parent=parent)
    return Topology(
        axis=AXIS,
        domains=tuple(sorted(domains.values(), key=lambda one: one.name)),
        leaves=tuple(
            Leaf(
                domain=DomainId(path[-1]),
                node_class=NodeClass(),
                free=(64_000, 512 << 30, 8 if name in free else 0, 110),
                count=1,
                node=name,
            )
            for name, path in sorted(hosts)
        ),
    )


def hard(tier: int) -> TopologyConstraint:
    """All pods under one domain of at most this tier."""
    return TopologyConstraint(mode=Mode.HARD, highest_tier=tier)


SOFT = TopologyConstraint(mode=Mode.SOFT)


def workers(
    pods: int,
    *,
    gpus: int = 8,
    cpu: int = 4000,
    name: str = "worker",
    group: int = 0,
    group_tier: int = 1,
) -> PodSet:
    """Equal pods; with `group` in partitions of so many, each under one domain of its tier."""
    requests = Resources.of({"cpu": cpu, "nvidia.com/gpu": gpus, "pods": 1})
    partition = (
        Partition(size=group, total=pods // group, constraint=hard(group_tier)) if group else None
    )
    return PodSet(
        name=PodSetName(name),
        count=pods,
        minimum=pods,
        shape=PodShape(requests=requests),
        partition=partition,
    )


def gang(*pod_sets: PodSet, constraint: TopologyConstraint | None = None) -> Gang:
    """All of these pods or none."""
    return Gang(
        pod_sets=pod_sets, minimum=sum(one.count for one in pod_sets), constraint=constraint
    )


def kinds_of_gangs(pods: int = 64) -> dict[str, Gang]:
    """One gang per kind of constraint that users can write."""
    launcher = workers(1, gpus=0, cpu=8000, name="launcher")
    return {
        "no constraint": gang(workers(pods)),
        "soft": gang(workers(pods), constraint=SOFT),
        "hard tier 1": gang(workers(max(2, pods // 8)), constraint=hard(1)),
        "hard tier 2": gang(workers(pods), constraint=hard(2)),
        "hard tier 3": gang(workers(pods), constraint=hard(3)),
        "groups of 8 in racks, hard tier 3": gang(workers(pods, group=8), constraint=hard(3)),
        "groups of 4 in racks, soft": gang(workers(pods, group=4), constraint=SOFT),
        "launcher and workers, hard tier 2": gang(launcher, workers(pods), constraint=hard(2)),
        "two shapes, both in groups, hard tier 3": gang(
            workers(pods // 2, group=8),
            workers(pods // 2, gpus=2, name="decode", group=4),
            constraint=hard(3),
        ),
    }
