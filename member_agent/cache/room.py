"""The room on the nodes as a topology: one leaf per usable node, as placement reads it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.topology import Leaf, Occupant, Topology
from global_sched.shared.placement import assemble, axis_of
from member_agent.cache.records import Unit
from member_agent.cache.state import ClusterCache
from member_agent.cache.surplus import surplus_turns

Occupancy = Mapping[str, Mapping[tuple[BindingId, PodSetName], list[int]]]
"""By node and pod set: for each of its pods the turn in which it may leave alone, 0 for none."""


def owner_of(unit: Unit) -> BindingId:
    """Whose pods a unit's are on a node: its binding, or itself when it has none."""
    return unit.binding or BindingId(unit.key)


def limited(cache: ClusterCache, units: Iterable[Unit]) -> Occupancy:
    """Pods by node of the units that wait for nodes which take few pods of one pod set each."""
    found: dict[str, dict[tuple[BindingId, PodSetName], list[int]]] = {}
    for unit in units:
        sets = {pod.pod_set for pod in unit.waiting if pod.shape.most_per_node()}
        for pod in unit.placed if sets else ():
            if pod.pod_set in sets:
                on_node = found.setdefault(cache.node_of(pod), {})
                on_node.setdefault((owner_of(unit), pod.pod_set), []).append(0)
    return found


def occupancy(cache: ClusterCache, units: Sequence[Unit]) -> Occupancy:
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
    units: Iterable[Unit],
    *,
    held: Mapping[str, Mapping[str, int]] | None = None,
    closed: frozenset[str] = frozenset(),
    placing: bool = False,
) -> Topology:
    """Every usable node with what is free on it, less what is `held`; `closed` take no pods now.

    A node with a bound pod whose requests cannot be read is left out: its room is unknown.
    What is overcommitted is 0, never negative. For `placing`, occupants are those that count
    against a limit per node, and nodes tell which host ports are taken; else occupants are victims.

    Order:   leaves ascend by node name; the axis by resource name.
    """
    tree = cache.tree()
    names = [n for n, r in cache.nodes.items() if r.usable and n not in cache.unreadable_on]
    axis = axis_of(cache.nodes[name].room for name in names)
    listed = list(units)
    occupied = limited(cache, listed) if placing else occupancy(cache, listed)
    wants_ports = placing and any(pod.shape.ports for unit in listed for pod in unit.waiting)
    leaves = []
    for name in sorted(names):
        record = cache.nodes[name]
        taken = (cache.used(name), (held or {}).get(name, {}))
        free = (record.room.get(r, 0) - sum(part.get(r, 0) for part in taken) for r in axis)
        kind = record.node_class
        if wants_ports and cache.ports(name):
            kind = replace(kind, ports=cache.ports(name))
        leaves.append(
            Leaf(
                domain=tree.leaf_of.get(name),
                node_class=replace(kind, schedulable=False) if name in closed else kind,
                free=tuple(max(0, amount) for amount in free),
                count=1,
                occupants=_occupants(occupied.get(name, {})),
                node=name,
            )
        )
    return assemble(tree, axis, leaves)


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
