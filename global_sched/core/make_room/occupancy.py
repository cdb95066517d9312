"""Occupancy of one cluster: rows of nodes in the order of the tree, and the gangs on them.

Made once for a report and the gangs that run there, and kept while both are the same objects.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Amounts, Gang, TopologyConstraint
from global_sched.shared.model.ids import BindingId, ClusterName, PodSetName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Running
from global_sched.shared.model.topology import Leaf, NodeClass, Occupant
from global_sched.shared.model.workload import Division, Workload
from global_sched.shared.placement import Limit, TreeIndex, limit_of, tree_index

Ints = NDArray[np.int64]
CRITICAL = 2_000_000_000
"""Priorities from here on belong to the system: such workloads never leave for another one."""
_CRITICAL_CLASSES = frozenset({"system-node-critical", "system-cluster-critical"})
NEVER = -(2**62)
FACTS = 12
LARGEST = 2**40
"""Amounts are cut to this here, so that sums fit 63 bits: more on one node makes no difference."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Pods that leave a cluster together, and that a report locates: a possible victim.

    All of a gang, or what a divided or duplicated workload has in this one cluster.
    """

    workload: Workload
    grant: Grant
    amount: Resources
    """What all its pods ask for."""
    rows: tuple[int, ...]
    """The rows with its pods."""
    surplus: tuple[tuple[PodSetName, tuple[int, ...]], ...] = ()
    """Pods beyond its minimum by pod set, in the order in which they leave, each by its row."""


@dataclass(frozen=True, slots=True)
class Tops:
    """The highest domains that a constraint allows, as ranges of rows. No domain: the cluster."""

    low: Ints
    high: Ints
    position: tuple[int, ...]


@dataclass(slots=True)
class Occupancy:
    """One cluster. `free` is by row and position on the axis; entries ascend by row."""

    cluster: ClusterName
    axis: tuple[str, ...]
    index: TreeIndex
    leaves: tuple[Leaf, ...]
    free: Ints
    count: Ints
    kind: Ints
    kinds: tuple[NodeClass, ...]
    holders: list[Holder]
    entry_row: Ints
    entry_holder: Ints
    freed: Ints
    """What each node of the row gets back when all pods of the holder leave, by entry."""
    range_of: dict[int, tuple[int, int]]
    """The rows under each position of the tree."""
    entries_of: list[list[int]]
    """The entries of each holder."""
    amounts: Ints
    """What each holder has in all, by position on the axis."""
    facts: Ints
    """Of each holder: priority, when its decision was made (at, order), since when it has work to
    lose, whether it may leave at all, whether it ends some day, since when its hold protects it,
    how often that has doubled, since when it runs, whether it fell below its minimum (then no
    time protects it), when it was resized, and the cooldown after that."""
    queues: list[QueueName]
    _tops: dict[TopologyConstraint | None, Tops] = field(default_factory=dict)

    def tops(self, constraint: TopologyConstraint | None) -> Tops:
        """Where a gang with this constraint may lie: disjoint domains, as large as allowed."""
        found = self._tops.get(constraint)
        if found is None:
            found = self._tops[constraint] = self._make_tops(constraint)
        return found

    def _make_tops(self, constraint: TopologyConstraint | None) -> Tops:
        limit, index = limit_of(self.index, constraint), self.index
        name = "" if constraint is None else constraint.highest_tier_name
        meant = index.ambiguous.get(name, {})
        positions: list[int] = []
        if isinstance(limit, Limit) and limit.tier is None:
            positions = [self.index.root]
        elif isinstance(limit, Limit) and limit.tier is not None:
            for at, parent in enumerate(index.parent[: index.root]):
                highest = meant.get(index.tree_of(at), limit.tier)
                above = index.tier[parent] > highest or parent == index.root
                if index.tier[at] <= highest and above:
                    positions.append(at)
        ranges = [self.range_of[at] for at in positions]
        return Tops(
            np.array([low for low, _ in ranges], dtype=np.int64),
            np.array([high for _, high in ranges], dtype=np.int64),
            tuple(positions),
        )


def occupancy_of(cluster: Cluster, running: Running) -> Occupancy | None:
    """The occupancy of a cluster, which its report keeps; None without a report.

    Where nothing runs only the report counts.
    """
    if cluster.capacity is None:
        return None
    name, capacity = cluster.name, cluster.capacity
    return capacity.topology.kept(
        (occupancy, name),
        lambda: occupancy(name, capacity, running),
        other=running if running.workloads else None,
    )


def occupancy(cluster: ClusterName, capacity: Capacity, running: Running) -> Occupancy:
    """Read one cluster's report against the gangs that run there."""
    topology = capacity.topology
    index = tree_index(topology.domains)
    leaves, ranges = _in_tree_order(topology.leaves, index)
    kinds = tuple(sorted({leaf.node_class for leaf in leaves}))
    kind_at = {kind: at for at, kind in enumerate(kinds)}
    bounded = [[min(amount, LARGEST) for amount in leaf.free] for leaf in leaves]
    free = np.array(bounded, dtype=np.int64).reshape(len(leaves), len(topology.axis))
    holders, entries = _holders(cluster, leaves, running.workloads)
    position = {name: at for at, name in enumerate(topology.axis)}
    freed = np.zeros((len(entries), len(topology.axis)), dtype=np.int64)
    for at, (_, _, amounts) in enumerate(entries):
        for name, amount in amounts:
            if name in position:
                freed[at, position[name]] = min(amount, LARGEST)
    return Occupancy(
        cluster=cluster,
        axis=topology.axis,
        index=index,
        leaves=leaves,
        free=free,
        count=np.array([leaf.count for leaf in leaves], dtype=np.int64),
        kind=np.array([kind_at[leaf.node_class] for leaf in leaves], dtype=np.int64),
        kinds=kinds,
        holders=holders,
        entry_row=np.array([row for row, _, _ in entries], dtype=np.int64),
        entry_holder=np.array([holder for _, holder, _ in entries], dtype=np.int64),
        freed=freed,
        range_of=ranges,
        entries_of=_by_holder(entries, len(holders)),
        amounts=_amounts(holders, topology.axis),
        facts=np.array([_kept_facts(one) for one in holders], dtype=np.int64).reshape(-1, FACTS),
        queues=[one.workload.queue for one in holders],
    )


def _amounts(holders: list[Holder], axis: tuple[str, ...]) -> Ints:
    """What each holder has in all."""
    amounts = [dict(one.amount.entries) for one in holders]
    found = [[min(has.get(name, 0), LARGEST) for name in axis] for has in amounts]
    return np.array(found, dtype=np.int64).reshape(len(holders), len(axis))


def _kept_facts(holder: Holder) -> tuple[int, ...]:
    """The workload owns them: most of a cluster's are the same from one cycle to the next."""
    return holder.workload.kept((_facts, holder.grant.cluster), lambda: _facts(holder))


def _facts(holder: Holder) -> tuple[int, ...]:
    """See `Occupancy.facts`."""
    workload, decision = holder.workload, holder.workload.decision
    assert decision is not None
    since = max(decision.at, workload.checkpoint or decision.at)
    leaves = int(may_ever_leave(workload))
    ends = int(workload.demand.division == Division.WHOLE)
    broken = workload.fell_below_minimum(holder.grant)
    claimed, began = decision.claimed, decision.runs_since
    elastic = None if workload.demand.gang is None else workload.demand.gang.elastic
    if broken or claimed is None:
        claimed = Instant(NEVER)
    return (
        workload.priority,
        decision.at,
        decision.order,
        since,
        leaves,
        ends,
        claimed,
        decision.evictions,
        NEVER if broken else began,
        int(broken),
        decision.resized,
        0 if broken or elastic is None else elastic.cooldown * SECOND,
    )


def may_ever_leave(workload: Workload) -> bool:
    """Whether it may be a victim at all."""
    critical = workload.priority >= CRITICAL or workload.priority_class in _CRITICAL_CLASSES
    return workload.preemptable and not critical


def _by_holder(entries: "list[_Entry]", holders: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(holders)]
    for at, (_, holder, _) in enumerate(entries):
        found[holder].append(at)
    return found


def _in_tree_order(
    leaves: Iterable[Leaf], index: TreeIndex
) -> tuple[tuple[Leaf, ...], dict[int, tuple[int, int]]]:
    """The leaves such that every domain is one stretch of them."""
    own: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        if leaf.count > 0:
            own.setdefault(index.at(leaf.domain), []).append(leaf)
    ordered: list[Leaf] = []
    ranges: dict[int, tuple[int, int]] = {}
    stack: list[tuple[int, int | None]] = [(index.root, None)]
    while stack:
        at, start = stack.pop()
        if start is not None:
            ranges[at] = (start, len(ordered))
            continue
        stack.append((at, len(ordered)))
        ordered += own.get(at, [])
        stack += [(child, None) for child in reversed(index.children[at])]
    return tuple(ordered), ranges


_Entry = tuple[int, int, Resources]


def _holders(
    cluster: ClusterName, leaves: tuple[Leaf, ...], workloads: Iterable[Workload]
) -> tuple[list[Holder], list[_Entry]]:
    """Those whose pods a report locates, and what each node gets back of each of them."""
    sitting: dict[BindingId, list[tuple[int, Occupant]]] = {}
    for row, leaf in enumerate(leaves):
        for occupant in leaf.occupants:
            sitting.setdefault(occupant.binding, []).append((row, occupant))
    holders: list[Holder] = []
    entries: list[_Entry] = []
    for workload in workloads:
        found = sitting.get(workload.binding_id)
        holder = None if found is None else _holder(workload, cluster, leaves, found)
        gang = workload.demand.gang
        if holder is None or found is None or gang is None:
            continue
        per_row: dict[int, list[Resources]] = {}
        for row, occupant in found:
            pods = Amounts(((occupant.pod_set, occupant.pods),))
            per_row.setdefault(row, []).append(gang.requests(pods))
        entries += [
            (row, len(holders), parts[0] if len(parts) == 1 else Resources.total(parts))
            for row, parts in per_row.items()
        ]
        holders.append(holder)
    entries.sort(key=lambda entry: entry[:2])
    return holders, entries


def _holder(
    workload: Workload,
    cluster: ClusterName,
    leaves: tuple[Leaf, ...],
    found: list[tuple[int, Occupant]],
) -> Holder | None:
    """Its pods here as a possible victim; None when they are not counted yet."""
    seen: dict[PodSetName, int] = {}
    for row, occupant in found:
        pods = occupant.pods * leaves[row].count
        seen[occupant.pod_set] = seen.get(occupant.pod_set, 0) + pods
    counted = Amounts.of(seen)
    known = workload.kept(
        (_held, cluster, counted.entries), lambda: _held(workload, cluster, counted)
    )
    gang = workload.demand.gang
    if known is None or gang is None:
        return None
    rows = tuple(sorted({row for row, _ in found}))
    surplus = _surplus(gang, known.grant, leaves, found) if known.elastic else ()
    return Holder(workload, known.grant, known.amount, rows, surplus)


class _Held(NamedTuple):
    """What a possible victim has in a cluster; `elastic`: its surplus may leave without it."""

    grant: Grant
    amount: Resources
    elastic: bool


def _held(workload: Workload, cluster: ClusterName, counted: Amounts) -> _Held | None:
    """What of these pods may leave together; None where they are not what was decided.

    A gang is never split: one that is in several clusters is about to move.
    """
    decision, gang = workload.decision, workload.demand.gang
    if gang is None or decision is None:
        return None
    together = workload.demand.division == Division.WHOLE
    grant = decision.grant(cluster)
    progress = workload.progress_in(cluster)
    if grant is None or progress is None or (together and len(decision.grants) != 1):
        return None
    if not progress.bound.covers(counted):
        return None
    if decision.give_up and not grant.amounts.covers(counted):
        return None  # pods of it are being evicted: their room is not to be given twice
    if not {name for name, _ in counted.entries} <= {pod_set.name for pod_set in gang.pod_sets}:
        return None
    return _Held(grant, gang.requests(grant.amounts), together and counted == grant.amounts)


def _surplus(
    gang: Gang, grant: Grant, leaves: tuple[Leaf, ...], found: list[tuple[int, Occupant]]
) -> tuple[tuple[PodSetName, tuple[int, ...]], ...]:
    """The rows of the pods that may leave without breaking the gang, in the order of their turns.

    Nothing of a pod set whose turns are not all known.
    """
    if not any(occupant.surplus for _, occupant in found):
        return ()
    minimum = gang.minimum_amounts()
    turns: dict[PodSetName, dict[int, int]] = {}
    for row, occupant in found:
        for turn in occupant.surplus if leaves[row].count == 1 else ():
            turns.setdefault(occupant.pod_set, {})[turn] = row
    result = []
    for name, by_turn in sorted(turns.items()):
        spare = grant.amounts.get(name) - minimum.get(name)
        rows = []
        for turn in range(1, spare + 1):
            if turn not in by_turn:
                break
            rows.append(by_turn[turn])
        if rows:
            result.append((name, tuple(rows)))
    return tuple(result)


def freed_by(
    leaves: Iterable[Leaf],
    leaving: Mapping[BindingId, Amounts | None],
    gangs: Mapping[BindingId, Gang],
) -> dict[tuple[Occupant, ...], Resources]:
    """What each node gets back once these left: all pods of a binding, or so many by turns."""
    result: dict[tuple[Occupant, ...], Resources] = {}
    for leaf in leaves:
        if not leaf.occupants or leaf.occupants in result:
            continue
        parts = []
        for occupant in leaf.occupants:
            gang = gangs.get(occupant.binding)
            if gang is None or occupant.binding not in leaving:
                continue
            amounts = leaving[occupant.binding]
            most = None if amounts is None else amounts.get(occupant.pod_set)
            turns = occupant.surplus
            pods = occupant.pods if most is None else sum(1 for turn in turns if turn <= most)
            shape = next((p.shape for p in gang.pod_sets if p.name == occupant.pod_set), None)
            if pods and shape is not None:
                parts.append(shape.requests.times(pods))
        if parts:
            result[leaf.occupants] = Resources.total(parts)
    return result
