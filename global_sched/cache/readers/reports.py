"""CapacityReports to values: slices are joined, bounded and checked before anything is believed."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Final

from global_sched.cache.readers.selectors import SelectorError, taints_of
from global_sched.shared.api.federation import (
    CapacityReportSpec,
    ReportClass,
    ReportDomain,
    ReportNodes,
    ReportRow,
    ReportWorkload,
)
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.model.cluster import Capacity
from global_sched.shared.model.decision_text import amounts_of
from global_sched.shared.model.ids import (
    BindingId,
    ClusterName,
    DecisionId,
    DomainId,
    PodSetName,
)
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from global_sched.shared.model.printable import is_dns_name, printable
from global_sched.shared.model.recovery_spec import NOT_HERE
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import (
    Domain,
    Leaf,
    NodeClass,
    Occupant,
    Topology,
    Wanted,
)
from global_sched.shared.model.workload import PodLoss, Progress
from global_sched.shared.placement import DemandError, decode_demand

ROWS_LIMIT: Final = 200_000
DOMAINS_LIMIT: Final = 100_000
WORKLOADS_LIMIT: Final = 200_000
AXIS_LIMIT: Final = 256
AMOUNT_LIMIT: Final = 2**60
NODES_LIMIT: Final = 1_000_000
LOSSES_LIMIT: Final = 10


class ReportError(ValueError):
    """A report that is not believed; the text names the field and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReport:
    """One complete generation: capacity with nothing deducted, and what is bound."""

    capacity: Capacity
    progress: dict[BindingId, Progress] = field(default_factory=dict)
    nodes: ReportNodes = ReportNodes()
    left: frozenset[tuple[BindingId, Instant]] = frozenset()
    """The withdrawals, by binding and time, of which nothing is there any more."""

    def same_room(self, other: "MemberReport") -> bool:
        """Whether only the time and the generation differ."""
        mine = replace(self.capacity, observed=other.capacity.observed, generation=0)
        return mine == replace(other.capacity, generation=0)


def check_header(namespace: str, spec: CapacityReportSpec) -> None:
    """Refuse a report that is not where its cluster writes. Raises ReportError."""
    if not spec.cluster or namespace != execution_namespace(spec.cluster):
        raise ReportError(
            f"spec.cluster: {spec.cluster[:60]!r} does not report in {namespace}; "
            "each agent writes in the namespace of its own cluster"
        )
    if spec.slice >= spec.slices:
        raise ReportError(f"spec.slice: {spec.slice} of {spec.slices} slices; they count from 0")


def observed_at(spec: CapacityReportSpec) -> Instant:
    """The report's own time. Raises ReportError."""
    try:
        return parse_instant(spec.observed_at)
    except InstantError as error:
        raise ReportError(f"spec.observedAt: {error}") from error


def assemble(
    slices: Sequence[CapacityReportSpec],
    observed: Instant,
    before: MemberReport | None = None,
) -> MemberReport:
    """One report from all slices of a generation, in order; what is as before is reused.

    Raises:  ReportError.
    """
    known_leaves = _by_content(before.capacity.topology if before else None)
    head = slices[0]
    axis = tuple(intern(name) for name in head.axis or ())
    if len(axis) > AXIS_LIMIT or len(set(axis)) < len(axis):
        raise ReportError(f"spec.axis: names must be unique and at most {AXIS_LIMIT}")
    if any(tuple(part.axis or ()) != axis for part in slices):
        raise ReportError("spec.axis: differs between slices of one generation")
    cluster = ClusterName(intern(head.cluster))
    domains = _domains([one for part in slices for one in part.tree or ()])
    known = {domain.name for domain in domains}
    leaves: list[Leaf] = []
    for part in slices:
        leaves.extend(_leaves(part, len(axis), known, known_leaves))
        if len(leaves) > ROWS_LIMIT:
            raise ReportError(f"spec.rows: more than {ROWS_LIMIT}")
    capacity = Capacity(
        topology=Topology(
            axis=axis,
            domains=domains,
            leaves=tuple(leaves),
            label_keys=tuple(sorted(set(head.label_keys or ()))),
            problems=tuple(
                printable(f"{one.what[:300]}: {one.reason[:300]}")
                for part in slices
                for one in (part.omitted or ())[:100]
            ),
            demand=_demand(head),
        ),
        total=_amounts(head.nodes.allocatable, "allocatable"),
        largest=None if head.nodes.largest is None else _amounts(head.nodes.largest, "largest"),
        missing=max(0, head.nodes.total - head.nodes.schedulable),
        observed=observed,
        generation=head.generation,
        period_seconds=head.period_seconds,
        scheduler_names=tuple(sorted(set(head.scheduler_names or ()))),
        volcano_scheduler=head.volcano_scheduler,
        volcano_topology=head.volcano_topology,
    )
    return MemberReport(
        capacity=capacity,
        progress=_progress(cluster, slices, observed, before.progress if before else {}),
        nodes=head.nodes,
        left=_left(head),
    )


def _left(head: CapacityReportSpec) -> frozenset[tuple[BindingId, Instant]]:
    """What the member shows to be gone; what cannot be read shows nothing."""
    found = set()
    for one in (head.left or ())[:WORKLOADS_LIMIT]:
        with suppress(InstantError):
            found.add((BindingId(one.binding), parse_instant(one.at)))
    return frozenset(found)


def _demand(head: CapacityReportSpec) -> tuple[Wanted, ...]:
    """What pods there ask for."""
    try:
        return decode_demand(head.demand)
    except DemandError as error:
        raise ReportError(f"spec.{error}") from error


def _amounts(wire: Mapping[str, int] | None, field: str) -> Resources:
    """Amounts of `spec.nodes`."""
    amounts = wire or {}
    for name, amount in amounts.items():
        if amount > AMOUNT_LIMIT:
            raise ReportError(f"spec.nodes.{field}[{name}]: {amount} is out of range")
    return Resources.of({intern(name): amount for name, amount in amounts.items()})


def _domains(wires: list[ReportDomain]) -> tuple[Domain, ...]:
    """The tree; a parent's tier is above its child's, so there can be no cycle."""
    if len(wires) > DOMAINS_LIMIT:
        raise ReportError(f"spec.tree: more than {DOMAINS_LIMIT} domains")
    tiers = {one.name: one.tier for one in wires}
    if len(tiers) < len(wires):
        raise ReportError("spec.tree: lists a domain twice")
    domains = []
    for one in sorted(wires, key=lambda wire: wire.name):
        if not is_dns_name(one.name) or not 0 <= one.tier < 2**31:
            raise ReportError(f"spec.tree: domain {one.name[:60]!r} has no valid name or tier")
        if one.parent and tiers.get(one.parent, -1) <= one.tier:
            raise ReportError(
                f"spec.tree: domain {one.name[:60]!r} (tier {one.tier}) has the parent "
                f"{one.parent[:60]!r}, which is not in the tree or not of a higher tier"
            )
        domains.append(
            Domain(
                name=DomainId(intern(one.name)),
                tier=one.tier,
                tier_name=printable(one.tier_name),
                parent=DomainId(intern(one.parent)) if one.parent else None,
            )
        )
    return tuple(domains)


_LeafKey = tuple[DomainId | None, int, tuple[int, ...], int]


def _by_content(
    topology: Topology | None,
) -> tuple[dict[NodeClass, NodeClass], dict[_LeafKey, Leaf]]:
    """Classes and plain leaves of the last report; most of the next one's are the same."""
    if topology is None:
        return {}, {}
    classes: dict[NodeClass, NodeClass] = {}
    seen: set[int] = set()
    leaves: dict[_LeafKey, Leaf] = {}
    for leaf in topology.leaves:
        kind = leaf.node_class
        if id(kind) not in seen:
            seen.add(id(kind))
            classes.setdefault(kind, kind)
        if not leaf.occupants:
            leaves[(leaf.domain, id(kind), leaf.free, leaf.count)] = leaf
    return classes, leaves


def _leaves(
    part: CapacityReportSpec,
    width: int,
    known: set[DomainId],
    before: tuple[dict[NodeClass, NodeClass], dict[_LeafKey, Leaf]],
) -> Iterable[Leaf]:
    old_classes, old_leaves = before
    try:
        classes = [_node_class(one) for one in part.classes or ()]
        classes = [old_classes.get(one, one) for one in classes]
    except SelectorError as error:
        raise ReportError(str(error)) from error
    vectors = [tuple(vector) for vector in part.free or ()]
    for vector in vectors:
        if len(vector) != width or max(vector, default=0) > AMOUNT_LIMIT:
            raise ReportError("spec.free: a vector does not match the axis or is out of range")
    for row in part.rows or ():
        if row.node_class >= len(classes) or row.free >= len(vectors):
            raise ReportError("spec.rows: a row names a class or vector that is not in its slice")
        if not 0 < row.count <= NODES_LIMIT:
            raise ReportError(f"spec.rows: a row counts {row.count} nodes")
        domain = DomainId(row.domain) if row.domain else None
        if domain is not None and domain not in known:
            raise ReportError(f"spec.rows: the domain {row.domain[:60]!r} is not in the tree")
        node_class, free = classes[row.node_class], vectors[row.free]
        if not row.occupants:
            old = old_leaves.get((domain, id(node_class), free, row.count))
            if old is not None:
                yield old
                continue
        yield Leaf(
            domain=domain,
            node_class=node_class,
            free=free,
            count=row.count,
            occupants=_occupants(row) if row.occupants else (),
        )


def _node_class(wire: ReportClass) -> NodeClass:
    return NodeClass(
        labels=tuple(sorted((wire.labels or {}).items())),
        taints=taints_of(wire.taints, "spec.classes[*].taints"),
        schedulable=not wire.cordoned,
    )


def _occupants(row: ReportRow) -> tuple[Occupant, ...]:
    return tuple(
        Occupant(
            binding=BindingId(one.binding),
            pod_set=PodSetName(one.pod_set),
            pods=one.pods,
            surplus=tuple(sorted(one.surplus)) if one.surplus else (),
        )
        for one in row.occupants or ()
    )


def _progress(
    cluster: ClusterName,
    slices: Sequence[CapacityReportSpec],
    observed: Instant,
    before: dict[BindingId, Progress],
) -> dict[BindingId, Progress]:
    found: dict[BindingId, Progress] = {}
    for part in slices:
        for one in part.workloads or ():
            if len(found) >= WORKLOADS_LIMIT:
                raise ReportError(f"spec.workloads: more than {WORKLOADS_LIMIT}")
            old = before.get(BindingId(one.binding))
            if old is not None and _unchanged(old, one, observed):
                found[BindingId(one.binding)] = old
                continue
            found[BindingId(one.binding)] = Progress(
                cluster=cluster,
                bound=amounts_of(one.bound),
                minimum_reached=one.minimum_reached,
                decision=DecisionId(one.decision),
                reason=printable(one.reason[:1024]),
                below=_since(one.below_since, observed),
                short=_since(one.short_since, observed),
                losses=_losses(one),
                waits_at=_waits_at(one),
                answered=_answered(one),
            )
    return found


def _since(text: str, observed: Instant) -> Instant | None:
    """An instant of a report: never later than the report; what cannot be read says nothing."""
    if not text:
        return None
    try:
        return min(parse_instant(text), observed)
    except InstantError:
        return None


def _answered(workload: ReportWorkload) -> Instant | None:
    """The call for a checkpoint that it has answered; unreadable says nothing."""
    if not workload.checkpoint_answered:
        return None
    try:
        return parse_instant(workload.checkpoint_answered)
    except InstantError:
        return None


def _losses(workload: ReportWorkload) -> tuple[PodLoss, ...]:
    """The losses that a report tells, bounded and printable."""
    return tuple(
        PodLoss(
            at=printable(one.at[:40]),
            pod=printable(one.pod[:253]),
            node=printable(one.node[:253]),
            cause=printable(one.cause[:40]),
            detail=printable(one.detail[:120]),
        )
        for one in (workload.losses or ())[-LOSSES_LIMIT:]
    )


def _waits_at(workload: ReportWorkload) -> str:
    """The step of the leader at which its ladder waits; other words say nothing."""
    return workload.waits_at if workload.waits_at in NOT_HERE else ""


def _unchanged(old: Progress, new: ReportWorkload, observed: Instant) -> bool:
    return (
        old.decision == new.decision
        and old.below == _since(new.below_since, observed)
        and old.short == _since(new.short_since, observed)
        and old.minimum_reached == new.minimum_reached
        and old.reason == new.reason
        and old.losses == _losses(new)
        and old.waits_at == _waits_at(new)
        and old.answered == _answered(new)
        and dict[str, int](old.bound.entries) == (new.bound or {})
    )
