"""The execution controller: what a Work says is in its member."""

from functools import partial
from typing import Final

from global_sched.embedded.karmada.applier import Applier, ApplyRefusedError
from global_sched.embedded.karmada.context import ControllerContext, cluster_of
from global_sched.embedded.karmada.dispatcher import WORK_FINALIZER
from global_sched.embedded.karmada.loop import Loop, NotNow
from global_sched.propagation.fields import (
    Obj,
    deleting,
    get,
    key_of,
    name_of,
    set_condition,
)
from global_sched.shared.api.names import EXECUTION_PREFIX
from global_sched.shared.api.resource import WORKS
from global_sched.shared.kube.errors import ApiError, NotFound
from global_sched.shared.kube.objects import ObjectKey

COMPONENT: Final = "execution-controller"


class ExecutionController:
    """Reconciles Works into member objects."""

    def __init__(self, context: ControllerContext, applier: Applier) -> None:
        self._context = context
        self._applier = applier
        self.loop: Loop[ObjectKey] = Loop(
            "execution", self.reconcile, clock=context.clock, workers=8
        )
        context.recorder(COMPONENT)
        context.works.listen(self._work_changed)
        context.clusters.listen(self._cluster_changed)
        for name, member in context.members.items():
            member.changed.append(partial(self._look_at_all, name))

    def _work_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            return
        if old is None or old.get("spec") != new.get("spec") or deleting(old) != deleting(new):
            self.loop.add(key_of(new))

    def _cluster_changed(self, old: Obj | None, new: Obj | None) -> None:
        """A member that became ready can take what it has missed."""
        if new is not None and is_ready(new) and (old is None or not is_ready(old)):
            self._look_at_all(name_of(new))

    def _look_at_all(self, cluster: str) -> None:
        for work in self._context.works.indexed(("cluster", cluster)):
            if not is_applied(work):
                self.loop.add(key_of(work))

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Create, update or delete one Work's objects in its member."""
        work = self._context.works.get(key)
        if work is None or not key.namespace.startswith(EXECUTION_PREFIX):
            return None
        cluster = self._context.clusters.get(ObjectKey("", cluster_of(work)))
        if deleting(work):
            await self._remove(work, cluster)
            return None
        if cluster is None or not is_ready(cluster):
            return None  # its becoming ready brings us back
        member = self._context.members.get(cluster_of(work))
        if member is not None and not member.discovered.is_set():
            return None  # its discovery does, too
        if get(work, "spec", "suspendDispatching"):
            await self._conditions(work, _dispatching(held=True))
            return None
        await self._apply(work)
        return None

    async def _apply(self, work: Obj) -> None:
        manifests: list[Obj] = get(work, "spec", "workload", "manifests") or []
        problems: list[str] = []
        transient: ApiError | None = None
        for one in manifests:
            try:
                await self._applier.apply(cluster_of(work), one)
            except ApplyRefusedError as error:
                problems.append(str(error))
            except ApiError as error:
                problems.append(str(error))
                transient = error
        dispatching = _dispatching(held=False)
        if not problems:
            await self._conditions(
                work,
                dispatching,
                _applied("True", "AppliedSuccessful", "Manifest has been successfully applied"),
            )
            return
        done = len(manifests) - len(problems)
        message = f"Failed to apply all manifests ({done}/{len(manifests)}): {'; '.join(problems)}"
        await self._conditions(work, dispatching, _applied("False", "AppliedFailed", message))
        self._context.warn(COMPONENT, work, "SyncFailed", message)
        raise transient or NotNow(message)

    async def _conditions(self, work: Obj, *new: Obj) -> None:
        old = get(work, "status", "conditions")
        conditions = old
        for one in new:
            stamped = {**one, "lastTransitionTime": self._context.now()}
            conditions = set_condition(conditions, stamped)
        if conditions == old:
            return
        key = key_of(work)
        patch = {"status": {"conditions": conditions}}
        done = await self._context.client.patch(
            WORKS, key.name, patch, namespace=key.namespace, subresource="status"
        )
        self._context.works.note(done)

    async def _remove(self, work: Obj, cluster: Obj | None) -> None:
        """Delete the objects in the member, then let the Work go.

        A member that is being unregistered may be out of reach for good: its Works go anyway.
        """
        preserve = bool(get(work, "spec", "preserveResourcesOnDeletion"))
        leaving = cluster is None or deleting(cluster)
        if not preserve:
            if not leaving and not is_ready(cluster or {}):
                raise NotNow(f"the cluster {cluster_of(work)} is not ready")
            for one in get(work, "spec", "workload", "manifests") or []:
                try:
                    await self._applier.delete(cluster_of(work), one)
                except ApiError:
                    if not leaving:
                        raise
        await self._let_go(work)

    async def _let_go(self, work: Obj) -> None:
        finalizers = get(work, "metadata", "finalizers") or []
        rest = [one for one in finalizers if one != WORK_FINALIZER]
        if rest == finalizers:
            return
        key = key_of(work)
        patch = {"metadata": {"finalizers": rest}}
        try:
            await self._context.client.patch(WORKS, key.name, patch, namespace=key.namespace)
        except NotFound:
            return


def is_ready(cluster: Obj) -> bool:
    """Whether a cluster's Ready condition is true."""
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in get(cluster, "status", "conditions") or []
    )


def is_applied(work: Obj) -> bool:
    """Whether a Work's Applied condition is true."""
    return any(
        one.get("type") == "Applied" and one.get("status") == "True"
        for one in get(work, "status", "conditions") or []
    )


def _applied(status: str, reason: str, message: str) -> Obj:
    return {"type": "Applied", "status": status, "reason": reason, "message": message}


def _dispatching(*, held: bool) -> Obj:
    if held:
        return {
            "type": "Dispatching",
            "status": "False",
            "reason": "SuspendDispatching",
            "message": "Work dispatching is in a suspended state.",
        }
    return {
        "type": "Dispatching",
        "status": "True",
        "reason": "Dispatching",
        "message": "Work is being dispatched to member clusters.",
    }
