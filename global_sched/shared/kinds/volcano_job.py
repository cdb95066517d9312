"""Volcano Jobs: one pod set per task, with the defaults that Volcano's webhook would set.

Source:  Volcano's job admission: a task's minAvailable is its replicas (or minPartitions ×
         partitionSize), the Job's is the sum over its tasks, the queue is `default`, the
         scheduler `volcano`.
"""

from typing import Final

from global_sched.shared.api.names import DEFAULT_QUEUE, PARTITIONS_TOGETHER, VOLCANO_SCHEDULER
from global_sched.shared.api.resource import VOLCANO_JOBS
from global_sched.shared.api.volcano import NetworkTopology, PartitionPolicy, Task, VolcanoJob
from global_sched.shared.kinds.parts.kind import WorkloadKind
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    Reading,
    RefusedError,
    SchedulerField,
    pods_total,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.model.gang import Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.placement import SpecError, constraint_of, with_families


def read_volcano_job(job: VolcanoJob) -> Reading:
    """The gang of a Volcano Job. Raises RefusedError, HeldError."""
    spec = job.spec
    tasks = spec.tasks or []
    if not tasks:
        raise RefusedError("spec.tasks", "is empty", "a Job needs at least one task with pods")
    if all(task.replicas in (None, 0) for task in tasks):
        raise HeldError("spec.tasks[*].replicas add up to 0 pods; raise them to start the Job")
    pod_sets = tuple(_pod_set(task, f"spec.tasks[{i}]") for i, task in enumerate(tasks))
    if len({p.name for p in pod_sets}) < len(pod_sets):
        raise RefusedError("spec.tasks", "has two tasks of one name", "give each its own name")
    pod_sets = _together(pod_sets, job.metadata.annotation(PARTITIONS_TOGETHER))
    pods = sum(pod_set.count for pod_set in pod_sets)
    pods_total(pods, "spec.tasks[*].replicas")
    minimum = whole_number(spec.min_available, "spec.minAvailable", default=0)
    if minimum > pods:
        raise RefusedError(
            "spec.minAvailable",
            f"is {minimum}, but the tasks have {pods} pods in all",
            "lower it or raise the tasks' replicas",
        )
    templates = [task.template for task in tasks]
    limits = [t.spec.active_deadline_seconds for t in templates]
    every = [limit for limit in limits if limit is not None]
    leaving = leaving_of(
        job.metadata,
        [template.metadata for template in templates],
        deadline=max(every) if len(every) == len(limits) else None,
    )
    return Reading(
        api_version=VOLCANO_JOBS.api_version,
        kind=VOLCANO_JOBS.kind,
        pod_sets=pod_sets,
        minimum=minimum or sum(pod_set.minimum for pod_set in pod_sets),
        constraint=_constraint(spec.network_topology, "spec.networkTopology"),
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=spec.queue or DEFAULT_QUEUE,
        priority_class=spec.priority_class_name
        or next((t.template.spec.priority_class_name for t in tasks if _has_class(t)), ""),
        scheduling=scheduling(
            [
                SchedulerField(
                    f"/spec/tasks/{i}/template/spec/schedulerName",
                    task.template.spec.scheduler_name,
                )
                for i, task in enumerate(tasks)
            ],
            SchedulerField("/spec/schedulerName", spec.scheduler_name),
            default=VOLCANO_SCHEDULER,
        ),
    )


def _has_class(task: Task) -> bool:
    return bool(task.template.spec.priority_class_name)


def _pod_set(task: Task, field: str) -> PodSet:
    if not task.name:
        raise RefusedError(f"{field}.name", "is missing", "name every task")
    replicas = whole_number(task.replicas, f"{field}.replicas", default=0)
    partition = None
    default = replicas
    if task.partition_policy is not None:
        partition = _partition(task.partition_policy, replicas, f"{field}.partitionPolicy")
        default = partition.minimum * partition.size or replicas
    minimum = whole_number(task.min_available, f"{field}.minAvailable", default=default)
    if minimum > replicas:
        raise RefusedError(
            f"{field}.minAvailable", f"is {minimum} of {replicas} replicas", "lower it"
        )
    if partition is not None and partition.minimum and minimum != default:
        raise RefusedError(
            f"{field}.minAvailable",
            f"is {minimum}, but minPartitions × partitionSize is {default}",
            "make them equal or leave minAvailable out",
        )
    return PodSet(
        name=PodSetName(task.name),
        count=replicas,
        minimum=minimum,
        shape=shape(task.template, f"{field}.template"),
        partition=partition,
    )


def _partition(policy: PartitionPolicy, replicas: int, field: str) -> Partition:
    total = whole_number(policy.total_partitions, f"{field}.totalPartitions", default=1, least=1)
    size = whole_number(policy.partition_size, f"{field}.partitionSize", default=1, least=1)
    least = whole_number(policy.min_partitions, f"{field}.minPartitions", default=0)
    if total * size != replicas:
        raise RefusedError(
            field, f"{total} partitions of {size} are not {replicas} replicas", "make them agree"
        )
    if least > total:
        raise RefusedError(f"{field}.minPartitions", f"is {least} of {total}", "lower it")
    constraint = _constraint(policy.network_topology, f"{field}.networkTopology")
    return Partition(size=size, total=total, minimum=least, constraint=constraint)


def _together(pod_sets: tuple[PodSet, ...], text: str) -> tuple[PodSet, ...]:
    if not text:
        return pod_sets
    try:
        return with_families(pod_sets, text)
    except SpecError as error:
        raise RefusedError(
            "metadata.annotations", str(error), "name tasks with equally many partitions"
        ) from error


def _constraint(topology: NetworkTopology | None, field: str) -> TopologyConstraint | None:
    if topology is None:
        return None
    try:
        return constraint_of(topology)
    except SpecError as error:
        raise RefusedError(field, str(error), "set mode and one highest tier") from error


KIND: Final = WorkloadKind(resource=VOLCANO_JOBS, wire=VolcanoJob, read=read_volcano_job)
