"""StatefulSet → pods with fixed names, in order."""

from typing import Final

from global_sched.embedded.members.cluster import active, ready, template_pod
from global_sched.embedded.members.leader_worker_pods import fill_pod
from global_sched.embedded.members.revisions import template_hash
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import Obj, generation_of, get, labels, name_of
from global_sched.shared.api.resource import PODS, STATEFUL_SETS

REVISION: Final = "controller-revision-hash"
INDEX: Final = "apps.kubernetes.io/pod-index"
POD_NAME: Final = "statefulset.kubernetes.io/pod-name"


class StatefulSets(WorkloadController):
    """Pods 0 to replicas - 1, each after the one before is ready, unless Parallel."""

    resource = STATEFUL_SETS
    owns = (PODS,)

    async def sync(self, obj: Obj) -> float | None:
        """One step up, down or of a roll-out, then the status."""
        revision = f"{name_of(obj)}-{template_hash(obj['spec']['template'])}"
        pods = {_ordinal(pod): pod for pod in self.cluster.owned(PODS, obj)}
        wanted = _ordinals(obj)
        ordered = get(obj, "spec", "podManagementPolicy") != "Parallel"
        if await self._fill(obj, pods, revision, ordered=ordered) and not await self._trim(
            pods, wanted, ordered=ordered
        ):
            await self._roll(obj, pods, revision)
        await self.cluster.write_status(STATEFUL_SETS, obj, _status(obj, pods, revision))
        return None

    async def _fill(self, obj: Obj, pods: dict[int, Obj], revision: str, *, ordered: bool) -> bool:
        """Create what is missing; False while something has to be waited for."""
        complete = True
        for ordinal in _ordinals(obj):
            pod = pods.get(ordinal)
            if pod is None:
                made = await self.cluster.create(PODS, _pod(obj, ordinal, revision), owner=obj)
                if made is not None:
                    pods[ordinal] = made
            elif get(pod, "status", "phase") in ("Succeeded", "Failed"):
                await self.cluster.delete(PODS, pod)
            elif active(pod) and ready(pod):
                continue
            complete = False
            if ordered:
                return False
        return complete

    async def _trim(self, pods: dict[int, Obj], wanted: range, *, ordered: bool) -> bool:
        """Delete from the highest ordinal; True while something goes."""
        surplus = sorted((ordinal for ordinal in pods if ordinal not in wanted), reverse=True)
        for ordinal in surplus[:1] if ordered else surplus:
            if get(pods[ordinal], "metadata", "deletionTimestamp") is None:
                await self.cluster.delete(PODS, pods[ordinal])
        return bool(surplus)

    async def _roll(self, obj: Obj, pods: dict[int, Obj], revision: str) -> None:
        """Replace the highest pod of an older template; all others are ready now."""
        if get(obj, "spec", "updateStrategy", "type") == "OnDelete":
            return
        partition = get(obj, "spec", "updateStrategy", "rollingUpdate", "partition") or 0
        for ordinal in sorted(pods, reverse=True):
            if ordinal >= partition and labels(pods[ordinal]).get(REVISION) != revision:
                await self.cluster.delete(PODS, pods[ordinal])
                return


def _pod(obj: Obj, ordinal: int, revision: str) -> Obj:
    name = f"{name_of(obj)}-{ordinal}"
    pod = template_pod(
        obj["spec"]["template"], owner=obj, name=name, generateName=f"{name_of(obj)}-"
    )
    pod["metadata"]["labels"] |= {INDEX: str(ordinal), REVISION: revision, POD_NAME: name}
    pod["spec"] |= {"hostname": name, "subdomain": get(obj, "spec", "serviceName") or ""}
    return fill_pod(pod)


def _status(obj: Obj, pods: dict[int, Obj], revision: str) -> Obj:
    there = [pod for pod in pods.values() if active(pod)]
    good = sum(ready(pod) for pod in there)
    updated = sum(labels(pod).get(REVISION) == revision for pod in there)
    old = obj.get("status") or {}
    complete = updated == len(there) == good == _replicas(obj)
    current = revision if complete else old.get("currentRevision") or revision
    counts = {
        "currentReplicas": sum(labels(pod).get(REVISION) == current for pod in there),
        "readyReplicas": good,
        "updatedReplicas": updated,
    }
    return {key: n for key, n in counts.items() if n} | {
        "availableReplicas": good,
        "collisionCount": old.get("collisionCount", 0),
        "currentRevision": current,
        "observedGeneration": generation_of(obj),
        "replicas": len(there),
        "updateRevision": revision,
    }


def _replicas(obj: Obj) -> int:
    found = get(obj, "spec", "replicas")
    return 1 if found is None else int(found)


def _ordinals(obj: Obj) -> range:
    start = int(get(obj, "spec", "ordinals", "start") or 0)
    return range(start, start + _replicas(obj))


def _ordinal(pod: Obj) -> int:
    text = name_of(pod).rpartition("-")[2]
    return int(text) if text.isdigit() else -1
