"""JobSet → batch Jobs, in their order, started anew together, and the set's conditions.

Source:  JobSet v0.10.1: names, labels, condition types and reasons.
"""

from collections.abc import Iterable
from typing import Final

from global_sched.embedded.members.cluster import owner_reference
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import (
    Obj,
    deleting,
    get,
    labels,
    name_of,
    namespace_of,
    set_condition,
)
from global_sched.shared.api.names import (
    JOB_SET_JOB_INDEX,
    JOB_SET_NAME,
    JOB_SET_REPLICATED_JOB,
)
from global_sched.shared.api.resource import BATCH_JOBS, JOB_SETS, SERVICES
from global_sched.shared.kinds.job_set import IN_ORDER
from global_sched.shared.kinds.parts.statuses import has_condition

RESTARTS: Final = "jobset.sigs.k8s.io/restart-attempt"
REPLICAS: Final = "jobset.sigs.k8s.io/replicatedjob-replicas"
_COUNTS: Final = ("ready", "succeeded", "failed", "active", "suspended")


class JobSets(WorkloadController):
    """Jobs with fixed names; a failed one ends the set, or starts all of them anew."""

    resource = JOB_SETS
    owns = (BATCH_JOBS, SERVICES)

    async def sync(self, obj: Obj) -> float | None:
        """Keep the Jobs that may be there by now, then say what the set does."""
        restarts = _restarts(obj)
        jobs = [one for one in self.cluster.owned(BATCH_JOBS, obj) if not deleting(one)]
        mine = [one for one in jobs if labels(one).get(RESTARTS) == str(restarts)]
        await self._delete(one for one in jobs if one not in mine)
        counts = {name_of_part(part): _count(part, mine) for part in _parts(obj)}
        if finished(obj):
            await self._delete(one for one in mine if not _ended(one))
            return None
        failed = [one for one in mine if has_condition(one.get("status"), "Failed")]
        status = dict(obj.get("status") or {}) | {
            "restarts": restarts,
            "replicatedJobsStatus": [{"name": name, **one} for name, one in counts.items()],
        }
        if failed:
            await self._write(obj, self._after_failure(obj, status, failed[0]))
            return None
        if all(one["succeeded"] >= _replicas(part) for part, one in _with_counts(obj, counts)):
            await self._write(obj, self._ended(status, "Completed", *_ALL_COMPLETED))
            return None
        suspended = bool(get(obj, "spec", "suspend"))
        await self._serve(obj)
        await self._fill(obj, mine, counts, suspended=suspended)
        await self._suspend(mine, suspended=suspended)
        await self._write(obj, self._suspension(status, suspended=suspended))
        return None

    async def _write(self, obj: Obj, status: Obj) -> None:
        await self.cluster.write_status(JOB_SETS, obj, status)

    async def _delete(self, jobs: Iterable[Obj]) -> None:
        for one in jobs:
            await self.cluster.delete(BATCH_JOBS, one)

    async def _serve(self, obj: Obj) -> None:
        """The headless Service under which the pods find each other."""
        if get(obj, "spec", "network", "enableDNSHostnames") is False or self.cluster.owned(
            SERVICES, obj
        ):
            return
        service: Obj = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _subdomain(obj), "namespace": namespace_of(obj)},
            "spec": {"clusterIP": "None", "selector": {JOB_SET_NAME: name_of(obj)}},
        }
        await self.cluster.create(SERVICES, _owned(service, obj), owner=obj)

    async def _fill(
        self, obj: Obj, mine: list[Obj], counts: dict[str, Obj], *, suspended: bool
    ) -> None:
        """Create the Jobs that are missing, of those parts whose turn has come."""
        there = {name_of(one) for one in mine}
        in_order = get(obj, "spec", "startupPolicy", "startupPolicyOrder") == IN_ORDER
        for part in _parts(obj):
            if not _depends_met(obj, part, counts):
                continue
            for at in range(_replicas(part)):
                job = make_job(obj, part, at)
                if name_of(job) not in there:
                    await self.cluster.create(BATCH_JOBS, job, owner=obj)
            one = counts[name_of_part(part)]
            started = one["ready"] + one["succeeded"] + one["failed"] >= _replicas(part)
            if in_order and not suspended and not started:
                return

    async def _suspend(self, mine: list[Obj], *, suspended: bool) -> None:
        for one in mine:
            if not _ended(one) and bool(get(one, "spec", "suspend")) != suspended:
                await self.cluster.patch(BATCH_JOBS, one, {"spec": {"suspend": suspended}})

    # --- status ---------------------------------------------------------------------------

    def _after_failure(self, obj: Obj, status: Obj, first: Obj) -> Obj:
        """One more restart, where the failure policy has one left; else the end."""
        limit = int(get(obj, "spec", "failurePolicy", "maxRestarts") or 0)
        if _restarts(obj) < limit:
            count = _restarts(obj) + 1
            return status | {"restarts": count, "restartsCountTowardsMax": count}
        reason, message = _FAILED if not limit else _NO_RESTARTS
        text = f"{message} (first failed job: {name_of(first)})"
        return self._ended(status, "Failed", reason, text)

    def _ended(self, status: Obj, kind: str, reason: str, message: str) -> Obj:
        return self._with(status, kind, reason, message) | {"terminalState": kind}

    def _suspension(self, status: Obj, *, suspended: bool) -> Obj:
        """With the condition Suspended, once it ever was."""
        was = any(one["type"] == "Suspended" for one in status.get("conditions") or ())
        if not suspended and not was:
            return status
        reason, message = _SUSPENDED if suspended else _RESUMED
        return self._with(status, "Suspended", reason, message, holds=suspended)

    def _with(
        self, status: Obj, kind: str, reason: str, message: str, *, holds: bool = True
    ) -> Obj:
        condition = {
            "type": kind,
            "status": "True" if holds else "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": self.cluster.now(),
        }
        return status | {"conditions": set_condition(status.get("conditions"), condition)}


_ALL_COMPLETED: Final = ("AllJobsCompleted", "jobset completed successfully")
_FAILED: Final = ("FailedJobs", "jobset failed due to one or more job failures")
_NO_RESTARTS: Final = (
    "ReachedMaxRestarts",
    "jobset failed due to reaching max number of restarts",
)
_SUSPENDED: Final = ("SuspendedJobs", "jobset is suspended")
_RESUMED: Final = ("ResumeJobs", "jobset is resumed")


def finished(obj: Obj) -> bool:
    """Whether the set completed or failed."""
    status = obj.get("status")
    return has_condition(status, "Completed") or has_condition(status, "Failed")


def name_of_part(part: Obj) -> str:
    """The name of a replicated job."""
    return str(part.get("name"))


def make_job(obj: Obj, part: Obj, at: int) -> Obj:
    """One Job of a replicated job, with the labels of the set on it and on its pods."""
    own = {
        JOB_SET_NAME: name_of(obj),
        JOB_SET_REPLICATED_JOB: name_of_part(part),
        JOB_SET_JOB_INDEX: str(at),
        RESTARTS: str(_restarts(obj)),
        REPLICAS: str(_replicas(part)),
    }
    template = part.get("template") or {}
    spec = dict(template.get("spec") or {})
    pod = dict(spec.get("template") or {})
    pod["metadata"] = _labelled(pod.get("metadata"), own)
    pod["spec"] = {"restartPolicy": "OnFailure", **(pod.get("spec") or {})}
    if get(obj, "spec", "network", "enableDNSHostnames") is not False:
        pod["spec"]["subdomain"] = _subdomain(obj)
    meta = _labelled(template.get("metadata"), own) | {
        "name": f"{name_of(obj)}-{name_of_part(part)}-{at}",
        "namespace": namespace_of(obj),
    }
    suspended = bool(get(obj, "spec", "suspend"))
    job: Obj = {
        "apiVersion": BATCH_JOBS.api_version,
        "kind": BATCH_JOBS.kind,
        "metadata": meta,
        "spec": {"completionMode": "Indexed", **spec, "template": pod, "suspend": suspended},
    }
    return _owned(job, obj)


def _labelled(meta: Obj | None, own: dict[str, str]) -> Obj:
    having = meta or {}
    return {
        "labels": {**(having.get("labels") or {}), **own},
        "annotations": {**(having.get("annotations") or {}), **own},
    }


def _owned(made: Obj, owner: Obj) -> Obj:
    made["metadata"]["ownerReferences"] = [owner_reference(owner)]
    return made


def _subdomain(obj: Obj) -> str:
    return str(get(obj, "spec", "network", "subdomain") or name_of(obj))


def _parts(obj: Obj) -> list[Obj]:
    return list(get(obj, "spec", "replicatedJobs") or ())


def _replicas(part: Obj) -> int:
    found = part.get("replicas")
    return 1 if found is None else int(found)


def _restarts(obj: Obj) -> int:
    return int(get(obj, "status", "restarts") or 0)


def _ended(job: Obj) -> bool:
    status = job.get("status")
    return has_condition(status, "Complete") or has_condition(status, "Failed")


def _with_counts(obj: Obj, counts: dict[str, Obj]) -> list[tuple[Obj, Obj]]:
    return [(part, counts[name_of_part(part)]) for part in _parts(obj)]


def _count(part: Obj, jobs: list[Obj]) -> Obj:
    """The Jobs of a part by what they do."""
    mine = [one for one in jobs if labels(one).get(JOB_SET_REPLICATED_JOB) == name_of_part(part)]
    found = dict.fromkeys(_COUNTS, 0)
    for job in mine:
        status = job.get("status") or {}
        if has_condition(status, "Complete"):
            found["succeeded"] += 1
        elif has_condition(status, "Failed"):
            found["failed"] += 1
        else:
            pods = int(status.get("succeeded") or 0) + int(status.get("ready") or 0)
            found["ready"] += pods >= _pods_at_once(job)
            found["active"] += bool(status.get("active"))
            found["suspended"] += bool(get(job, "spec", "suspend"))
    return found


def _pods_at_once(job: Obj) -> int:
    parallelism = get(job, "spec", "parallelism")
    parallelism = 1 if parallelism is None else int(parallelism)
    completions = get(job, "spec", "completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def _depends_met(obj: Obj, part: Obj, counts: dict[str, Obj]) -> bool:
    """Whether what a part waits for is ready, or complete."""
    replicas = {name_of_part(one): _replicas(one) for one in _parts(obj)}
    for one in part.get("dependsOn") or ():
        name = str(one.get("name"))
        found = counts.get(name)
        if found is None:
            return False
        reached = found["succeeded"]
        if one.get("status") == "Ready":
            reached += found["ready"] + found["failed"]
        if reached < replicas[name]:
            return False
    return True
