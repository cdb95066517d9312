"""The binding controller: a binding with clusters becomes one Work per cluster."""

import copy
from collections.abc import Sequence
from typing import Final

from global_sched.embedded.karmada.context import (
    BINDING_LABELS,
    BindingKey,
    ControllerContext,
    cluster_of,
    owner_of,
)
from global_sched.embedded.karmada.interpreter.copies import completions_of, divide, revise
from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.karmada.manifests import (
    CONFLICT_RESOLUTION,
    WORK_ID,
    WorkIdentity,
    manifest,
)
from global_sched.embedded.karmada.overrides import (
    APPLIED,
    APPLIED_CLUSTER,
    OverrideError,
    applicable,
    apply_all,
)
from global_sched.embedded.karmada.targets import (
    allowed_clusters,
    injected_labels,
    is_suspended,
    purged_clusters,
    targets,
)
from global_sched.propagation.binding_content import (
    BINDING_FINALIZER,
    CLUSTER_BINDING_FINALIZER,
)
from global_sched.propagation.fields import (
    Obj,
    annotations,
    deleting,
    get,
    key_of,
    kind_of,
    labels,
    merge_difference,
    name_of,
    namespace_of,
    version_of,
)
from global_sched.propagation.naming import work_name
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import WORKS
from global_sched.shared.kube.errors import AlreadyExists, NotFound
from global_sched.shared.kube.objects import ObjectKey

COMPONENT: Final = "binding-controller"
WORK_FINALIZER: Final = "karmada.io/execution-controller"
PURGE_POLL: Final = 5.0
"""Seconds between looks at a Work that must be gone before new ones are made."""


class Dispatcher:
    """Reconciles bindings into Works."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.loop: Loop[BindingKey] = Loop("dispatcher", self.reconcile, clock=context.clock)
        context.recorder(COMPONENT)
        for mirror in (context.bindings, context.cluster_bindings):
            mirror.listen(self._binding_changed)
        context.works.listen(self._work_changed)
        for mirror in (context.overrides, context.cluster_overrides):
            mirror.listen(self._override_changed)
        context.clusters.listen(self._cluster_changed)

    # --- what wakes it up -------------------------------------------------------------------

    def _binding_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            return
        if old is None or old.get("spec") != new.get("spec") or deleting(old) != deleting(new):
            self.loop.add(BindingKey(key=key_of(new)))

    def _work_changed(self, old: Obj | None, new: Obj | None) -> None:
        """A Work that is gone may be what new ones wait for, or may have to be made again."""
        if new is None and old is not None and (owner := owner_of(old)) is not None:
            self.loop.add(owner)

    def _override_changed(self, old: Obj | None, new: Obj | None) -> None:
        """Any binding in reach of the policy: what it selected before, and what it selects now."""
        changed = new if new is not None else old
        if changed is None or (old and new and old.get("spec") == new.get("spec")):
            return
        namespace = namespace_of(changed)
        for binding in self._context.all_bindings():
            if not namespace or namespace == namespace_of(binding):
                self.loop.add(BindingKey(key=key_of(binding)))

    def _cluster_changed(self, old: Obj | None, new: Obj | None) -> None:
        """A cluster that appears may be a target already; labels decide about overrides."""
        if new is None:
            return
        if old is not None and labels(old) == labels(new):
            return
        for mirror in (self._context.bindings, self._context.cluster_bindings):
            for binding in mirror.indexed(("cluster", name_of(new))):
                self.loop.add(BindingKey(key=key_of(binding)))

    # --- reconciling ------------------------------------------------------------------------

    async def reconcile(self, key: BindingKey) -> float | None:
        """Bring the Works of one binding in line with it."""
        binding = self._context.binding(key)
        if binding is None:
            return None
        if deleting(binding):
            await self._clean_up(binding)
            return None
        works = self._context.works_of(binding)
        allowed = allowed_clusters(binding)
        for work in works:
            if cluster_of(work) not in allowed:
                await self._delete(work)
        wanted = targets(binding)
        if not wanted:
            return None
        if purged_clusters(binding) & {
            cluster_of(work) for work in self._context.works_of(binding)
        }:
            return PURGE_POLL
        template = await self._context.template(get(binding, "spec", "resource") or {})
        if template is None:
            return None  # it was deleted, and the binding will be
        await self._ensure_works(binding, template, wanted)
        return None

    async def _clean_up(self, binding: Obj) -> None:
        for work in self._context.works_of(binding):
            await self._delete(work)
        mine = (BINDING_FINALIZER, CLUSTER_BINDING_FINALIZER)
        finalizers = get(binding, "metadata", "finalizers") or []
        rest = [one for one in finalizers if one not in mine]
        if rest != finalizers:
            await self._context.patch_binding(binding, {"metadata": {"finalizers": rest}})

    async def _delete(self, work: Obj) -> None:
        if deleting(work):
            return
        key = key_of(work)
        try:
            await self._context.client.delete(WORKS, key.name, namespace=key.namespace)
        except NotFound:
            return

    async def _ensure_works(self, binding: Obj, template: Obj, wanted: Sequence[Obj]) -> None:
        completions = self._completions(binding, template, wanted)
        first: OverrideError | None = None
        for target, done in zip(wanted, completions, strict=True):
            try:
                await self._ensure_work(binding, template, target, done)
            except OverrideError as error:
                # One cluster's override must not keep the others from their copies.
                self._context.warn(COMPONENT, binding, "SyncWorkFailed", str(error))
                first = first or error
        if first is not None:
            raise first

    @staticmethod
    def _completions(binding: Obj, template: Obj, wanted: Sequence[Obj]) -> Sequence[int | None]:
        """A Divided batch Job's completions follow its replicas; otherwise they stay whole."""
        total = completions_of(template)
        scheduling = get(binding, "spec", "placement", "replicaScheduling") or {}
        divided = scheduling.get("replicaSchedulingType") == "Divided"
        if total is None or not divided or not get(binding, "spec", "replicas"):
            return [None for _ in wanted]
        return list(divide(total, [int(target.get("replicas") or 0) for target in wanted]))

    async def _ensure_work(
        self, binding: Obj, template: Obj, target: Obj, completions: int | None
    ) -> None:
        cluster = str(target["name"])
        name = work_name(template["kind"], name_of(template), namespace_of(template))
        key = ObjectKey(execution_namespace(cluster), name)
        existing = self._context.works.get(key)
        if existing is not None and deleting(existing):
            return  # its deletion brings us back
        work_id = labels(existing).get(WORK_ID, "") if existing else ""
        identity = WorkIdentity(
            namespace=key.namespace, name=name, permanent_id=work_id or self._context.new_id()
        )
        work = self._work(binding, template, target, identity, completions)
        await self._write(key, existing, work)

    def _work(
        self,
        binding: Obj,
        template: Obj,
        target: Obj,
        identity: WorkIdentity,
        completions: int | None,
    ) -> Obj:
        marks = {name: value for name in BINDING_LABELS if (value := labels(binding).get(name))}
        notes = self._annotations(binding)
        copied = copy.deepcopy(template)
        if get(binding, "spec", "replicas"):
            revise(copied, int(target.get("replicas") or 0))
            if completions is not None:
                copied["spec"]["completions"] = completions
        injected = injected_labels(binding, str(target["name"]))
        if injected:
            copied["metadata"]["labels"] = labels(copied) | injected
        applied = self._override(copied, str(target["name"]))
        body = manifest(copied, identity, labels_=marks, annotations_=notes, generation=True)
        return {
            "apiVersion": WORKS.api_version,
            "kind": WORKS.kind,
            "metadata": {
                "name": identity.name,
                "namespace": identity.namespace,
                "labels": marks | {WORK_ID: identity.permanent_id},
                "annotations": notes | applied,
                "finalizers": [WORK_FINALIZER],
            },
            "spec": {
                "workload": {"manifests": [body]},
                "suspendDispatching": is_suspended(binding, str(target["name"])),
                "preserveResourcesOnDeletion": bool(
                    get(binding, "spec", "preserveResourcesOnDeletion")
                ),
            },
        }

    @staticmethod
    def _annotations(binding: Obj) -> dict[str, str]:
        resolution = get(binding, "spec", "conflictResolution") or "Abort"
        notes = {CONFLICT_RESOLUTION: str(resolution).lower()}
        namespace, name = key_of(binding)
        if namespace:
            return notes | {
                "resourcebinding.karmada.io/namespace": namespace,
                "resourcebinding.karmada.io/name": name,
            }
        return notes | {"clusterresourcebinding.karmada.io/name": name}

    def _override(self, copied: Obj, cluster: str) -> dict[str, str]:
        """Apply the overrides for a cluster; what was applied, as annotations of the Work.

        Raises:  OverrideError.
        """
        target = self._context.clusters.get(ObjectKey("", cluster))
        if target is None:
            raise OverrideError(f"the cluster {cluster} is not registered")
        notes: dict[str, str] = {}
        wide = applicable(self._context.cluster_overrides.all(), copied, target)
        if applied := apply_all(copied, wide):
            notes[APPLIED_CLUSTER] = applied
        namespace = namespace_of(copied)
        local = [one for one in self._context.overrides.all() if namespace_of(one) == namespace]
        if namespace and (applied := apply_all(copied, applicable(local, copied, target))):
            notes[APPLIED] = applied
        return notes

    async def _write(self, key: ObjectKey, existing: Obj | None, work: Obj) -> None:
        if existing is None:
            try:
                done = await self._context.client.create(WORKS, work, namespace=key.namespace)
            except AlreadyExists:
                done = await self._context.client.get(WORKS, key.name, namespace=key.namespace)
                self._context.works.note(done)
                raise
            self._context.works.note(done)
            return
        owner = {name: labels(existing).get(name) for name in BINDING_LABELS}
        if owner != {name: labels(work).get(name) for name in BINDING_LABELS}:
            kind = kind_of(get(work, "spec", "workload", "manifests")[0])[1]
            raise OverrideError(f"the Work {key} of this {kind} belongs to another binding")
        patch = merge_difference(
            {"labels": labels(existing), "annotations": annotations(existing)},
            {name: work["metadata"][name] for name in ("labels", "annotations")},
        )
        metadata = {"metadata": patch} if patch else {}
        patch = metadata | (
            {"spec": spec} if (spec := merge_difference(existing["spec"], work["spec"])) else {}
        )
        if not patch:
            return
        patch["metadata"] = patch.get("metadata", {}) | {"resourceVersion": version_of(existing)}
        done = await self._context.client.patch(WORKS, key.name, patch, namespace=key.namespace)
        self._context.works.note(done)
