"""PyTorchJobs: one pod set per replica type, in lower case."""

from typing import Final

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import REPLICA_INDEX, REPLICA_TYPE
from global_sched.shared.api.raw import Obj, get
from global_sched.shared.api.resource import PYTORCH_JOBS
from global_sched.shared.kinds.parts.acts import Acts, Field
from global_sched.shared.kinds.parts.interpretation import Interpretation, Items
from global_sched.shared.kinds.parts.kind import TIER_ANNOTATION, About, FieldNames, WorkloadKind
from global_sched.shared.kinds.parts.kubeflow import (
    OwnedReplicas,
    ReplicaSpec,
    scheduler_fields,
)
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.owner import OwnerFacts, bounded
from global_sched.shared.kinds.parts.pod_labels import index_by
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
    old_status,
    statuses,
    with_condition,
    without_empty,
)
from global_sched.shared.kinds.parts.templates import (
    common_constraint,
    first_priority,
    first_queue,
    stays_after_its_end,
)
from global_sched.shared.model.gang import Amounts, PodSet
from global_sched.shared.model.ids import PodSetName

_WORKER: Final = PodSetName("worker")


class ElasticPolicy(Wire, frozen=True):
    """The range of workers of an elastic PyTorchJob."""

    min_replicas: int | None = None
    max_replicas: int | None = None


class SchedulingPolicy(Wire, frozen=True):
    """Gang options of the training operator."""

    min_available: int | None = None
    queue: str = ""
    priority_class: str = ""


class RunPolicy(Wire, frozen=True):
    """How it is scheduled, and when it is deleted."""

    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None


class PyTorchJobSpec(Wire, frozen=True):
    """kubeflow.org/v1 PyTorchJob."""

    pytorch_replica_specs: dict[str, ReplicaSpec] | None = None
    elastic_policy: ElasticPolicy | None = None
    run_policy: RunPolicy | None = None


class PyTorchJob(Wire, frozen=True):
    """kubeflow.org/v1 PyTorchJob."""

    api_version: str = "kubeflow.org/v1"
    kind: str = "PyTorchJob"
    metadata: Meta = Meta()
    spec: PyTorchJobSpec = PyTorchJobSpec()


_FIRST = ("master", "worker")


def read_pytorch_job(job: PyTorchJob) -> Reading:
    """The gang of a PyTorchJob. Raises RefusedError, HeldError."""
    spec = job.spec
    run = spec.run_policy
    if run is not None:
        field = "spec.runPolicy.ttlSecondsAfterFinished"
        stays_after_its_end(run.ttl_seconds_after_finished, field)
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
    constraint = common_constraint(templates, "spec.pytorchReplicaSpecs")
    leaving = leaving_of(
        job.metadata,
        [one.metadata for one in templates],
        deadline=run.active_deadline_seconds if run is not None else None,
    )
    policy = run.scheduling_policy if run is not None else None
    return Reading(
        api_version=PYTORCH_JOBS.api_version,
        kind=PYTORCH_JOBS.kind,
        pod_sets=pod_sets,
        minimum=sum(pod_set.minimum for pod_set in pod_sets),
        constraint=constraint,
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=first_queue(templates, job.metadata) or (policy.queue if policy else ""),
        priority_class=first_priority(templates) or (policy.priority_class if policy else ""),
        scheduling=scheduling(scheduler_fields("/spec/pytorchReplicaSpecs", replicas)),
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


# --- in a member ----------------------------------------------------------------------------


class OwnedSpec(Wire, frozen=True):
    """The replica types without their pod templates."""

    pytorch_replica_specs: dict[str, OwnedReplicas] | None = None
    elastic_policy: ElasticPolicy | None = None


class OwnedJob(Wire, frozen=True):
    """A PyTorchJob without pod templates."""

    metadata: Meta = Meta()
    spec: OwnedSpec = OwnedSpec()


def facts(job: OwnedJob) -> OwnerFacts:
    """All replicas, of an elastic job's workers the least. Raises CountError."""
    spec = job.spec
    replicas = {
        PodSetName(kind.lower()): bounded(one.replicas, f"spec.pytorchReplicaSpecs[{kind}]")
        for kind, one in (spec.pytorch_replica_specs or {}).items()
    }
    elastic = spec.elastic_policy
    if elastic is not None and elastic.min_replicas is not None and _WORKER in replicas:
        least = bounded(elastic.min_replicas, "spec.elasticPolicy.minReplicas")
        replicas[_WORKER] = min(replicas[_WORKER], least)
    return OwnerFacts(minimum=Amounts.of(replicas))


def _pod_set_of(meta: Meta) -> PodSetName | None:
    replica_type = meta.label(REPLICA_TYPE)
    return PodSetName(replica_type.lower()) if replica_type else None


# --- in Karmada -----------------------------------------------------------------------------


def _pods(template: Obj) -> list[Obj]:
    specs: Obj = get(template, "spec", "pytorchReplicaSpecs") or {}
    return [get(spec, "template", "spec") or {} for spec in specs.values()]


def _health(obj: Obj) -> bool:
    """Whether it has conditions, and none says that it failed."""
    reported = get(obj, "status", "conditions") is not None
    return reported and not has_condition(get(obj, "status"), "Failed")


def _aggregate(template: Obj, items: Items, _now: str) -> Obj:
    """Replica counts add up; Succeeded when every member's is, Failed when any is.

    Conditions are in the order of a job's life, with times that the members reported: Created and
    Running stay beside the one that ends it, and Running is then False.
    """
    old: Obj = dict(old_status(template))
    if not items:
        for key in ("startTime", "completionTime", "replicaStatuses", "conditions"):
            old.pop(key, None)
        return old
    parts = statuses(items)
    failed = [item["clusterName"] for item in items if has_condition(item.get("status"), "Failed")]
    succeeded = sum(
        has_condition(part, "Succeeded") and not has_condition(part, "Failed") for part in parts
    )
    status: Obj = {
        "replicaStatuses": _replica_statuses(parts),
        "startTime": _first(parts, "startTime"),
        "lastReconcileTime": _last(parts, "lastReconcileTime"),
    }
    ended = _last(parts, "completionTime")
    conditions = _begun(parts, status["startTime"], over=bool(failed) or succeeded == len(items))
    if failed:
        message = f"PyTorchJob executed failed in member clusters: {', '.join(failed)}"
        conditions.append(_condition("Failed", "PyTorchJobFailed", message, ended, ended))
    elif succeeded == len(items):
        text = "PyTorchJob is successfully completed."
        conditions.append(_condition("Succeeded", "PyTorchJobSucceeded", text, ended, ended))
        status["completionTime"] = ended
    done: Obj = without_empty(old | status | {"conditions": conditions})
    return done


def _begun(parts: list[Obj], started: str | None, *, over: bool) -> list[Obj]:
    """The conditions Created and Running, as far as any member reported them."""
    found: list[Obj] = []
    if any(has_condition(part, "Created") for part in parts):
        text = "PyTorchJob is created."
        found.append(_condition("Created", "PyTorchJobCreated", text, started, started))
    reported = [
        one
        for part in parts
        for one in get(part, "conditions") or []
        if one.get("type") == "Running"
    ]
    if reported:
        text, last = "PyTorchJob is running.", reported[-1]
        times = last.get("lastUpdateTime"), last.get("lastTransitionTime")
        running = _condition("Running", "PyTorchJobRunning", text, *times)
        found.append(running | ({"status": "False"} if over else {}))
    return found


def _replica_statuses(parts: list[Obj]) -> Obj:
    return {
        kind: {
            name: sum(int(get(part, "replicaStatuses", kind, name) or 0) for part in parts)
            for name in ("active", "failed", "succeeded")
        }
        for kind in ("Master", "Worker")
    }


def _first(parts: list[Obj], name: str) -> str | None:
    return min((str(part[name]) for part in parts if part.get(name)), default=None)


def _last(parts: list[Obj], name: str) -> str | None:
    return max((str(part[name]) for part in parts if part.get(name)), default=None)


def _condition(
    kind: str, reason: str, message: str, updated: str | None, changed: str | None
) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastUpdateTime": updated,
        "lastTransitionTime": changed,
    }


KIND: Final = WorkloadKind(
    resource=PYTORCH_JOBS,
    crd=CrdKind(
        resource=PYTORCH_JOBS,
        type=PyTorchJob,
        columns=(
            ("State", ".status.conditions[-1:].type", "string"),
            ("Age", ".metadata.creationTimestamp", "date"),
        ),
        scale={
            "specReplicasPath": ".spec.pytorchReplicaSpecs.Worker.replicas",
            "statusReplicasPath": ".status.replicaStatuses.Worker.active",
            "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
        },
    ),
    wire=PyTorchJob,
    read=read_pytorch_job,
    runtimes=None,
    notes=(),
    schedulers=("/spec/pytorchReplicaSpecs/*/template/spec/schedulerName",),
    brings=("/spec/pytorchReplicaSpecs/*",),
    ends=ends_with("Succeeded", "Failed"),
    completed=with_condition("Succeeded"),
    failed=with_condition("Failed"),
    owner=OwnedJob,
    facts=facts,
    pod_set=_pod_set_of,
    index=index_by(REPLICA_INDEX),
    makes=(),
    one_by_one=False,
    groups=False,
    karmada=Interpretation(
        replicas=None,
        components=True,
        revised=None,
        pods=_pods,
        prune=None,
        retain=None,
        reflect=None,
        health=_health,
        aggregate=_aggregate,
    ),
    about=About(
        gang="whole, in one cluster",
        minimum="all replicas, of workers `elasticPolicy.minReplicas`",
        elastic="workers above `elasticPolicy.minReplicas`",
        queue="pod templates, then the object's annotation, then `schedulingPolicy.queue`",
        topology="annotations of the pod templates, equal in all",
        restarts="the training operator of the member (`restartPolicy`, `backoffLimit`)",
        versions="kubeflow.org/v1",
    ),
    fields=FieldNames(
        queue="spec.runPolicy.schedulingPolicy.queue",
        priority_class="spec.runPolicy.schedulingPolicy.priorityClass",
        minimum="spec.elasticPolicy.minReplicas",
        topology=TIER_ANNOTATION,
    ),
    acts=Acts(
        suspend=Field(("spec", "runPolicy", "suspend")),
        priority=Field(("spec", "runPolicy", "schedulingPolicy", "priorityClass")),
    ),
)
