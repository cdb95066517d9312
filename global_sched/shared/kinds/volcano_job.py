"""Volcano Jobs: one pod set per task, with the defaults that Volcano's webhook would set.

Source:  Volcano's job admission: a task's minAvailable is its replicas (or minPartitions ×
         partitionSize), the Job's is the sum over its tasks, the queue is `default`, the
         scheduler `volcano`.
"""

import re
from typing import Final

from global_sched.shared.api.base import JsonMap, Meta, Wire
from global_sched.shared.api.crd_kind import AGE, NOT_NEGATIVE, TOPOLOGY_MODE, CrdKind
from global_sched.shared.api.names import (
    DEFAULT_QUEUE,
    PARTITIONS_TOGETHER,
    TASK_INDEX,
    TASK_SPEC,
    VOLCANO_SCHEDULER,
)
from global_sched.shared.api.raw import Obj, get
from global_sched.shared.api.resource import VOLCANO_JOBS
from global_sched.shared.api.volcano import (
    DependsOn,
    NetworkTopology,
    PartitionPolicy,
    Task,
    VolcanoJob,
)
from global_sched.shared.kinds.parts.acts import Acts, Field, Refused
from global_sched.shared.kinds.parts.interpretation import Interpretation, Items
from global_sched.shared.kinds.parts.kind import About, FieldNames, WorkloadKind
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.owner import OwnerFacts, TaskRecord, bounded
from global_sched.shared.kinds.parts.pod_labels import index_by
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
from global_sched.shared.kinds.parts.statuses import some, statuses, without_empty
from global_sched.shared.model.gang import Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.placement import SpecError, constraint_of, with_families

_ENDS: Final = ("Completed", "Failed", "Terminated", "Aborted")
_HEALTHY: Final = frozenset(
    {
        "Running",
        "Completed",
        "Pending",
        "Aborting",
        "Aborted",
        "Restarting",
        "Completing",
        "Terminating",
        "Terminated",
    }
)
_REFLECTED: Final = (
    "state",
    "minAvailable",
    "pending",
    "running",
    "succeeded",
    "failed",
    "terminating",
    "unknown",
    "version",
    "retryCount",
    "runningDuration",
    "taskStatusCount",
    "controlledResources",
    "conditions",
)
_SUMS: Final = (
    "minAvailable",
    "pending",
    "running",
    "succeeded",
    "failed",
    "terminating",
    "unknown",
    "retryCount",
)
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?)(h|m|s)")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}


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


def _ends(status: JsonMap) -> bool:
    state = status.get("state")
    return isinstance(state, dict) and state.get("phase") in _ENDS


# --- in a member ----------------------------------------------------------------------------


class OwnedTask(Wire, frozen=True):
    """A task without its pod template."""

    name: str = ""
    replicas: int | None = None
    depends_on: DependsOn | None = None


class OwnedSpec(Wire, frozen=True):
    """The tasks in their order."""

    tasks: list[OwnedTask] | None = None


class OwnedJob(Wire, frozen=True):
    """A Job without pod templates."""

    metadata: Meta = Meta()
    spec: OwnedSpec = OwnedSpec()


def facts(job: OwnedJob) -> OwnerFacts:
    """The tasks; the minimum is in the PodGroup. Raises CountError."""
    return OwnerFacts(
        tasks=tuple(
            TaskRecord(
                name=PodSetName(task.name),
                replicas=bounded(task.replicas, f"task {task.name}"),
                depends=bool(task.depends_on and task.depends_on.name),
            )
            for task in job.spec.tasks or ()
        )
    )


def _pod_set_of(meta: Meta) -> PodSetName | None:
    task = meta.label(TASK_SPEC) or meta.annotation(TASK_SPEC)
    return PodSetName(task) if task else None


# --- in Karmada -----------------------------------------------------------------------------


def _reflect(_obj: Obj, status: Obj) -> Obj:
    return some(status, _REFLECTED)


def _health(obj: Obj) -> bool:
    """One that waits or was aborted counts as healthy: healthy is not running."""
    return get(obj, "status", "state", "phase") in _HEALTHY


def _aggregate(_template: Obj, items: Items, _now: str) -> Obj:
    """Counts add up; the state is the last member's; empty values are left out."""
    parts = statuses(items)
    status: Obj = {name: sum(int(part.get(name) or 0) for part in parts) for name in _SUMS}
    status["version"] = max((int(part.get("version") or 0) for part in parts), default=0)
    status["state"] = parts[-1].get("state") if parts else None
    durations = [part["runningDuration"] for part in parts if part.get("runningDuration")]
    status["runningDuration"] = max(durations, key=_seconds, default=None)
    status["taskStatusCount"] = _task_counts(parts)
    status["controlledResources"] = {
        key: value
        for part in parts
        for key, value in (part.get("controlledResources") or {}).items()
    }
    status["conditions"] = [one for part in parts for one in part.get("conditions") or []]
    done = without_empty(status)
    return done if isinstance(done, dict) else {}


def _task_counts(parts: list[Obj]) -> Obj:
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for part in parts:
        for task, count in (part.get("taskStatusCount") or {}).items():
            phases = counts.setdefault(task, {"phase": {}})["phase"]
            for phase, number in (get(count, "phase") or {}).items():
                phases[phase] = phases.get(phase, 0) + int(number)
    return counts


def _seconds(text: str) -> float:
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))


KIND: Final = WorkloadKind(
    resource=VOLCANO_JOBS,
    crd=CrdKind(
        resource=VOLCANO_JOBS,
        type=VolcanoJob,
        short_names=("vcjob", "vj"),
        columns=(
            ("STATUS", ".status.state.phase", "string"),
            ("minAvailable", ".status.minAvailable", "integer"),
            ("RUNNINGS", ".status.running", "integer"),
            AGE,
            ("QUEUE", ".spec.queue", "string", 1),
        ),
        rules={
            "spec.maxRetry": {"default": 3, **NOT_NEGATIVE},
            "spec.queue": {"default": "default", "maxLength": 253},
            "spec.minAvailable": NOT_NEGATIVE,
            "spec.minSuccess": {"minimum": 1, "format": "int32"},
            "spec.networkTopology.mode": TOPOLOGY_MODE,
            "spec.networkTopology.highestTierAllowed": {"minimum": 0},
            "spec.tasks[].replicas": NOT_NEGATIVE,
            "spec.tasks[].minAvailable": NOT_NEGATIVE,
            "spec.tasks[].name": {"maxLength": 63},
            "spec.tasks[].partitionPolicy": {"required": ["partitionSize", "totalPartitions"]},
            "spec.tasks[].partitionPolicy.partitionSize": {"minimum": 1},
            "spec.tasks[].partitionPolicy.totalPartitions": {"minimum": 1},
            "spec.tasks[].partitionPolicy.networkTopology.mode": TOPOLOGY_MODE,
        },
    ),
    wire=VolcanoJob,
    read=read_volcano_job,
    runtimes=None,
    notes=(PARTITIONS_TOGETHER,),
    schedulers=("/spec/schedulerName", "/spec/tasks/*/template/spec/schedulerName"),
    brings=("/spec/tasks/*",),
    ends=_ends,
    completed={"state": {"phase": "Completed"}},
    failed={"state": {"phase": "Failed"}},
    owner=OwnedJob,
    facts=facts,
    pod_set=_pod_set_of,
    index=index_by(TASK_INDEX),
    makes=(),
    one_by_one=False,
    groups=False,
    karmada=Interpretation(
        replicas=None,
        components=True,
        revised=None,
        pods=None,
        prune=None,
        retain=None,
        reflect=_reflect,
        health=_health,
        aggregate=_aggregate,
    ),
    about=About(
        gang="whole, in one cluster",
        minimum="`minAvailable`, by task and in all",
        elastic="the pods above `minAvailable`; partitions above `minPartitions`",
        queue="`spec.queue`",
        topology="`spec.networkTopology`, and of each partition policy",
        restarts="its controller in the member: Volcano's, or the agent (policies, `maxRetry`)",
        versions="batch.volcano.sh/v1alpha1",
    ),
    fields=FieldNames(
        queue="spec.queue",
        priority_class="spec.priorityClassName",
        minimum="spec.minAvailable",
        topology="spec.networkTopology.highestTierAllowed",
    ),
    acts=Acts(
        suspend=Refused(
            "a Volcano Job has no field for it (vcctl writes a Command into one cluster); "
            "set spec.tasks[*].replicas to 0, and back"
        ),
        priority=Field(("spec", "priorityClassName")),
    ),
)
