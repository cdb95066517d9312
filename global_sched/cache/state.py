"""Events in, a snapshot out: the one place where the federation's state is kept.

Every `upsert` reduces the object soon and marks what depends on it; the work is done when a
snapshot is asked for, so that ten events on one binding cost one. `take_dirty` says whether a cycle
may come to another result than before: our own writes, repeated reports and status noise are no
news.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from global_sched.cache.binding_store import BindingStore
from global_sched.cache.directives import DEFAULTS, DirectiveDiff
from global_sched.cache.entries import Entry
from global_sched.cache.readers.bindings import BindingFacts, BindingReader, TemplateKey
from global_sched.cache.readers.clusters import read_cluster
from global_sched.cache.readers.queues import Priorities, read_queue
from global_sched.cache.readers.reports import MemberReport
from global_sched.cache.snapshot_builder import SnapshotBuilder
from global_sched.cache.stores.demands import why_not_elastic
from global_sched.cache.stores.notices import Notices, Topic
from global_sched.cache.stores.overrides import SchedulerOverrides
from global_sched.cache.stores.report_store import ReportChange, ReportStore
from global_sched.cache.stores.templates import TemplateFacts, Templates
from global_sched.cache.stores.tenants import Tenants
from global_sched.shared.api.base import Condition
from global_sched.shared.api.core import PriorityClass
from global_sched.shared.api.federation import CapacityReport, DirectiveSpec
from global_sched.shared.api.federation import Tenant as WireTenant
from global_sched.shared.api.karmada import Cluster as WireCluster
from global_sched.shared.api.karmada import OverridePolicy, ResourceBinding
from global_sched.shared.api.names import ELASTIC, PAST_USAGE
from global_sched.shared.api.volcano import Queue as WireQueue
from global_sched.shared.kinds import WorkloadKind
from global_sched.shared.kinds.parts.kind import RuntimeRef
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.ids import BindingId, ClusterName, WorkloadKey
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.past_text import parse_past
from global_sched.shared.model.plan import Admission, Claiming, Withdrawal
from global_sched.shared.model.printable import printable
from global_sched.shared.model.recovery_spec import RecoveryPolicy
from global_sched.shared.model.selection import only_cluster
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Division, Workload


class State:
    """Everything that decisions and writes need to know.

    Not for several threads; its snapshots are frozen and may go anywhere.
    """

    def __init__(self, scheduler_names: frozenset[str]) -> None:
        self.templates = Templates()
        self.tenants = Tenants()
        self.priorities = Priorities()
        self.reports = ReportStore()
        self.notices = Notices()
        self._overrides = SchedulerOverrides()
        self.builder = SnapshotBuilder(
            self.templates, self.tenants, self.priorities, self.reports, self._overrides
        )
        self._bindings = BindingStore(BindingReader(scheduler_names), self.builder.forget)
        self._news = False
        self._directives = DirectiveDiff(self.builder)
        self.epoch = 0
        """The leader's; goes into every snapshot."""
        self._beyond: dict[WorkloadKey, Decision] = {}
        self.revision = 0
        """Rises when anything that a status shows may have changed."""

    def request_cycle(self) -> None:
        """Something has to be decided again that no event will tell."""
        self._news = True

    def take_dirty(self) -> bool:
        """Whether a cycle may come to another result than at the last call."""
        self._note(self._bindings.reduce_received())
        news, self._news = self._news, False
        return news

    def _note(self, news: bool) -> bool:
        self._news |= news
        self.revision += news
        return news

    # --- bindings -------------------------------------------------------------------------

    def upsert_binding(self, wire: ResourceBinding, now: Instant | None = None) -> None:
        """Take a binding in that came `now`; one that is not ours is forgotten."""
        meta = wire.metadata
        kind = "ResourceBinding" if meta.namespace else "ClusterResourceBinding"
        self.notices.clear(Topic.MALFORMED, kind, meta.namespace, meta.name)
        self._bindings.receive(wire, now)

    def refresh(self, wire: ResourceBinding) -> None:
        """Take in what a write of ours returned, unless the binding is gone by now."""
        self._note(self._bindings.refresh(wire))

    def delete_binding(self, namespace: str, name: str, uid: str) -> None:
        """The binding is gone."""
        self._note(self._bindings.delete(WorkloadKey(f"{namespace}/{name}"), uid))

    def malformed_binding(self, namespace: str, name: str, uid: str, error: str) -> None:
        """A binding that cannot be read: reported, and refused if it was ours before."""
        kind = "ResourceBinding" if namespace else "ClusterResourceBinding"
        text = f"{kind} {namespace}/{name}: {error}; correct the object"
        self.set_aside("work.karmada.io/v1alpha2", kind, namespace, name, uid, text)
        self._note(self._bindings.malformed(WorkloadKey(f"{namespace}/{name}"), uid, text))

    # --- templates ------------------------------------------------------------------------

    def upsert_template(self, reader: WorkloadKind, obj: Any) -> None:
        """Take a template in."""
        meta = obj.metadata
        self.notices.clear(Topic.MALFORMED, reader.resource.kind, meta.namespace, meta.name)
        self._template_changed(self.templates.upsert(reader, obj))

    def delete_template(self, reader: WorkloadKind, namespace: str, name: str) -> None:
        """The template is gone; its binding follows."""
        self._template_changed(self.templates.delete(reader, namespace, name))

    def malformed_template(
        self, reader: WorkloadKind, namespace: str, name: str, uid: str, version: str, error: str
    ) -> None:
        """A template that cannot be decoded."""
        resource = reader.resource
        text = f"{resource.group_kind} {namespace}/{name}: {error}; correct the object"
        self.set_aside(resource.api_version, resource.kind, namespace, name, uid, text)
        key = self.templates.malformed(reader, namespace, name, uid, version, error)
        self._template_changed(key)

    def upsert_runtime(self, ref: RuntimeRef, obj: Any) -> None:
        """Take in an object that holds a part of other templates."""
        self.notices.clear(Topic.MALFORMED, ref.kind, ref.namespace, ref.name)
        self._templates_changed(self.templates.upsert_runtime(ref, obj))

    def delete_runtime(self, ref: RuntimeRef) -> None:
        """The runtime is gone; what refers to it waits."""
        self._templates_changed(self.templates.delete_runtime(ref))

    def malformed_runtime(self, ref: RuntimeRef, uid: str, error: str) -> None:
        """A runtime that cannot be decoded: what refers to it is refused."""
        text = f"{ref.kind} {ref.namespace}/{ref.name}: {error}; correct the object"
        self.set_aside(ref.api_version, ref.kind, ref.namespace, ref.name, uid, text)
        self._templates_changed(self.templates.malformed_runtime(ref, error))

    def _templates_changed(self, templates: Iterable[TemplateKey]) -> None:
        for template in templates:
            self._template_changed(template)

    def _template_changed(self, template: TemplateKey) -> None:
        found = self.templates.get(template)
        for entry in self._bindings.of_template(template):
            if (
                found is None
                or entry.reading is not found.reading
                or entry.waits_for_template
                or _asks_anew(entry.workload, found)
                or self.builder.overrides
            ):
                self._bindings.touch(entry.facts.key)
                self._note(True)

    # --- clusters and reports -------------------------------------------------------------

    def upsert_cluster(self, wire: WireCluster) -> None:
        """Take a cluster in."""
        cluster, problem = read_cluster(wire)
        self.notices.set_aside(
            "cluster.karmada.io/v1alpha1", "Cluster", "", cluster.name, wire.metadata.uid, problem
        )
        if self._note(self.builder.set_cluster(cluster)):
            self._touch_clusters(cluster.name)

    def delete_cluster(self, name: str) -> None:
        """The cluster is gone."""
        if self._note(self.builder.drop_cluster(ClusterName(name))):
            self._touch_clusters(ClusterName(name))

    def _touch_clusters(self, name: ClusterName) -> None:
        """Look again at holders, copies, and bindings whose schedulerName may differ there."""
        if self._overrides:
            self._bindings.touch_all()
            return
        for entry in self._bindings.entries():
            workload = entry.workload
            if workload is not None and (
                workload.demand.division == Division.COPIED
                or any(target.cluster == name for target in workload.targets)
            ):
                self._bindings.touch(entry.facts.key)

    def upsert_report(self, wire: CapacityReport, now: Instant) -> None:
        """Take a report in; `now` is when it reached us."""
        meta = wire.metadata
        self.notices.clear(Topic.MALFORMED, "CapacityReport", meta.namespace, meta.name)
        self._report_changed(self.reports.upsert(wire, now))

    def accept_report(self, cluster: ClusterName, report: MemberReport) -> None:
        """Take in a report that was made in this process, as the scenarios do."""
        self._report_changed(self.reports.accept(cluster, report))

    def delete_report(self, namespace: str, name: str) -> None:
        """A report is gone."""
        self._report_changed(self.reports.delete(namespace, name))

    def malformed_report(
        self, namespace: str, name: str, uid: str, version: str, error: str
    ) -> None:
        """A report that cannot be decoded; the last good one ages."""
        self.set_aside(
            "federation.global-sched.io/v1alpha1", "CapacityReport", namespace, name, uid, error
        )
        self._report_changed(self.reports.malformed(namespace, name, uid, version, error))

    def _report_changed(self, change: ReportChange) -> None:
        self.builder.report_changed(change.cluster)
        for binding in change.workloads:
            for key in self.builder.keys_of(BindingId(binding)):
                self._bindings.touch(key)
        self.revision += change.status
        self._note(change.room)

    # --- queues, tenants, priorities, overrides -------------------------------------------

    def upsert_queue(self, wire: WireQueue) -> None:
        """Take a queue in."""
        queue = read_queue(wire)
        self.notices.set_aside(
            "scheduling.volcano.sh/v1beta1",
            "Queue",
            "",
            queue.name,
            wire.metadata.uid,
            f"Queue {queue.name}: {queue.problem}" if queue.problem else "",
        )
        self._note(self.builder.set_queue(queue))
        past = parse_past(queue.name, wire.metadata.annotation(PAST_USAGE))
        self._note(self.builder.set_past(queue.name, past))

    def delete_queue(self, name: str) -> None:
        """The queue is gone."""
        self._note(self.builder.drop_queue(name))

    def template_of(self, key: WorkloadKey) -> tuple[TemplateKey, str] | None:
        """The template that a binding stands for, and its UID; None for a binding that is gone."""
        entry = self._bindings.get(key)
        return None if entry is None else (entry.facts.template, entry.facts.template_uid)

    def has_queue(self, name: str) -> bool:
        """Whether there is such a Queue."""
        return self.builder.has_queue(name)

    def upsert_tenant(self, wire: WireTenant) -> None:
        """Take a Tenant in."""
        self._tenants_changed(self.tenants.upsert(wire))

    def delete_tenant(self, name: str) -> None:
        """The Tenant is gone; its namespaces are their own tenants, or a younger one's."""
        self._tenants_changed(self.tenants.delete(name))

    def _tenants_changed(self, namespaces: set[str]) -> None:
        self.revision += 1
        self._note(self.builder.tenants_changed() or bool(namespaces))
        for entry in self._bindings.entries() if namespaces else ():
            if entry.facts.namespace in namespaces:
                self._bindings.touch(entry.facts.key)

    def upsert_priority(self, wire: PriorityClass) -> None:
        """Take a PriorityClass in."""
        self._all_changed(self.priorities.upsert(wire))

    def delete_priority(self, name: str) -> None:
        """The class is gone; those that name it wait."""
        self._all_changed(self.priorities.delete(name))

    def upsert_override(self, wire: OverridePolicy) -> None:
        """Take an OverridePolicy or ClusterOverridePolicy in."""
        meta = wire.metadata
        kind = "OverridePolicy" if meta.namespace else "ClusterOverridePolicy"
        self.notices.clear(Topic.MALFORMED, kind, meta.namespace, meta.name)
        self._all_changed(self._overrides.upsert(wire))

    def malformed_override(self, namespace: str, name: str, uid: str, error: str) -> None:
        """An override policy that cannot be read may change any schedulerName."""
        kind = "OverridePolicy" if namespace else "ClusterOverridePolicy"
        self.set_aside("policy.karmada.io/v1alpha1", kind, namespace, name, uid, error)
        self._all_changed(self._overrides.unreadable(namespace, name))

    def delete_override(self, namespace: str, name: str) -> None:
        """The policy is gone."""
        self._all_changed(self._overrides.delete(namespace, name))

    def _all_changed(self, changed: bool) -> None:
        if self._note(changed):
            self._bindings.touch_all()

    # --- our own writes -------------------------------------------------------------------

    def assume(self, action: Admission | Withdrawal | Claiming, now: Instant) -> None:
        """Count a write as done before it is sent."""
        entry = self._bindings.get(action.workload)
        if entry is not None and entry.facts.uid == action.uid:
            entry.assume(action, now)
            self._bindings.touch(action.workload)

    def forget(self, key: WorkloadKey) -> None:
        """The write failed or was answered: what the watch says counts again."""
        entry = self._bindings.get(key)
        if entry is not None and entry.overlay is not None:
            entry.overlay = None
            self._bindings.touch(key)

    # --- terms ----------------------------------------------------------------------------

    def begin_term(self, epoch: int) -> None:
        """We lead. What was listed by now is decided; what appears from now on is judged."""
        self._note(self._bindings.reduce_received())
        self.epoch = self._bindings.term = epoch
        self._forget_terms()

    def end_term(self) -> None:
        """We follow."""
        self._bindings.term = 0
        self._forget_terms()

    def _forget_terms(self) -> None:
        self._beyond = {}
        for entry in self._bindings.entries():
            decision = entry.facts.decision
            if entry.late or entry.beyond is not None or _beyond(decision, self._bindings.term):
                entry.late, entry.beyond = False, None
                self._bindings.touch(entry.facts.key)

    def beyond_term(self) -> Mapping[WorkloadKey, Decision]:
        """Decisions above our term, as of the last `settle`, that are believed so far.

        Either our term is over, or the Lease never gave their epoch.
        """
        return self._beyond

    def disbelieve(self, decisions: Mapping[WorkloadKey, Decision]) -> None:
        """The Lease has not given the epochs of these decisions."""
        for key, decision in decisions.items():
            entry = self._bindings.get(key)
            if entry is not None and entry.facts.decision == decision:
                entry.beyond = decision
                self._bindings.touch(key)
        self._beyond = {k: d for k, d in self._beyond.items() if decisions.get(k) != d}

    # --- reading --------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """One consistent view; parts that did not change are the objects of the last one."""
        self.settle()
        return self.builder.snapshot(self.epoch)

    def settle(self) -> None:
        """Bring every changed binding up to date in the world."""
        self._note(self._bindings.reduce_received())
        for entry in self._bindings.take_dirty():
            self._resolve(entry)

    def _resolve(self, entry: Entry) -> None:
        self.revision += 1
        self.builder.update(entry)
        self._note_term(entry)
        workload = entry.workload
        if workload is not None:
            self.notices.tell_binding(entry.facts, Topic.DECISION_NOT_BELIEVED, workload.forged)
            collision = self.templates.collision(entry.facts.template)
            self.notices.tell_binding(entry.facts, Topic.NAME_COLLISION, collision)
            beside = _failover_beside(entry.facts, workload)
            self.notices.tell_binding(entry.facts, Topic.FAILOVER_BESIDE, beside)
            template = self.templates.get(entry.facts.template)
            refused = "" if template is None else template.recovery_refused
            self.notices.tell_binding(entry.facts, Topic.RECOVERY_REFUSED, refused)
            refused = "" if template is None else template.grace_refused
            self.notices.tell_binding(entry.facts, Topic.CHECKPOINT_GRACE_REFUSED, refused)
            nowhere = _nowhere_to_move(workload)
            self.notices.tell_binding(entry.facts, Topic.NOWHERE_TO_MOVE, nowhere)
            why = _elastic_refused(template)
            self.notices.tell_template(entry.facts, Topic.ELASTIC_REFUSED, why)

    def _note_term(self, entry: Entry) -> None:
        key, decision = entry.facts.key, entry.facts.decision
        if (
            decision is not None
            and _beyond(decision, self._bindings.term)
            and entry.beyond != decision
        ):
            self._beyond = {**self._beyond, key: decision}
        elif key in self._beyond:
            self._beyond = {k: d for k, d in self._beyond.items() if k != key}

    def workload(self, key: WorkloadKey) -> Workload | None:
        """One workload at its newest version, None when we do not answer for it."""
        self._note(self._bindings.reduce_received())
        for entry in self._bindings.take_dirty(key):
            self._resolve(entry)
        found = self._bindings.get(key)
        return None if found is None else found.workload

    def conditions(self, key: WorkloadKey) -> tuple[Condition, ...]:
        """All conditions of a binding, other writers' included."""
        entry = self._bindings.get(key)
        return () if entry is None else entry.facts.conditions()

    def agent_binds(self, cluster: ClusterName, scheduler: str) -> bool | None:
        """Whether the member's agent binds pods of that schedulerName; None: unknown."""
        found = self.builder.cluster(cluster)
        if found is None or found.capacity is None:
            return None
        return scheduler in found.capacity.scheduler_names

    def workloads(self) -> tuple[Workload, ...]:
        """All that we answer for, in no order that matters."""
        return tuple(e.workload for e in self._bindings.entries() if e.workload is not None)

    def directive_changes(
        self, label_keys_limit: int, recovery: RecoveryPolicy = DEFAULTS
    ) -> frozenset[ClusterName]:
        """Members whose Directive may differ from what it was at the last call."""
        return self._directives.changes(label_keys_limit, self.epoch, recovery)

    def directive(self, cluster: ClusterName) -> tuple[DirectiveSpec, ...]:
        """The Directive of one member as it should be; nothing for a cluster that is gone."""
        return self._directives.specs(cluster)

    def set_aside(
        self, api_version: str, kind: str, namespace: str, name: str, uid: str, text: str
    ) -> None:
        """Tell that an object cannot be used."""
        self.notices.set_aside(api_version, kind, namespace, name, uid, text)


def _beyond(decision: Decision | None, term: int) -> bool:
    """Whether a decision is of a later term than ours; never while we follow."""
    return bool(term) and decision is not None and decision.epoch > term


def _failover_beside(facts: BindingFacts, workload: Workload) -> str:
    """Why Karmada's own failover interferes with moves; empty where it does not."""
    asked = workload.below_minimum
    if asked is None or not asked.moves or not (facts.failover or facts.evicted_by):
        return ""
    if facts.evicted_by:
        producer, cluster = facts.evicted_by[0]
        return (
            f"{printable(producer[:60]) or 'another program'} takes it out of {cluster}, beside "
            "the moves that its recovery annotation asks for; tolerate the cluster's taints in its "
            "policy (spec.placement.clusterTolerations), or leave one of them out"
        )
    fields = " and ".join(f"spec.failover.{name}" for name in facts.failover)
    return (
        f"its policy has {fields}, so Karmada may take it out of its cluster by itself, beside the "
        "moves that its recovery annotation asks for; leave one of them out"
    )


def _nowhere_to_move(workload: Workload) -> str:
    """Why what asks for moves never moves; empty where it may."""
    asked, demand = workload.below_minimum, workload.demand
    if asked is None or not asked.moves or workload.problem is not None:
        return ""
    if workload.group or demand.division != Division.WHOLE or demand.gang is None:
        kind = "of a group of bindings" if workload.group else "no gang in one cluster"
        return f"its recovery annotation has the scope cluster, and it is {kind}: it never moves"
    only = only_cluster(demand.rule)
    if only is None:
        return ""
    return (
        f"its recovery annotation has the scope cluster, and its policy selects no cluster but "
        f"{only} (spec.placement): it never moves; select others, too, or leave the scope out"
    )


def _elastic_refused(template: TemplateFacts | None) -> str:
    """Why the elastic annotation of a template is refused; empty where it is not."""
    if template is None:
        return ""
    why = template.elastic_refused
    if template.elastic is not None:
        why = why_not_elastic(template.reading, template.elastic)
    return f"{ELASTIC}: {why}; until then it may have any size" if why else ""


def _asks_anew(workload: Workload | None, template: TemplateFacts) -> bool:
    """Whether annotations that are no part of the reading say something else than before."""
    return bool(template.recovery_refused or template.grace_refused) or (
        workload is not None
        and (workload.below_minimum, workload.checkpoint_grace)
        != (template.below_minimum, template.checkpoint_grace)
    )
