"""The parts of a snapshot, each rebuilt only when what it is made of changed."""

from collections import Counter
from dataclasses import replace

from global_sched.cache.entries import Entry
from global_sched.cache.readers.bindings import BindingFacts
from global_sched.cache.readers.queues import Priorities
from global_sched.cache.resolve import (
    WorkloadParts,
    as_running,
    spec_problem,
    template_problem,
    workload_of,
)
from global_sched.cache.stores.assumed import KeptRoom
from global_sched.cache.stores.demands import Demands
from global_sched.cache.stores.overrides import Overrides, SchedulerOverrides, Subject
from global_sched.cache.stores.report_store import ReportStore
from global_sched.cache.stores.sorted_values import SortedValues
from global_sched.cache.stores.templates import TemplateFacts, Templates
from global_sched.cache.stores.tenants import Tenants
from global_sched.cache.stores.usage_index import Position, UsageIndex
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds.parts.reading import Reading
from global_sched.shared.model.cluster import Cluster, Readiness
from global_sched.shared.model.ids import BindingId, ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.past import Past
from global_sched.shared.model.pods import tolerated
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.selection import selected_by_any
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.topology import Wanted
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Progress, Workload


class SnapshotBuilder:
    """Clusters, queues, tenants and the ledger of workloads."""

    def __init__(
        self,
        templates: Templates,
        tenants: Tenants,
        priorities: Priorities,
        reports: ReportStore,
        overrides: SchedulerOverrides,
    ) -> None:
        self._templates = templates
        self._tenants = tenants
        self._priorities = priorities
        self._reports = reports
        self.overrides = overrides
        self.demands = Demands()
        self.usage_index = UsageIndex(self.demands)
        self._clusters: dict[ClusterName, Cluster] = {}
        self._rooms: dict[ClusterName, KeptRoom] = {}
        self._changed_clusters: set[ClusterName] = set()
        self._ready: SortedValues[ClusterName, Cluster] = SortedValues()
        self._queues: SortedValues[QueueName, Queue] = SortedValues()
        self._past: dict[QueueName, tuple[Past, ...]] = {}
        self._past_values: tuple[Past, ...] = ()
        self._by_binding_id: dict[BindingId, tuple[WorkloadKey, ...]] = {}
        self._own_tenants: Counter[TenantName] = Counter()
        self._tenant_values: tuple[Tenant, ...] | None = None

    # --- clusters, queues, tenants --------------------------------------------------------

    def set_cluster(self, cluster: Cluster) -> bool:
        """Whether anything changed."""
        if self._clusters.get(cluster.name) == cluster:
            return False
        self._clusters[cluster.name] = cluster
        self._changed_clusters.add(cluster.name)
        return True

    def drop_cluster(self, name: ClusterName) -> bool:
        """Whether it was known."""
        self._changed_clusters.add(name)
        self._rooms.pop(name, None)
        return self._clusters.pop(name, None) is not None

    def report_changed(self, name: ClusterName) -> None:
        """The cluster's report has to be looked at again."""
        self._changed_clusters.add(name)

    def cluster(self, name: ClusterName) -> Cluster | None:
        """A cluster as of the last snapshot."""
        return self._ready.get(name)

    def clusters(self) -> tuple[ClusterName, ...]:
        """All clusters, sorted."""
        return tuple(sorted(self._clusters))

    def set_queue(self, queue: Queue) -> bool:
        """Whether anything changed."""
        if self._queues.get(queue.name) == queue:
            return False
        self._queues.set(queue.name, queue)
        return True

    def set_past(self, name: QueueName, records: tuple[Past, ...]) -> bool:
        """What a queue's tenants held before; whether that changed."""
        if self._past.get(name, ()) == records:
            return False
        if records:
            self._past[name] = records
        else:
            del self._past[name]
        self._past_values = tuple(one for _, found in sorted(self._past.items()) for one in found)
        return True

    def drop_queue(self, name: str) -> bool:
        """Whether it was known."""
        known = self.has_queue(name)
        self.set_past(QueueName(name), ())
        self._queues.remove(QueueName(name))
        return known

    def has_queue(self, name: str) -> bool:
        """Whether it is known."""
        return self._queues.get(QueueName(name)) is not None

    def queues(self) -> tuple[Queue, ...]:
        """All queues by name."""
        return self._queues.values()

    def tenants_changed(self) -> bool:
        """Whether the tenants of the next snapshot differ."""
        before, self._tenant_values = self._tenant_values, None
        return before != self.tenants()

    def tenants(self) -> tuple[Tenant, ...]:
        """Tenant objects, and namespaces that are their own tenant and have workloads."""
        if self._tenant_values is None:
            objects = {f.tenant.name: f.tenant for f in self._tenants.settled.values()}
            for name, users in self._own_tenants.items():
                if users > 0 and name not in objects and name.startswith("ns/"):
                    objects[name] = Tenant(name=name, namespaces=(name.removeprefix("ns/"),))
            self._tenant_values = tuple(objects[name] for name in sorted(objects))
        return self._tenant_values

    # --- workloads ------------------------------------------------------------------------

    def keys_of(self, binding: BindingId) -> tuple[WorkloadKey, ...]:
        """The bindings with a permanent id (one, unless labels were copied)."""
        return self._by_binding_id.get(binding, ())

    def forget(self, key: WorkloadKey, entry: Entry) -> None:
        """A binding is gone."""
        if entry.workload is None:
            return
        self.usage_index.replace(key, entry.position, None, look=False)
        self._unlink(entry.workload)
        if entry.demand is not None:
            self.demands.release(entry.demand)

    def update(self, entry: Entry) -> None:
        """Make the workload of a binding anew and put it in its place."""
        old = entry.workload
        new = self._resolve(entry)
        if old is None:
            self._link(new)
        elif (old.binding_id, old.tenant) != (new.binding_id, new.tenant):
            self._unlink(old)
            self._link(new)
        if entry.demand is not new.demand:
            self.demands.acquire(new.demand)
            if entry.demand is not None:
                self.demands.release(entry.demand)
            entry.demand = new.demand
        if new == old:
            return
        entry.workload = new
        shown = new if entry.facts.candidate or new.targets else None
        entry.position = self.usage_index.replace(
            new.key,
            entry.position or Position(),
            shown,
            look=entry.facts.candidate and self._needs_a_look(new),
        )

    def _resolve(self, entry: Entry) -> Workload:
        facts = entry.facts
        template = self._templates.get(facts.template) if facts.has_reader else None
        problem = template_problem(facts, template)
        entry.waits_for_template = problem is not None
        if template is not None and template.uid == facts.template_uid:
            entry.reading = _reading(entry, template.reading)
            _share(facts, template)
        elif not facts.has_reader:
            entry.reading = facts.own
        reading = entry.reading
        priority = self._priorities.of(reading.priority_class if reading else "")
        problem = problem or spec_problem(facts, reading, priority)
        if entry.malformed:
            problem = Verdict(
                code=Code.NEVER, reason=Reason.INVALID_SPEC, detail=entry.malformed, missing=1
            )
        demand = self.demands.make(
            facts,
            reading,
            self._scheduler_names(entry, template, reading),
            None if template is None else template.elastic,
        )
        parts = WorkloadParts(
            demand=demand,
            reading=reading,
            problem=problem,
            priority=priority,
            tenant=self._tenants.of(facts.namespace),
            progress=self._progress(entry),
            found=self._found(entry),
            overlay=entry.overlay,
            beyond=entry.beyond is not None and entry.beyond == facts.decision,
            late=entry.late,
            below_minimum=None if template is None else template.below_minimum,
            checkpoint_grace=0 if template is None else template.checkpoint_grace,
        )
        return workload_of(facts, parts)

    def _scheduler_names(
        self, entry: Entry, template: TemplateFacts | None, reading: Reading | None
    ) -> Overrides:
        if not self.overrides or reading is None or reading.problem is not None:
            return ()
        api_version, kind, namespace, name = entry.facts.template
        subject = Subject(
            api_version=api_version,
            kind=kind,
            namespace=namespace,
            name=name,
            labels=template.labels if template is not None else (),
        )
        return self.overrides.names_for(subject, reading, self._clusters)

    def _progress(self, entry: Entry) -> tuple[Progress, ...]:
        facts = entry.facts
        targets = entry.overlay.targets if entry.overlay is not None else facts.targets
        refused = dict(facts.not_applied)
        found = []
        for target in targets:
            report = self._reports.get(target.cluster)
            progress = report.progress.get(facts.binding_id) if report is not None else None
            if progress is not None:
                why = refused.get(target.cluster)
                if why and not progress.minimum_reached:
                    progress = replace(progress, reason=f"the member refuses it: {why}")
                found.append(progress)
        return tuple(found)

    def _found(self, entry: Entry) -> Progress | None:
        """Where it runs though no decision says so, after its binding was restored to before one.

        A decision that says anything at all is not from before it was ever placed.
        """
        facts = entry.facts
        if facts.targets or facts.leaving or facts.decision_problem or entry.overlay is not None:
            return None
        if facts.decision is not None and not facts.decision.never_placed():
            return None
        found = self._reports.bound_in(facts.binding_id)
        return found[0] if len(found) == 1 else None

    def _needs_a_look(self, workload: Workload) -> bool:
        if not workload.admitted():
            return False
        for target in workload.targets:
            cluster = self._clusters.get(target.cluster)
            if cluster is None or cluster.terminating:
                return True
        if workload.demand.division != Division.COPIED:
            return not workload.settled()
        as_gang = replace(workload, demand=replace(workload.demand, division=Division.WHOLE))
        return not as_gang.settled() or self._more_for_copies(workload)

    def _more_for_copies(self, workload: Workload) -> bool:
        """Whether a cluster could take a copy that has none: only then is a cycle worth it."""
        demand = workload.demand
        taken = {target.cluster for target in workload.targets} | set(workload.leaving)
        kind = f"{demand.api_version}/{demand.kind}"
        return any(
            cluster.name not in taken
            and cluster.readiness == Readiness.READY
            and not cluster.terminating
            and tolerated(cluster.taints, demand.rule.tolerations) is None
            and (cluster.kinds is None or kind in cluster.kinds)
            and selected_by_any(demand.rule, cluster)
            for cluster in self._clusters.values()
        )

    def _link(self, workload: Workload) -> None:
        keys = self._by_binding_id.get(workload.binding_id, ())
        self._by_binding_id[workload.binding_id] = (*keys, workload.key)
        if not self._own_tenants[workload.tenant]:
            self._tenant_values = None
        self._own_tenants[workload.tenant] += 1

    def _unlink(self, workload: Workload) -> None:
        keys = self._by_binding_id.get(workload.binding_id, ())
        left = tuple(key for key in keys if key != workload.key)
        if left:
            self._by_binding_id[workload.binding_id] = left
        else:
            self._by_binding_id.pop(workload.binding_id, None)
        self._own_tenants[workload.tenant] -= 1
        if not self._own_tenants[workload.tenant]:
            del self._own_tenants[workload.tenant]
            self._tenant_values = None

    # --- the snapshot ---------------------------------------------------------------------

    def snapshot(self, epoch: int) -> Snapshot:
        """Everything as of now."""
        changed = self._changed_clusters | self.usage_index.changed_rooms
        self._changed_clusters = set()
        self.usage_index.changed_rooms.clear()
        for name in changed:
            cluster = self._clusters.get(name)
            if cluster is None:
                self._ready.remove(name)
            else:
                self._ready.set(name, self._with_room(cluster))
        return Snapshot(
            clusters=self._ready.values(),
            queues=self._queues.values(),
            tenants=self.tenants(),
            usage=self.usage_index.usage(),
            usage_sums=self.usage_index.sums(),
            leaving=self.usage_index.leaving(),
            pending=self.usage_index.pending(),
            unsettled=self.usage_index.unsettled(),
            running=self.usage_index.running(),
            past=self._past_values,
            priorities=self._priorities.values(),
            epoch=epoch,
        )

    def demand_in(self, cluster: ClusterName) -> tuple[Wanted, ...]:
        """What pods in a cluster ask for, as its report says."""
        report = self._reports.get(cluster)
        return report.capacity.topology.demand if report is not None else ()

    def _with_room(self, cluster: Cluster) -> Cluster:
        report = self._reports.get(cluster.name)
        if report is None:
            return replace(cluster, capacity_problem=self._reports.problem(cluster.name))
        room = self._rooms.setdefault(cluster.name, KeptRoom())
        takers = self.usage_index.takers_in(cluster.name)
        return replace(cluster, capacity=room.deduct(report.capacity, takers))


def _share(facts: BindingFacts, template: TemplateFacts) -> None:
    """Hold the template's own texts instead of equal ones: 15 MB for 100,000 bindings."""
    facts.template_uid = template.uid
    if facts.template_version == template.version:
        facts.template_version = template.version


def _reading(entry: Entry, new: Reading) -> Reading:
    """What the template says, for one that runs and is left as it is what it said before."""
    targets = entry.facts.targets if entry.overlay is None else entry.overlay.targets
    decision = entry.facts.decision if entry.overlay is None else entry.overlay.decision
    return as_running(new, entry.reading, decision, placed=bool(targets))
