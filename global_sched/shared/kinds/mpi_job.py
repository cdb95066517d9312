"""MPIJobs: the launcher and its workers, one gang.

Source:  MPI operator v0.6.0 (kubeflow.org/v2beta1): workers are pods, the launcher is a batch Job
         of one pod, made at once or when all workers are ready. Workers stay after the end unless
         `cleanPodPolicy` takes them away.
"""

from typing import Final

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import (
    KUBEFLOW_OPERATOR,
    KUBEFLOW_ROLE,
    REPLICA_INDEX,
)
from global_sched.shared.api.raw import Obj, get
from global_sched.shared.api.resource import BATCH_JOBS, MPI_JOBS
from global_sched.shared.kinds.parts.acts import Acts, Field
from global_sched.shared.kinds.parts.interpretation import Interpretation, Items
from global_sched.shared.kinds.parts.kind import TIER_ANNOTATION, About, FieldNames, WorkloadKind
from global_sched.shared.kinds.parts.kubeflow import (
    OwnedReplicas,
    ReplicaSpec,
    scheduler_fields,
)
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.owner import OwnerFacts, TaskRecord, bounded
from global_sched.shared.kinds.parts.pod_labels import number
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    Reading,
    RefusedError,
    pods_total,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.kinds.parts.statuses import (
    ends_with,
    has_condition,
    statuses,
    with_condition,
)
from global_sched.shared.kinds.parts.templates import (
    common_constraint,
    first_priority,
    first_queue,
    managed_here,
)
from global_sched.shared.model.gang import Amounts, PodSet
from global_sched.shared.model.ids import PodSetName

CONTROLLER: Final = "kubeflow.org/mpi-operator"
OPERATOR: Final = "mpi-operator"
WAITS: Final = "WaitForWorkersReady"
LAUNCHER: Final = "Launcher"
WORKER: Final = "Worker"
_FIELD: Final = "spec.mpiReplicaSpecs"
_DEFAULTS: Final = {LAUNCHER: 1, WORKER: 0}


class SchedulingPolicy(Wire, frozen=True):
    """Gang options of the operator."""

    queue: str = ""
    priority_class: str = ""


class RunPolicy(Wire, frozen=True):
    """How it runs and what stays."""

    clean_pod_policy: str = ""
    suspend: bool | None = None
    managed_by: str = ""
    active_deadline_seconds: int | None = None
    scheduling_policy: SchedulingPolicy | None = None


class MPIJobSpec(Wire, frozen=True):
    """A launcher and workers."""

    run_policy: RunPolicy = RunPolicy()
    mpi_replica_specs: dict[str, ReplicaSpec] | None = None
    launcher_creation_policy: str = ""


class MPIJob(Wire, frozen=True):
    """kubeflow.org/v2beta1 MPIJob."""

    api_version: str = "kubeflow.org/v2beta1"
    kind: str = "MPIJob"
    metadata: Meta = Meta()
    spec: MPIJobSpec = MPIJobSpec()


def read_mpi_job(job: MPIJob) -> Reading:
    """The gang of an MPIJob: the launcher and all workers. Raises RefusedError, HeldError."""
    spec, meta = job.spec, job.metadata
    run = spec.run_policy
    managed_here(run.managed_by, CONTROLLER, "spec.runPolicy.managedBy")
    specs = spec.mpi_replica_specs or {}
    if LAUNCHER not in specs:
        raise RefusedError(f"{_FIELD}.{LAUNCHER}", "is missing", "an MPIJob needs a launcher")
    for name in sorted(set(specs) - set(_DEFAULTS)):
        raise RefusedError(
            f"{_FIELD}.{name[:40]}", "is no replica type", f"use {LAUNCHER} and {WORKER}"
        )
    given = {name: specs[name] for name in _DEFAULTS if name in specs}
    pod_sets = tuple(_pod_set(name, one) for name, one in given.items())
    if pod_sets[0].count != 1:
        raise RefusedError(
            f"{_FIELD}.{LAUNCHER}.replicas", f"is {pod_sets[0].count}", "an MPIJob has one launcher"
        )
    pods = sum(one.count for one in pod_sets)
    pods_total(pods, f"{_FIELD}[*].replicas")
    if run.suspend:
        raise HeldError("spec.runPolicy.suspend is true; set it to false to start the job")
    templates = [one.template for one in given.values()]
    leaving = leaving_of(
        meta, [one.metadata for one in templates], deadline=run.active_deadline_seconds
    )
    policy = run.scheduling_policy or SchedulingPolicy()
    return Reading(
        api_version=MPI_JOBS.api_version,
        kind=MPI_JOBS.kind,
        pod_sets=pod_sets,
        minimum=pods,
        constraint=common_constraint(templates, _FIELD),
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=first_queue(templates, meta) or policy.queue,
        priority_class=first_priority(templates) or policy.priority_class,
        scheduling=scheduling(scheduler_fields("/spec/mpiReplicaSpecs", given.items())),
        stays=WORKER in given and run.clean_pod_policy in ("", "None"),
    )


def _pod_set(name: str, one: ReplicaSpec) -> PodSet:
    field = f"{_FIELD}.{name}"
    count = whole_number(one.replicas, f"{field}.replicas", default=_DEFAULTS[name])
    return PodSet(
        name=PodSetName(name.lower()),
        count=count,
        minimum=count,
        shape=shape(one.template, f"{field}.template"),
    )


# --- in a member ----------------------------------------------------------------------------


class OwnedSpec(Wire, frozen=True):
    """The replica types without their pod templates."""

    mpi_replica_specs: dict[str, OwnedReplicas] | None = None
    launcher_creation_policy: str = ""


class OwnedJob(Wire, frozen=True):
    """An MPIJob without pod templates."""

    metadata: Meta = Meta()
    spec: OwnedSpec = OwnedSpec()


def facts(job: OwnedJob) -> OwnerFacts:
    """All replicas; the launcher is late where it waits for the workers. Raises CountError."""
    specs = job.spec.mpi_replica_specs or {}
    tasks = tuple(
        TaskRecord(
            name=PodSetName(name.lower()),
            replicas=bounded(specs[name].replicas, f"{_FIELD}.{name}", default=_DEFAULTS[name]),
            depends=name == LAUNCHER and job.spec.launcher_creation_policy == WAITS,
        )
        for name in _DEFAULTS
        if name in specs
    )
    return OwnerFacts(minimum=Amounts.of({t.name: t.replicas for t in tasks}), tasks=tasks)


def _pod_set_of(meta: Meta) -> PodSetName | None:
    role = meta.label(KUBEFLOW_ROLE)
    return PodSetName(role) if role and meta.label(KUBEFLOW_OPERATOR) == OPERATOR else None


def _index_of(meta: Meta) -> int | None:
    return None if _pod_set_of(meta) is None else number(meta.label(REPLICA_INDEX)) or 0


# --- in Karmada -----------------------------------------------------------------------------


def _reflect(_obj: Obj, status: Obj) -> Obj:
    names = ("startTime", "completionTime", "lastReconcileTime")
    counts = ("active", "succeeded", "failed", "selector")
    replicas = status.get("replicaStatuses") or {}
    return {
        "replicaStatuses": {
            kind: {name: one[name] for name in counts if one.get(name) is not None}
            for kind, one in replicas.items()
        },
        "conditions": list(status.get("conditions") or ()),
    } | {name: status[name] for name in names if status.get(name) is not None}


def _health(obj: Obj) -> bool:
    """Whether it has conditions, and none says that it failed."""
    status = get(obj, "status")
    return bool(get(status, "conditions")) and not has_condition(status, "Failed")


def _aggregate(template: Obj, items: Items, _now: str) -> Obj:
    """One copy: its status. Several (one that moves): replicas add up, the newest conditions."""
    parts = statuses(items)
    if len(items) == 1 or len(parts) < 2:
        return dict(parts[0]) if parts else dict(get(template, "status") or {})
    newest: dict[str, Obj] = {}
    for one in (one for part in parts for one in part.get("conditions") or ()):
        kind = str(one.get("type"))
        if kind not in newest or str(one.get("lastUpdateTime")) > str(
            newest[kind].get("lastUpdateTime")
        ):
            newest[kind] = one
    types = sorted({kind for part in parts for kind in part.get("replicaStatuses") or ()})
    counts = {
        kind: {
            name: sum(int(get(part, "replicaStatuses", kind, name) or 0) for part in parts)
            for name in ("active", "succeeded", "failed")
        }
        for kind in types
    }
    return {"replicaStatuses": counts, "conditions": list(newest.values())}


KIND: Final = WorkloadKind(
    resource=MPI_JOBS,
    crd=CrdKind(
        resource=MPI_JOBS,
        type=MPIJob,
        columns=(
            ("State", ".status.conditions[-1:].type", "string"),
            ("Age", ".metadata.creationTimestamp", "date"),
        ),
        rules={
            "spec": {"required": ["mpiReplicaSpecs"]},
            "spec.launcherCreationPolicy": {"default": "AtStartup", "enum": ["AtStartup", WAITS]},
            "spec.runPolicy.cleanPodPolicy": {"enum": ["All", "Running", "None"]},
        },
    ),
    wire=MPIJob,
    read=read_mpi_job,
    runtimes=None,
    notes=(),
    schedulers=("/spec/mpiReplicaSpecs/*/template/spec/schedulerName",),
    brings=("/spec/mpiReplicaSpecs/*",),
    ends=ends_with("Succeeded", "Failed"),
    completed=with_condition("Succeeded"),
    failed=with_condition("Failed"),
    owner=OwnedJob,
    facts=facts,
    pod_set=_pod_set_of,
    index=_index_of,
    makes=(BATCH_JOBS,),
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
        minimum="the launcher and all workers",
        elastic="no",
        queue="pod templates, then the object's annotation, then `schedulingPolicy.queue`",
        topology="annotations of the pod templates, equal in all",
        restarts="the MPI operator of the member (`restartPolicy`, `backoffLimit`)",
        versions="kubeflow.org/v2beta1 (MPI operator 0.6.0)",
    ),
    fields=FieldNames(
        queue="spec.runPolicy.schedulingPolicy.queue",
        priority_class="spec.runPolicy.schedulingPolicy.priorityClass",
        minimum="",
        topology=TIER_ANNOTATION,
    ),
    acts=Acts(
        suspend=Field(("spec", "runPolicy", "suspend")),
        priority=Field(("spec", "runPolicy", "schedulingPolicy", "priorityClass")),
    ),
)
