"""The loop of PyTorchJobs."""

from global_sched.embedded.members.cluster import Cluster, active
from global_sched.embedded.members.pytorch.pods import (
    make_pod,
    make_service,
    needs_service,
    replica_name,
    replica_specs,
    replicas_of,
)
from global_sched.embedded.members.pytorch.status import (
    count,
    finished,
    make_status,
    retryable,
    verdict,
)
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import Obj, get, labels
from global_sched.shared.api.names import REPLICA_INDEX, REPLICA_TYPE
from global_sched.shared.api.resource import PODS, PYTORCH_JOBS, SERVICES, Resource


class PyTorchJobs(WorkloadController):
    """Replicas with fixed names; more or fewer workers when the job is edited."""

    resource = PYTORCH_JOBS
    owns = (PODS, SERVICES)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._restarts: dict[str, int] = {}

    def forget(self, uid: str) -> None:
        """Forget the restarts of a job that is gone."""
        self._restarts.pop(uid, None)

    async def sync(self, obj: Obj) -> float | None:
        """Keep the replicas running, then say what the job does."""
        pods = self.cluster.owned(PODS, obj)
        if finished(obj):
            await self._clean(obj, pods)
            return None
        specs = replica_specs(obj)
        suspended = bool(get(obj, "spec", "runPolicy", "suspend"))
        if suspended:
            await self._delete(PODS, [pod for pod in pods if active(pod)])
            pods = [pod for pod in pods if not active(pod)]
        else:
            await self._restart(obj, pods)
            for kind, spec in specs.items():
                await self._fill(obj, kind, replicas_of(spec), pods)
        counts = {kind: count(pods, kind) for kind in specs}
        restarts = self._restarts.get(str(get(obj, "metadata", "uid")), 0)
        said = verdict(obj, counts, restarts=restarts)
        status = make_status(obj, counts, self.cluster.now(), said=said, suspended=suspended)
        await self.cluster.write_status(PYTORCH_JOBS, obj, status)
        return None

    async def _fill(self, obj: Obj, kind: str, wanted: int, pods: list[Obj]) -> None:
        """Create missing replicas, delete those beyond the number, highest first."""
        mine = {_index(pod): pod for pod in pods if labels(pod).get(REPLICA_TYPE) == kind.lower()}
        surplus = sorted((index for index in mine if index >= wanted), reverse=True)
        await self._delete(PODS, [mine[index] for index in surplus])
        for index in range(wanted):
            if needs_service(obj, kind):
                await self._serve(obj, kind, index)
            if index not in mine:
                made = await self.cluster.create(PODS, make_pod(obj, kind, index), owner=obj)
                if made is not None:
                    pods.append(made)

    async def _serve(self, obj: Obj, kind: str, index: int) -> None:
        name = replica_name(obj, kind, index)
        there = self.cluster.owned(SERVICES, obj)
        if all(get(one, "metadata", "name") != name for one in there):
            await self.cluster.create(SERVICES, make_service(obj, kind, index), owner=obj)

    async def _restart(self, obj: Obj, pods: list[Obj]) -> None:
        """Make failed pods anew where the restart policy asks for it; the others end the job."""
        specs = replica_specs(obj)
        by_kind = {kind.lower(): spec.get("restartPolicy") for kind, spec in specs.items()}
        uid = str(get(obj, "metadata", "uid"))
        for pod in list(pods):
            if get(pod, "status", "phase") != "Failed":
                continue
            policy = by_kind.get(labels(pod).get(REPLICA_TYPE, ""))
            refused = not get(pod, "status", "containerStatuses")
            if (
                refused
                or policy in ("Always", "OnFailure")
                or (policy == "ExitCode" and retryable(pod))
            ):
                # A pod that its node refused never ran: that is no restart.
                self._restarts[uid] = self._restarts.get(uid, 0) + (not refused)
                await self.cluster.delete(PODS, pod)
                pods.remove(pod)

    async def _clean(self, obj: Obj, pods: list[Obj]) -> None:
        """After the end: what the policy says about pods that are still there."""
        policy = get(obj, "spec", "runPolicy", "cleanPodPolicy") or "None"
        if policy == "All":
            await self._delete(PODS, pods)
            await self._delete(SERVICES, self.cluster.owned(SERVICES, obj))
        elif policy == "Running":
            await self._delete(PODS, [pod for pod in pods if active(pod)])

    async def _delete(self, resource: Resource, objects: list[Obj]) -> None:
        for one in objects:
            if get(one, "metadata", "deletionTimestamp") is None:
                await self.cluster.delete(resource, one)


def _index(pod: Obj) -> int:
    text = labels(pod).get(REPLICA_INDEX, "")
    return int(text) if text.isdigit() else -1
