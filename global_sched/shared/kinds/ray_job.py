"""RayJobs: a RayCluster of their own, and the pod that submits the job to it.

Source:  KubeRay v1.5.0 (ray.io/v1): the operator makes a RayCluster of `rayClusterSpec`, and once
         it is ready a batch Job with the submitter (K8sJobMode), or a container beside the head
         (SidecarMode), or neither. The cluster stays after the end of the job unless
         `shutdownAfterJobFinishes` is set, or some of it (`deletionStrategy`).
"""

from typing import Final

from global_sched.shared.api.base import JsonMap, Meta, Wire
from global_sched.shared.api.core import Container, PodSpec, PodTemplate, ResourceRequirements
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import QUEUE_NAME, RAY_PRIORITY, RAY_TOPOLOGY_TIER, TASK_SPEC
from global_sched.shared.api.raw import Obj, get
from global_sched.shared.api.resource import BATCH_JOBS, RAY_CLUSTERS, RAY_JOBS
from global_sched.shared.kinds import ray_cluster
from global_sched.shared.kinds.parts.acts import Acts, Field
from global_sched.shared.kinds.parts.interpretation import Interpretation, Items
from global_sched.shared.kinds.parts.kind import About, FieldNames, WorkloadKind
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.owner import OwnerFacts, TaskRecord
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    Reading,
    RefusedError,
    SchedulerField,
    scheduling,
    shape,
)
from global_sched.shared.kinds.parts.statuses import statuses
from global_sched.shared.kinds.parts.templates import (
    first_priority,
    first_queue,
    managed_here,
)
from global_sched.shared.kinds.ray_cluster import (
    OwnedClusterSpec,
    RayClusterSpec,
    constraint_of_cluster,
    minimum_of,
    parts_of,
)
from global_sched.shared.model.gang import Amounts, PodSet
from global_sched.shared.model.ids import MAIN, PodSetName

K8S_JOB: Final = "K8sJobMode"
SIDECAR: Final = "SidecarMode"
MODES: Final = (K8S_JOB, "HTTPMode", "InteractiveMode", SIDECAR)
DELETE_SELF: Final = "DeleteSelf"
SUBMITTER: Final = MAIN
"""The submitter's pod set: its pod carries no label of KubeRay."""
_SUBMITTER_GROUP: Final = "submittergroup"
"""What KubeRay's integration of Volcano writes on the submitter's pod."""
_CLUSTER: Final = "spec.rayClusterSpec"
_TEMPLATE: Final = "spec.submitterPodTemplate"
_TEMPLATE_PATH: Final = "/spec/submitterPodTemplate"
_ENDS: Final = ("Complete", "Failed", "ValidationFailed")
_SUBMITTER: Final = Container(
    name="ray-job-submitter",
    resources=ResourceRequirements(
        requests={"cpu": "500m", "memory": "200Mi"}, limits={"cpu": "1", "memory": "1Gi"}
    ),
)
"""KubeRay's own submitter."""
_WORST: Final = (
    "",
    "Initializing",
    "Waiting",
    "Suspending",
    "Suspended",
    "Retrying",
    "Running",
    "Complete",
    "ValidationFailed",
    "Failed",
)
_WORST_JOB: Final = ("", "PENDING", "RUNNING", "SUCCEEDED", "STOPPED", "FAILED")


class DeletionPolicy(Wire, frozen=True):
    """What is deleted once the job has ended in some way."""

    policy: str = ""


class DeletionStrategy(Wire, frozen=True):
    """What is deleted after the end; behind a feature gate of the operator."""

    on_success: DeletionPolicy | None = None
    on_failure: DeletionPolicy | None = None
    deletion_rules: list[DeletionPolicy] | None = None


class RayJobSpec(Wire, frozen=True):
    """A cluster and how the job comes to it."""

    suspend: bool | None = None
    managed_by: str = ""
    submission_mode: str = ""
    cluster_selector: dict[str, str] | None = None
    ray_cluster_spec: RayClusterSpec | None = None
    submitter_pod_template: PodTemplate | None = None
    active_deadline_seconds: int | None = None
    shutdown_after_job_finishes: bool | None = None
    deletion_strategy: DeletionStrategy | None = None


class RayJob(Wire, frozen=True):
    """ray.io/v1 RayJob."""

    api_version: str = "ray.io/v1"
    kind: str = "RayJob"
    metadata: Meta = Meta()
    spec: RayJobSpec = RayJobSpec()


def read_ray_job(job: RayJob) -> Reading:
    """The gang of a RayJob. Raises RefusedError, HeldError."""
    spec, meta = job.spec, job.metadata
    managed_here(spec.managed_by, ray_cluster.CONTROLLER)
    if spec.cluster_selector:
        raise RefusedError(
            "spec.clusterSelector",
            "is set: a cluster that runs already is in a member that this job does not choose",
            "use rayClusterSpec, or submit the job to the cluster in its member",
        )
    if spec.ray_cluster_spec is None:
        raise RefusedError(_CLUSTER, "is missing", "say what the job's cluster is made of")
    _check_deletion(spec.deletion_strategy or DeletionStrategy())
    mode = spec.submission_mode or K8S_JOB
    if mode not in MODES:
        raise RefusedError("spec.submissionMode", f"is {mode[:40]!r}", f"use {', '.join(MODES)}")
    sidecar = _SUBMITTER if mode == SIDECAR else None
    parts = parts_of(spec.ray_cluster_spec, _CLUSTER, beside_head=sidecar)
    submitter = _submitter(spec.submitter_pod_template) if mode == K8S_JOB else None
    if submitter is not None and any(one.name == submitter.name for one in parts.pod_sets):
        raise RefusedError(
            f"{_CLUSTER}.workerGroupSpecs",
            f"has a group named {SUBMITTER}, as the submitter's pods are",
            "give it another groupName",
        )
    if spec.suspend:
        raise HeldError("spec.suspend is true; set it to false to start the job")
    own = spec.submitter_pod_template if submitter is not None else None
    templates = parts.templates if own is None else (*parts.templates, own)
    pod_sets = parts.pod_sets if submitter is None else (*parts.pod_sets, submitter)
    schedulers = parts.schedulers
    if own is not None:
        path = f"{_TEMPLATE_PATH}/spec/schedulerName"
        schedulers = (*schedulers, SchedulerField(path, own.spec.scheduler_name))
    leaving = leaving_of(
        meta, [one.metadata for one in templates], deadline=spec.active_deadline_seconds
    )
    return Reading(
        api_version=RAY_JOBS.api_version,
        kind=RAY_JOBS.kind,
        pod_sets=pod_sets,
        minimum=sum(one.minimum for one in pod_sets),
        constraint=constraint_of_cluster(meta, templates, "spec"),
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=meta.label(QUEUE_NAME) or first_queue(templates, meta),
        priority_class=meta.label(RAY_PRIORITY) or first_priority(templates),
        scheduling=scheduling(schedulers),
        stays=not spec.shutdown_after_job_finishes or spec.deletion_strategy is not None,
    )


def _check_deletion(strategy: DeletionStrategy) -> None:
    """A copy that deletes itself would be made again from its Work."""
    found = (strategy.on_success, strategy.on_failure, *(strategy.deletion_rules or ()))
    if any(one is not None and one.policy == DELETE_SELF for one in found):
        raise RefusedError(
            "spec.deletionStrategy",
            f"has {DELETE_SELF}: Karmada brings back what is deleted in a member, "
            "and it would run again",
            "use DeleteCluster, and delete the object on the control plane",
        )


def _submitter(template: PodTemplate | None) -> PodSet:
    """The submitter: its own template, or KubeRay's, which the default scheduler binds."""
    found = template or PodTemplate(spec=PodSpec(containers=[_SUBMITTER]))
    return PodSet(name=SUBMITTER, count=1, minimum=1, shape=shape(found, _TEMPLATE))


def _ends(status: JsonMap) -> bool:
    return status.get("jobDeploymentStatus") in _ENDS


# --- in a member ----------------------------------------------------------------------------


class OwnedSpec(Wire, frozen=True):
    """The cluster, and whether there is a submitter."""

    submission_mode: str = ""
    ray_cluster_spec: OwnedClusterSpec = OwnedClusterSpec()


class OwnedJob(Wire, frozen=True):
    """A RayJob without pod templates."""

    metadata: Meta = Meta()
    spec: OwnedSpec = OwnedSpec()


def facts(job: OwnedJob) -> OwnerFacts:
    """The cluster's minimum, and the submitter, which comes once it runs. Raises CountError."""
    minimum = minimum_of(job.spec.ray_cluster_spec)
    if (job.spec.submission_mode or K8S_JOB) != K8S_JOB:
        return OwnerFacts(minimum=minimum)
    late = TaskRecord(name=SUBMITTER, replicas=1, depends=True)
    return OwnerFacts(minimum=minimum.plus(Amounts.of({SUBMITTER: 1})), tasks=(late,))


def _pod_set_of(meta: Meta) -> PodSetName | None:
    """Only where KubeRay works with Volcano: elsewhere the submitter's pod is as any Job's."""
    return SUBMITTER if meta.annotation(TASK_SPEC) == _SUBMITTER_GROUP else None


# --- in Karmada -----------------------------------------------------------------------------


def _pods(template: Obj) -> list[Obj]:
    cluster = get(template, "spec", "rayClusterSpec") or {}
    found = [get(cluster, "headGroupSpec", "template", "spec")]
    found += [get(one, "template", "spec") for one in cluster.get("workerGroupSpecs") or ()]
    found += [get(template, "spec", "submitterPodTemplate", "spec")]
    return [one for one in found if one]


def _health(obj: Obj) -> bool:
    deployed = get(obj, "status", "jobDeploymentStatus")
    succeeded = get(obj, "status", "jobStatus") == "SUCCEEDED"
    return deployed == "Running" or bool(deployed == "Complete" and succeeded)


def _aggregate(template: Obj, items: Items, _now: str) -> Obj:
    """One copy: its status. Several (one that moves): the state that matters most."""
    parts = statuses(items)
    if len(items) == 1 or len(parts) < 2:
        return dict(parts[0]) if parts else dict(get(template, "status") or {})
    worst = max(parts, key=lambda part: _rank(_WORST, part.get("jobDeploymentStatus")))
    job = max(parts, key=lambda part: _rank(_WORST_JOB, part.get("jobStatus")))
    names = ("jobDeploymentStatus", "reason", "message")
    found = {name: worst[name] for name in names if worst.get(name)}
    return found | ({"jobStatus": job["jobStatus"]} if job.get("jobStatus") else {})


def _rank(order: tuple[str, ...], value: object) -> int:
    return order.index(value) if isinstance(value, str) and value in order else 0


KIND: Final = WorkloadKind(
    resource=RAY_JOBS,
    crd=CrdKind(
        resource=RAY_JOBS,
        type=RayJob,
        categories=("all",),
        columns=(
            ("job status", ".status.jobStatus", "string"),
            ("deployment status", ".status.jobDeploymentStatus", "string"),
            ("ray cluster name", ".status.rayClusterName", "string"),
            ("start time", ".status.startTime", "string"),
            ("end time", ".status.endTime", "string"),
            ("age", ".metadata.creationTimestamp", "date"),
        ),
        rules={
            "spec.submissionMode": {"default": K8S_JOB},
            **ray_cluster.group_rules(_CLUSTER),
        },
    ),
    wire=RayJob,
    read=read_ray_job,
    runtimes=None,
    notes=ray_cluster.NOTES,
    schedulers=(
        *ray_cluster.scheduler_paths("/spec/rayClusterSpec"),
        f"{_TEMPLATE_PATH}/spec/schedulerName",
    ),
    brings=("/spec/rayClusterSpec/workerGroupSpecs/*", _TEMPLATE_PATH),
    ends=_ends,
    completed={"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"},
    failed={"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "reason": "AppFailed"},
    owner=OwnedJob,
    facts=facts,
    pod_set=_pod_set_of,
    index=None,
    makes=(RAY_CLUSTERS, BATCH_JOBS),
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
        minimum="as a RayCluster's, and the submitter's pod (`K8sJobMode`), whose room is kept "
        "until it comes",
        elastic="workers up to `replicas`",
        queue="as a RayCluster's",
        topology="as a RayCluster's",
        restarts="KubeRay in the member (`backoffLimit`: a new cluster each time)",
        versions="ray.io/v1 (KubeRay 1.5.0)",
    ),
    fields=FieldNames(
        queue=f"label {QUEUE_NAME}",
        priority_class=f"label {RAY_PRIORITY}",
        minimum="spec.rayClusterSpec.workerGroupSpecs[*].minReplicas",
        topology=f"label {RAY_TOPOLOGY_TIER}",
    ),
    acts=Acts(
        suspend=Field(("spec", "suspend")),
        priority=Field(("metadata", "labels", RAY_PRIORITY)),
    ),
)
