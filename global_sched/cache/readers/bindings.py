"""A binding reduced to what decisions and writes need; the wire object is not kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from sys import intern
from typing import Final

from global_sched.cache.readers.binding_demand import read_binding
from global_sched.cache.readers.decisions import authentic, within_time
from global_sched.cache.readers.placements import ParsedPlacement, canonical_json, read_placement
from global_sched.shared.api import names
from global_sched.shared.api.base import Condition, condition
from global_sched.shared.api.karmada import (
    AggregatedStatusItem,
    BindingSpec,
    ResourceBinding,
    TargetCluster,
)
from global_sched.shared.api.reasons import ConditionType
from global_sched.shared.kinds import KINDS, kind_of
from global_sched.shared.kinds.parts.reading import Reading, RefusedError, checked, refused
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.decision_text import DecisionError, parse_decision
from global_sched.shared.model.ids import BindingId, ClusterName, WorkloadKey, workload_key
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from global_sched.shared.model.scheduled_text import reported_of
from global_sched.shared.model.workload import Reported, Target
from global_sched.shared.placement.bounded_cache import BoundedCache

_MESSAGE_LIMIT: Final = 300
TemplateKey = tuple[str, str, str, str]
"""apiVersion, kind, namespace, name."""


@dataclass(slots=True, kw_only=True)
class BindingFacts:
    """One version of one binding. `candidate` False: it keeps what it has and gets nothing new."""

    key: WorkloadKey
    binding_id: BindingId
    uid: str
    version: str
    namespace: str
    created: Instant
    generation: int
    template: TemplateKey
    template_uid: str
    template_version: str
    has_replicas: bool
    own: Reading | None
    """What the binding itself says of its demand, for kinds without a reader."""
    has_reader: bool
    placement: ParsedPlacement | None
    candidate: bool
    not_candidate: str
    targets: tuple[Target, ...]
    leaving: tuple[ClusterName, ...]
    withdrawn: tuple[tuple[ClusterName, Instant], ...]
    """The clusters in eviction tasks of ours, and since when; 0 where Karmada has not said yet."""
    decision: Decision | None
    decision_problem: str
    placement_applied: bool
    observed_generation: int
    observed_affinity: str
    last_scheduled: Instant | None
    reschedule_at: Instant | None
    scheduled: bool
    scheduled_since: str
    reported: Reported
    others: tuple[Condition, ...]
    """Conditions of other writers, to be kept when ours is written."""
    finished: bool
    failover: tuple[str, ...] = ()
    """Which of Karmada's own failovers its policy asks for: `application`, `cluster`."""
    evicted_by: tuple[tuple[str, ClusterName], ...] = ()
    """Other programs that take it out of a cluster now, and out of which."""
    not_applied: tuple[tuple[ClusterName, str], ...] = ()
    """Clusters that refuse the object itself, and with which words."""

    def conditions(self) -> tuple[Condition, ...]:
        """The whole list: other writers' conditions, and enough of ours to keep its time."""
        if not self.scheduled_since and not self.reported.message:
            return self.others
        scheduled = Condition(
            type=ConditionType.SCHEDULED,
            status="True" if self.scheduled else "False",
            message=self.reported.message,
            last_transition_time=self.scheduled_since or None,
        )
        return (scheduled, *self.others)

    @property
    def cluster_scoped(self) -> bool:
        """Whether it is a ClusterResourceBinding."""
        return not self.namespace


class BindingReader:
    """Reduces bindings; remembers placements, so that one policy's bytes are read once."""

    def __init__(self, scheduler_names: frozenset[str]) -> None:
        self._scheduler_names = scheduler_names
        self._placements: dict[bytes, ParsedPlacement] = {}
        self._targets: dict[tuple[Target, ...], tuple[Target, ...]] = {}
        self._instants = BoundedCache[str, Instant | None](4096)

    def ours(self, binding: ResourceBinding) -> bool:
        """Whether we answer for it at all."""
        return binding.spec.scheduler_name in self._scheduler_names

    def reduce(self, binding: ResourceBinding, now: Instant | None = None) -> BindingFacts:
        """The facts of one binding that came `now`; without it no instant is judged."""
        meta, spec, status = binding.metadata, binding.spec, binding.status
        placement = self._placement(bytes(spec.placement))
        reference = spec.resource
        binding_id = BindingId(meta.label(names.BINDING_ID) or meta.label(names.CLUSTER_BINDING_ID))
        has_reader = (reference.api_version, reference.kind) in KINDS
        targets = self._targets_of(spec.clusters) if spec.clusters else ()
        decision, problem = _decision(meta.annotation(names.DECISION), binding_id, now)
        scheduled = condition(status.conditions, ConditionType.SCHEDULED)
        why_not = _why_not(binding, placed=placement is not None)
        return BindingFacts(
            key=workload_key(meta.namespace, meta.name),
            binding_id=binding_id,
            uid=meta.uid,
            version=meta.resource_version,
            namespace=intern(meta.namespace),
            created=self._instant_of(meta.creation_timestamp) or Instant(0),
            generation=meta.generation,
            template=(
                intern(reference.api_version),
                intern(reference.kind),
                intern(reference.namespace),
                reference.name,
            ),
            template_uid=reference.uid,
            template_version=reference.resource_version,
            has_replicas=spec.replicas is not None,
            own=None if has_reader else _own(spec),
            has_reader=has_reader,
            placement=placement,
            candidate=not why_not,
            not_candidate=why_not,
            targets=targets,
            leaving=_leaving(spec),
            withdrawn=_withdrawn(spec),
            decision=decision,
            decision_problem=problem,
            placement_applied=_applied(meta.annotation(names.APPLIED_PLACEMENT), placement),
            observed_generation=status.scheduler_observed_generation or 0,
            observed_affinity=intern(status.scheduler_observed_affinity_name),
            last_scheduled=self._instant_of(status.last_scheduled_time),
            reschedule_at=self._instant_of(spec.reschedule_triggered_at),
            scheduled=scheduled is not None and scheduled.status == "True",
            scheduled_since=(scheduled.last_transition_time or "") if scheduled else "",
            reported=reported_of(scheduled),
            others=tuple(c for c in status.conditions or () if c.type != ConditionType.SCHEDULED),
            finished=bool(status.aggregated_status)
            and is_finished(
                reference.api_version,
                reference.kind,
                status.aggregated_status,
                (target.cluster for target in targets),
            ),
            failover=tuple(sorted(name for name, said in (spec.failover or {}).items() if said)),
            evicted_by=_evicted_by(spec),
            not_applied=_not_applied(status.aggregated_status),
        )

    def _instant_of(self, text: str | None) -> Instant | None:
        """Many bindings are made, and placed, in the same second."""
        if not text:
            return None
        if text not in self._instants:
            self._instants.keep(text, _instant(text))
        return self._instants[text]

    def _placement(self, raw: bytes) -> ParsedPlacement | None:
        if not raw or raw == b"null":
            return None
        found = self._placements.get(raw)
        if found is None:
            if len(self._placements) > 4096:
                self._placements.clear()
            found = self._placements[raw] = read_placement(raw)
        return found

    def _targets_of(self, clusters: list[TargetCluster]) -> tuple[Target, ...]:
        targets = tuple(Target(cluster=_name(t.name), replicas=t.replicas) for t in clusters)
        if len(self._targets) > 4096:
            self._targets.clear()
        return self._targets.setdefault(targets, targets)


def _not_applied(
    items: list[AggregatedStatusItem] | None,
) -> tuple[tuple[ClusterName, str], ...]:
    return tuple(
        (_name(item.cluster_name), item.applied_message[:_MESSAGE_LIMIT])
        for item in items or ()
        if not item.applied and item.applied_message
    )


def _leaving(spec: BindingSpec) -> tuple[ClusterName, ...]:
    if not spec.graceful_eviction_tasks:
        return ()
    return tuple(sorted({_name(task.from_cluster) for task in spec.graceful_eviction_tasks}))


def _evicted_by(spec: BindingSpec) -> tuple[tuple[str, ClusterName], ...]:
    if not spec.graceful_eviction_tasks:
        return ()
    tasks = ((one.producer, _name(one.from_cluster)) for one in spec.graceful_eviction_tasks)
    return tuple(sorted({one for one in tasks if not one[0].startswith(names.GLOBAL_SCHEDULER)}))


def _withdrawn(spec: BindingSpec) -> tuple[tuple[ClusterName, Instant], ...]:
    return tuple(
        sorted(
            (_name(task.from_cluster), _instant(task.creation_timestamp) or Instant(0))
            for task in spec.graceful_eviction_tasks or ()
            if task.producer == names.GLOBAL_SCHEDULER and task.purge_mode == "Directly"
        )
    )


def _name(name: str) -> ClusterName:
    return ClusterName(intern(name))


def _why_not(binding: ResourceBinding, *, placed: bool) -> str:
    """Why nothing new is decided for it (karmada.md's conditions), empty when it is a candidate."""
    meta, spec = binding.metadata, binding.spec
    if meta.deletion_timestamp is not None:
        return "it is being deleted"
    if not placed:
        return "it has no placement"
    if spec.suspension is not None and spec.suspension.scheduling:
        return "its scheduling is suspended (spec.suspension.scheduling)"
    labels = meta.labels or {}
    if not (
        labels.get(names.POLICY_ID)
        or labels.get(names.CLUSTER_POLICY_ID)
        or labels.get(names.MANAGED_BY)
    ):
        return "no policy claims it any more"
    return ""


def _own(spec: BindingSpec) -> Reading | None:
    try:
        found = read_binding(spec)
        return None if found is None else checked(found)
    except RefusedError as error:
        return refused(spec.resource.api_version, spec.resource.kind, f"the binding's {error}")


def _decision(text: str, binding: BindingId, now: Instant | None) -> tuple[Decision | None, str]:
    if not text:
        return None, ""
    try:
        decision = parse_decision(text)
    except DecisionError as error:
        return None, str(error)
    if not authentic(decision, binding):
        return decision, f"its id {decision.id[:40]} does not match its content"
    return (decision if now is None else within_time(decision, now)), ""


def _applied(text: str, placement: ParsedPlacement | None) -> bool:
    if placement is None or not text:
        return False
    return text == placement.text or canonical_json(text) == placement.canonical


def _instant(text: str | None) -> Instant | None:
    if not text:
        return None
    try:
        return parse_instant(text)
    except InstantError:
        return None


def is_finished(
    api_version: str,
    kind: str,
    items: list[AggregatedStatusItem] | None,
    clusters: Iterable[ClusterName],
) -> bool:
    """True when the copy in one of the binding's clusters reached an end.

    Copies in clusters that are being left do not count: they were withdrawn. Kinds that are not
    read here never end.
    """
    known = kind_of(api_version, kind)
    if not items or known is None:
        return False
    here = set(clusters)
    return any(
        item.cluster_name in here and item.status is not None and known.ends(item.status)
        for item in items
    )


def at_least(version: str, wanted: str) -> bool:
    """Whether a version is the wanted one or a later one.

    Unequal texts that are no numbers are taken as later, because waiting for ever would be worse.
    """
    if version == wanted or not wanted:
        return True
    if version.isdigit() and wanted.isdigit():
        return int(version) >= int(wanted)
    return True


def older(version: str, known: str) -> bool:
    """Whether a version is certainly older than one that is known."""
    return version.isdigit() and known.isdigit() and int(version) < int(known)
