"""Pods to nodes by name, for a placement on a topology of named nodes."""

from collections.abc import Mapping, Sequence

from global_sched.shared.model.errors import InvariantError
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.topology import Topology
from global_sched.shared.placement.result import Placed


def assign(
    topology: Topology, placed: Placed, pods_by_pod_set: Mapping[PodSetName, Sequence[str]]
) -> Mapping[str, str]:
    """The node of every pod that was placed: pods in the order given, so lower indexes first.

    Pods beyond the placed amount get none. Groups of a partition are consecutive pods, and stay
    together because takes follow the tree.

    Raises:  InvariantError when a leaf has no name, or fewer pods are given than were placed.
    """
    waiting = {name: iter(pods) for name, pods in pods_by_pod_set.items()}
    nodes: dict[str, str] = {}
    for take in placed.takes:
        node = topology.leaves[take.leaf].node
        if not node:
            raise InvariantError(f"leaf {take.leaf} is no single named node")
        for _ in range(take.pods_per_node):
            pod = next(waiting.get(take.pod_set, iter(())), None)
            if pod is None:
                raise InvariantError(f"more pods of {take.pod_set} were placed than are given")
            nodes[pod] = node
    return nodes
