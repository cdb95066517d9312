"""A topology, grouped and indexed once: what all Spaces of it start from."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.gang import Gang
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.topology import NodeClass, Occupant, Topology
from global_sched.shared.placement.bounded_cache import BoundedCache
from global_sched.shared.placement.capacity.histogram import class_order
from global_sched.shared.placement.request.compile import TableKey
from global_sched.shared.placement.request.node_match import ShapesOnAxis
from global_sched.shared.placement.sentinels import LARGEST_AMOUNT
from global_sched.shared.placement.tree.domain_index import TreeIndex, tree_index

if TYPE_CHECKING:
    from global_sched.shared.model.verdict import Verdict
    from global_sched.shared.placement.request.compile import Task
    from global_sched.shared.placement.result import Glance, NotPlaced, Placed

T = TypeVar("T", bound=Hashable)

MOST_TABLES = 256
"""Shapes of which a baseline, or a Space, keeps the counts."""
MOST_GANGS = 4096
"""Gangs of which a baseline keeps what they compile to, and its answers."""
_MOST_GRIDS = 32
_MOST_NODES = 2**20
"""More alike nodes count as this many, so that sums over an absurd report fit 63 bits."""

SortKey = tuple[tuple[int, ...], int, int, tuple[str, ...]]
"""What orders the rows of a domain: free vector, occupants, class, marks."""


@dataclass(slots=True)
class BaseTable:
    """How many pods of one shape each row's nodes and each domain hold at the start."""

    caps: list[int]
    sums: NDArray[np.int64]
    device_free: NDArray[np.int64]
    slack: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, kw_only=True)
class NodeClassSet:
    """What baselines have in common that refuse the same gangs for good; equal ones are one object.

    `tiers` are the (tier, tier name) pairs of the domains, in their order.
    """

    axis: tuple[str, ...]
    classes: tuple[NodeClass, ...]
    label_keys: tuple[str, ...] | None
    empty: bool
    tiers: tuple[tuple[int, str], ...]
    faults: str
    """What a refusal says of the tree."""
    ambiguous: tuple[str, ...]
    """Tier names that mean different tiers in different trees."""
    shapes: ShapesOnAxis
    """What pods ask of nodes on this axis."""

    grids: BoundedCache[Hashable, object] = field(default_factory=lambda: BoundedCache(_MOST_GRIDS))
    """Tables of numbers that searches over clusters of this kind share."""
    tasks: BoundedCache[int, tuple[Gang, "Task | Verdict"]] = field(
        default_factory=lambda: BoundedCache(MOST_GANGS)
    )
    """What gangs compile to here, by identity: as long as any cluster of this kind is unchanged."""
    key: "_Key" = field(init=False)
    """Equal for equal ones."""

    def __post_init__(self) -> None:
        parts = (
            self.axis,
            self.classes,
            self.label_keys,
            self.empty,
            self.tiers,
            self.faults,
            self.ambiguous,
        )
        object.__setattr__(self, "key", _Key(parts, hash(parts)))


@dataclass(frozen=True, slots=True)
class _Key:
    """Parts with their hash, which is asked for in every cycle."""

    parts: tuple[object, ...]
    hashed: int

    def __hash__(self) -> int:
        return self.hashed


def _class_set(
    topology: Topology, index: TreeIndex, classes: tuple[NodeClass, ...]
) -> NodeClassSet:
    tiers = tuple(dict.fromkeys((domain.tier, domain.tier_name) for domain in index.domains))
    return NodeClassSet(
        axis=topology.axis,
        classes=classes,
        label_keys=topology.label_keys,
        empty=not topology.leaves,
        tiers=tiers,
        faults=index.faults,
        ambiguous=tuple(sorted(index.ambiguous)),
        shapes=ShapesOnAxis(topology.axis, classes),
    )


@dataclass(slots=True, kw_only=True)
class Baseline:
    """Rows of alike nodes (domain, class, free, occupants), their counts, and the tree.

    Nodes that differ in name only are one row. Classes and occupants are numbered in their order,
    so that rows compare by numbers and yet by value.
    """

    topology: Topology
    """An equal one, so that the baseline does not keep alive what it is kept for."""
    index: TreeIndex
    class_set: NodeClassSet
    order_keys: frozenset[str] | None
    classes: tuple[NodeClass, ...]
    occupants: tuple[tuple[Occupant, ...], ...]
    domain: list[int]
    kind: list[int]
    free: list[tuple[int, ...]]
    tenant: list[int]
    """Position in `occupants`."""
    count: list[int]
    members: list[list[int]]
    """Per row the leaves that are its named nodes, ascending by name; empty for counted ones."""
    matrix: NDArray[np.int64] = field(init=False)
    """Free vectors, bounded."""
    ordered: list[list[tuple[SortKey, int]]]
    """Per domain its own rows, ascending."""
    row_of: dict[int, int]
    """The row of each leaf."""
    named: bool
    """Whether every leaf is one node with a name."""
    rank: dict[int, int]
    """The place of each named leaf in the order of names."""
    is_shared: bool = False
    """Whether the class set is that of all clusters that are alike (`share_class_sets`)."""
    tables: BoundedCache[TableKey, BaseTable] = field(
        default_factory=lambda: BoundedCache(MOST_TABLES)
    )
    base_counts: BoundedCache[object, NDArray[np.int64]] = field(
        default_factory=lambda: BoundedCache(MOST_TABLES)
    )
    """Per shape (as `FitCounts` keys it) the three counts of each domain at the start."""
    glances: BoundedCache[int, tuple[Gang, "Glance"]] = field(
        default_factory=lambda: BoundedCache(MOST_GANGS)
    )
    answers: BoundedCache[int, tuple[Gang, "Placed | NotPlaced"]] = field(
        default_factory=lambda: BoundedCache(MOST_GANGS)
    )
    """Answers in untouched room, by the gang's identity: unchanged clusters stay answered."""
    rooms: dict[tuple[PodShape, ...], NDArray[np.int64]] = field(default_factory=dict)
    """Pods of each shape of the latest demand profile that fit at the start, each alone."""
    kinds: NDArray[np.int64] = field(init=False)
    places: NDArray[np.int64] = field(init=False)
    sizes: NDArray[np.int64] = field(init=False)
    """Per row the class, the domain, and the number of nodes, to count with."""
    _tenants: dict[tuple[Occupant, ...], int] = field(default_factory=dict)
    _nodes: list[int] = field(default_factory=list)
    _free: list[int] = field(default_factory=list)

    def tenants(self) -> dict[tuple[Occupant, ...], int]:
        """The number of each set of occupants."""
        if not self._tenants:
            self._tenants = {item: at for at, item in enumerate(self.occupants)}
        return self._tenants

    def freeze(self) -> None:
        """Derive what counting needs, once all rows are there."""
        self.kinds = np.array(self.kind, dtype=np.int64)
        self.places = np.array(self.domain, dtype=np.int64)
        self.count = [min(nodes, _MOST_NODES) for nodes in self.count]
        self.sizes = np.array(self.count, dtype=np.int64)
        free = [[min(f, LARGEST_AMOUNT) for f in vector] for vector in self.free]
        self.matrix = np.array(free, dtype=np.int64).reshape(
            len(self.free), len(self.topology.axis)
        )

    def free_totals(self) -> list[int]:
        """The free amounts of all nodes, by position on the axis."""
        if not self._free:
            self._free = [0] * len(self.topology.axis)
            for free, count in zip(self.free, self.count, strict=True):
                for at, amount in enumerate(free):
                    self._free[at] += amount * count
        return self._free

    def nodes(self, domain: int) -> int:
        """Nodes in a domain (by position): takes never move one elsewhere."""
        if not self._nodes:
            held = [0] * (self.index.root + 1)
            for at, count in zip(self.domain, self.count, strict=True):
                held[at] += count
            for at in range(self.index.root):
                held[self.index.parent[at]] += held[at]
            self._nodes = held
        return self._nodes[domain]


def build_baseline(topology: Topology, order_keys: frozenset[str] | None) -> Baseline:
    """Group a topology's leaves into rows, by value."""
    index = tree_index(topology.domains, topology.problems)
    kinds = {id(leaf.node_class): leaf.node_class for leaf in topology.leaves}
    classes = tuple(sorted(set(kinds.values()), key=lambda c: class_order(c, order_keys)))
    class_at = _numbers(kinds, classes)
    held = {id(leaf.occupants): leaf.occupants for leaf in topology.leaves}
    occupants = tuple(sorted(set(held.values())))
    occupants_at = _numbers(held, occupants)
    baseline = Baseline(
        topology=replace(topology),
        index=index,
        class_set=_class_set(topology, index, classes),
        order_keys=order_keys,
        classes=classes,
        occupants=occupants,
        domain=[],
        kind=[],
        free=[],
        tenant=[],
        count=[],
        members=[],
        ordered=[[] for _ in range(index.root + 1)],
        row_of={},
        named=bool(topology.leaves) and all(leaf.node for leaf in topology.leaves),
        rank={},
    )
    rows: dict[tuple[int, int, tuple[int, ...], int], int] = {}
    for place, at in enumerate(_leaf_order(topology)):
        leaf = topology.leaves[at]
        baseline.rank[at] = place
        if leaf.count <= 0:
            continue
        key = (
            index.at(leaf.domain),
            class_at[id(leaf.node_class)],
            leaf.free,
            occupants_at[id(leaf.occupants)],
        )
        row = rows.get(key)
        if row is None:
            row = rows[key] = _add_row(baseline, key)
        baseline.count[row] += leaf.count
        baseline.row_of[at] = row
        if baseline.named:
            baseline.members[row].append(at)
    for own in baseline.ordered:
        own.sort()
    baseline.freeze()
    return baseline


def _numbers(by_id: Mapping[int, T], ordered: Sequence[T]) -> dict[int, int]:
    """By identity the place of each in the order of its equals: hashing them takes long."""
    numbers = {id(one): at for at, one in enumerate(ordered)}
    if len(numbers) < len(by_id):
        places = {one: at for at, one in enumerate(ordered)}
        numbers |= {key: places[one] for key, one in by_id.items()}
    return numbers


def _leaf_order(topology: Topology) -> list[int]:
    """Named leaves ascend by name, so that the lowest names are taken first."""
    positions = list(range(len(topology.leaves)))
    if any(leaf.node for leaf in topology.leaves):
        positions.sort(key=lambda at: topology.leaves[at].node)
    return positions


def _add_row(baseline: Baseline, key: tuple[int, int, tuple[int, ...], int]) -> int:
    domain, kind, free, tenant = key
    row = len(baseline.count)
    baseline.domain.append(domain)
    baseline.kind.append(kind)
    baseline.free.append(free)
    baseline.tenant.append(tenant)
    baseline.count.append(0)
    baseline.members.append([])
    baseline.ordered[domain].append(((free, tenant, kind, ()), row))
    return row


def baseline_of(topology: Topology, order_keys: frozenset[str] | None) -> Baseline:
    """The baseline of a topology, which keeps it: a snapshot shares unchanged topologies."""
    return topology.kept((build_baseline, order_keys), lambda: build_baseline(topology, order_keys))


def share_class_sets(baselines: Iterable[Baseline]) -> list[NodeClassSet]:
    """The class set of each, where equal ones are one object.

    So what is worked out for one cluster serves all that are alike. New baselines take over what
    is there already; a baseline that has been shared keeps its own, since it may be in use.
    """
    ordered = list(baselines)
    known: dict[Hashable, NodeClassSet] = {}
    for one in ordered:
        if one.is_shared:
            known.setdefault(one.class_set.key, one.class_set)
    found = []
    for one in ordered:
        shared = known.setdefault(one.class_set.key, one.class_set)
        if not one.is_shared:
            one.class_set, one.is_shared = shared, True
        found.append(shared)
    return found
