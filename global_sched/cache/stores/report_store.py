"""All CapacityReports: which generation of which cluster is whole, and what was refused."""

from dataclasses import dataclass, field, replace
from typing import Final

from global_sched.cache.readers.reports import (
    MemberReport,
    ReportError,
    assemble,
    check_header,
    observed_at,
)
from global_sched.shared.api.federation import CapacityReport, CapacityReportSpec
from global_sched.shared.api.names import EXECUTION_PREFIX
from global_sched.shared.model.ids import BindingId, ClusterName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.workload import Progress

SKEW: Final = 5 * SECOND
"""A clock that is off by less than this is on time."""


@dataclass(frozen=True, slots=True)
class ReportRef:
    """One report object, for its status."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What the leader makes of a report object; `problem` empty: it uses it."""

    uid: str
    version: str
    problem: str


@dataclass(slots=True)
class _Member:
    parts: dict[str, CapacityReportSpec | None] = field(default_factory=dict)
    """By object name; None once joined into `report`."""
    report: MemberReport | None = None
    problem: str = ""
    """Why a report that is there cannot be used; empty when there is none, or it can."""
    skew: int | None = None


@dataclass(frozen=True, slots=True)
class ReportChange:
    """What a report event changed."""

    cluster: ClusterName
    room: bool = False
    """Something that decisions look at, apart from the report's age."""
    workloads: frozenset[BindingId] = frozenset()
    status: bool = False
    """Whether what the leader says of a report object may differ."""


class ReportStore:
    """Reports by cluster. `now` is when an object reached us."""

    def __init__(self) -> None:
        self._members: dict[ClusterName, _Member] = {}
        self._bound: dict[BindingId, tuple[ClusterName, ...]] = {}
        self.acceptances: dict[ReportRef, Acceptance] = {}

    def get(self, cluster: ClusterName) -> MemberReport | None:
        """The newest whole report that is believed."""
        member = self._members.get(cluster)
        return member.report if member else None

    def bound_in(self, binding: BindingId) -> tuple[Progress, ...]:
        """What the reports of all clusters say of it where pods of it are bound."""
        found = []
        for cluster in self._bound.get(binding, ()):
            report = self.get(cluster)
            progress = report.progress.get(binding) if report is not None else None
            if progress is not None:
                found.append(progress)
        return tuple(found)

    def _index(
        self, cluster: ClusterName, old: MemberReport | None, new: MemberReport | None
    ) -> None:
        """Keep in which clusters each binding has pods."""
        before, after = _bound(old), _bound(new)
        for binding in before - after:
            left = tuple(one for one in self._bound[binding] if one != cluster)
            if left:
                self._bound[binding] = left
            else:
                del self._bound[binding]
        for binding in after - before:
            self._bound[binding] = tuple(sorted((*self._bound.get(binding, ()), cluster)))

    def problem(self, cluster: ClusterName) -> str:
        """Why there is no report."""
        member = self._members.get(cluster)
        return member.problem if member else _Member().problem

    def upsert(self, wire: CapacityReport, now: Instant) -> ReportChange:
        """Take a report object in."""
        meta, spec = wire.metadata, wire.spec
        cluster = ClusterName(meta.namespace.removeprefix(EXECUTION_PREFIX))
        reference = ReportRef(meta.namespace, meta.name)
        problem, change = "", ReportChange(cluster)
        member = self._members.setdefault(cluster, _Member())
        try:
            check_header(meta.namespace, spec)
            member.parts[meta.name] = spec
            change = self._join(cluster, member, spec, now)
        except ReportError as error:
            problem = f"{error}; see the agent's log and version"
            change = self._refuse(cluster, member, problem)
        known = self.acceptances.get(reference)
        if known is not None and known.problem == problem:
            return change
        self.acceptances[reference] = Acceptance(meta.uid, meta.resource_version, problem)
        return replace(change, status=True)

    def accept(self, cluster: ClusterName, report: MemberReport) -> ReportChange:
        """Take in a report that was made in this process: nothing of it has to be checked."""
        member = self._members.setdefault(cluster, _Member())
        old, member.report, member.problem = member.report, report, ""
        self._index(cluster, old, report)
        known = old.progress if old is not None else {}
        return ReportChange(cluster, room=True, workloads=frozenset(known) | set(report.progress))

    def malformed(
        self, namespace: str, name: str, uid: str, version: str, error: str
    ) -> ReportChange:
        """A report object that cannot be decoded."""
        cluster = ClusterName(namespace.removeprefix(EXECUTION_PREFIX))
        problem = f"CapacityReport {namespace}/{name}: {error}"
        self.acceptances[ReportRef(namespace, name)] = Acceptance(uid, version, problem)
        return self._refuse(cluster, self._members.setdefault(cluster, _Member()), problem)

    def delete(self, namespace: str, name: str) -> ReportChange:
        """A report object is gone; without any, the cluster has no report."""
        cluster = ClusterName(namespace.removeprefix(EXECUTION_PREFIX))
        self.acceptances.pop(ReportRef(namespace, name), None)
        member = self._members.get(cluster)
        if member is None:
            return ReportChange(cluster)
        member.parts.pop(name, None)
        if member.parts:
            return ReportChange(cluster)
        del self._members[cluster]
        self._index(cluster, member.report, None)
        workloads = frozenset(member.report.progress) if member.report else frozenset()
        return ReportChange(cluster, room=True, workloads=workloads)

    @staticmethod
    def _refuse(cluster: ClusterName, member: _Member, problem: str) -> ReportChange:
        """The last good report stays until it is too old; it never becomes fresher."""
        changed = member.report is None and member.problem != problem
        member.problem = problem
        return ReportChange(cluster, room=changed)

    def _join(
        self, cluster: ClusterName, member: _Member, spec: CapacityReportSpec, now: Instant
    ) -> ReportChange:
        parts = {
            part.slice: part
            for part in member.parts.values()
            if part is not None and (part.generation, part.slices) == (spec.generation, spec.slices)
        }
        if len(parts) < spec.slices:
            problem = f"{len(parts)} of {spec.slices} slices of its report are there"
            return ReportStore._refuse(cluster, member, problem)
        observed = _observed(member, spec, now)
        old = member.report
        new = assemble([parts[i] for i in range(spec.slices)], observed, old)
        if old is not None and new.same_room(old):
            # The same topology object tells the snapshot that nothing has to be placed again.
            capacity = replace(old.capacity, observed=observed, generation=spec.generation)
            new = replace(new, capacity=capacity)
        member.report, member.problem = new, ""
        self._index(cluster, old, new)
        for name, part in member.parts.items():
            if part is not None and part.generation == spec.generation:
                member.parts[name] = None
        if old is None:
            return ReportChange(cluster, room=True, workloads=frozenset(new.progress))
        changed = {
            binding
            for binding in old.progress.keys() | new.progress.keys()
            if (was := old.progress.get(binding)) is not (now_is := new.progress.get(binding))
            and was != now_is
        }
        return ReportChange(
            cluster,
            room=bool(changed) or new.capacity.topology is not old.capacity.topology,
            workloads=frozenset(changed),
        )


def _bound(report: MemberReport | None) -> set[BindingId]:
    """The bindings of which a report says that pods are bound."""
    if report is None:
        return set()
    return {binding for binding, one in report.progress.items() if one.bound.entries}


def _observed(member: _Member, spec: CapacityReportSpec, now: Instant) -> Instant:
    """The report's time on our clock, never later than its arrival.

    The smallest difference between arrival and report time that was ever seen is how far the
    agent's clock is off; a report that was held up on its way shows a larger one, and ages.
    The first report after our start says nothing, because it may be old.
    """
    own = observed_at(spec)
    difference = now - own
    if member.report is not None:
        member.skew = difference if member.skew is None else min(member.skew, difference)
    skew = member.skew or 0
    return Instant(min(now, own + skew if abs(skew) > SKEW else own))
