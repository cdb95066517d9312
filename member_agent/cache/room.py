"""The room on the nodes as a topology: one leaf per usable node, as placement reads it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.last_resort import marked
from global_sched.shared.model.topology import Leaf, NodeClass, Occupant, Topology
from global_sched.shared.placement import assemble, axis_of
from member_agent.cache.records import PodUnit
from member_agent.cache.state import ClusterCache
from member_agent.cache.surplus import surplus_turns

Occupancy = Mapping[str, Mapping[tuple[BindingId, PodSetName], list[int]]]
"""By node and pod set: for each of its pods the turn in which it may leave alone, 0 for none."""

Held = Mapping[str, Mapping[str, int]]
"""Amounts by node that are reserved."""


def owner_of(unit: PodUnit) -> BindingId:
    """Whose pods a unit's are on a node: its binding, or itself when it has none."""
    return unit.binding or BindingId(unit.key)


def limited(cache: ClusterCache, units: Iterable[PodUnit]) -> Occupancy:
    """Pods by node of the units that wait for nodes which take few pods of one pod set each."""
    found: dict[str, dict[tuple[BindingId, PodSetName], list[int]]] = {}
    for unit in units:
        sets = {pod.pod_set for pod in unit.waiting if pod.shape.most_per_node()}
        for pod in unit.placed if sets else ():
            if pod.pod_set in sets:
                on_node = found.setdefault(cache.node_of(pod), {})
                on_node.setdefault((owner_of(unit), pod.pod_set), []).append(0)
    return found


def occupancy(cache: ClusterCache, units: Sequence[PodUnit]) -> Occupancy:
    """Pods by node of the units that came through Karmada, without those that must stay."""
    found: dict[str, dict[tuple[BindingId, PodSetName], list[int]]] = {}
    turns = surplus_turns(units)
    for unit in units:
        if unit.binding is None:
            continue
        for pod in unit.placed:
            if pod.preemptable:
                on_node = found.setdefault(cache.node_of(pod), {})
                own = on_node.setdefault((unit.binding, pod.pod_set), [])
                own.append(turns.get(pod.uid, 0))
    return found


def room_of(
    cache: ClusterCache,
    units: Iterable[PodUnit],
    *,
    held: Held | None = None,
    closed: frozenset[str] = frozenset(),
    last_resort: frozenset[str] = frozenset(),
    keys: frozenset[str] | None = None,
    placing: bool = False,
) -> Topology:
    """Every usable node with what is free on it, less what is `held`; `closed` take no pods now.

    `last_resort` are marked so that the leader counts them last.

    A node with a bound pod whose requests cannot be read is left out: its room is unknown.
    What is overcommitted is 0, never negative. For `placing`, occupants are those that count
    against a limit per node, and nodes tell which host ports are taken; else occupants are victims.

    keys:    the node label keys that anything asks for; others are left out (None: none are).
    Order:   leaves ascend by node name; the axis by resource name.
    """
    listed = list(units)
    axis = axis_of(r.room for name, r in cache.nodes.items() if is_there(cache, name))
    view = RoomView(
        cache=cache,
        axis=axis,
        held=held or {},
        closed=closed,
        last_resort=last_resort,
        keys=keys,
        occupied=limited(cache, listed) if placing else occupancy(cache, listed),
        ports=placing and wants_ports(listed),
    )
    leaves = [leaf for name in sorted(cache.nodes) if (leaf := view.leaf(name)) is not None]
    return assemble(cache.tree(), axis, leaves)


def is_there(cache: ClusterCache, node: str) -> bool:
    """Whether a node is part of the room at all."""
    record = cache.nodes.get(node)
    return record is not None and record.usable and node not in cache.unreadable_on


def wants_ports(units: Iterable[PodUnit]) -> bool:
    """Whether a waiting pod asks for host ports."""
    return any(pod.shape.ports for unit in units for pod in unit.waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomView:
    """How nodes are seen: see `room_of`."""

    cache: ClusterCache
    axis: tuple[str, ...]
    held: Held
    closed: frozenset[str]
    last_resort: frozenset[str] = frozenset()
    keys: frozenset[str] | None
    occupied: Occupancy
    ports: bool

    def leaf(self, name: str) -> Leaf | None:
        """A node as a leaf; None when it is not part of the room."""
        cache = self.cache
        if not is_there(cache, name):
            return None
        record, used, held = cache.nodes[name], cache.used(name), self.held.get(name, {})
        free = [record.room.get(r, 0) - used.get(r, 0) - held.get(r, 0) for r in self.axis]
        return Leaf(
            domain=cache.tree().leaf_of.get(name),
            node_class=self._class(name, record.node_class),
            free=tuple([max(0, amount) for amount in free]),
            count=1,
            occupants=_occupants(self.occupied[name]) if name in self.occupied else (),
            node=name,
        )

    def _class(self, name: str, kind: NodeClass) -> NodeClass:
        kind = marked(kind) if name in self.last_resort else kind
        ports = self.cache.ports(name) if self.ports else kind.ports
        schedulable = kind.schedulable and name not in self.closed
        labels = kind.labels
        if self.keys is not None:
            labels = tuple([item for item in labels if item[0] in self.keys])
        if (labels, schedulable, ports) == (kind.labels, kind.schedulable, kind.ports):
            return kind
        return NodeClass(labels=labels, taints=kind.taints, schedulable=schedulable, ports=ports)


def _occupants(owners: Mapping[tuple[BindingId, PodSetName], list[int]]) -> tuple[Occupant, ...]:
    return tuple(
        sorted(
            Occupant(
                binding=binding,
                pod_set=pod_set,
                pods=len(turns),
                surplus=tuple(sorted(turn for turn in turns if turn)),
            )
            for (binding, pod_set), turns in owners.items()
        )
    )
