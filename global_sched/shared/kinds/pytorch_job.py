"""PyTorchJobs: one pod set per replica type, in lower case."""

from typing import Final

from global_sched.shared.api.base import Meta
from global_sched.shared.api.resource import PYTORCH_JOBS
from global_sched.shared.api.workloads import PyTorchJob, ReplicaSpec
from global_sched.shared.kinds.parts.kind import WorkloadKind
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    Reading,
    RefusedError,
    SchedulerField,
    pods_total,
    queue_of,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.kinds.parts.templates import template_constraint
from global_sched.shared.model.gang import PodSet
from global_sched.shared.model.ids import PodSetName

_FIRST = ("master", "worker")


def read_pytorch_job(job: PyTorchJob) -> Reading:
    """The gang of a PyTorchJob. Raises RefusedError, HeldError."""
    spec = job.spec
    run = spec.run_policy
    if run is not None and run.suspend:
        raise HeldError("spec.runPolicy.suspend is true; set it to false to start the job")
    replicas = sorted((spec.pytorch_replica_specs or {}).items(), key=lambda item: _rank(item[0]))
    if not replicas:
        raise RefusedError("spec.pytorchReplicaSpecs", "is empty", "set Master or Worker")
    least = spec.elastic_policy.min_replicas if spec.elastic_policy is not None else None
    pod_sets = tuple(_pod_set(name, one, least) for name, one in replicas)
    pods = sum(pod_set.count for pod_set in pod_sets)
    pods_total(pods, "spec.pytorchReplicaSpecs[*].replicas")
    if pods == 0:
        raise HeldError("all replicas are 0; raise them to start the job")
    templates = [one.template for _, one in replicas]
    constraints = [found for one in templates if (found := template_constraint(one)) is not None]
    if len(set(constraints)) > 1:
        raise RefusedError(
            "spec.pytorchReplicaSpecs",
            "the pod templates carry different topology constraints",
            "use the same annotations on all of them",
        )
    leaving = leaving_of(
        job.metadata,
        [one.metadata for one in templates],
        deadline=run.active_deadline_seconds if run is not None else None,
    )
    policy = run.scheduling_policy if run is not None else None
    owner = job.metadata
    queues = [queue_of(one.metadata, Meta()) for one in templates]
    return Reading(
        api_version=PYTORCH_JOBS.api_version,
        kind=PYTORCH_JOBS.kind,
        pod_sets=pod_sets,
        minimum=sum(pod_set.minimum for pod_set in pod_sets),
        constraint=constraints[0] if constraints else None,
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=next(filter(None, queues), "")
        or queue_of(Meta(), owner)
        or (policy.queue if policy else ""),
        priority_class=next(
            (one.spec.priority_class_name for one in templates if one.spec.priority_class_name),
            policy.priority_class if policy else "",
        ),
        scheduling=scheduling(
            [
                SchedulerField(
                    f"/spec/pytorchReplicaSpecs/{name}/template/spec/schedulerName",
                    one.template.spec.scheduler_name,
                )
                for name, one in replicas
            ]
        ),
    )


def _rank(name: str) -> tuple[int, str]:
    lower = name.lower()
    return (_FIRST.index(lower) if lower in _FIRST else len(_FIRST), lower)


def _pod_set(name: str, one: ReplicaSpec, least: int | None) -> PodSet:
    field = f"spec.pytorchReplicaSpecs.{name}"
    count = whole_number(one.replicas, f"{field}.replicas", default=1)
    minimum = count
    if least is not None and name.lower() == "worker":
        minimum = whole_number(least, "spec.elasticPolicy.minReplicas", default=count)
        if minimum > count:
            raise RefusedError(
                "spec.elasticPolicy.minReplicas", f"is {minimum} of {count} workers", "lower it"
            )
    return PodSet(
        name=PodSetName(name.lower()),
        count=count,
        minimum=minimum,
        shape=shape(one.template, f"{field}.template"),
    )


KIND: Final = WorkloadKind(resource=PYTORCH_JOBS, wire=PyTorchJob, read=read_pytorch_job)
