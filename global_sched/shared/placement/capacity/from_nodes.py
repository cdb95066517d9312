"""Nodes and their pods to a topology with one leaf per node."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from global_sched.shared.api.base import condition
from global_sched.shared.api.core import Node, Pod, TaintWire
from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.pods import Effect, Taint
from global_sched.shared.model.quantity import QuantityError, parse_quantity
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, NodeClass, Occupant, Topology
from global_sched.shared.placement.request.pod_shape import pod_requests
from global_sched.shared.placement.sentinels import LARGEST_AMOUNT
from global_sched.shared.placement.tree.build import DomainTree

PodOwner = tuple[BindingId, PodSetName]
"""Whose pod it is, for pods of gangs that may become victims."""


@dataclass(slots=True)
class NodeUse:
    """What the pods of one node use, kept by adding and removing pods.

    Units:  requests are what `pod_requests` says; a pod is known by its uid.
    """

    used: dict[str, int] = field(default_factory=dict)
    owners: dict[PodOwner, int] = field(default_factory=dict)
    _pods: dict[str, tuple[Resources, PodOwner | None]] = field(default_factory=dict)

    def add(self, uid: str, requests: Resources, owner: PodOwner | None = None) -> None:
        """Count a pod in; one that is already there is replaced."""
        self.remove(uid)
        self._pods[uid] = (requests, owner)
        for name, amount in requests:
            self.used[name] = self.used.get(name, 0) + amount
        if owner is not None:
            self.owners[owner] = self.owners.get(owner, 0) + 1

    def remove(self, uid: str) -> bool:
        """Count a pod out; False when it was not there."""
        entry = self._pods.pop(uid, None)
        if entry is None:
            return False
        requests, owner = entry
        for name, amount in requests:
            left = self.used[name] - amount
            if left:
                self.used[name] = left
            else:
                del self.used[name]
        if owner is not None:
            self.owners[owner] -= 1
            if not self.owners[owner]:
                del self.owners[owner]
        return True

    def occupants(self) -> tuple[Occupant, ...]:
        """Owned pods, counted, ascending."""
        return tuple(
            sorted(
                Occupant(binding=binding, pod_set=pod_set, pods=pods)
                for (binding, pod_set), pods in self.owners.items()
            )
        )


def usable(node: Node) -> bool:
    """Whether a node is Ready and stays: only such nodes are leaves. Cordoned ones are."""
    ready = condition(node.status.conditions, "Ready")
    return ready is not None and ready.status == "True" and node.metadata.deletion_timestamp is None


def holds_room(pod: Pod) -> bool:
    """Whether a pod uses its node: it is bound and has not ended."""
    return bool(pod.spec.node_name) and pod.status.phase not in ("Succeeded", "Failed")


def allocatable(node: Node) -> dict[str, int]:
    """A node's allocatable amounts. One that cannot be read counts as none: never as room."""
    result: dict[str, int] = {}
    for name, quantity in (node.status.allocatable or {}).items():
        try:
            result[name] = min(parse_quantity(str(quantity), name), LARGEST_AMOUNT)
        except QuantityError:
            result[name] = 0
    return result


def node_class(node: Node) -> NodeClass:
    """The node's class, with its whole labels."""
    taints = {taint for wire in node.spec.taints or () if (taint := _taint(wire)) is not None}
    return NodeClass(
        labels=tuple(sorted((node.metadata.labels or {}).items())),
        taints=tuple(sorted(taints)),
        schedulable=not node.spec.unschedulable,
    )


def node_leaf(
    tree: DomainTree,
    node: Node,
    use: NodeUse,
    *,
    axis: Sequence[str],
    room: Mapping[str, int] | None = None,
    kind: NodeClass | None = None,
) -> Leaf:
    """One usable node as a leaf. What is overcommitted is 0, never negative.

    `room` and `kind` are `allocatable(node)` and `node_class(node)`, when the caller keeps them.
    """
    amounts = allocatable(node) if room is None else room
    used = use.used
    return Leaf(
        domain=tree.leaf_of.get(node.metadata.name),
        node_class=node_class(node) if kind is None else kind,
        free=tuple(max(0, amounts.get(name, 0) - used.get(name, 0)) for name in axis),
        count=1,
        occupants=use.occupants(),
        node=node.metadata.name,
    )


def axis_of(rooms: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """The axis of a cluster: every resource that some node has, ascending."""
    return tuple(sorted({name for room in rooms for name, amount in room.items() if amount}))


def node_topology(
    tree: DomainTree,
    nodes: Sequence[Node],
    pods: Sequence[Pod],
    *,
    owners: Mapping[str, PodOwner] | None = None,
) -> Topology:
    """One leaf per usable node: whole labels, and allocatable less what its pods request.

    `owners` gives the binding and pod set of pods (by uid) that belong to a gang.

    Order:   leaves ascend by node name; the axis by resource name.
    Raises:  SpecError when a pod's requests cannot be read (the API server admits no such pod).
    """
    rooms = {n.metadata.name: allocatable(n) for n in nodes if usable(n)}
    uses = {name: NodeUse() for name in rooms}
    for pod in pods:
        use = uses.get(pod.spec.node_name)
        if use is not None and holds_room(pod):
            use.add(pod.metadata.uid or _key(pod), pod_requests(pod.spec), _owner(owners, pod))
    axis = axis_of(rooms.values())
    present = {n.metadata.name: n for n in nodes if n.metadata.name in rooms}
    leaves = tuple(
        node_leaf(tree, present[name], uses[name], axis=axis, room=rooms[name])
        for name in sorted(rooms)
    )
    return assemble(tree, axis, leaves)


def assemble(tree: DomainTree, axis: Sequence[str], leaves: Sequence[Leaf]) -> Topology:
    """A topology of leaves that the caller keeps up to date."""
    return Topology(
        axis=tuple(axis),
        domains=tree.domains,
        leaves=tuple(leaves),
        label_keys=None,
        problems=tuple(f"HyperNode {name} {why}" for name, why in tree.problems.items()),
    )


def _owner(owners: Mapping[str, PodOwner] | None, pod: Pod) -> PodOwner | None:
    return owners.get(pod.metadata.uid) if owners else None


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _taint(wire: TaintWire) -> Taint | None:
    try:
        return Taint(wire.key, wire.value, Effect(wire.effect))
    except ValueError:
        return None
