"""The objects of a federation in memory: they go through the cache like a control plane's."""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from global_sched.cache import State
from global_sched.core import new_decision, renewed
from global_sched.dispatch.patches import (
    success_status,
)
from global_sched.scenario.bindings import POLICY_KINDS, Propagation
from global_sched.scenario.member_world import MemberWorld
from global_sched.scenario.objects import CREATED, Manifest, queue_object
from global_sched.scenario.world import QueueSpec, RunningSpec, ScenarioError
from global_sched.shared.api.core import PriorityClass, Template
from global_sched.shared.api.federation import Tenant
from global_sched.shared.api.karmada import Cluster, OverridePolicy, ResourceBinding
from global_sched.shared.api.names import (
    DECISION,
    DEFAULT_QUEUE,
    GLOBAL_SCHEDULER,
    PAST_USAGE,
)
from global_sched.shared.api.volcano import Queue
from global_sched.shared.json_values import merge_patch
from global_sched.shared.kinds import KINDS, RUNTIMES
from global_sched.shared.kinds.parts.kind import RuntimeRef
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.decision_text import render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, DomainId, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant, format_instant, parse_instant
from global_sched.shared.model.past_text import render_past
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.workload import Workload

Obj = dict[str, Any]


class InMemoryControlPlane:
    """The objects of a world, a scenario's own or (`state`) those of a live one, and its cache."""

    def __init__(
        self, policy: Policy, *, state: State | None = None, now: Instant | None = None
    ) -> None:
        self.policy = policy
        self._begin = parse_instant(CREATED) if now is None else now
        self.now = self._begin
        self.state = State(frozenset({GLOBAL_SCHEDULER})) if state is None else state
        self.members: dict[str, MemberWorld] = {}
        self.evicted: dict[WorkloadKey, str] = {}
        """Why each of these jobs was taken out of a cluster in this step."""
        self.domains: dict[WorkloadKey, str] = {}
        """The smallest HyperNode around each job when the step began."""
        self.shrunk: dict[WorkloadKey, int] = {}
        """Pods that running jobs had to give back in this step."""
        self.unproven: set[WorkloadKey] = set()
        """Jobs with an answer, in any cycle, that the search limit ended before it was certain."""
        self.keys: dict[str, WorkloadKey] = {}
        """Binding by `namespace/name` of its template."""
        self._objects: dict[WorkloadKey, Obj] = {}
        self._propagation = Propagation()
        self._templates: list[tuple[Obj, RunningSpec | None]] = []
        self._queues: dict[str, Obj] = {}
        # Above every version of a live server, so that what is tried counts as the newest.
        self._version = 0 if state is None else 2**62
        self._jobs: dict[str, Obj] = {}
        """Template by `namespace/name`."""
        self._take: dict[str, Callable[[Obj], object]] = {
            "Queue": lambda o: self.state.upsert_queue(msgspec.convert(o, Queue)),
            "Tenant": lambda o: self.state.upsert_tenant(msgspec.convert(o, Tenant)),
            "Cluster": lambda o: self.state.upsert_cluster(msgspec.convert(o, Cluster)),
            "PriorityClass": lambda o: self.state.upsert_priority(
                msgspec.convert(o, PriorityClass)
            ),
            "OverridePolicy": lambda o: self.state.upsert_override(
                msgspec.convert(o, OverridePolicy)
            ),
            "ClusterOverridePolicy": lambda o: self.state.upsert_override(
                msgspec.convert(o, OverridePolicy)
            ),
            "Namespace": lambda _: None,
        }
        for (api_version, kind), (_, crd) in RUNTIMES.items():
            self._take[kind] = partial(self._take_runtime, api_version, kind, crd.type)
        if state is None:
            # global-sched creates this queue where it is missing.
            self.apply(queue_object(QueueSpec(name=DEFAULT_QUEUE)))

    # --- objects in -----------------------------------------------------------------------

    def apply(
        self, manifest: Manifest, *, created: int = 0, running: RunningSpec | None = None
    ) -> None:
        """Create an object. A template waits for `propagate`, since its policy may come later.

        Raises:  ScenarioError naming the object and the field that cannot be read.
        """
        obj: Obj = merge_patch(manifest, {})
        meta = obj.setdefault("metadata", {})
        kind = obj.get("kind")
        if not kind or not obj.get("apiVersion") or not meta.get("name"):
            raise ScenarioError("a manifest needs apiVersion, kind and metadata.name")
        self._version += 1
        where = f"{kind} {meta.get('namespace', '')}/{meta['name']}"
        meta.setdefault("uid", f"{kind}-{meta.get('namespace', '')}-{meta['name']}".lower())
        meta.setdefault("resourceVersion", str(self._version))
        meta.setdefault(
            "creationTimestamp",
            format_instant(Instant(self._begin + created * SECOND)),
        )
        if kind in POLICY_KINDS:
            self._propagation.add_policy(obj)
            return
        if kind == "Queue":
            self._keep_past(obj)
        take = self._take.get(kind)
        try:
            if take is not None:
                take(obj)
            else:
                self._templates.append((obj, running))
        except msgspec.ValidationError as error:
            raise ScenarioError(f"{where}: {error}") from error

    def _take_runtime(self, api_version: str, kind: str, wire: type[Any], obj: Obj) -> None:
        meta = obj["metadata"]
        ref = RuntimeRef(api_version, kind, meta.get("namespace", ""), meta["name"])
        self.state.upsert_runtime(ref, msgspec.convert(obj, wire))

    def _keep_past(self, queue: Obj) -> None:
        """A queue that is applied again keeps what was written on it, as with `kubectl apply`."""
        meta = queue["metadata"]
        before = self._queues.get(meta["name"], {}).get("metadata", {}).get("annotations", {})
        if PAST_USAGE in before:
            meta["annotations"] = {PAST_USAGE: before[PAST_USAGE], **meta.get("annotations", {})}
        self._queues[meta["name"]] = queue

    def remember(self) -> None:
        """Write on the queues what their tenants held, as the leader does where that counts."""
        for name, records in renewed(
            self.state.snapshot(), self.policy, self.now, at_once=True
        ).items():
            queue = self._queues.get(name)
            if queue is None:
                continue
            patch = {"metadata": {"annotations": {PAST_USAGE: render_past(records) or None}}}
            self._version += 1
            queue = self._queues[name] = merge_patch(queue, patch)
            queue["metadata"]["resourceVersion"] = str(self._version)
            self._take["Queue"](queue)

    def propagate(self) -> None:
        """Make the bindings of all templates that a policy selects."""
        for template, running in self._templates:
            self._bind_template(template, running)
        self._templates = []

    def _bind_template(self, template: Obj, running: RunningSpec | None) -> None:
        meta = template["metadata"]
        name = f"{meta.get('namespace', '')}/{meta['name']}"
        self._tell_template(template)
        binding = self._propagation.binding_of(template, f"id-{name}-{template['kind']}".lower())
        if binding is None:
            return
        key = WorkloadKey(f"{meta.get('namespace', '')}/{binding['metadata']['name']}")
        binding["metadata"] |= {
            "uid": f"uid-{key}",
            "creationTimestamp": meta["creationTimestamp"],
            "generation": 0,
        }
        self.keys[name] = key
        self._jobs[name] = template
        self._store(key, binding, spec_changed=True)
        if running is not None:
            self._place_running(key, running)

    def _tell_template(self, template: Obj) -> None:
        meta = template["metadata"]
        where = f"{template['kind']} {meta.get('namespace', '')}/{meta['name']}"
        reader = KINDS.get((template["apiVersion"], template["kind"]))
        try:
            if reader is not None:
                self.state.upsert_template(reader, msgspec.convert(template, reader.wire))
            else:
                msgspec.convert(template, Template)
        except msgspec.ValidationError as error:
            raise ScenarioError(f"{where}: {error}") from error

    def _place_running(self, key: WorkloadKey, running: RunningSpec) -> None:
        """Pretend that a workload was admitted before the scenario begins."""
        self.state.settle()
        workload = self.state.workload(key)
        if workload is None or workload.demand.gang is None:
            raise ScenarioError(f"{key}: only a job with demand can run already")
        gang = workload.demand.gang
        grant = Grant(
            cluster=ClusterName(running.cluster),
            amounts=gang.all_amounts(),
            replicas=gang.pods() if workload.demand.carries_replicas else None,
            domain=DomainId(running.domain) if running.domain else None,
        )
        order = len(self._objects)
        decision = new_decision(
            workload, (grant,), (self.now, order), epoch=0, pending=Amounts(), backoffs=()
        )
        target: Obj = {"name": running.cluster}
        if grant.replicas is not None:
            target["replicas"] = grant.replicas
        patch = {
            "metadata": {
                "annotations": {
                    DECISION: render_decision(decision),
                    "policy.karmada.io/applied-placement": workload.placement_json,
                }
            },
            "spec": {"clusters": [target]},
        }
        self._patch(key, patch)
        self._patch(
            key,
            success_status("", (), generation=self._generation(key), now=self.now, affinity=None),
        )

    def delete(self, name: str) -> None:
        """The job is deleted, and its binding with it."""
        key = self.key(name)
        binding = self._objects.pop(key)
        meta = binding["metadata"]
        self.state.delete_binding(meta.get("namespace", ""), meta["name"], meta["uid"])
        self.keys = {known: one for known, one in self.keys.items() if one != key}

    def drop(self, kind: str, name: str) -> None:
        """A queue, tenant or priority class is deleted."""
        match kind:
            case "Queue":
                self._queues.pop(name, None)
                self.state.delete_queue(name)
            case "Tenant":
                self.state.delete_tenant(name)
            case _:
                self.state.delete_priority(name)

    def resize(self, name: str, replicas: Mapping[str, int]) -> None:
        """The job's template is edited to have so many pods of each task; its binding follows."""
        key = self.key(name)
        full = next(known for known, one in self.keys.items() if one == key)
        template = copy.deepcopy(self._jobs[full])
        tasks = {task["name"]: task for task in template["spec"].get("tasks") or ()}
        for task, count in replicas.items():
            if task not in tasks:
                known = ", ".join(sorted(tasks)) or "none"
                raise ScenarioError(f"resize: {name} has no task {task!r}; it has {known}")
            tasks[task]["replicas"] = count
        self._version += 1
        template["metadata"]["resourceVersion"] = str(self._version)
        self._jobs[full] = template
        self._tell_template(template)
        binding = self._propagation.updated(self._objects[key], template)
        self._store(key, binding, spec_changed=True)

    def held_by(self, queue: str) -> list[Workload]:
        """The admitted jobs of a queue and of all queues below it."""
        below = {queue}
        parents = {name: one["spec"].get("parent") for name, one in self._queues.items()}
        for _ in parents:
            below |= {name for name, parent in parents.items() if parent in below}
        return [one for one in self.state.workloads() if one.admitted() and one.queue in below]

    def set_queue_state(self, name: str, state: str) -> None:
        """Open or close a queue, as its controller does."""
        known = self._queues.get(name)
        if known is None:
            raise ScenarioError(f"{name!r} is not a queue of this scenario")
        self._version += 1
        meta = known["metadata"] | {"resourceVersion": str(self._version)}
        self._take["Queue"](known | {"metadata": meta, "status": {"state": state}})

    def key(self, name: str) -> WorkloadKey:
        """The binding of a job, by `namespace/name` or by its name when that is the only one."""
        found = {
            key for known, key in self.keys.items() if name in (known, known.partition("/")[2])
        }
        if len(found) != 1:
            known = ", ".join(sorted(self.keys)) or "none"
            why = "is not a job of this scenario" if not found else "is ambiguous"
            raise ScenarioError(f"{name!r} {why}; there are: {known}")
        return found.pop()

    def name_of(self, key: WorkloadKey) -> str:
        """The `namespace/name` of a binding's template."""
        return next((name for name, one in self.keys.items() if one == key), str(key))

    def full_name(self, name: str) -> str:
        """The `namespace/name` of a job that may be named alone."""
        return self.name_of(self.key(name))

    def seconds(self) -> int:
        """How long the scenario has lasted."""
        return int((self.now - self._begin) // SECOND)

    def workload(self, name: str) -> Workload:
        """A job as the cache has it."""
        self.state.settle()
        return self._workload(self.key(name))

    # --- objects --------------------------------------------------------------------------

    def _workload(self, key: WorkloadKey) -> Workload:
        workload = self.state.workload(key)
        if workload is None:
            raise ScenarioError(f"{key} is not scheduled by global-sched: see its policy")
        return workload

    def _confirm(self, key: WorkloadKey, *, affinity: str | None) -> None:
        conditions = self.state.conditions(key)
        body = success_status(
            "", conditions, generation=self._generation(key), now=self.now, affinity=affinity
        )
        self._patch(key, body)

    def _generation(self, key: WorkloadKey) -> int:
        return int(self._objects[key]["metadata"]["generation"])

    def _patch(self, key: WorkloadKey, patch: Obj) -> None:
        self._store(key, merge_patch(self._objects[key], patch), spec_changed="spec" in patch)

    def _store(self, key: WorkloadKey, binding: Obj, *, spec_changed: bool) -> None:
        self._version += 1
        meta = binding["metadata"]
        meta["resourceVersion"] = str(self._version)
        meta["generation"] += int(spec_changed)
        self._objects[key] = binding
        self.state.upsert_binding(
            msgspec.json.decode(msgspec.json.encode(binding), type=ResourceBinding)
        )
        self.state.forget(key)
