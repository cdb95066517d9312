"""RayJob → a RayCluster, the submitter's batch Job once that is ready, and the job's status.

Source:  KubeRay v1.5.0: states, names and labels. There is no Ray here: the job succeeds when its
         submitter does, and without a submitter (HTTPMode, InteractiveMode) it only starts.
"""

from typing import Final

from global_sched.embedded.members.cluster import owner_reference
from global_sched.embedded.members.ray_clusters import DASHBOARD, HEAD_SERVICE
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import (
    Obj,
    annotations,
    generation_of,
    get,
    labels,
    name_of,
    namespace_of,
)
from global_sched.shared.api.resource import BATCH_JOBS, RAY_CLUSTERS, RAY_JOBS
from global_sched.shared.kinds.parts.statuses import has_condition
from global_sched.shared.kinds.ray_job import K8S_JOB

_ENDED: Final = ("Complete", "Failed", "ValidationFailed")
_ORIGIN: Final = "ray.io/originated-from-crd"
_ORIGIN_NAME: Final = "ray.io/originated-from-cr-name"
_SUBMITTER: Final = {
    "name": "ray-job-submitter",
    "resources": {
        "requests": {"cpu": "500m", "memory": "200Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    },
}


class RayJobs(WorkloadController):
    """One cluster for each job; it goes with the job's end where the job says so."""

    resource = RAY_JOBS
    owns = (RAY_CLUSTERS, BATCH_JOBS)

    async def sync(self, obj: Obj) -> float | None:
        """One step from state to state."""
        status = dict(obj.get("status") or {})
        state = status.get("jobDeploymentStatus", "")
        if state in _ENDED:
            if get(obj, "spec", "shutdownAfterJobFinishes"):
                await self._delete_cluster(obj)
            return None
        if get(obj, "spec", "suspend"):
            await self._suspend(obj)
            return None
        name = str(status.get("rayClusterName") or f"{name_of(obj)}-{_short(obj)}")
        started = {"rayClusterName": name, "startTime": status.get("startTime")}
        started["startTime"] = started["startTime"] or self.cluster.now()
        if state in ("", "Suspended"):
            await self._write(obj, started, "Initializing", jobId=name)
            return None
        await self.cluster.create(RAY_CLUSTERS, make_cluster(obj, name), owner=obj)
        if state == "Initializing":
            await self._initialize(obj, name)
        else:
            await self._look(obj, name)
        return None

    async def _initialize(self, obj: Obj, name: str) -> None:
        """Once the cluster is ready: the submitter, where there is one."""
        there = {name_of(one): one for one in self.cluster.owned(RAY_CLUSTERS, obj)}
        if get(there.get(name) or {}, "status", "state") != "ready":
            return
        url = f"{name}{HEAD_SERVICE}.{namespace_of(obj)}.svc.cluster.local:{DASHBOARD}"
        mode = get(obj, "spec", "submissionMode") or K8S_JOB
        if mode == K8S_JOB:
            await self.cluster.create(BATCH_JOBS, make_submitter(obj), owner=obj)
        next_state = "Waiting" if mode == "InteractiveMode" else "Running"
        await self._write(obj, {"dashboardURL": url}, next_state, jobStatus="PENDING")

    async def _look(self, obj: Obj, name: str) -> None:
        """The job does what its submitter does."""
        job = next(iter(self.cluster.owned(BATCH_JOBS, obj)), None)
        job_status = (job or {}).get("status")
        there = {name_of(one): one for one in self.cluster.owned(RAY_CLUSTERS, obj)}
        more: Obj = {"rayClusterStatus": (there.get(name) or {}).get("status") or {}}
        if has_condition(job_status, "Complete"):
            more |= {"endTime": self.cluster.now(), "succeeded": 1}
            await self._write(obj, more, "Complete", jobStatus="SUCCEEDED")
        elif has_condition(job_status, "Failed"):
            more |= {"endTime": self.cluster.now(), "failed": 1, "reason": "AppFailed"}
            await self._write(obj, more, "Failed", jobStatus="FAILED")
        elif get(job_status, "active"):
            await self._write(obj, more, "Running", jobStatus="RUNNING")

    async def _suspend(self, obj: Obj) -> None:
        await self._delete_cluster(obj)
        for one in self.cluster.owned(BATCH_JOBS, obj):
            await self.cluster.delete(BATCH_JOBS, one)
        if get(obj, "status", "jobDeploymentStatus"):
            status = {"jobDeploymentStatus": "Suspended", "observedGeneration": generation_of(obj)}
            await self.cluster.write_status(RAY_JOBS, obj, status)

    async def _delete_cluster(self, obj: Obj) -> None:
        for one in self.cluster.owned(RAY_CLUSTERS, obj):
            await self.cluster.delete(RAY_CLUSTERS, one)

    async def _write(self, obj: Obj, more: Obj, state: str, **texts: str) -> None:
        status = dict(obj.get("status") or {}) | more | texts
        status |= {"jobDeploymentStatus": state, "observedGeneration": generation_of(obj)}
        await self.cluster.write_status(RAY_JOBS, obj, status)


def _short(obj: Obj) -> str:
    return str(get(obj, "metadata", "uid"))[:5]


def make_cluster(obj: Obj, name: str) -> Obj:
    """The job's cluster: with the labels and annotations of the job."""
    origin = {_ORIGIN: RAY_JOBS.kind, _ORIGIN_NAME: name_of(obj)}
    return {
        "apiVersion": RAY_CLUSTERS.api_version,
        "kind": RAY_CLUSTERS.kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(obj),
            "labels": {**labels(obj), **origin},
            "annotations": dict(annotations(obj)),
            "ownerReferences": [owner_reference(obj)],
        },
        "spec": dict(get(obj, "spec", "rayClusterSpec") or {}),
    }


def make_submitter(obj: Obj) -> Obj:
    """The Job whose pod submits; its pods carry the labels of their template alone."""
    own = get(obj, "spec", "submitterPodTemplate")
    limit = get(obj, "spec", "submitterConfig", "backoffLimit")
    template = dict(own or {"spec": {"containers": [dict(_SUBMITTER)]}})
    template["spec"] = {"restartPolicy": "Never", **(template.get("spec") or {})}
    return {
        "apiVersion": BATCH_JOBS.api_version,
        "kind": BATCH_JOBS.kind,
        "metadata": {
            "name": name_of(obj),
            "namespace": namespace_of(obj),
            "labels": {
                _ORIGIN: RAY_JOBS.kind,
                _ORIGIN_NAME: name_of(obj),
                "app.kubernetes.io/created-by": "kuberay-operator",
            },
            "ownerReferences": [owner_reference(obj)],
        },
        "spec": {"backoffLimit": 2 if limit is None else int(limit), "template": template},
    }
