"""The work status controller: what a member says about an object goes into its Work."""

from dataclasses import dataclass
from functools import partial

from global_sched.embedded.karmada.applier import MANAGED_SELECTOR, Applier
from global_sched.embedded.karmada.context import ControllerContext, cluster_of
from global_sched.embedded.karmada.discovery import Kind
from global_sched.embedded.karmada.execution import is_applied
from global_sched.embedded.karmada.interpreter.status import UNKNOWN, health_of, reflect
from global_sched.embedded.karmada.loop import Loop
from global_sched.propagation.fields import (
    Obj,
    annotations,
    deleting,
    get,
    key_of,
    kind_of,
    name_of,
    namespace_of,
)
from global_sched.shared.api.names import EXECUTION_PREFIX, WORK_NAME, WORK_NAMESPACE
from global_sched.shared.api.resource import WORKS
from global_sched.shared.kube.objects import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberObject:
    """An object in a member."""

    cluster: str
    kind: Kind
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.kind[1]} {self.key} in {self.cluster}"


class WorkStatusController:
    """Watches managed objects in all members, of the kinds that Works have."""

    def __init__(self, context: ControllerContext, applier: Applier) -> None:
        self._context = context
        self._applier = applier
        self._watched: set[tuple[str, Kind]] = set()
        self.loop: Loop[MemberObject] = Loop(
            "work-status", self.reconcile, clock=context.clock, workers=8
        )
        context.works.listen(self._work_changed)
        for member in context.members.values():
            member.changed.append(self._watch_all)

    def _work_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or not namespace_of(new).startswith(EXECUTION_PREFIX):
            return
        self._watch(new)
        if is_applied(new) and (old is None or not is_applied(old)):
            # The object's own event may have come before the Work was known to be applied.
            for one in get(new, "spec", "workload", "manifests") or []:
                self.loop.add(_member_object(cluster_of(new), one))

    def _watch_all(self) -> None:
        for work in self._context.works.all():
            self._watch(work)

    def _watch(self, work: Obj) -> None:
        cluster = cluster_of(work)
        member = self._context.members.get(cluster)
        if member is None:
            return
        for one in get(work, "spec", "workload", "manifests") or []:
            kind = kind_of(one)
            if (cluster, kind) in self._watched:
                continue
            mirror = member.mirror(kind, label_selector=MANAGED_SELECTOR)
            if mirror is not None:
                self._watched.add((cluster, kind))
                mirror.listen(partial(self._object_changed, cluster))

    def _object_changed(self, cluster: str, old: Obj | None, new: Obj | None) -> None:
        changed = new if new is not None else old
        if changed is not None:
            self.loop.add(_member_object(cluster, changed))

    async def reconcile(self, key: MemberObject) -> float | None:
        """Bring the Work's status of one object up to date, and undo foreign changes to it."""
        member = self._context.members[key.cluster]
        mirror = member.mirror(key.kind, label_selector=MANAGED_SELECTOR)
        if mirror is None:
            return None
        observed = mirror.get(key.key)
        work = self._work_of(key, observed)
        if work is None or deleting(work):
            return None
        manifest, ordinal = _manifest_of(work, key)
        if manifest is None or get(work, "spec", "suspendDispatching"):
            return None
        if observed is None:
            if is_applied(work):
                observed = await self._applier.apply(key.cluster, manifest)
            else:
                return None
        elif deleting(observed):
            return None
        elif self._applier.is_foreign_change(key.cluster, mirror.resource, observed):
            observed = await self._applier.apply(key.cluster, manifest)
        await self._write(work, observed, ordinal)
        return None

    def _work_of(self, key: MemberObject, observed: Obj | None) -> Obj | None:
        """The Work that an object names; for one that is gone, the Work that has its manifest."""
        if observed is not None:
            notes = annotations(observed)
            named = ObjectKey(notes.get(WORK_NAMESPACE, ""), notes.get(WORK_NAME, ""))
            return self._context.works.get(named)
        for work in self._context.works.indexed(("cluster", key.cluster)):
            if _manifest_of(work, key)[0] is not None:
                return work
        return None

    async def _write(self, work: Obj, observed: Obj, ordinal: int) -> None:
        identifier = _identifier(observed, ordinal)
        item: Obj = {"identifier": identifier, "health": health_of(observed)}
        if (status := reflect(observed)) is not None:
            item["status"] = status
        old: list[Obj] = get(work, "status", "manifestStatuses") or []
        new = [one for one in old if get(one, "identifier", "ordinal") != ordinal]
        new.append(item)
        new.sort(key=lambda one: int(get(one, "identifier", "ordinal") or 0))
        if new == old:
            return
        key = key_of(work)
        done = await self._context.client.patch(
            WORKS,
            key.name,
            {"status": {"manifestStatuses": new}},
            namespace=key.namespace,
            subresource="status",
        )
        self._context.works.note(done)


def _member_object(cluster: str, obj: Obj) -> MemberObject:
    return MemberObject(cluster=cluster, kind=kind_of(obj), key=key_of(obj))


def _manifest_of(work: Obj, key: MemberObject) -> tuple[Obj | None, int]:
    for ordinal, one in enumerate(get(work, "spec", "workload", "manifests") or []):
        if kind_of(one) == key.kind and key_of(one) == key.key:
            return one, ordinal
    return None, 0


def _identifier(obj: Obj, ordinal: int) -> Obj:
    api_version, kind = kind_of(obj)
    group, _, version = api_version.rpartition("/")
    identifier = {
        "ordinal": ordinal,
        "version": version,
        "kind": kind,
        "resource": "",
        "name": name_of(obj),
    }
    optional = {"group": group, "namespace": namespace_of(obj)}
    return identifier | {name: value for name, value in optional.items() if value}


def status_for(work: Obj, reference: Obj) -> tuple[Obj | None, str]:
    """Status and health of the template's copy in a Work; unknown until it was collected."""
    for one in get(work, "status", "manifestStatuses") or []:
        identifier = one.get("identifier") or {}
        group = f"{identifier['group']}/" if identifier.get("group") else ""
        if (
            f"{group}{identifier.get('version')}" == reference.get("apiVersion")
            and identifier.get("kind") == reference.get("kind")
            and identifier.get("name") == reference.get("name")
            and identifier.get("namespace", "") == reference.get("namespace", "")
        ):
            return one.get("status"), str(one.get("health") or UNKNOWN)
    return None, UNKNOWN
