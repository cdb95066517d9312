"""TrainJobs: the JobSet of a training runtime, with the number of nodes and what each asks for.

Source:  Kubeflow Trainer v2.1.0 (trainer.kubeflow.org/v1alpha1). The pod templates stand in the
         TrainingRuntime or ClusterTrainingRuntime that `runtimeRef` names: without it on the
         control plane the demand of the job is unknown. Trainer makes a JobSet of the job's name,
         and leaves one that runs as it is.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from global_sched.shared.api.base import JsonMap, Meta, Wire
from global_sched.shared.api.core import (
    Affinity,
    Container,
    PodSpec,
    ResourceRequirements,
    TolerationWire,
)
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import JOB_SET_EXCLUSIVE, OBJECT_QUEUE_NAME
from global_sched.shared.api.resource import (
    BATCH_JOBS,
    CLUSTER_TRAINING_RUNTIMES,
    JOB_SETS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
)
from global_sched.shared.api.volcano import NetworkTopology
from global_sched.shared.kinds import job_set
from global_sched.shared.kinds.job_set import JobSet, JobSetSpec, read_job_set
from global_sched.shared.kinds.parts.acts import Acts, Field, Refused
from global_sched.shared.kinds.parts.interpretation import UNKNOWN
from global_sched.shared.kinds.parts.kind import (
    TIER_ANNOTATION,
    About,
    FieldNames,
    RuntimeRef,
    Runtimes,
    WorkloadKind,
)
from global_sched.shared.kinds.parts.owner import OwnerFacts
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    MissingError,
    Reading,
    RefusedError,
    Scheduling,
    whole_number,
)
from global_sched.shared.kinds.parts.statuses import ends_with, with_condition
from global_sched.shared.kinds.parts.templates import managed_here
from global_sched.shared.kinds.parts.trainer import job_set_of
from global_sched.shared.model.gang import TopologyConstraint
from global_sched.shared.model.quantity import QuantityError
from global_sched.shared.placement import SpecError, constraint_of, shape_of

CONTROLLER: Final = "trainer.kubeflow.org/trainjob-controller"
_RUNTIMES: Final = {one.kind: one for one in (CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES)}
_REF: Final = "spec.runtimeRef"
_OVERRIDES: Final = "spec.podTemplateOverrides"
_VOLCANO: Final = "spec.podGroupPolicy.volcano.networkTopology"


class RuntimeReference(Wire, frozen=True):
    """Which runtime."""

    name: str = ""
    api_group: str = ""
    kind: str = ""


class Trainer(Wire, frozen=True):
    """How many nodes train, and what each asks for."""

    num_nodes: int | None = None
    resources_per_node: ResourceRequirements | None = None


class TargetJob(Wire, frozen=True):
    """A replicated job of the runtime."""

    name: str = ""


class PodSpecOverride(Wire, frozen=True):
    """What of a pod may differ from the runtime's and changes where it fits."""

    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[TolerationWire] | None = None
    scheduling_gates: list[JsonMap] | None = None


class PodTemplateOverride(Wire, frozen=True):
    """A change of the pod templates of some replicated jobs."""

    target_jobs: list[TargetJob] | None = None
    metadata: Meta | None = None
    spec: PodSpecOverride | None = None


class TrainJobSpec(Wire, frozen=True):
    """A runtime, and what of it is different."""

    runtime_ref: RuntimeReference = RuntimeReference()
    trainer: Trainer | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    pod_template_overrides: list[PodTemplateOverride] | None = None
    suspend: bool | None = None
    managed_by: str = ""


class TrainJob(Wire, frozen=True):
    """trainer.kubeflow.org/v1alpha1 TrainJob."""

    api_version: str = "trainer.kubeflow.org/v1alpha1"
    kind: str = "TrainJob"
    metadata: Meta = Meta()
    spec: TrainJobSpec = TrainJobSpec()


class TorchPolicy(Wire, frozen=True):
    """PyTorch's part of the number of nodes."""

    elastic_policy: JsonMap | None = None


class MPIPolicy(Wire, frozen=True):
    """MPI's part of the number of nodes."""

    run_launcher_as_node: bool | None = None


class MLPolicy(Wire, frozen=True):
    """How many nodes, and of which framework."""

    num_nodes: int | None = None
    torch: TorchPolicy | None = None
    mpi: MPIPolicy | None = None


class VolcanoPolicy(Wire, frozen=True):
    """What the PodGroup of a member asks for."""

    network_topology: NetworkTopology | None = None


class PodGroupPolicy(Wire, frozen=True):
    """The PodGroup that Trainer makes."""

    volcano: VolcanoPolicy | None = None


class JobSetTemplate(Wire, frozen=True):
    """The JobSet of every job of the runtime."""

    metadata: Meta = Meta()
    spec: JobSetSpec = JobSetSpec()


class TrainingRuntimeSpec(Wire, frozen=True):
    """A JobSet and how it is filled in."""

    ml_policy: MLPolicy | None = None
    pod_group_policy: PodGroupPolicy | None = None
    template: JobSetTemplate = JobSetTemplate()


class TrainingRuntime(Wire, frozen=True):
    """trainer.kubeflow.org/v1alpha1 TrainingRuntime and ClusterTrainingRuntime."""

    api_version: str = "trainer.kubeflow.org/v1alpha1"
    kind: str = "TrainingRuntime"
    metadata: Meta = Meta()
    spec: TrainingRuntimeSpec = TrainingRuntimeSpec()


def runtime_of(job: TrainJob) -> RuntimeRef | None:
    """The runtime that a TrainJob names, None where there can be no such kind."""
    ref = job.spec.runtime_ref
    resource = _RUNTIMES.get(ref.kind or CLUSTER_TRAINING_RUNTIMES.kind)
    if resource is None or ref.api_group not in ("", resource.group) or not ref.name:
        return None
    namespace = job.metadata.namespace if resource.namespaced else ""
    return RuntimeRef(resource.api_version, resource.kind, namespace, ref.name)


def read_train_job(job: TrainJob, runtime: TrainingRuntime | None = None) -> Reading:
    """The gang of a TrainJob: all pods of its JobSet.

    Raises RefusedError, HeldError, and MissingError without a runtime.
    """
    spec = job.spec
    managed_here(spec.managed_by, CONTROLLER)
    where = _named(job)
    _check_trainer(spec.trainer or Trainer())
    if spec.suspend:
        raise HeldError("spec.suspend is true; set it to false to start the job")
    if runtime is None:
        raise MissingError(
            f"{_REF}: {where} is not on the control plane, so what the job asks for is not known; "
            "create it there"
        )
    _check_targets(job, runtime, where)
    topology = _topology(runtime, where)
    made = msgspec.convert(job_set_of(_raw(job), _raw(runtime)), JobSet)
    try:
        found = read_job_set(_with_own_notes(made, job, runtime))
    except RefusedError as error:
        raise error.of(f"{where}: spec.template.") from error
    except HeldError as error:
        raise HeldError(f"{where}: spec.template.{error}") from error
    if topology is not None and found.constraint not in (None, topology):
        raise RefusedError(
            f"{where}: {_VOLCANO}",
            "differs from the annotations of the pod templates",
            "set one of the two",
        )
    scheduler = found.scheduling.name
    return replace(
        found,
        api_version=TRAIN_JOBS.api_version,
        kind=TRAIN_JOBS.kind,
        constraint=found.constraint or topology,
        scheduling=Scheduling(default=scheduler or "", name=scheduler),
        fixed=True,
    )


def _raw(obj: Wire) -> JsonMap:
    found: JsonMap = msgspec.to_builtins(obj)
    return found


def _named(job: TrainJob) -> str:
    """The runtime as messages name it. Raises RefusedError where there can be no such one."""
    ref = job.spec.runtime_ref
    if not ref.name:
        raise RefusedError(f"{_REF}.name", "is missing", "name the runtime of the job")
    kind = ref.kind or CLUSTER_TRAINING_RUNTIMES.kind
    if kind not in _RUNTIMES:
        raise RefusedError(f"{_REF}.kind", f"is {kind[:40]!r}", f"use {' or '.join(_RUNTIMES)}")
    if ref.api_group not in ("", TRAIN_JOBS.group):
        raise RefusedError(
            f"{_REF}.apiGroup", f"is {ref.api_group[:80]!r}", f"use {TRAIN_JOBS.group}"
        )
    space = f"{job.metadata.namespace}/" if _RUNTIMES[kind].namespaced else ""
    return f"{kind} {space}{ref.name[:80]}"


def _check_trainer(trainer: Trainer) -> None:
    whole_number(trainer.num_nodes, "spec.trainer.numNodes", default=1)
    own = trainer.resources_per_node
    if own is None:
        return
    field = "spec.trainer.resourcesPerNode"
    if own.claims:
        raise RefusedError(f"{field}.claims", "are not taken over by Trainer", "leave them out")
    try:
        shape_of(PodSpec(containers=[Container(resources=own)]))
    except (SpecError, QuantityError) as error:
        text = str(error).removeprefix("containers[0].resources.")
        raise RefusedError(field, text, "correct the quantity") from error


def _check_targets(job: TrainJob, runtime: TrainingRuntime, where: str) -> None:
    """What Trainer's webhook in the member would refuse, or nothing here could count."""
    names = {one.name for one in runtime.spec.template.spec.replicated_jobs or ()}
    for i, override in enumerate(job.spec.pod_template_overrides or ()):
        for target in override.target_jobs or ():
            if target.name not in names:
                raise RefusedError(
                    f"{_OVERRIDES}[{i}].targetJobs",
                    f"names {target.name[:60]!r}, which is no replicated job of {where}",
                    f"use {', '.join(sorted(names))[:200] or 'a runtime that has it'}",
                )
    policy = runtime.spec.ml_policy or MLPolicy()
    whole_number(policy.num_nodes, f"{where}: spec.mlPolicy.numNodes", default=1)
    if policy.torch is not None and policy.torch.elastic_policy:
        raise RefusedError(
            f"{where}: spec.mlPolicy.torch.elasticPolicy",
            "is set: nodes that come and go while it runs cannot be admitted yet",
            "remove it and set numNodes",
        )


def _topology(runtime: TrainingRuntime, where: str) -> TopologyConstraint | None:
    volcano = (runtime.spec.pod_group_policy or PodGroupPolicy()).volcano or VolcanoPolicy()
    try:
        return constraint_of(volcano.network_topology)
    except SpecError as error:
        raise RefusedError(
            f"{where}: {_VOLCANO}", str(error), "set mode and one highest tier"
        ) from error


def _with_own_notes(made: JobSet, job: TrainJob, runtime: TrainingRuntime) -> JobSet:
    """The JobSet with what stands on the TrainJob: it counts before what the runtime says."""
    template, own, spec = runtime.spec.template.metadata, job.metadata, job.spec
    meta = Meta(
        name=own.name,
        namespace=own.namespace,
        labels=(template.labels or {}) | (own.labels or {}) | (spec.labels or {}),
        annotations=(template.annotations or {})
        | (own.annotations or {})
        | (spec.annotations or {}),
    )
    return msgspec.structs.replace(made, metadata=meta)


# --- in a member ----------------------------------------------------------------------------


class OwnedJob(Wire, frozen=True):
    """A TrainJob: its parts stand in its JobSet."""

    metadata: Meta = Meta()


def facts(_job: OwnedJob) -> OwnerFacts:
    """What its JobSet says."""
    return OwnerFacts(below=True)


_PARTS: Final = "spec.template."
_RUNTIME_RULES: Final[Mapping[str, Mapping[str, Any]]] = {
    f"{_PARTS}{path}": rule for path, rule in job_set.RULES.items()
}

KIND: Final = WorkloadKind(
    resource=TRAIN_JOBS,
    crd=CrdKind(
        resource=TRAIN_JOBS,
        type=TrainJob,
        columns=(
            ("State", ".status.conditions[-1:].type", "string"),
            ("Age", ".metadata.creationTimestamp", "date"),
        ),
        rules={
            "spec": {"required": ["runtimeRef"]},
            "spec.runtimeRef": {"required": ["name"]},
            "spec.runtimeRef.name": {"minLength": 1},
            "spec.runtimeRef.apiGroup": {"default": TRAIN_JOBS.group},
            "spec.runtimeRef.kind": {"default": CLUSTER_TRAINING_RUNTIMES.kind},
            "spec.trainer.numNodes": {"format": "int32"},
            "spec.podTemplateOverrides[]": {"required": ["targetJobs"]},
            "spec.podTemplateOverrides[].targetJobs[]": {"required": ["name"]},
            "spec.suspend": {"default": False},
            "spec.managedBy": {"default": CONTROLLER},
        },
    ),
    wire=TrainJob,
    read=read_train_job,
    runtimes=Runtimes(
        crds=tuple(
            CrdKind(
                resource=resource,
                type=TrainingRuntime,
                status=False,
                columns=(),
                rules=_RUNTIME_RULES,
            )
            for resource in _RUNTIMES.values()
        ),
        ref=runtime_of,
        read=read_train_job,
    ),
    notes=(JOB_SET_EXCLUSIVE,),
    schedulers=("/spec/runtimeRef/kind", "/spec/runtimeRef/name"),
    brings=("/spec/runtimeRef", "/spec/runtimeRef/kind", "/spec/runtimeRef/name"),
    ends=ends_with("Complete", "Failed"),
    completed=with_condition("Complete"),
    failed=with_condition("Failed"),
    owner=OwnedJob,
    facts=facts,
    pod_set=None,
    index=None,
    makes=(JOB_SETS, BATCH_JOBS),
    one_by_one=False,
    groups=False,
    karmada=UNKNOWN,
    about=About(
        gang="whole, in one cluster",
        minimum="all pods of the runtime's JobSet, with the job's `numNodes` and "
        "`resourcesPerNode`; without its runtime on the control plane it waits (`RuntimeMissing`)",
        elastic="no; the runtime's `elasticPolicy` is refused",
        queue="the runtime's pod templates with `podTemplateOverrides`, then `spec.annotations`, "
        "the object's and the runtime's",
        topology="annotations of the pod templates, equal in all, or the runtime's "
        "`podGroupPolicy.volcano.networkTopology`; exclusive topology is refused",
        restarts="JobSet in the member (the runtime's `failurePolicy`)",
        versions="trainer.kubeflow.org/v1alpha1 (Kubeflow Trainer 2.1.0)",
    ),
    fields=FieldNames(
        queue=f"annotation {OBJECT_QUEUE_NAME}",
        priority_class="priorityClassName of the pod templates",
        minimum="",
        topology=TIER_ANNOTATION,
    ),
    acts=Acts(
        suspend=Field(("spec", "suspend")),
        priority=Refused(
            "its pod templates stand in its runtime, and a TrainJob keeps what it was made "
            "with; make it again with the PriorityClass"
        ),
    ),
)
