"""TrainJob → the JobSet that its runtime and its own fields make, and the job's conditions.

Source:  Kubeflow Trainer v2.1.0: names, owner, condition types and reasons. Trainer's webhook would
         refuse a TrainJob without its runtime; here it waits for it.
"""

from typing import Final

from global_sched.embedded.members.cluster import Cluster, owner_reference
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import (
    Obj,
    get,
    key_of,
    namespace_of,
    set_condition,
)
from global_sched.shared.api.resource import (
    CLUSTER_TRAINING_RUNTIMES,
    JOB_SETS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
)
from global_sched.shared.kinds.parts.statuses import has_condition
from global_sched.shared.kinds.parts.trainer import job_set_of
from global_sched.shared.kube.objects import ObjectKey

_ENDS: Final = {"Completed": "Complete", "Failed": "Failed"}
"""The JobSet's condition, and the TrainJob's."""
_COUNTS: Final = ("name", "ready", "succeeded", "failed", "active", "suspended")
_SUSPENDED: Final = ("Suspended", "TrainJob is suspended")
_RESUMED: Final = ("Resumed", "TrainJob is resumed")


class TrainJobs(WorkloadController):
    """One JobSet of the same name; one that runs is left as it is, whatever the runtime becomes."""

    resource = TRAIN_JOBS
    owns = (JOB_SETS,)
    needs = (JOB_SETS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        for resource in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES):
            cluster.mirrors[resource].listen(self._runtime_changed)

    def _runtime_changed(self, _old: Obj | None, _new: Obj | None) -> None:
        """Runtimes change rarely: every job without its JobSet looks again."""
        for one in self.cluster.mirrors[TRAIN_JOBS].all():
            if not self.cluster.owned(JOB_SETS, one):
                self.loop.add(key_of(one))

    async def sync(self, obj: Obj) -> float | None:
        """Make the JobSet, suspend or resume it, and say what it does."""
        suspended = bool(get(obj, "spec", "suspend"))
        made = next(iter(self.cluster.owned(JOB_SETS, obj)), None)
        if made is None and (runtime := self._runtime(obj)) is not None:
            job_set = job_set_of(obj, runtime)
            job_set["metadata"]["ownerReferences"] = [owner_reference(obj)]
            made = await self.cluster.create(JOB_SETS, job_set, owner=obj)
        elif made is not None and bool(get(made, "spec", "suspend")) != suspended:
            await self.cluster.patch(JOB_SETS, made, {"spec": {"suspend": suspended}})
        status = self._status(obj, made or {}, suspended=suspended)
        if status:
            await self.cluster.write_status(TRAIN_JOBS, obj, status)
        return None

    def _runtime(self, obj: Obj) -> Obj | None:
        ref = get(obj, "spec", "runtimeRef") or {}
        if ref.get("kind") == TRAINING_RUNTIMES.kind:
            key = ObjectKey(namespace_of(obj), str(ref.get("name")))
            return self.cluster.mirrors[TRAINING_RUNTIMES].get(key)
        key = ObjectKey("", str(ref.get("name")))
        return self.cluster.mirrors[CLUSTER_TRAINING_RUNTIMES].get(key)

    def _status(self, obj: Obj, made: Obj, *, suspended: bool) -> Obj:
        status = dict(obj.get("status") or {})
        if suspended or has_condition(status, "Suspended"):
            reason, message = _SUSPENDED if suspended else _RESUMED
            status = self._with(status, "Suspended", reason, message, holds=suspended)
        job_set_status = made.get("status") or {}
        for one in job_set_status.get("conditions") or ():
            kind = _ENDS.get(str(one.get("type")))
            if kind is not None and one.get("status") == "True":
                status = self._with(status, kind, one.get("reason"), one.get("message"))
        if counts := job_set_status.get("replicatedJobsStatus"):
            status["jobsStatus"] = [{name: one[name] for name in _COUNTS} for one in counts]
        return status

    def _with(
        self, status: Obj, kind: str, reason: object, message: object, *, holds: bool = True
    ) -> Obj:
        condition = {
            "type": kind,
            "status": "True" if holds else "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": self.cluster.now(),
        }
        return status | {"conditions": set_condition(status.get("conditions"), condition)}
