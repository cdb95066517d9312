"""WorkloadRebalancers: the users' "place this again now" reaches the bindings."""

from contextlib import suppress
from typing import Final

from global_sched.embedded.karmada.context import BindingKey, ControllerContext
from global_sched.embedded.karmada.loop import Loop
from global_sched.propagation.fields import (
    Obj,
    deleting,
    generation_of,
    get,
    key_of,
    name_of,
)
from global_sched.propagation.naming import binding_name
from global_sched.shared.api.propagation import WORKLOAD_REBALANCERS
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.instant import SECOND, parse_instant

SUCCESSFUL: Final = "Successful"
FAILED: Final = "Failed"
MISSING: Final = "ReferencedBindingNotFound"


class RebalancerController:
    """Sets `rescheduleTriggeredAt` on the bindings that a WorkloadRebalancer names.

    Successful means that the binding was written, not that a scheduler has acted.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.loop: Loop[str] = Loop("rebalancer", self.reconcile, clock=context.clock)
        context.rebalancers.listen(self._changed)

    def _changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None and (old is None or old.get("spec") != new.get("spec")):
            self.loop.add(name_of(new))

    async def reconcile(self, name: str) -> float | None:
        """Tell the bindings of one rebalancer, and delete it when its time is over."""
        one = self._context.rebalancers.get(ObjectKey("", name))
        if one is None or deleting(one):
            return None
        if get(one, "status", "observedGeneration") != generation_of(one):
            one = await self._trigger(one)
        return await self._expire(one)

    async def _trigger(self, one: Obj) -> Obj:
        observed = [
            await self._tell(workload, str(get(one, "metadata", "creationTimestamp")))
            for workload in get(one, "spec", "workloads") or []
        ]
        status: Obj = {
            "observedWorkloads": observed,
            "observedGeneration": generation_of(one),
            "finishTime": self._context.now(),
        }
        done = await self._context.client.patch(
            WORKLOAD_REBALANCERS, name_of(one), {"status": status}, subresource="status"
        )
        self._context.rebalancers.note(done)
        return done

    async def _tell(self, workload: Obj, at: str) -> Obj:
        result: Obj = {"workload": workload, "result": SUCCESSFUL}
        name = binding_name(str(workload.get("kind")), str(workload.get("name")))
        key = BindingKey(key=ObjectKey(workload.get("namespace") or "", name))
        binding = self._context.binding(key)
        if binding is None:
            return result | {"result": FAILED, "reason": MISSING}
        triggered = get(binding, "spec", "rescheduleTriggeredAt")
        if triggered is None or parse_instant(triggered) < parse_instant(at):
            await self._context.patch_binding(binding, {"spec": {"rescheduleTriggeredAt": at}})
        return result

    async def _expire(self, one: Obj) -> float | None:
        seconds = get(one, "spec", "ttlSecondsAfterFinished")
        finished = get(one, "status", "finishTime")
        if seconds is None or finished is None:
            return None
        left = (
            parse_instant(finished) / SECOND + float(seconds) - self._context.clock.now() / SECOND
        )
        if left > 0:
            return left
        with suppress(NotFound):
            await self._context.client.delete(WORKLOAD_REBALANCERS, key_of(one).name)
        return None
