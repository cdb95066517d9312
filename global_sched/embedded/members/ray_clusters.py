"""RayCluster → the head's pod and Service, workers group by group, and the cluster's status.

Source:  KubeRay v1.5.0: labels, the init container of workers, condition types and reasons.
"""

from collections.abc import Iterable
from typing import Final

from global_sched.embedded.members.cluster import (
    active,
    owner_reference,
    ready,
    template_pod,
)
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import (
    Obj,
    generation_of,
    get,
    labels,
    name_of,
    namespace_of,
    set_condition,
)
from global_sched.shared.api.names import RAY_CLUSTER, RAY_GROUP, RAY_NODE_TYPE
from global_sched.shared.api.resource import PODS, RAY_CLUSTERS, SERVICES
from global_sched.shared.kinds.parts.statuses import has_condition
from global_sched.shared.kinds.ray_cluster import HEAD

HEAD_SERVICE: Final = "-head-svc"
DASHBOARD: Final = 8265
_PORTS: Final = {"gcs-server": 6379, "dashboard": DASHBOARD, "client": 10001}
_WAIT: Final = {
    "name": "wait-gcs-ready",
    "resources": {
        "requests": {"cpu": "200m", "memory": "256Mi"},
        "limits": {"cpu": "200m", "memory": "256Mi"},
    },
}


class RayClusters(WorkloadController):
    """One head and as many workers as the groups say; what failed is made anew."""

    resource = RAY_CLUSTERS
    owns = (PODS, SERVICES)

    async def sync(self, obj: Obj) -> float | None:
        """Keep the pods there, then say how the cluster is."""
        pods = self.cluster.owned(PODS, obj)
        await self._delete(
            pod for pod in pods if get(pod, "status", "phase") in ("Failed", "Succeeded")
        )
        pods = [one for one in pods if active(one)]
        suspended = bool(get(obj, "spec", "suspend"))
        if suspended:
            await self._delete(pods)
            pods = []
        else:
            await self.cluster.create(SERVICES, head_service(obj), owner=obj)
            await self._fill(obj, str(HEAD), 1, pods)
            for group in _groups(obj):
                await self._fill(obj, str(group.get("groupName")), workers_of(group), pods)
        status = self._status(obj, pods, suspended=suspended)
        await self.cluster.write_status(RAY_CLUSTERS, obj, status)
        return None

    async def _fill(self, obj: Obj, group: str, wanted: int, pods: list[Obj]) -> None:
        """Create what a group lacks, delete what it has too many, waiting ones first."""
        mine = [pod for pod in pods if labels(pod).get(RAY_GROUP) == group]
        await self._delete(sorted(mine, key=ready)[: max(0, len(mine) - wanted)])
        for _ in range(wanted - len(mine)):
            made = await self.cluster.create(PODS, make_pod(obj, group), owner=obj)
            if made is not None:
                pods.append(made)

    async def _delete(self, pods: Iterable[Obj]) -> None:
        for pod in pods:
            await self.cluster.delete(PODS, pod)

    def _status(self, obj: Obj, pods: list[Obj], *, suspended: bool) -> Obj:
        """The counts, the deprecated state, and the conditions."""
        old = obj.get("status") or {}
        heads = [pod for pod in pods if labels(pod).get(RAY_GROUP) == HEAD]
        workers = [pod for pod in pods if pod not in heads]
        desired = sum(map(workers_of, _groups(obj)))
        head_ready = bool(heads) and all(map(ready, heads))
        whole = head_ready and sum(map(ready, workers)) >= desired
        running = [pod for pod in workers if get(pod, "status", "phase") == "Running"]
        counts = {
            "desiredWorkerReplicas": desired,
            "minWorkerReplicas": sum(map(_least, _groups(obj))),
            "availableWorkerReplicas": len(running),
            "readyWorkerReplicas": sum(map(ready, workers)),
        }
        status: Obj = {name: count for name, count in counts.items() if count}
        status["observedGeneration"] = generation_of(obj)
        status["head"] = {"serviceName": f"{name_of(obj)}{HEAD_SERVICE}"}
        if suspended:
            status["state"] = "suspended"
        elif whole or old.get("state") == "ready":
            status["state"] = "ready"
        provisioned = whole or has_condition(old, "RayClusterProvisioned")
        wanted = [
            ("HeadPodReady", head_ready, "HeadPodRunningAndReady", "HeadPodNotFound"),
            (
                "RayClusterProvisioned",
                provisioned and not suspended,
                "AllPodRunningAndReadyFirstTime",
                "RayClusterPodsProvisioning",
            ),
        ]
        conditions = old.get("conditions")
        if suspended or any(one["type"] == "RayClusterSuspended" for one in conditions or ()):
            kind = "RayClusterSuspended"
            wanted.append((kind, suspended, kind, kind))
        for kind, holds, yes, no in wanted:
            conditions = set_condition(conditions, self._condition(kind, holds, yes, no))
        return status | {"conditions": conditions}

    def _condition(self, kind: str, holds: bool, yes: str, no: str) -> Obj:
        return {
            "type": kind,
            "status": "True" if holds else "False",
            "reason": yes if holds else no,
            "message": "",
            "lastTransitionTime": self.cluster.now(),
        }


def _groups(obj: Obj) -> list[Obj]:
    return list(get(obj, "spec", "workerGroupSpecs") or ())


def _least(group: Obj) -> int:
    return int(group.get("minReplicas") or 0) * int(group.get("numOfHosts") or 1)


def workers_of(group: Obj) -> int:
    """How many pods a worker group has: replicas within their bounds, times the hosts of each."""
    if group.get("suspend"):
        return 0
    least, most = int(group.get("minReplicas") or 0), group.get("maxReplicas")
    replicas = max(least, int(group.get("replicas") or 0))
    replicas = replicas if most is None else min(replicas, int(most))
    return replicas * int(group.get("numOfHosts") or 1)


def make_pod(obj: Obj, group: str) -> Obj:
    """A pod of the head's group, or of a worker group."""
    is_head = group == HEAD
    node_type = "head" if is_head else "worker"
    if is_head:
        template = get(obj, "spec", "headGroupSpec", "template")
    else:
        template = next(one for one in _groups(obj) if one.get("groupName") == group)["template"]
    middle = "head" if is_head else f"{group}-worker"
    pod = template_pod(template, owner=obj, generateName=f"{name_of(obj)}-{middle}-")
    pod["metadata"]["labels"] |= {
        RAY_CLUSTER: name_of(obj),
        RAY_NODE_TYPE: node_type,
        RAY_GROUP: group,
        "ray.io/is-ray-node": "yes",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    spec = pod["spec"]
    if not is_head:
        image = next((one.get("image") for one in spec.get("containers") or ()), None)
        waits = {**_WAIT, **({"image": image} if image else {})}
        spec["initContainers"] = [*(spec.get("initContainers") or ()), waits]
    return pod


def head_service(obj: Obj) -> Obj:
    """The Service under which workers and submitters find the head."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": f"{name_of(obj)}{HEAD_SERVICE}",
            "namespace": namespace_of(obj),
            "labels": {RAY_CLUSTER: name_of(obj), RAY_NODE_TYPE: "head"},
            "ownerReferences": [owner_reference(obj)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {RAY_CLUSTER: name_of(obj), RAY_NODE_TYPE: "head"},
            "ports": [{"name": name, "port": port} for name, port in _PORTS.items()],
        },
    }
