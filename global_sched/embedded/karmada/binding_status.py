"""The binding status controller: statuses of all copies, on the binding and on the template."""

from typing import Final

from global_sched.embedded.karmada.context import (
    BindingKey,
    ControllerContext,
    cluster_of,
    owner_of,
)
from global_sched.embedded.karmada.interpreter.status import aggregate
from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.karmada.targets import allowed_clusters
from global_sched.embedded.karmada.work_status import status_for
from global_sched.propagation.fields import (
    Obj,
    deleting,
    get,
    key_of,
    kind_of,
    merge_difference,
    set_condition,
)

FULLY_APPLIED: Final = "FullyApplied"


class BindingStatusController:
    """Reconciles bindings' aggregatedStatus, FullyApplied, and templates' status."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.loop: Loop[BindingKey] = Loop("binding-status", self.reconcile, clock=context.clock)
        context.works.listen(self._work_changed)
        for mirror in (context.bindings, context.cluster_bindings):
            mirror.listen(self._binding_changed)

    def _work_changed(self, old: Obj | None, new: Obj | None) -> None:
        changed = new if new is not None else old
        if changed is None:
            return
        if old is not None and new is not None and old.get("status") == new.get("status"):
            return
        if (owner := owner_of(changed)) is not None:
            self.loop.add(owner)

    def _binding_changed(self, old: Obj | None, new: Obj | None) -> None:
        """A binding that no scheduler has dated is not looked at."""
        if new is None or not get(new, "status", "lastScheduledTime"):
            return
        if old is None or _relevant(old) != _relevant(new):
            self.loop.add(BindingKey(key=key_of(new)))

    async def reconcile(self, key: BindingKey) -> float | None:
        """Collect the Works' statuses into one binding and its template."""
        binding = self._context.binding(key)
        if binding is None or deleting(binding):
            return None
        items = self._items(binding)
        binding = await self._write(binding, items)
        await self._write_template(binding, items)
        return None

    def _items(self, binding: Obj) -> list[Obj]:
        reference = get(binding, "spec", "resource") or {}
        items: list[Obj] = []
        for work in self._context.works_of(binding):
            if deleting(work):
                continue
            item: Obj = {"clusterName": cluster_of(work)}
            for condition in get(work, "status", "conditions") or []:
                if condition.get("type") != "Applied":
                    continue
                if condition.get("status") == "True":
                    item["applied"] = True
                elif condition.get("message"):
                    item["appliedMessage"] = condition["message"]
            status, item["health"] = status_for(work, reference)
            if status is not None:
                item["status"] = status
            items.append(item)
        items.sort(key=lambda one: str(one["clusterName"]))
        return items

    async def _write(self, binding: Obj, items: list[Obj]) -> Obj:
        old = get(binding, "status") or {}
        status = {**old, "aggregatedStatus": items}
        if not items:
            status.pop("aggregatedStatus")
        wanted = allowed_clusters(binding)
        if wanted:
            condition = self._fully_applied(wanted, items)
            status["conditions"] = set_condition(old.get("conditions"), condition)
        patch = merge_difference(old, status)
        if not patch:
            return binding
        return await self._context.patch_binding(binding, {"status": patch}, status=True)

    def _fully_applied(self, wanted: set[str], items: list[Obj]) -> Obj:
        applied = {str(item["clusterName"]) for item in items if item.get("applied")}
        done = applied == wanted and len(items) == len(wanted)
        return {
            "type": FULLY_APPLIED,
            "status": "True" if done else "False",
            "reason": "FullyAppliedSuccess" if done else "FullyAppliedFailed",
            "message": "All works have been successfully applied"
            if done
            else "Failed to apply all works, see status.aggregatedStatus for details",
            "lastTransitionTime": self._context.now(),
        }

    async def _write_template(self, binding: Obj, items: list[Obj]) -> None:
        template = await self._context.template(get(binding, "spec", "resource") or {})
        if template is None or deleting(template):
            return
        status = aggregate(template, items, self._context.now())
        old = get(template, "status") or {}
        if status is None or not (patch := merge_difference(old, status)):
            return
        mirror = self._context.control.mirror(kind_of(template))
        if mirror is None:
            return
        key = key_of(template)
        done = await self._context.client.patch(
            mirror.resource,
            key.name,
            {"status": patch},
            namespace=key.namespace or None,
            subresource="status",
        )
        mirror.note(done)


def _relevant(binding: Obj) -> tuple[object, ...]:
    return (
        get(binding, "status", "lastScheduledTime"),
        get(binding, "spec", "clusters"),
        get(binding, "spec", "gracefulEvictionTasks"),
        get(binding, "spec", "resource"),
        get(binding, "status", "conditions"),
    )
