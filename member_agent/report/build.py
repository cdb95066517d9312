"""A topology and what is bound in it, to the slices of a CapacityReport."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from global_sched.shared.api.core import TaintWire
from global_sched.shared.api.federation import (
    CapacityReportSpec,
    LeftBinding,
    ReportClass,
    ReportDomain,
    ReportNodes,
    ReportNodeTrouble,
    ReportOccupant,
    ReportOmission,
    ReportRow,
    ReportWorkload,
)
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import Instant, format_micro
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology
from global_sched.shared.placement import coarsen, encode_demand, without_occupants

OMISSIONS_LIMIT: Final = 50
"""More things left out than this are counted, not listed."""
REASON_LIMIT: Final = 300
"""Characters of one reason."""
AMOUNT_LIMIT: Final = 2**60
"""No amount in a report is larger; more than that on one node is reported as this much."""
AXIS_LIMIT: Final = 256
"""Resources in a report; names beyond are left out, so that no pod that asks for them fits."""
_FIRST_ON_AXIS: Final = ("cpu", "memory", "pods", "ephemeral-storage")
GONE_LIMIT: Final = 500
"""Withdrawals that one report shows to be gone; the next one shows more."""
SLICES_LIMIT: Final = 1024
"""The wire type's bound; a report that needs more is refused as a whole."""


class ReportTooLarge(ValueError):  # noqa: N818 - it says what the report is
    """Even rounded and sliced, the report does not fit; the message has the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportHeader:
    """What every slice says of the agent itself, apart from what it watches."""

    period_seconds: int = 10
    agent_version: str = ""
    scheduler_names: tuple[str, ...] = ()
    volcano_scheduler: bool = False
    volcano_topology: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that one generation of the report says.

    `topology` is counted: leaves without node names, with how many nodes each stands for.
    """

    cluster: ClusterName
    generation: int
    observed: Instant
    topology: Topology
    header: ReportHeader = ReportHeader()
    nodes: ReportNodes = ReportNodes()
    workloads: tuple[ReportWorkload, ...] = ()
    trouble: tuple[ReportNodeTrouble, ...] = ()
    omitted: tuple[ReportOmission, ...] = ()
    gone: tuple[LeftBinding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a report may be."""

    rows: int = 20_000
    slice_bytes: int = 229_376


@dataclass(slots=True)
class _Slice:
    """A slice being filled; sizes are bytes of JSON."""

    size: int
    tree: list[ReportDomain] = field(default_factory=list)
    classes: dict[NodeClass, int] = field(default_factory=dict)
    free: dict[tuple[int, ...], int] = field(default_factory=dict)
    rows: list[ReportRow] = field(default_factory=list)
    workloads: list[ReportWorkload] = field(default_factory=list)


def slices_of(seen: Observation, limits: Limits) -> list[CapacityReportSpec]:
    """The report's slices, in order; the first also holds node totals and what was left out.

    Past `limits.rows` free vectors are rounded down until the rows are fewer, and the resolution
    is named. When that does not suffice, occupants are left out (nothing can be evicted then), and
    that is named, too.

    Raises:  ReportTooLarge.
    """
    bounded, dropped = within_bounds(seen.topology)
    topology, resolution, omitted = shrink(bounded, limits.rows)
    head = CapacityReportSpec(
        cluster=seen.cluster,
        generation=seen.generation,
        observed_at=format_micro(seen.observed),
        period_seconds=seen.header.period_seconds,
        agent_version=seen.header.agent_version,
        scheduler_names=sorted(seen.header.scheduler_names) or None,
        volcano_scheduler=seen.header.volcano_scheduler,
        volcano_topology=seen.header.volcano_topology,
        label_keys=list(topology.label_keys or ()) or None,
        resolution=resolution or None,
        axis=list(topology.axis) or None,
    )
    left_out = _bounded([*seen.omitted, *omitted, *dropped, *_problems(topology)])
    demand = encode_demand(topology.demand)
    first = msgspec.structs.replace(
        head,
        nodes=seen.nodes,
        trouble=list(seen.trouble) or None,
        omitted=left_out or None,
        demand=demand,
        left=list(seen.gone[:GONE_LIMIT]) or None,
    )
    parts = list(_fill(topology, seen.workloads, (_size(first), _size(head)), limits.slice_bytes))
    if len(parts) > SLICES_LIMIT:
        raise ReportTooLarge(
            f"the report needs {len(parts)} slices of {limits.slice_bytes} bytes, and at most "
            f"{SLICES_LIMIT} are allowed: lower report_rows or reduce label_keys"
        )
    return [
        msgspec.structs.replace(
            first if number == 0 else head,
            slice=number,
            slices=len(parts),
            tree=part.tree or None,
            classes=[_render_class(node_class) for node_class in part.classes] or None,
            free=[list(vector) for vector in part.free] or None,
            rows=part.rows or None,
            workloads=part.workloads or None,
        )
        for number, part in enumerate(parts)
    ]


def report_bytes(slices: Iterable[CapacityReportSpec]) -> int:
    """The size of a report as JSON, all slices."""
    return sum(_size(part) for part in slices)


def within_bounds(topology: Topology) -> tuple[Topology, list[ReportOmission]]:
    """The topology with amounts and axis that a reader believes; what was left out.

    One absurd node must not make the whole report unbelievable.
    """
    axis = topology.axis
    if len(axis) > AXIS_LIMIT:
        first = [name for name in _FIRST_ON_AXIS if name in axis]
        others = [name for name in axis if name not in first]
        axis = tuple(sorted([*first, *others][:AXIS_LIMIT]))
    kept = [topology.axis.index(name) for name in axis]
    leaves = tuple(
        replace(leaf, free=tuple(min(leaf.free[at], AMOUNT_LIMIT) for at in kept))
        if len(kept) < len(leaf.free) or max(leaf.free, default=0) > AMOUNT_LIMIT
        else leaf
        for leaf in topology.leaves
    )
    reason = f"more than {AXIS_LIMIT} resources"
    dropped = sorted(set(topology.axis) - set(axis))
    return replace(topology, axis=axis, leaves=leaves), [
        ReportOmission(what=f"resource {name}", reason=reason) for name in dropped
    ]


def shrink(
    topology: Topology, rows: int
) -> tuple[Topology, dict[str, int], tuple[ReportOmission, ...]]:
    """The topology with at most that many leaves, the resolution it took, what was left out."""
    if len(topology.leaves) <= rows:
        return topology, {}, ()
    rounded, resolution = coarsen(topology, rows)
    if len(rounded.leaves) <= rows:
        return rounded, dict(resolution), ()
    bare, resolution = coarsen(without_occupants(topology), rows)
    reason = f"more than {rows} rows with them, so nothing here can be evicted to make room"
    return bare, dict(resolution), (ReportOmission(what="occupants", reason=reason),)


def _fill(
    topology: Topology,
    workloads: Iterable[ReportWorkload],
    sizes: tuple[int, int],
    limit: int,
) -> Iterator[_Slice]:
    """Pack domains, rows and workloads into slices of at most `limit` bytes each."""
    part = _Slice(size=sizes[0])
    for domain in topology.domains:
        item = _render_domain(domain)
        size = _size(item) + 1
        if part.size + size > limit:
            yield part
            part = _Slice(size=sizes[1])
        part.tree.append(item)
        part.size += size
    for leaf in topology.leaves:
        size = _row_size(part, leaf)
        if part.size + size > limit:
            yield part
            part = _Slice(size=sizes[1])
            size = _row_size(part, leaf)
        _add_row(part, leaf)
        part.size += size
    for workload in workloads:
        size = _size(workload) + 1
        if part.size + size > limit:
            yield part
            part = _Slice(size=sizes[1])
        part.workloads.append(workload)
        part.size += size
    yield part


def _row_size(part: _Slice, leaf: Leaf) -> int:
    """Bytes that a row adds, with its class and vector where the slice lacks them."""
    size = _size(_render_row(leaf, len(part.classes), len(part.free))) + 1
    if leaf.node_class not in part.classes:
        size += _size(_render_class(leaf.node_class)) + 1
    if leaf.free not in part.free:
        size += _size(leaf.free) + 1
    return size


def _add_row(part: _Slice, leaf: Leaf) -> None:
    node_class = part.classes.setdefault(leaf.node_class, len(part.classes))
    free = part.free.setdefault(leaf.free, len(part.free))
    part.rows.append(_render_row(leaf, node_class, free))


def _render_row(leaf: Leaf, node_class: int, free: int) -> ReportRow:
    occupants = [
        ReportOccupant(
            binding=o.binding, pod_set=o.pod_set, pods=o.pods, surplus=list(o.surplus) or None
        )
        for o in leaf.occupants
    ]
    return ReportRow(
        domain=leaf.domain or "",
        node_class=node_class,
        free=free,
        count=leaf.count,
        occupants=occupants or None,
    )


def _render_class(node_class: NodeClass) -> ReportClass:
    taints = [TaintWire(key=t.key, value=t.value, effect=t.effect) for t in node_class.taints]
    return ReportClass(
        labels=dict(node_class.labels) or None,
        taints=taints or None,
        cordoned=not node_class.schedulable,
    )


def _render_domain(domain: Domain) -> ReportDomain:
    return ReportDomain(
        name=domain.name,
        tier=domain.tier,
        tier_name=domain.tier_name,
        parent=domain.parent or "",
    )


def _problems(topology: Topology) -> list[ReportOmission]:
    """What is wrong with the tree: `HyperNode NAME reason`."""
    omissions = []
    for problem in topology.problems:
        kind, name, reason = problem.split(" ", 2)
        omissions.append(ReportOmission(what=f"{kind} {name}", reason=reason))
    return omissions


def _bounded(omissions: list[ReportOmission]) -> list[ReportOmission]:
    shown = [
        ReportOmission(what=o.what[:REASON_LIMIT], reason=o.reason[:REASON_LIMIT])
        for o in omissions[:OMISSIONS_LIMIT]
    ]
    if more := len(omissions) - len(shown):
        shown.append(ReportOmission(what=f"{more} more", reason="left out like those above"))
    return shown


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))
