"""Placing one gang in a large tree, from the first question to the last pod."""

import random
import time

from bench.harness import Figure, at_most, percentile, quiet_collector, shown
from global_sched.shared.model.gang import Gang, Mode, PodSet, TopologyConstraint
from global_sched.shared.model.ids import DomainId, PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology
from global_sched.shared.placement import Placed, Space

SPINES, RACKS, NODES, GPUS = 10, 40, 25, 8
AXIS = ("cpu", "memory", "nvidia.com/gpu", "pods")


def tree(*, named: bool, seed: int = 1) -> Topology:
    """10 spines × 40 racks × 25 nodes, each node with a random part of its 8 GPUs free."""
    draw = random.Random(seed)
    domains = [Domain(name=DomainId("core"), tier=3)]
    leaves = []
    kind = NodeClass()
    for spine in range(SPINES):
        top = DomainId(f"s{spine}")
        domains.append(Domain(name=top, tier=2, parent=DomainId("core")))
        for rack in range(RACKS):
            name = DomainId(f"s{spine}-r{rack}")
            domains.append(Domain(name=name, tier=1, parent=top))
            for node in range(NODES):
                free = draw.choice((0, 0, 2, 4, 8, 8))
                leaves.append(
                    Leaf(
                        domain=name,
                        node_class=kind,
                        free=(64_000, 512 << 30, free, 110),
                        count=1,
                        node=f"{name}-n{node}" if named else "",
                    )
                )
    return Topology(
        axis=AXIS,
        domains=tuple(sorted(domains, key=lambda one: one.name)),
        leaves=tuple(leaves),
        label_keys=None if named else (),
    )


def gang(pods: int, gpus: int, tier: int) -> Gang:
    """One shape, under a hard tier."""
    shape = PodShape(requests=Resources.of({"cpu": 4000, "nvidia.com/gpu": gpus, "pods": 1}))
    pod_set = PodSet(name=PodSetName("worker"), count=pods, minimum=pods, shape=shape)
    return Gang(
        pod_sets=(pod_set,),
        minimum=pods,
        constraint=TopologyConstraint(mode=Mode.HARD, highest_tier=tier),
    )


def _times(space: Space, wanted: Gang, tries: int) -> list[float]:
    """Milliseconds of CPU to place and take, each time after the room has changed."""
    times = []
    taken: list[Placed] = []
    for _ in range(tries):
        start = time.process_time()
        placed = space.place(wanted)
        if isinstance(placed, Placed):
            space.take(placed)
            taken.append(placed)
        times.append((time.process_time() - start) * 1000)
        if len(taken) >= 16:
            space.give_back(taken.pop(0))
    return times


def figures() -> list[Figure]:
    """p99 of a gang of 64, and what a fresh topology costs."""
    topology = tree(named=True)
    start = time.perf_counter()
    space = Space(topology)
    space.place(gang(64, 8, 2))
    first = (time.perf_counter() - start) * 1000
    found = []
    for tier, name in ((2, "hard tier 2"), (3, "hard tier 3")):
        with quiet_collector():
            times = _times(space, gang(64, 8, tier), 400)
        note = "10,000 nodes in 3 tiers, 400 tries, the room changes each time, CPU time"
        found.append(
            at_most("topology", f"gang of 64, {name}: p99", percentile(times, 0.99), "ms", 2, note)
        )
    found.append(shown("topology", "first question to a new topology", first, "ms"))
    return found
