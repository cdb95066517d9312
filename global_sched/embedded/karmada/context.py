"""State that all controllers share: the control plane's mirrors, members, clock, events."""

import uuid
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from global_sched.embedded.karmada.discovery import Kind
from global_sched.embedded.karmada.mirror import Mirror
from global_sched.embedded.karmada.server_view import ServerView, Spawn
from global_sched.propagation.claim import CLAIM_LABELS
from global_sched.propagation.fields import Obj, annotations, get, labels
from global_sched.shared.api.names import BINDING_ID, CLUSTER_BINDING_ID, EXECUTION_PREFIX
from global_sched.shared.api.propagation import WORKLOAD_REBALANCERS
from global_sched.shared.api.resource import (
    CLUSTER_OVERRIDE_POLICIES,
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    NAMESPACES,
    OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKS,
    Resource,
)
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.instant import format_instant

BINDING_LABELS: Final = (BINDING_ID, CLUSTER_BINDING_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateKey:
    """A template on the control plane."""

    kind: Kind
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.kind[1]} {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingKey:
    """A binding of either scope; an empty namespace is a ClusterResourceBinding."""

    key: ObjectKey

    @property
    def resource(self) -> Resource:
        """Where it is served."""
        return RESOURCE_BINDINGS if self.key.namespace else CLUSTER_RESOURCE_BINDINGS

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KarmadaOptions:
    """Flags of the real components, with their defaults.

    policy_preemption: whether `preemption: Always` is honoured (their gate is off by default;
    only policies that ask for it are concerned).
    no_execute_eviction: whether NoExecute taints on clusters evict.
    status_period, health_threshold, eviction_timeout: seconds.
    """

    policy_preemption: bool = True
    no_execute_eviction: bool = False
    status_period: float = 10.0
    health_threshold: float = 30.0
    eviction_timeout: float = 600.0


class ControllerContext:
    """Mirrors of the control plane's collections, and the members."""

    def __init__(
        self,
        control: Client,
        members: Mapping[str, Client],
        *,
        clock: Clock,
        options: KarmadaOptions,
    ) -> None:
        self.clock = clock
        self.options = options
        self.control = ServerView("control-plane", control, clock=clock)
        self.members = {
            name: ServerView(name, client, clock=clock) for name, client in members.items()
        }
        self.bindings = Mirror(RESOURCE_BINDINGS, index=_binding_index)
        self.cluster_bindings = Mirror(CLUSTER_RESOURCE_BINDINGS, index=_binding_index)
        self.works = Mirror(WORKS, index=_work_index)
        self.clusters = Mirror(CLUSTERS)
        self.namespaces = Mirror(NAMESPACES)
        self.policies = Mirror(PROPAGATION_POLICIES)
        self.cluster_policies = Mirror(CLUSTER_PROPAGATION_POLICIES)
        self.overrides = Mirror(OVERRIDE_POLICIES)
        self.cluster_overrides = Mirror(CLUSTER_OVERRIDE_POLICIES)
        self.rebalancers = Mirror(WORKLOAD_REBALANCERS)
        self._recorders: dict[str, EventRecorder] = {}

    @property
    def client(self) -> Client:
        """The control plane's client."""
        return self.control.client

    def start(self, spawn: Spawn) -> None:
        """Feed the mirrors, discover the members."""
        self.control.start(spawn)
        for mirror in (
            self.clusters,
            self.namespaces,
            self.policies,
            self.cluster_policies,
            self.overrides,
            self.cluster_overrides,
            self.bindings,
            self.cluster_bindings,
            self.works,
            self.rebalancers,
        ):
            self.control.feed(mirror)
        for member in self.members.values():
            member.start(spawn)
        for recorder in self._recorders.values():
            spawn(recorder.run())

    def now(self) -> str:
        """The time as objects carry it."""
        return format_instant(self.clock.now())

    @staticmethod
    def new_id() -> str:
        """A permanent id."""
        return str(uuid.uuid4())

    def binding(self, key: BindingKey) -> Obj | None:
        """A binding of either scope."""
        return self.bindings_of(key).get(key.key)

    def bindings_of(self, key: BindingKey) -> Mirror:
        """The mirror that a binding is in."""
        return self.bindings if key.key.namespace else self.cluster_bindings

    def all_bindings(self) -> Iterable[Obj]:
        """Bindings of both scopes."""
        yield from self.bindings.all()
        yield from self.cluster_bindings.all()

    def works_of(self, binding: Obj) -> list[Obj]:
        """The Works of a binding, in order of cluster."""
        found = binding_id(binding)
        return self.works.indexed(("binding", found)) if found else []

    async def patch_binding(self, binding: Obj, patch: Obj, *, status: bool = False) -> Obj:
        """Patch a binding as it was read: a later version is a Conflict.

        Raises:  Conflict, NotFound.
        """
        meta = binding["metadata"]
        namespace = meta.get("namespace") or ""
        key = BindingKey(key=ObjectKey(namespace, meta["name"]))
        guarded = {"resourceVersion": meta["resourceVersion"]}
        patch = patch | {"metadata": patch.get("metadata", {}) | guarded}
        done = await self.client.patch(
            key.resource,
            meta["name"],
            patch,
            namespace=namespace or None,
            subresource="status" if status else None,
        )
        self.bindings_of(key).note(done)
        return done

    async def template(self, reference: Obj) -> Obj | None:
        """The template that a reference names; None when it is gone or its kind is not served."""
        kind = (str(reference.get("apiVersion")), str(reference.get("kind")))
        key = ObjectKey(reference.get("namespace") or "", str(reference.get("name")))
        mirror = self.control.mirror(kind)
        if mirror is None:
            return None
        found = mirror.get(key)
        if found is not None or mirror.ready:
            return found
        try:
            return await self.client.get(mirror.resource, key.name, namespace=key.namespace or None)
        except NotFound:
            return None

    def recorder(self, component: str) -> EventRecorder:
        """The event recorder of a controller; made before `start`."""
        if component not in self._recorders:
            self._recorders[component] = EventRecorder(
                self.client, component=component, instance=component, clock=self.clock
            )
        return self._recorders[component]

    def warn(self, component: str, obj: Obj, reason: str, note: str) -> None:
        """Record a Warning about an object."""
        meta = obj["metadata"]
        regarding = Regarding(
            obj["apiVersion"],
            obj["kind"],
            meta.get("namespace") or "",
            meta["name"],
            meta.get("uid") or "",
        )
        self.recorder(component).record(
            regarding, reason=reason, note=note, action=reason, kind=EventKind.WARNING
        )


def binding_id(binding: Obj) -> str:
    """A binding's permanent id, empty while it has none."""
    marks = labels(binding)
    return next((marks[name] for name in BINDING_LABELS if marks.get(name)), "")


def owner_of(work: Obj) -> BindingKey | None:
    """The binding that a Work names; None for a namespace's."""
    notes = annotations(work)
    if name := notes.get("resourcebinding.karmada.io/name"):
        namespace = notes.get("resourcebinding.karmada.io/namespace", "")
        return BindingKey(key=ObjectKey(namespace, name))
    if name := notes.get("clusterresourcebinding.karmada.io/name"):
        return BindingKey(key=ObjectKey("", name))
    return None


def cluster_of(work: Obj) -> str:
    """The member that a Work is for."""
    namespace = str(get(work, "metadata", "namespace"))
    return namespace.removeprefix(EXECUTION_PREFIX)


def _binding_index(binding: Obj) -> Iterable[Hashable]:
    """By permanent id, by the policy that claims it, by template, by clusters, by what needs it."""
    if found := binding_id(binding):
        yield ("id", found)
    for name in CLAIM_LABELS:
        if value := labels(binding).get(name):
            yield ("policy", value)
    reference = get(binding, "spec", "resource") or {}
    yield (
        "template",
        reference.get("apiVersion"),
        reference.get("kind"),
        reference.get("namespace") or "",
        reference.get("name"),
    )
    for target in get(binding, "spec", "clusters") or []:
        yield ("cluster", target.get("name"))
    for snapshot in get(binding, "spec", "requiredBy") or []:
        yield ("required-by", snapshot.get("namespace"), snapshot.get("name"))


def _work_index(work: Obj) -> Iterable[Hashable]:
    """By the binding that it is a copy of, and by member."""
    if found := binding_id(work):
        yield ("binding", found)
    yield ("cluster", cluster_of(work))
