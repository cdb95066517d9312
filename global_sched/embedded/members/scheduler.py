"""Kubernetes' own scheduler in small: the first node that fits, pod by pod.

It is there so that pods which are not ours run as well. Gangs and topology are nothing it knows.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import msgspec

from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.members.cluster import Cluster, node_of
from global_sched.embedded.members.kubelet import requests_of
from global_sched.propagation.fields import Obj, deleting, get, name_of, uid_of
from global_sched.shared.api.core import Node, PodSpec
from global_sched.shared.api.names import DEFAULT_SCHEDULER
from global_sched.shared.api.resource import NODES, PODS
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import NodeClass
from global_sched.shared.placement.capacity.from_nodes import allocatable, node_class, usable
from global_sched.shared.placement.request.devices import check_devices
from global_sched.shared.placement.request.node_match import node_class_problem
from global_sched.shared.placement.request.pod_shape import shape_of
from global_sched.shared.placement.requirements import SpecError

RETRY: Final = 0.5
"""Seconds after which waiting pods are tried when something changed."""
_NOTHING: Final[Counter[str]] = Counter()


@dataclass(slots=True)
class _Machine:
    """A node as it decides whether a pod fits, read once per version."""

    node: Node
    usable: bool
    kind: NodeClass
    capacity: dict[str, int]


class DefaultScheduler:
    """Binds pods whose scheduler is `default-scheduler`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pods: dict[str, tuple[str, Resources]] = {}
        """By uid: where a pod is, and what it uses there."""
        self._used: dict[str, Counter[str]] = {}
        """By node: what is in use."""
        self._nodes: dict[str, _Machine] = {}
        self._waiting: set[ObjectKey] = set()
        self.loop: Loop[ObjectKey] = Loop(
            "default-scheduler", self._reconcile, clock=cluster.clock, workers=1
        )
        cluster.mirrors[NODES].listen(self._node_changed)
        cluster.pods.listen(self._pod_changed)

    # --- what is in use -------------------------------------------------------------------

    def _node_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                self._nodes.pop(name_of(old), None)
            return
        node = msgspec.convert(new, Node)
        before = self._nodes.get(name_of(new))
        if before is None or _placing(before.node) != _placing(node):
            machine = _Machine(node, usable(node), node_class(node), allocatable(node))
            self._nodes[name_of(new)] = machine
            self._try_again()

    def _pod_changed(self, old: Obj | None, new: Obj | None) -> None:
        pod = new if new is not None else old
        if pod is None:
            return
        if new is None or get(new, "status", "phase") in ("Succeeded", "Failed"):
            if self._give_back(uid_of(pod)):
                self._try_again()
        elif name := node_of(pod):
            self._use(name, pod)
        elif self._ours(pod):
            self.loop.add(_key(pod))

    def _use(self, node: str, pod: Obj) -> None:
        if uid_of(pod) in self._pods:
            return
        requests = requests_of(pod)
        self._pods[uid_of(pod)] = (node, requests)
        self._used.setdefault(node, Counter()).update(dict(requests.entries))

    def _give_back(self, uid: str) -> bool:
        node, requests = self._pods.pop(uid, ("", None))
        if requests is None:
            return False
        self._used[node].subtract(dict(requests.entries))
        return True

    def _try_again(self) -> None:
        for key in self._waiting:
            self.loop.add_after(key, RETRY)

    @staticmethod
    def _ours(pod: Obj) -> bool:
        spec = pod.get("spec") or {}
        return (
            spec.get("schedulerName") == DEFAULT_SCHEDULER
            and not spec.get("schedulingGates")
            and not deleting(pod)
        )

    # --- scheduling -----------------------------------------------------------------------

    async def _reconcile(self, key: ObjectKey) -> float | None:
        pod = self._cluster.pods.get(key)
        if pod is None or node_of(pod) or not self._ours(pod):
            self._waiting.discard(key)
            return None
        try:
            spec = msgspec.convert(pod["spec"], PodSpec)
            check_devices(spec, None)
            shape = shape_of(spec)
        except (SpecError, msgspec.ValidationError) as error:
            await self._refuse(pod, str(error))
            return None
        name, reasons = self._find(shape)
        if name is None:
            self._waiting.add(key)
            await self._refuse(pod, self._explain(reasons))
            return None
        self._use(name, pod)
        target = {"apiVersion": "v1", "kind": "Node", "name": name}
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "uid": uid_of(pod)},
            "target": target,
        }
        try:
            await self._cluster.client.post_subresource(
                PODS, key.name, "binding", body, namespace=key.namespace
            )
        except BaseException:
            self._give_back(uid_of(pod))
            raise
        self._waiting.discard(key)
        return None

    def _find(self, shape: PodShape) -> tuple[str | None, Counter[str]]:
        """The first node, by name, that takes the pod; else why none does."""
        reasons: Counter[str] = Counter()
        for name in sorted(self._nodes):
            machine = self._nodes[name]
            if not machine.usable:
                reasons["node(s) were not ready"] += 1
            elif problem := node_class_problem(machine.kind, shape):
                reasons[problem] += 1
            elif lacking := self._lacking(name, machine, shape):
                reasons[f"Insufficient {lacking}"] += 1
            else:
                return name, reasons
        return None, reasons

    def _lacking(self, name: str, machine: _Machine, shape: PodShape) -> str:
        """The first resource of which the node has not enough; empty when it has."""
        used = self._used.get(name, _NOTHING)
        for resource, amount in shape.requests.entries:
            if amount > machine.capacity.get(resource, 0) - used[resource]:
                return resource
        return ""

    def _explain(self, reasons: Counter[str]) -> str:
        parts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        return f"0/{len(self._nodes)} nodes are available: {parts or 'there are none'}."

    async def _refuse(self, pod: Obj, message: str) -> None:
        """Say on the pod why it has no node; once for the same reason."""
        status = dict(pod.get("status") or {})
        others = [one for one in status.get("conditions") or () if one["type"] != "PodScheduled"]
        old = [one for one in status.get("conditions") or () if one["type"] == "PodScheduled"]
        if old and old[0].get("message") == message:
            return
        said = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastProbeTime": None,
            "lastTransitionTime": old[0]["lastTransitionTime"] if old else self._cluster.now(),
        }
        self._cluster.event(
            {"apiVersion": "v1", "kind": "Pod", **pod},
            "FailedScheduling",
            message,
            action="Scheduling",
        )
        await self._cluster.write_status(PODS, pod, status | {"conditions": [*others, said]})


def _placing(node: Node) -> tuple[object, ...]:
    """What of a node decides whether a pod fits."""
    return usable(node), node.status.allocatable, node.spec, node.metadata.labels


def _key(pod: Obj) -> ObjectKey:
    return ObjectKey(pod["metadata"].get("namespace") or "", name_of(pod))
