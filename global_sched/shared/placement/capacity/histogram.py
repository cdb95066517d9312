"""Topologies in canonical form: alike nodes counted, classes reduced, free room rounded down."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.pods import Taint
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, NodeClass, Occupant, Topology

_STEPS = 40
_BYTES = 2**20
_COARSE = ("cpu", "memory", "ephemeral-storage", "pods")
"""Resources whose free amounts may be rounded; devices are few and always exact."""

ClassOrder = tuple[
    tuple[tuple[str, str], ...], tuple[Taint, ...], bool, tuple[tuple[str, str], ...]
]
LeafKey = tuple[DomainId | None, NodeClass, tuple[int, ...], tuple[Occupant, ...]]


def class_order(kind: NodeClass, keys: frozenset[str] | None) -> ClassOrder:
    """What orders node classes: the labels under `keys` first, so that both sides agree.

    A side that sees more labels (the agent) orders nodes that differ only in those after all that
    the other side can tell apart.
    """
    first = kind.labels if keys is None else tuple(i for i in kind.labels if i[0] in keys)
    return first, kind.taints, not kind.schedulable, kind.labels


def reduce_class(kind: NodeClass, keys: frozenset[str]) -> NodeClass:
    """The class with only the labels under these keys, and without the host ports in use."""
    if not kind.ports and all(key in keys for key, _ in kind.labels):
        return kind
    return replace(kind, labels=tuple(item for item in kind.labels if item[0] in keys), ports=())


def histogram(topology: Topology, label_keys: Sequence[str]) -> Topology:
    """The same room with alike nodes counted: what a capacity report tells.

    Nodes are alike when domain, class (reduced to the label keys), free vector and occupants are
    equal. Node names are dropped. No pod shape that selects on these keys can tell the difference.

    Order:   leaves ascend by domain (none first), class, free vector, occupants.
    """
    keys = frozenset(label_keys)
    reduced: dict[NodeClass, NodeClass] = {}
    counts: dict[LeafKey, int] = {}
    for leaf in topology.leaves:
        kind = reduced.get(leaf.node_class)
        if kind is None:
            kind = reduced[leaf.node_class] = reduce_class(leaf.node_class, keys)
        key = (leaf.domain, kind, leaf.free, leaf.occupants)
        counts[key] = counts.get(key, 0) + leaf.count
    return replace(topology, leaves=counted_leaves(counts), label_keys=tuple(sorted(keys)))


def round_down(topology: Topology, resolution: Mapping[str, int]) -> Topology:
    """Every free amount rounded down to a multiple of its resource's resolution, never up.

    Nodes that become alike are merged, unless they have names.
    """
    steps = [max(1, resolution.get(name, 1)) for name in topology.axis]
    if all(step == 1 for step in steps):
        return topology
    leaves = [
        replace(leaf, free=tuple(f - f % s for f, s in zip(leaf.free, steps, strict=True)))
        for leaf in topology.leaves
    ]
    if any(leaf.node for leaf in leaves):
        return replace(topology, leaves=tuple(leaves))
    counts: dict[LeafKey, int] = {}
    for leaf in leaves:
        key = (leaf.domain, leaf.node_class, leaf.free, leaf.occupants)
        counts[key] = counts.get(key, 0) + leaf.count
    return replace(topology, leaves=counted_leaves(counts))


def coarsen(topology: Topology, most: int) -> tuple[Topology, Resources]:
    """A counted topology with at most so many leaves, if rounding achieves it; and the resolution.

    CPU, memory, storage and pod counts become coarser together, by doubling; devices stay exact.
    The resolution is empty when nothing was rounded.
    """
    resolution: dict[str, int] = {}
    result = topology
    for step in range(_STEPS):
        if len(result.leaves) <= most:
            break
        resolution = {name: _unit(name) << step for name in topology.axis if name in _COARSE}
        result = round_down(topology, resolution)
        if all(_is_zero(result, name) for name in resolution):
            break
    return result, Resources.of(resolution)


def without_occupants(topology: Topology) -> Topology:
    """The same room without saying whose pods sit where; nothing there can be evicted then."""
    counts: dict[LeafKey, int] = {}
    for leaf in topology.leaves:
        key = (leaf.domain, leaf.node_class, leaf.free, ())
        counts[key] = counts.get(key, 0) + leaf.count
    return replace(topology, leaves=counted_leaves(counts))


def _unit(name: str) -> int:
    """The finest rounding: a quarter CPU, 256 MiB, two pods."""
    return {"cpu": 250, "pods": 2}.get(name, 256 * _BYTES)


def _is_zero(topology: Topology, name: str) -> bool:
    position = topology.axis.index(name)
    return all(leaf.free[position] == 0 for leaf in topology.leaves)


def counted_leaves(counts: Mapping[LeafKey, int]) -> tuple[Leaf, ...]:
    """Leaves in canonical order: domain (none first), class, free vector, occupants."""

    def order(key: LeafKey) -> tuple[str, ClassOrder, tuple[int, ...], tuple[Occupant, ...]]:
        domain, kind, free, occupants = key
        return domain or "", class_order(kind, None), free, occupants

    return tuple(
        Leaf(domain=key[0], node_class=key[1], free=key[2], occupants=key[3], count=count)
        for key, count in sorted(counts.items(), key=lambda one: order(one[0]))
    )
