"""The base of workload controllers: reconcile an object when it or what it owns changes."""

from abc import ABC, abstractmethod

from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.members.cluster import Cluster, controller_of
from global_sched.propagation.fields import Obj, deleting, key_of
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.objects import ObjectKey


class WorkloadController(ABC):
    """Reconciles the objects of one kind; children implement `sync`."""

    resource: Resource
    owns: tuple[Resource, ...] = ()
    needs: tuple[Resource, ...] = ()
    """Kinds with a CRD that it makes or reads: without them it does not run."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.loop: Loop[ObjectKey] = Loop(
            self.resource.plural, self._reconcile, clock=cluster.clock, workers=8
        )
        cluster.mirrors[self.resource].listen(self._changed)
        for owned in self.owns:
            cluster.mirrors[owned].listen(self._owned_changed)

    @abstractmethod
    async def sync(self, obj: Obj) -> float | None:
        """Bring the world in line with one object; seconds until the next look, if any."""

    def forget(self, uid: str) -> None:  # noqa: B027 - most remember nothing
        """The object with that uid is gone."""

    def _changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None:
            self.loop.add(key_of(new))
        elif old is not None:
            self.forget(str(old["metadata"].get("uid")))

    def _owned_changed(self, old: Obj | None, new: Obj | None) -> None:
        for obj in (old, new):
            owner = controller_of(obj) if obj is not None else None
            if owner is None or obj is None or owner["kind"] != self.resource.kind:
                continue
            if owner["apiVersion"].partition("/")[0] == self.resource.group:
                namespace = obj["metadata"].get("namespace") or ""
                self.loop.add(ObjectKey(namespace, owner["name"]))

    async def _reconcile(self, key: ObjectKey) -> float | None:
        obj = self.cluster.mirrors[self.resource].get(key)
        if obj is None or deleting(obj):
            return None  # what it owns goes with it, through the garbage collector
        return await self.sync(obj)
