"""The agent's own way: a node or a HyperNode changes, and the next round's room is right again."""

import time
from collections.abc import Callable

from bench.harness import Figure, at_most, percentile, quiet_collector, shown
from bench.trees import gang, hard, workers
from global_sched.shared.api.base import Condition, LabelSelector, Meta
from global_sched.shared.api.core import Node, NodeSpec, NodeStatus
from global_sched.shared.api.volcano import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    Member,
    MemberSelector,
)
from member_agent.cache import ClusterCache, RoomQuery, live_room

NODES = 100_000
RACK, SPINE = 25, 1_000
"""Nodes of a rack and of a spine."""
TRIES = 200
NODE_TRIES = 1_000
"""Of these the first few pay for memory that was not touched since the room was made."""


def node(number: int, cpu: int = 64) -> Node:
    """A node as an API server gives it, with labels of its own."""
    name = f"n{number:06}"
    labels = {"kubernetes.io/hostname": name, "rack": f"r{number // RACK}", "zone": "a"}
    room: dict[str, str | int | float] = {
        "cpu": str(cpu),
        "memory": "512Gi",
        "nvidia.com/gpu": "8",
        "pods": "110",
    }
    return Node(
        metadata=Meta(name=name, labels=labels),
        spec=NodeSpec(),
        status=NodeStatus(conditions=[Condition(type="Ready", status="True")], allocatable=room),
    )


def rack(number: int, tier_name: str = "") -> HyperNode:
    """A rack that lists its nodes by their label."""
    label = LabelSelector(match_labels={"rack": f"r{number}"})
    members = [Member(type="Node", selector=MemberSelector(label_match=label))]
    spec = HyperNodeSpec(tier=1, tier_name=tier_name, members=members)
    return HyperNode(metadata=Meta(name=f"r{number}"), spec=spec)


def above(name: str, tier: int, children: list[str]) -> HyperNode:
    """A HyperNode that lists others."""
    members = [
        Member(type="HyperNode", selector=MemberSelector(exact_match=ExactMatch(name=child)))
        for child in children
    ]
    return HyperNode(metadata=Meta(name=name), spec=HyperNodeSpec(tier=tier, members=members))


def member(nodes: int = NODES) -> ClusterCache:
    """A cluster of racks under spines under a core."""
    cache = ClusterCache("member1")
    for number in range(nodes):
        cache.upsert_node(node(number))
    racks = [rack(number) for number in range(nodes // RACK)]
    each = SPINE // RACK
    spines = range(max(1, nodes // SPINE))
    for one in racks:
        cache.upsert_hyper_node(one)
    for at in spines:
        own = [one.metadata.name for one in racks[at * each : (at + 1) * each]]
        cache.upsert_hyper_node(above(f"s{at}", 2, own))
    cache.upsert_hyper_node(above("core", 3, [f"s{at}" for at in spines]))
    return cache


def _times(change: Callable[[int], object], tries: int) -> list[float]:
    """Microseconds of CPU, each time."""
    times = []
    with quiet_collector():
        for at in range(tries):
            start = time.process_time()
            change(at)
            times.append((time.process_time() - start) * 1e6)
    return times


def figures() -> list[Figure]:
    """What changes cost, and what making everything anew costs."""
    cache = member()
    start = time.process_time()
    cache.tree()
    read = time.process_time()
    asked = RoomQuery(units=())
    space = live_room(cache).open(cache, asked)
    opened = time.process_time()
    shapes = [gang(workers(8, gpus=gpus), constraint=hard(2)) for gpus in range(1, 9)]
    for wanted in shapes:
        space.place(wanted)

    def node_changes(at: int) -> None:
        cache.upsert_node(node(at * 37 % NODES, cpu=32 + at % 16))
        found = live_room(cache).open(cache, asked)
        for wanted in shapes:
            found.glance(wanted)

    def rack_changes(at: int) -> None:
        cache.upsert_hyper_node(rack(at, tier_name=f"tier-{at}"))
        cache.tree()

    nodes, racks = _times(node_changes, NODE_TRIES), _times(rack_changes, TRIES)
    made = live_room(cache).made
    first, middle = nodes[0], percentile(nodes, 0.5)
    how = f"{NODE_TRIES} times, CPU; the room was made {made} time; median {middle:.0f}"
    how += f"; the first after that {first:.0f}"
    return [
        shown("live", f"{NODES:,} nodes: the tree read for the first time", read - start, "s"),
        shown("live", f"{NODES:,} nodes: the room made for the first time", opened - read, "s"),
        at_most(
            "live", "a node's event, room open, 8 shapes asked: p99",
            percentile(nodes, 0.99), "µs", 200, how,
        ),
        shown(
            "live", "a rack's HyperNode changes, tree read: p99", percentile(racks, 0.99), "µs",
            f"{len(cache.hyper_nodes):,} HyperNodes; median {percentile(racks, 0.5):.0f}",
        ),
    ]  # fmt: skip
