"""Taint eviction: pods leave a node with NoExecute taints when their tolerations end.

A pod that tolerates no such taint is deleted at once, one that tolerates all of them for a time
after that time, counted from when the taints are first seen here, and one that tolerates them
without a time stays. When the taints go first, the pod stays too.

Source:  kube-controller-manager 1.35, pkg/controller/tainteviction.
"""

from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.members.cluster import Cluster, node_of
from global_sched.propagation.fields import Obj, deleting, get, name_of, namespace_of, uid_of
from global_sched.shared.api.resource import NODES, PODS
from global_sched.shared.kube.objects import ObjectKey


class TaintEviction:
    """Deletes pods one by one, each with the condition DisruptionTarget before."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._since: dict[str, float] = {}
        """By pod uid: when its node was first seen with such taints, in monotonic seconds."""
        self.loop: Loop[ObjectKey] = Loop(
            "taint-eviction", self._reconcile, clock=cluster.clock, workers=4
        )
        cluster.pods.listen(self._pod_changed)
        cluster.mirrors[NODES].listen(self._node_changed)

    def _pod_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                self._since.pop(uid_of(old), None)
            return
        moved = old is None or node_of(old) != node_of(new)
        if moved and node_of(new) and self._taints_of(node_of(new)):
            self.loop.add(ObjectKey(namespace_of(new), name_of(new)))

    def _node_changed(self, old: Obj | None, new: Obj | None) -> None:
        before, after = no_execute(old or {}), no_execute(new or {})
        if new is None or [key_of(one) for one in before] == [key_of(one) for one in after]:
            return
        for pod in self._cluster.on_node(name_of(new)):
            self.loop.add(ObjectKey(namespace_of(pod), name_of(pod)))

    def _taints_of(self, node: str) -> list[Obj]:
        return no_execute(self._cluster.mirrors[NODES].get(ObjectKey("", node)) or {})

    async def _reconcile(self, key: ObjectKey) -> float | None:
        pod = self._cluster.pods.get(key)
        if pod is None or deleting(pod):
            return None
        taints = self._taints_of(node_of(pod))
        left = seconds_tolerated(pod, taints)
        if not taints or left is None:
            self._since.pop(uid_of(pod), None)
            return None
        now = self._cluster.clock.monotonic()
        rest = self._since.setdefault(uid_of(pod), now) + left - now
        if rest > 0:
            return rest
        await disrupt(
            self._cluster,
            pod,
            reason="DeletionByTaintManager",
            message="Taint manager: deleting due to NoExecute taint",
        )
        await self._cluster.delete(PODS, pod)
        return None


async def disrupt(cluster: Cluster, pod: Obj, *, reason: str, message: str, **more: str) -> None:
    """Write the condition DisruptionTarget, and `more` fields, into a pod's status."""
    made = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": cluster.now(),
    }
    status = dict(pod.get("status") or {})
    others = [one for one in status.get("conditions") or () if one.get("type") != made["type"]]
    await cluster.patch(
        PODS, pod, {"status": {"conditions": [*others, made], **more}}, subresource="status"
    )


def no_execute(node: Obj) -> list[Obj]:
    """A node's taints with the effect NoExecute."""
    return [one for one in get(node, "spec", "taints") or () if one.get("effect") == "NoExecute"]


def key_of(taint: Obj) -> tuple[str, str]:
    """What tells two taints of one effect apart."""
    return str(taint.get("key")), str(taint.get("value") or "")


def seconds_tolerated(pod: Obj, taints: list[Obj]) -> float | None:
    """How long a pod tolerates all of these taints; 0 for not at all, None for ever."""
    shortest: float | None = None
    tolerations = get(pod, "spec", "tolerations") or ()
    for taint in taints:
        matching = [one for one in tolerations if tolerates(one, taint)]
        if not matching:
            return 0.0
        for one in matching:
            seconds = one.get("tolerationSeconds")
            if seconds is not None:
                left = max(0.0, float(seconds))
                shortest = left if shortest is None else min(shortest, left)
    return shortest


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Whether a toleration matches a taint, as the Kubernetes API defines it."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key")
    if key not in (None, "", taint.get("key")):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")
