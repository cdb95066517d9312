"""One informer per kind; every event goes into the state and rings the bell.

Whether there is anything to decide, the state says when it is asked.
"""

from collections.abc import Callable, Iterable
from typing import Any

from global_sched.cache import State
from global_sched.controllers.eviction_tasks import EvictionTasks
from global_sched.controllers.scheduling_timer import Wake
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.core import PriorityClass
from global_sched.shared.api.federation import CapacityReport, Directive, Tenant
from global_sched.shared.api.karmada import Cluster, OverridePolicy, ResourceBinding
from global_sched.shared.api.resource import Resource
from global_sched.shared.api.volcano import Queue
from global_sched.shared.clock import Clock
from global_sched.shared.kinds import KINDS, RUNTIMES, WorkloadKind
from global_sched.shared.kinds.parts.kind import RuntimeRef
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.informer import Handler, Informer
from global_sched.shared.kube.objects import Malformed, ObjectKey


class StateHandler:
    """Passes one kind's events on."""

    def __init__(
        self,
        wake: Wake,
        *,
        upsert: Callable[[Any], None],
        delete: Callable[[ObjectKey, str], None],
        malformed: Callable[[Malformed], None],
    ) -> None:
        self._wake = wake
        self._upsert = upsert
        self._delete = delete
        self._malformed = malformed

    def upsert(self, obj: Any) -> None:
        """The object is new or changed."""
        self._upsert(obj)
        self._wake.ring()

    def delete(self, key: ObjectKey, uid: str) -> None:
        """The object is gone."""
        self._delete(key, uid)
        self._wake.ring()

    def malformed(self, bad: Malformed) -> None:
        """The object cannot be read."""
        self._malformed(bad)
        self._wake.ring()

    def synced(self) -> None:
        """The first list is complete: there may be something to decide."""
        self._wake.ring()


class Watches:
    """All informers of one global-sched; kinds that are not `served` are watched when they are."""

    def __init__(
        self,
        client: Client,
        state: State,
        *,
        clock: Clock,
        wake: Wake,
        directives: Handler[Directive],
        served: frozenset[Resource],
        eviction_tasks: EvictionTasks | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._wake = wake
        handlers = Handlers(state, clock, wake, eviction_tasks)
        self.bindings = [
            self._informer(kinds.RESOURCE_BINDINGS, ResourceBinding, handlers.bindings()),
            self._informer(kinds.CLUSTER_RESOURCE_BINDINGS, ResourceBinding, handlers.bindings()),
        ]
        self.reports = self._informer(kinds.CAPACITY_REPORTS, CapacityReport, handlers.reports())
        self.others = [
            self._informer(kinds.CLUSTERS, Cluster, handlers.clusters()),
            self._informer(kinds.QUEUES, Queue, handlers.queues()),
            self._informer(kinds.TENANTS, Tenant, handlers.tenants()),
            self._informer(kinds.PRIORITY_CLASSES, PriorityClass, handlers.priorities()),
            self._informer(kinds.DIRECTIVES, Directive, directives),
        ]
        self._optional: dict[Resource, Informer[Any]] = {
            one: self._informer(one, OverridePolicy, handlers.overrides())
            for one in (kinds.OVERRIDE_POLICIES, kinds.CLUSTER_OVERRIDE_POLICIES)
        }
        for reader in KINDS.values():
            self._optional[reader.resource] = self._informer(
                reader.resource, reader.wire, handlers.templates(reader)
            )
        for _, crd in RUNTIMES.values():
            self._optional[crd.resource] = self._informer(
                crd.resource, crd.type, handlers.runtimes(crd.resource)
            )
        self.unserved = frozenset(self._optional) - served
        """Optional kinds that are not watched yet."""

    def add(self, served: frozenset[Resource]) -> list[Informer[Any]]:
        """Informers of kinds that are served now and were not before; the caller runs them."""
        late = sorted(self.unserved & served, key=lambda one: one.group_kind)
        self.unserved -= served
        return [self._optional[one] for one in late]

    def _informer(self, resource: Resource, wire: type[Any], handler: Any) -> Informer[Any]:
        return Informer(self._client, resource, wire, handler=handler, clock=self._clock)

    def all(self) -> list[Informer[Any]]:
        """Every informer."""
        optional = [one for kind, one in self._optional.items() if kind not in self.unserved]
        return [*self.bindings, self.reports, *self.others, *optional]

    async def synced(self) -> None:
        """Return when every first list is complete."""
        for informer in self.all():
            await informer.synced.wait()

    def missing(self) -> list[str]:
        """Kinds whose first list is not complete."""
        return [one.resource.group_kind for one in self.all() if not one.synced.is_set()]

    def staleness(self) -> tuple[float, str]:
        """Seconds since we were last known to be up to date, and of which kind that is."""
        now = self._clock.monotonic()
        return max((now - one.last_contact, one.resource.group_kind) for one in self.decisive())

    def decisive(self) -> Iterable[Informer[Any]]:
        """Informers without which a decision would be made blindly."""
        return (*self.bindings, self.reports)


class Handlers:
    """Handlers of every kind, for one state."""

    def __init__(
        self, state: State, clock: Clock, wake: Wake, eviction_tasks: EvictionTasks | None = None
    ) -> None:
        self._state = state
        self._clock = clock
        self._wake = wake
        self._eviction_tasks = eviction_tasks

    def bindings(self) -> StateHandler:
        """ResourceBindings and ClusterResourceBindings."""
        state, clock, eviction_tasks = self._state, self._clock, self._eviction_tasks

        def upsert(wire: ResourceBinding) -> None:
            state.upsert_binding(wire, clock.now())
            if eviction_tasks is not None:
                eviction_tasks.seen(wire)

        def delete(key: ObjectKey, uid: str) -> None:
            state.delete_binding(key.namespace, key.name, uid)
            if eviction_tasks is not None:
                eviction_tasks.gone(key)

        return StateHandler(
            self._wake,
            upsert=upsert,
            delete=delete,
            malformed=lambda bad: state.malformed_binding(
                bad.key.namespace, bad.key.name, bad.uid, bad.error
            ),
        )

    def reports(self) -> StateHandler:
        """CapacityReports, with the time of their arrival."""
        state = self._state
        return StateHandler(
            self._wake,
            upsert=lambda obj: state.upsert_report(obj, self._clock.now()),
            delete=lambda key, _: state.delete_report(key.namespace, key.name),
            malformed=lambda bad: state.malformed_report(
                bad.key.namespace, bad.key.name, bad.uid, bad.resource_version, bad.error
            ),
        )

    def templates(self, reader: WorkloadKind) -> StateHandler:
        """Templates of one kind."""
        state = self._state
        return StateHandler(
            self._wake,
            upsert=lambda obj: state.upsert_template(reader, obj),
            delete=lambda key, _: state.delete_template(reader, key.namespace, key.name),
            malformed=lambda bad: state.malformed_template(
                reader, bad.key.namespace, bad.key.name, bad.uid, bad.resource_version, bad.error
            ),
        )

    def runtimes(self, resource: Resource) -> StateHandler:
        """Objects that hold a part of other templates."""
        state = self._state

        def ref(namespace: str, name: str) -> RuntimeRef:
            return RuntimeRef(resource.api_version, resource.kind, namespace, name)

        return StateHandler(
            self._wake,
            upsert=lambda obj: state.upsert_runtime(
                ref(obj.metadata.namespace, obj.metadata.name), obj
            ),
            delete=lambda key, _: state.delete_runtime(ref(key.namespace, key.name)),
            malformed=lambda bad: state.malformed_runtime(
                ref(bad.key.namespace, bad.key.name), bad.uid, bad.error
            ),
        )

    def overrides(self) -> StateHandler:
        """OverridePolicies and ClusterOverridePolicies."""
        state = self._state
        return StateHandler(
            self._wake,
            upsert=state.upsert_override,
            delete=lambda key, _: state.delete_override(key.namespace, key.name),
            malformed=lambda bad: state.malformed_override(
                bad.key.namespace, bad.key.name, bad.uid, bad.error
            ),
        )

    def clusters(self) -> StateHandler:
        """Clusters."""
        state = self._state
        return self._named(state.upsert_cluster, state.delete_cluster, kinds.CLUSTERS)

    def queues(self) -> StateHandler:
        """Queues."""
        state = self._state
        return self._named(state.upsert_queue, state.delete_queue, kinds.QUEUES)

    def tenants(self) -> StateHandler:
        """Tenants."""
        state = self._state
        return self._named(state.upsert_tenant, state.delete_tenant, kinds.TENANTS)

    def priorities(self) -> StateHandler:
        """PriorityClasses."""
        state = self._state
        return self._named(state.upsert_priority, state.delete_priority, kinds.PRIORITY_CLASSES)

    def _named(
        self, upsert: Callable[[Any], None], delete: Callable[[str], None], resource: Resource
    ) -> StateHandler:
        """Cluster-scoped kinds; one that cannot be read is as good as not there."""

        def malformed(bad: Malformed) -> None:
            self._state.set_aside(
                resource.api_version,
                resource.kind,
                bad.key.namespace,
                bad.key.name,
                bad.uid,
                f"{resource.group_kind} {bad.key.name}: {bad.error}; correct the object",
            )
            delete(bad.key.name)

        return StateHandler(
            self._wake,
            upsert=upsert,
            delete=lambda key, _: delete(key.name),
            malformed=malformed,
        )
