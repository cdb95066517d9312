"""MPIJob → worker pods, the launcher's batch Job, their Service, and the job's conditions.

Source:  MPI operator v0.6.0: names, labels, condition types, reasons and messages. Its ConfigMap of
         hosts and its SSH keys are left out: nothing here speaks MPI.
"""

from collections.abc import Iterable
from typing import Final

from global_sched.embedded.members.cluster import active, owner_reference, ready, template_pod
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import (
    Obj,
    get,
    name_of,
    namespace_of,
    set_condition,
)
from global_sched.shared.api.names import (
    KUBEFLOW_OPERATOR,
    KUBEFLOW_ROLE,
    PYTORCH_JOB_NAME,
    REPLICA_INDEX,
)
from global_sched.shared.api.resource import BATCH_JOBS, MPI_JOBS, PODS, SERVICES
from global_sched.shared.kinds.mpi_job import LAUNCHER, OPERATOR, WAITS, WORKER
from global_sched.shared.kinds.parts.statuses import has_condition

_PHASES: Final = {"active": "Running", "succeeded": "Succeeded", "failed": "Failed"}


class MPIJobs(WorkloadController):
    """Workers with fixed names, and a launcher whose end is the job's."""

    resource = MPI_JOBS
    owns = (PODS, BATCH_JOBS, SERVICES)

    async def sync(self, obj: Obj) -> float | None:
        """Keep the pods that may be there, then say what the job does."""
        workers = [pod for pod in self.cluster.owned(PODS, obj) if active(pod)]
        if finished(obj):
            if get(obj, "spec", "runPolicy", "cleanPodPolicy") in ("All", "Running"):
                await self._delete(workers)
            return None
        suspended = bool(get(obj, "spec", "runPolicy", "suspend"))
        launcher = next(iter(self.cluster.owned(BATCH_JOBS, obj)), None)
        ended = has_condition(_status(launcher), "Complete") or has_condition(
            _status(launcher), "Failed"
        )
        if suspended:
            await self._delete(workers)
        elif not ended:
            await self.cluster.create(SERVICES, service_of(obj), owner=obj)
            await self._fill(obj, workers)
        wanted = replicas_of(obj, WORKER, 0)
        late = get(obj, "spec", "launcherCreationPolicy") == WAITS
        if launcher is None and (not late or (len(workers) == wanted and all(map(ready, workers)))):
            launcher = await self.cluster.create(BATCH_JOBS, launcher_of(obj), owner=obj)
        if launcher is not None and bool(get(launcher, "spec", "suspend")) != suspended:
            await self.cluster.patch(BATCH_JOBS, launcher, {"spec": {"suspend": suspended}})
        status = self._status_of(obj, launcher, suspended=suspended)
        await self.cluster.write_status(MPI_JOBS, obj, status)
        return None

    async def _delete(self, pods: Iterable[Obj]) -> None:
        for pod in pods:
            await self.cluster.delete(PODS, pod)

    async def _fill(self, obj: Obj, workers: list[Obj]) -> None:
        """Create missing workers, delete those beyond the number."""
        wanted = {worker_name(obj, at): at for at in range(replicas_of(obj, WORKER, 0))}
        await self._delete(pod for pod in workers if name_of(pod) not in wanted)
        there = {name_of(pod) for pod in self.cluster.owned(PODS, obj)}
        for name, at in wanted.items():
            if name not in there:
                made = await self.cluster.create(PODS, worker_of(obj, at), owner=obj)
                if made is not None:
                    workers.append(made)

    # --- status ---------------------------------------------------------------------------

    def _status_of(self, obj: Obj, launcher: Obj | None, *, suspended: bool) -> Obj:
        where = f"{namespace_of(obj)}/{name_of(obj)}"
        old = obj.get("status") or {}
        workers = self.cluster.owned(PODS, obj)
        launched = [] if launcher is None else self.cluster.owned(PODS, launcher)
        conditions = old.get("conditions")
        wanted = [("Created", True, "MPIJobCreated", f"MPIJob {where} is created.")]
        if suspended or any(one["type"] == "Suspended" for one in conditions or ()):
            reason = "MPIJobSuspended" if suspended else "MPIJobResumed"
            words = "suspended" if suspended else "resumed"
            wanted.append(("Suspended", suspended, reason, f"MPIJob {words}"))
        phases = [get(pod, "status", "phase") for pod in workers]
        runs = phases.count("Running") == replicas_of(obj, WORKER, 0)
        if any(get(pod, "status", "phase") == "Running" for pod in launched) and runs:
            wanted.append(("Running", True, "MPIJobRunning", f"MPIJob {where} is running."))
        elif suspended and any(one["type"] == "Running" for one in conditions or ()):
            wanted.append(("Running", False, "MPIJobSuspended", f"MPIJob {where} is suspended."))
        succeeded = has_condition(_status(launcher), "Complete")
        failed = has_condition(_status(launcher), "Failed")
        if succeeded:
            text = f"MPIJob {where} successfully completed."
            wanted.append(("Succeeded", True, "MPIJobSucceeded", text))
        if failed:
            wanted.append(("Failed", True, "MPIJobFailed", f"MPIJob {where} has failed"))
        for one in wanted:
            conditions = set_condition(conditions, self._condition(*one))
        status: Obj = {
            "conditions": conditions,
            "replicaStatuses": {LAUNCHER: _counts(launched), WORKER: _counts(workers)},
        }
        if not suspended:
            status["startTime"] = old.get("startTime") or self.cluster.now()
        if succeeded or failed:
            status["completionTime"] = old.get("completionTime") or self.cluster.now()
        return status

    def _condition(self, kind: str, holds: bool, reason: str, message: str) -> Obj:
        now = self.cluster.now()
        return {
            "type": kind,
            "status": "True" if holds else "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": now,
        }


def finished(obj: Obj) -> bool:
    """Whether the job succeeded or failed."""
    return has_condition(_status(obj), "Succeeded") or has_condition(_status(obj), "Failed")


def _status(obj: Obj | None) -> Obj:
    return (obj or {}).get("status") or {}


def _counts(pods: list[Obj]) -> Obj:
    phases = [get(pod, "status", "phase") for pod in pods]
    return {name: n for name, phase in _PHASES.items() if (n := phases.count(phase))}


def replicas_of(obj: Obj, kind: str, default: int) -> int:
    """How many pods of a replica type; none where it is absent."""
    spec = get(obj, "spec", "mpiReplicaSpecs", kind)
    if spec is None:
        return 0
    found = spec.get("replicas")
    return default if found is None else int(found)


def worker_name(obj: Obj, at: int) -> str:
    """The name of a worker's pod."""
    return f"{name_of(obj)}-worker-{at}"


def _labelled(obj: Obj, role: str) -> dict[str, str]:
    return {
        KUBEFLOW_OPERATOR: OPERATOR,
        PYTORCH_JOB_NAME: name_of(obj),
        KUBEFLOW_ROLE: role,
    }


def worker_of(obj: Obj, at: int) -> Obj:
    """One worker's pod."""
    spec = get(obj, "spec", "mpiReplicaSpecs", WORKER)
    name = worker_name(obj, at)
    pod = template_pod(spec["template"], owner=obj, name=name)
    pod["metadata"]["labels"] |= _labelled(obj, "worker") | {REPLICA_INDEX: str(at)}
    policy = spec.get("restartPolicy") or "Never"
    pod["spec"] |= {
        "hostname": name,
        "subdomain": name_of(obj),
        "restartPolicy": "Never" if policy == "ExitCode" else policy,
    }
    return pod


def launcher_of(obj: Obj) -> Obj:
    """The launcher's Job: one pod."""
    spec = get(obj, "spec", "mpiReplicaSpecs", LAUNCHER)
    template = dict(spec["template"])
    meta = template.get("metadata") or {}
    template["metadata"] = {
        **meta,
        "labels": {**(meta.get("labels") or {}), **_labelled(obj, "launcher")},
    }
    policy = spec.get("restartPolicy") or "OnFailure"
    template["spec"] = {
        **(template.get("spec") or {}),
        "restartPolicy": "Never" if policy in ("ExitCode", "Always") else policy,
        "hostname": f"{name_of(obj)}-launcher",
        "subdomain": name_of(obj),
    }
    run = get(obj, "spec", "runPolicy") or {}
    passed = {
        name: run[name]
        for name in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
        if run.get(name) is not None
    }
    return {
        "apiVersion": BATCH_JOBS.api_version,
        "kind": BATCH_JOBS.kind,
        "metadata": {
            "name": f"{name_of(obj)}-launcher",
            "namespace": namespace_of(obj),
            "labels": {"app": name_of(obj)},
            "ownerReferences": [owner_reference(obj)],
        },
        "spec": {**passed, "template": template, "suspend": bool(run.get("suspend"))},
    }


def service_of(obj: Obj) -> Obj:
    """The headless Service under which launcher and workers find each other."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name_of(obj),
            "namespace": namespace_of(obj),
            "labels": {"app": name_of(obj)},
            "ownerReferences": [owner_reference(obj)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {KUBEFLOW_OPERATOR: OPERATOR, PYTORCH_JOB_NAME: name_of(obj)},
        },
    }
