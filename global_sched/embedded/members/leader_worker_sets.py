"""LeaderWorkerSet → a StatefulSet of leaders, and one of workers under each leader pod.

What the LeaderWorkerSet controller does, as far as placing needs it: groups start as the startup
policy says, a group that loses a pod is made anew as a whole, and scaling and new templates pass
through the leaders. Its exclusive placement, subgroups and volume claims are not here.
"""

from typing import Final

from global_sched.embedded.members.cluster import Cluster, active, controller_of, ready
from global_sched.embedded.members.leader_worker_pods import (
    LEADER,
    groups_of,
    leaders_of,
    revision_of,
    service_of,
    size_of,
    workers_of,
)
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import (
    Obj,
    annotations,
    deleting,
    generation_of,
    get,
    labels,
    name_of,
    namespace_of,
    uid_of,
)
from global_sched.shared.api.names import (
    LWS_GROUP_INDEX,
    LWS_LEADER_NAME,
    LWS_NAME,
    LWS_REVISION,
    LWS_WORKER_INDEX,
)
from global_sched.shared.api.resource import LEADER_WORKER_SETS, PODS, SERVICES, STATEFUL_SETS
from global_sched.shared.kinds.leader_worker_set import LEADER_READY
from global_sched.shared.kube.objects import ObjectKey

_RECREATE: Final = ("RecreateGroupOnPodRestart", None, "")


class LeaderWorkerSets(WorkloadController):
    """Groups of a leader and its workers."""

    resource = LEADER_WORKER_SETS
    owns = (STATEFUL_SETS,)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._broken: set[str] = set()
        """Leaders (by uid) of groups that lost a pod."""
        cluster.mirrors[STATEFUL_SETS].listen(self._labelled_changed)
        cluster.pods.listen(self._labelled_changed)

    def _labelled_changed(self, old: Obj | None, new: Obj | None) -> None:
        obj = new if new is not None else old
        name = labels(obj).get(LWS_NAME) if obj is not None else None
        if obj is None or name is None:
            return
        if new is None or deleting(new) or get(new, "status", "phase") == "Failed":
            self._note_loss(obj)
        self.loop.add(ObjectKey(namespace_of(obj), name))

    def _note_loss(self, worker: Obj) -> None:
        """The group of a worker that is lost is to start anew; not the one that came after it."""
        leader, owner = annotations(worker).get(LWS_LEADER_NAME), controller_of(worker)
        if worker["kind"] != PODS.kind or not leader or owner is None:
            return
        workers = self.cluster.mirrors[STATEFUL_SETS].get(ObjectKey(namespace_of(worker), leader))
        above = controller_of(workers) if workers is not None else None
        if workers is not None and above is not None and uid_of(workers) == owner["uid"]:
            self._broken.add(above["uid"])

    async def sync(self, obj: Obj) -> float | None:
        """Leaders first, then the workers of each, then the status."""
        await self.cluster.create(SERVICES, service_of(obj), owner=obj)
        leaders = await self._leaders(obj)
        pods = [] if leaders is None else self.cluster.owned(PODS, leaders)
        for leader in pods:
            if deleting(leader):
                continue
            if uid_of(leader) in self._broken and self._recreates(obj):
                self._broken.discard(uid_of(leader))
                await self.cluster.delete(PODS, leader)
            elif active(leader) and (ready(leader) or not _late(obj)) and size_of(obj) > 1:
                await self.cluster.create(STATEFUL_SETS, workers_of(obj, leader), owner=leader)
        self._broken &= {uid_of(one) for one in self.cluster.pods.all()}
        await self.cluster.write_status(LEADER_WORKER_SETS, obj, self._status(obj, pods))
        return None

    async def _leaders(self, obj: Obj) -> Obj | None:
        """The leaders' StatefulSet, as the set wants it now."""
        wanted = leaders_of(obj)
        found = next(iter(self.cluster.owned(STATEFUL_SETS, obj)), None)
        if found is None:
            return await self.cluster.create(STATEFUL_SETS, wanted, owner=obj)
        same = labels(found).get(LWS_REVISION) == revision_of(obj)
        if same and get(found, "spec", "replicas") == groups_of(obj):
            return found
        changed: Obj = {"spec": {"replicas": groups_of(obj)}}
        if not same:
            changed["metadata"] = {"labels": wanted["metadata"]["labels"]}
            changed["spec"]["template"] = wanted["spec"]["template"]
        return await self.cluster.patch(STATEFUL_SETS, found, changed)

    def _recreates(self, obj: Obj) -> bool:
        return get(obj, "spec", "leaderWorkerTemplate", "restartPolicy") in _RECREATE

    def _status(self, obj: Obj, leaders: list[Obj]) -> Obj:
        there = [one for one in leaders if active(one)]
        whole = [one for one in there if ready(one) and self._workers_ready(obj, one)]
        fresh = [one for one in there if labels(one).get(LWS_REVISION) == revision_of(obj)]
        complete = len(whole) == groups_of(obj) == len(fresh)
        return {
            "replicas": len(there),
            "readyReplicas": len(whole),
            "updatedReplicas": len(fresh),
            "observedGeneration": generation_of(obj),
            "hpaPodSelector": f"{LWS_NAME}={name_of(obj)},{LWS_WORKER_INDEX}={LEADER}",
            "conditions": self._conditions(obj, complete=complete),
        }

    def _workers_ready(self, obj: Obj, leader: Obj) -> bool:
        if size_of(obj) == 1:
            return True
        pods = [
            pod
            for own in self.cluster.owned(STATEFUL_SETS, leader)
            for pod in self.cluster.owned(PODS, own)
        ]
        index = labels(leader).get(LWS_GROUP_INDEX)
        good = [pod for pod in pods if ready(pod) and labels(pod).get(LWS_GROUP_INDEX) == index]
        return len(good) == size_of(obj) - 1

    def _conditions(self, obj: Obj, *, complete: bool) -> list[Obj]:
        """Available once all groups are ready, Progressing before."""
        old = {one["type"]: one for one in get(obj, "status", "conditions") or ()}
        wanted = {
            "Available": (complete, "AllGroupsReady", "All replicas are ready"),
            "Progressing": (not complete, "GroupsProgressing", "Replicas are progressing"),
        }
        found: list[Obj] = []
        for kind, (holds, reason, message) in wanted.items():
            status = "True" if holds else "False"
            before = old.get(kind)
            same = before is not None and before["status"] == status
            found.append(
                {
                    "type": kind,
                    "status": status,
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": before["lastTransitionTime"]
                    if same and before
                    else self.cluster.now(),
                }
            )
        return found


def _late(obj: Obj) -> bool:
    return bool(get(obj, "spec", "startupPolicy") == LEADER_READY)
