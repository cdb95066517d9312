"""The namespace controller: user namespaces exist in every member."""

from global_sched.embedded.karmada.context import ControllerContext
from global_sched.embedded.karmada.dispatcher import WORK_FINALIZER
from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.karmada.manifests import WORK_ID, WorkIdentity, manifest
from global_sched.propagation.fields import Obj, deleting, key_of, labels, name_of
from global_sched.propagation.naming import is_propagated_namespace, work_name
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import WORKS
from global_sched.shared.kube.objects import ObjectKey


class NamespaceController:
    """Makes a Work per member for every user namespace."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.loop: Loop[str] = Loop("namespaces", self.reconcile, clock=context.clock)
        context.namespaces.listen(self._namespace_changed)
        context.clusters.listen(self._cluster_changed)

    def _namespace_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or not is_propagated_namespace(name_of(new)):
            return
        if old is None or labels(old) != labels(new) or deleting(old) != deleting(new):
            self.loop.add(name_of(new))

    def _cluster_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or old is not None:
            return
        for namespace in self._context.namespaces.all():
            self._namespace_changed(None, namespace)

    async def reconcile(self, name: str) -> float | None:
        """Make the Works of one namespace; garbage collection removes them with it."""
        namespace = self._context.namespaces.get(ObjectKey("", name))
        if namespace is None or deleting(namespace):
            return None
        again = None
        for cluster in self._context.clusters.all():
            if deleting(cluster):
                continue
            space = execution_namespace(name_of(cluster))
            if self._context.namespaces.get(ObjectKey("", space)) is None:
                again = 0.1  # the cluster controller is about to make it
                continue
            key = ObjectKey(space, work_name("Namespace", name, ""))
            if self._context.works.get(key) is None:
                await self._create(key, namespace)
        return again

    async def _create(self, key: ObjectKey, namespace: Obj) -> None:
        identity = WorkIdentity(
            namespace=key.namespace, name=key.name, permanent_id=self._context.new_id()
        )
        body = manifest(namespace, identity, labels_={}, annotations_={}, generation=False)
        work: Obj = {
            "apiVersion": WORKS.api_version,
            "kind": WORKS.kind,
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": {WORK_ID: identity.permanent_id},
                "finalizers": [WORK_FINALIZER],
                "ownerReferences": [_owner(namespace)],
            },
            "spec": {"workload": {"manifests": [body]}},
        }
        done = await self._context.client.create(WORKS, work, namespace=key.namespace)
        self._context.works.note(done)


def _owner(namespace: Obj) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "name": key_of(namespace).name,
        "uid": namespace["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
