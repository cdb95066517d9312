"""The one topology engine: what fits where, for the global side and for the agents.

A `Space` holds the room of one cluster during one pass and answers `place(gang)`. The global
side builds it from a capacity report's topology (nodes counted by kind), an agent from its nodes:
the same code, and for the same room the same answer. Also here: pod specs to shapes, HyperNodes to
a valid tree, nodes and pods to a topology and its histogram, a placement to node names.

Nothing in here does I/O, reads a clock, draws a random number, logs, or knows queues and tenants.
Sizes are exact ints. Every choice is by value, so equal rooms give equal answers.

A `ClusterSet` asks many clusters at once: its `FitCounts` counts all of them together.

Read `space.Space.place` first, then `search.solver.Solver`, which picks the algorithm.
"""

from global_sched.shared.placement.capacity.demand_codec import (
    DemandError,
    decode_demand,
    encode_demand,
)
from global_sched.shared.placement.capacity.from_nodes import (
    NodeUse,
    PodOwner,
    allocatable,
    assemble,
    axis_of,
    holds_room,
    node_class,
    node_leaf,
    node_topology,
    usable,
)
from global_sched.shared.placement.capacity.histogram import (
    LeafKey,
    coarsen,
    counted_leaves,
    histogram,
    reduce_class,
    round_down,
    without_occupants,
)
from global_sched.shared.placement.capacity.scarcity import MOST_WANTED, demand_of, plain_shape
from global_sched.shared.placement.capacity.tier_levels import NO_TIER, Near, Nearby
from global_sched.shared.placement.cluster_set import ClusterSet, GangQuestion
from global_sched.shared.placement.node_assignment import assign
from global_sched.shared.placement.request.compile import Limit, limit_of
from global_sched.shared.placement.request.constraints import (
    annotations_constraint,
    constraint_of,
    families_of,
    with_families,
)
from global_sched.shared.placement.request.devices import check_devices, shared_gpus
from global_sched.shared.placement.request.node_match import (
    is_device,
    node_class_admits,
    scarcity_key,
)
from global_sched.shared.placement.request.pod_shape import host_ports, pod_requests, shape_of
from global_sched.shared.placement.requirements import SpecError
from global_sched.shared.placement.result import Glance, Join, NotPlaced, Placed, Take
from global_sched.shared.placement.space import Space
from global_sched.shared.placement.tree.build import DomainTree, build_tree
from global_sched.shared.placement.tree.domain_index import TreeIndex, tree_index
from global_sched.shared.placement.tree.live_tree import LiveTree

__all__ = [
    "MOST_WANTED",
    "NO_TIER",
    "ClusterSet",
    "DemandError",
    "DomainTree",
    "GangQuestion",
    "Glance",
    "Join",
    "LeafKey",
    "Limit",
    "LiveTree",
    "Near",
    "Nearby",
    "NodeUse",
    "NotPlaced",
    "Placed",
    "PodOwner",
    "Space",
    "SpecError",
    "Take",
    "TreeIndex",
    "allocatable",
    "annotations_constraint",
    "assemble",
    "assign",
    "axis_of",
    "build_tree",
    "check_devices",
    "coarsen",
    "constraint_of",
    "counted_leaves",
    "decode_demand",
    "demand_of",
    "encode_demand",
    "families_of",
    "histogram",
    "holds_room",
    "host_ports",
    "is_device",
    "limit_of",
    "node_class",
    "node_class_admits",
    "node_leaf",
    "node_topology",
    "plain_shape",
    "pod_requests",
    "reduce_class",
    "round_down",
    "scarcity_key",
    "shape_of",
    "shared_gpus",
    "tree_index",
    "usable",
    "with_families",
    "without_occupants",
]
