"""The dependencies distributor: what pods refer to follows them into their clusters."""

from typing import Final

import msgspec

from global_sched.embedded.karmada.context import BindingKey, ControllerContext, binding_id
from global_sched.embedded.karmada.interpreter.dependencies import Dependency, dependencies_of
from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.karmada.mirror import Mirror
from global_sched.propagation.binding_content import (
    BINDING_FINALIZER,
    owner_reference,
    reference_to,
)
from global_sched.propagation.fields import (
    Obj,
    annotations,
    deleting,
    get,
    key_of,
    labels,
    merge_difference,
    name_of,
    namespace_of,
)
from global_sched.propagation.naming import binding_name, depended_by_label
from global_sched.shared.api.names import BINDING_ID
from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.shared.kube.objects import ObjectKey

FINALIZER: Final = "karmada.io/binding-dependencies-distributor"
DEPENDENCIES: Final = "resourcebinding.karmada.io/dependencies"


class DependencyDistributor:
    """Reconciles bindings with `propagateDeps` into attached bindings of what they need."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._watched: set[int] = set()
        self._needed_by: dict[Dependency, set[ObjectKey]] = {}
        self.loop: Loop[BindingKey] = Loop("distributor", self.reconcile, clock=context.clock)
        context.bindings.listen(self._binding_changed)

    def _binding_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            return
        if old is None or old.get("spec") != new.get("spec") or deleting(old) != deleting(new):
            self.loop.add(BindingKey(key=key_of(new)))

    def _dependency_changed(self, _old: Obj | None, new: Obj | None) -> None:
        """An object that appears may be what a placed workload waits for; one that changed moves.

        Its binding then names its new version, so that its Works are written again.
        """
        if new is None:
            return
        dependency = Dependency(
            str(new["apiVersion"]), str(new["kind"]), namespace_of(new), name_of(new)
        )
        for key in self._needed_by.get(dependency, ()):
            self.loop.add(BindingKey(key=key))

    async def reconcile(self, key: BindingKey) -> float | None:
        """Bring the attached bindings of one binding in line."""
        binding = self._context.bindings.get(key.key)
        if binding is None:
            return None
        finalizers = get(binding, "metadata", "finalizers") or []
        if deleting(binding) or not get(binding, "spec", "propagateDeps"):
            if FINALIZER in finalizers:
                await self._detach(binding, keep=set())
                self._forget(key.key)
                rest = [one for one in finalizers if one != FINALIZER]
                await self._context.patch_binding(binding, {"metadata": {"finalizers": rest}})
            return None
        if not get(binding, "spec", "clusters") and FINALIZER not in finalizers:
            return None  # nothing is anywhere yet
        template = await self._context.template(get(binding, "spec", "resource") or {})
        found = dependencies_of(template) if template is not None else None
        if found is None:
            return None
        await self._distribute(binding, found)
        return None

    async def _distribute(self, binding: Obj, found: list[Dependency]) -> None:
        finalizers = get(binding, "metadata", "finalizers") or []
        text = msgspec.json.encode([one.as_object() for one in found] or None).decode()
        patch: Obj = {}
        if FINALIZER not in finalizers:
            patch["finalizers"] = [*finalizers, FINALIZER]
        if annotations(binding).get(DEPENDENCIES) != text:
            patch["annotations"] = {DEPENDENCIES: text}
        if patch:
            binding = await self._context.patch_binding(binding, {"metadata": patch})
        self._forget(key_of(binding))
        keep: set[ObjectKey] = set()
        for one in found:
            self._needed_by.setdefault(one, set()).add(key_of(binding))
            mirror = self._watch((one.api_version, one.kind))
            needed = await self._context.template(one.as_object()) if mirror is not None else None
            if needed is None or deleting(needed):
                continue
            keep.add(await self._attach(binding, needed))
        await self._detach(binding, keep=keep)

    def _watch(self, kind: tuple[str, str]) -> Mirror | None:
        mirror = self._context.control.mirror(kind)
        if mirror is not None and id(mirror) not in self._watched:
            self._watched.add(id(mirror))
            mirror.listen(self._dependency_changed)
        return mirror

    def _forget(self, key: ObjectKey) -> None:
        for needed in [one for one, keys in self._needed_by.items() if key in keys]:
            self._needed_by[needed].discard(key)
            if not self._needed_by[needed]:
                del self._needed_by[needed]

    async def _attach(self, binding: Obj, needed: Obj) -> ObjectKey:
        namespace, name = key_of(binding)
        key = ObjectKey(namespace, binding_name(needed["kind"], name_of(needed)))
        snapshot: Obj = {
            "namespace": namespace,
            "name": name,
            "clusters": get(binding, "spec", "clusters") or [],
        }
        label = {depended_by_label(namespace, name): binding_id(binding)}
        existing = self._context.bindings.get(key)
        if existing is None:
            done = await self._context.client.create(
                RESOURCE_BINDINGS,
                self._attached(key, needed, snapshot, label),
                namespace=namespace,
            )
            self._context.bindings.note(done)
            return key
        required = [
            one for one in get(existing, "spec", "requiredBy") or [] if not _is_of(one, binding)
        ]
        required = sorted([*required, snapshot], key=lambda one: (one["namespace"], one["name"]))
        wanted = {
            "metadata": {"labels": labels(existing) | label},
            "spec": {**existing["spec"], "resource": reference_to(needed), "requiredBy": required},
        }
        having = {"metadata": {"labels": labels(existing)}, "spec": existing["spec"]}
        if patch := merge_difference(having, wanted):
            await self._context.patch_binding(existing, patch)
        return key

    def _attached(self, key: ObjectKey, needed: Obj, snapshot: Obj, label: dict[str, str]) -> Obj:
        return {
            "apiVersion": RESOURCE_BINDINGS.api_version,
            "kind": RESOURCE_BINDINGS.kind,
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": {BINDING_ID: self._context.new_id()} | label,
                "finalizers": [BINDING_FINALIZER],
                "ownerReferences": [owner_reference(needed)],
            },
            "spec": {"resource": reference_to(needed), "requiredBy": [snapshot]},
        }

    async def _detach(self, binding: Obj, *, keep: set[ObjectKey]) -> None:
        """Take a binding out of `requiredBy` everywhere except where it is still needed."""
        namespace, name = key_of(binding)
        for attached in self._context.bindings.indexed(("required-by", namespace, name)):
            if key_of(attached) in keep:
                continue
            required = [
                one for one in get(attached, "spec", "requiredBy") if not _is_of(one, binding)
            ]
            patch: Obj = {
                "metadata": {"labels": {depended_by_label(namespace, name): None}},
                "spec": {"requiredBy": required or None},
            }
            await self._context.patch_binding(attached, patch)


def _is_of(snapshot: Obj, binding: Obj) -> bool:
    return ObjectKey(snapshot["namespace"], snapshot["name"]) == key_of(binding)
