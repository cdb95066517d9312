"""The room on the nodes as a topology: one leaf per usable node, as placement reads it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.topology import Leaf, Occupant, Topology
from global_sched.shared.placement import assemble, axis_of
from member_agent.cache.records import Unit
from member_agent.cache.state import ClusterCache

Occupancy = Mapping[str, Mapping[tuple[BindingId, PodSetName], int]]
"""By node: pods of gangs that may become victims."""


def occupancy(cache: ClusterCache, units: Iterable[Unit]) -> Occupancy:
    """Pods by node of the units that came through Karmada, without those that must stay."""
    found: dict[str, dict[tuple[BindingId, PodSetName], int]] = {}
    for unit in units:
        if unit.binding is None:
            continue
        for pod in unit.placed:
            if pod.preemptable:
                on_node = found.setdefault(cache.node_of(pod), {})
                owner = (unit.binding, pod.pod_set)
                on_node[owner] = on_node.get(owner, 0) + 1
    return found


def room_of(
    cache: ClusterCache,
    units: Iterable[Unit],
    *,
    held: Mapping[str, Mapping[str, int]] | None = None,
    closed: frozenset[str] = frozenset(),
) -> Topology:
    """Every usable node with what is free on it, less what is `held`; `closed` take no pods now.

    A node with a bound pod whose requests cannot be read is left out: its room is unknown.
    What is overcommitted is 0, never negative.

    Order:   leaves ascend by node name; the axis by resource name.
    """
    tree = cache.tree()
    names = [n for n, r in cache.nodes.items() if r.usable and n not in cache.unreadable_on]
    axis = axis_of(cache.nodes[name].room for name in names)
    occupied = occupancy(cache, units)
    leaves = []
    for name in sorted(names):
        record = cache.nodes[name]
        taken = (cache.used(name), (held or {}).get(name, {}))
        free = (record.room.get(r, 0) - sum(part.get(r, 0) for part in taken) for r in axis)
        kind = record.node_class
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


def _occupants(owners: Mapping[tuple[BindingId, PodSetName], int]) -> tuple[Occupant, ...]:
    return tuple(
        sorted(
            Occupant(binding=binding, pod_set=pod_set, pods=pods)
            for (binding, pod_set), pods in owners.items()
        )
    )
