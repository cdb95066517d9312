"""Leaving clusters: eviction tasks end here; NoExecute taints start them, when enabled."""

import msgspec

from global_sched.embedded.karmada.context import BindingKey, ControllerContext
from global_sched.embedded.karmada.interpreter.status import HEALTHY
from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.karmada.targets import eviction_tasks
from global_sched.propagation.fields import (
    Obj,
    annotations,
    deleting,
    generation_of,
    get,
    key_of,
    name_of,
)
from global_sched.shared.api.names import APPLIED_PLACEMENT
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.instant import SECOND, InstantError, parse_instant


class EvictionController:
    """Removes eviction tasks that are over: when everything in `spec.clusters` is healthy.

    Or after the timeout. The mode does not matter: a `Directly` one stays, too, while its workload
    has no new home, though the Work is long gone.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.loop: Loop[BindingKey] = Loop("eviction", self.reconcile, clock=context.clock)
        for mirror in (context.bindings, context.cluster_bindings):
            mirror.listen(self._binding_changed)

    def _binding_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or not eviction_tasks(new):
            return
        if (
            old is None
            or old.get("spec") != new.get("spec")
            or old.get("status") != new.get("status")
        ):
            self.loop.add(BindingKey(key=key_of(new)))

    async def reconcile(self, key: BindingKey) -> float | None:
        """Look at the tasks of one binding."""
        binding = self._context.binding(key)
        if binding is None or deleting(binding):
            return None
        tasks = eviction_tasks(binding)
        if not tasks:
            return None
        # A task that is new is only dated: what it leads to is looked at in the next version.
        kept = [
            task
            if task.get("creationTimestamp")
            else task | {"creationTimestamp": self._context.now()}
            for task in tasks
            if not (task.get("creationTimestamp") and self._over(binding, task))
        ]
        if kept != tasks:
            patch = {"spec": {"gracefulEvictionTasks": kept or None}}
            await self._context.patch_binding(binding, patch)
        return min((self._wait(task) for task in kept), default=None)

    def _over(self, binding: Obj, task: Obj) -> bool:
        suppressed = task.get("suppressDeletion")
        if suppressed is not None:
            return not suppressed
        return self._age(task) >= self._timeout(task) or _has_new_home(binding)

    def _age(self, task: Obj) -> float:
        try:
            since = parse_instant(str(task.get("creationTimestamp")))
        except InstantError:
            return 0.0
        return (self._context.clock.now() - since) / SECOND

    def _timeout(self, task: Obj) -> float:
        seconds = task.get("gracePeriodSeconds")
        return self._context.options.eviction_timeout if seconds is None else float(seconds)

    def _wait(self, task: Obj) -> float:
        if task.get("suppressDeletion"):
            return self._context.options.eviction_timeout
        return max(0.1, self._timeout(task) - self._age(task))


def _has_new_home(binding: Obj) -> bool:
    """Whether the scheduler has seen this spec and all its clusters are healthy.

    With no clusters at all there is nothing that is not healthy: then the old copy goes.
    """
    observed = get(binding, "status", "schedulerObservedGeneration")
    if observed != generation_of(binding):
        return False
    items = get(binding, "status", "aggregatedStatus") or []
    healthy = {item.get("clusterName") for item in items if item.get("health") == HEALTHY}
    return all(target.get("name") in healthy for target in get(binding, "spec", "clusters") or [])


class TaintManager:
    """Evicts bindings from clusters with NoExecute taints that their placement does not tolerate.

    Off by default, as released; the scheduler finds the new home.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.loop: Loop[BindingKey] = Loop("taints", self.reconcile, clock=context.clock)
        if context.options.no_execute_eviction:
            context.clusters.listen(self._cluster_changed)
            for mirror in (context.bindings, context.cluster_bindings):
                mirror.listen(self._binding_changed)

    def _cluster_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or (old is not None and _no_execute(old) == _no_execute(new)):
            return
        for mirror in (self._context.bindings, self._context.cluster_bindings):
            for binding in mirror.indexed(("cluster", name_of(new))):
                self.loop.add(BindingKey(key=key_of(binding)))

    def _binding_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None and (old is None or old.get("spec") != new.get("spec")):
            self.loop.add(BindingKey(key=key_of(new)))

    async def reconcile(self, key: BindingKey) -> float | None:
        """Evict one binding from where it may not stay; seconds until the next one is due."""
        binding = self._context.binding(key)
        if binding is None or deleting(binding) or APPLIED_PLACEMENT not in annotations(binding):
            return None
        placement = msgspec.json.decode(annotations(binding)[APPLIED_PLACEMENT])
        tolerations = get(placement, "clusterTolerations") or []
        targets = get(binding, "spec", "clusters") or []
        leaving: list[Obj] = []
        waits: list[float] = []
        for target in targets:
            wait = self._stay(str(target["name"]), tolerations)
            if wait is not None and wait <= 0:
                leaving.append(target)
            elif wait is not None:
                waits.append(wait)
        if leaving:
            await self._evict(binding, leaving)
        return min(waits, default=None)

    def _stay(self, name: str, tolerations: list[Obj]) -> float | None:
        """Seconds that a binding may stay in a cluster; None for ever."""
        cluster = self._context.clusters.get(ObjectKey("", name))
        waits: list[float] = []
        for taint in _no_execute(cluster) if cluster is not None else []:
            seconds = [
                one.get("tolerationSeconds") for one in tolerations if _tolerates(one, taint)
            ]
            if not seconds:
                return 0.0
            bounded = [float(one) for one in seconds if one is not None]
            if len(bounded) == len(seconds):
                waits.append(min(bounded) - self._since(taint))
        return min(waits, default=None)

    def _since(self, taint: Obj) -> float:
        try:
            added = parse_instant(str(taint.get("timeAdded")))
        except InstantError:
            return 0.0
        return (self._context.clock.now() - added) / SECOND

    async def _evict(self, binding: Obj, leaving: list[Obj]) -> None:
        names = {target["name"] for target in leaving}
        tasks = list(eviction_tasks(binding))
        having = {task.get("fromCluster") for task in tasks}
        for target in leaving:
            if target["name"] in having:
                continue
            task: Obj = {
                "fromCluster": target["name"],
                "purgeMode": "Gracefully",
                "reason": "TaintUntolerated",
                "producer": "TaintManager",
                "creationTimestamp": self._context.now(),
            }
            if target.get("replicas"):
                task["replicas"] = target["replicas"]
            tasks.append(task)
        rest = [one for one in get(binding, "spec", "clusters") if one["name"] not in names]
        patch = {"spec": {"clusters": rest or None, "gracefulEvictionTasks": tasks}}
        await self._context.patch_binding(binding, patch)


def _no_execute(cluster: Obj) -> list[Obj]:
    taints: list[Obj] = get(cluster, "spec", "taints") or []
    return [taint for taint in taints if taint.get("effect") == "NoExecute"]


def _tolerates(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint.get("key")):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (
        taint.get("value") or ""
    )
