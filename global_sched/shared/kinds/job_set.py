"""JobSets: one pod set per replicated job, all of them one gang.

Source:  JobSet v0.10.1 (jobset.x-k8s.io/v1alpha2): `replicas` batch Jobs of each replicated job,
         each with min(parallelism, completions) pods at once; `dependsOn` and the start-up policy
         InOrder make Jobs late, so that not all pods of the minimum wait at the same time.
"""

from collections.abc import Mapping
from typing import Any, Final

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import (
    JOB_SET_EXCLUSIVE,
    JOB_SET_JOB_INDEX,
    JOB_SET_REPLICATED_JOB,
)
from global_sched.shared.api.resource import BATCH_JOBS, JOB_SETS
from global_sched.shared.kinds.batch_job import COMPLETION_INDEX, BatchJobSpec, OwnedSpec
from global_sched.shared.kinds.parts.acts import Acts, Field, Refused
from global_sched.shared.kinds.parts.interpretation import UNKNOWN
from global_sched.shared.kinds.parts.kind import (
    QUEUE_LABEL,
    TIER_ANNOTATION,
    About,
    FieldNames,
    WorkloadKind,
)
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.owner import OwnerFacts, TaskRecord, bounded
from global_sched.shared.kinds.parts.pod_labels import number
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
from global_sched.shared.kinds.parts.statuses import ends_with, with_condition
from global_sched.shared.kinds.parts.templates import (
    common_constraint,
    first_priority,
    first_queue,
    managed_here,
    stays_after_its_end,
)
from global_sched.shared.model.gang import Amounts, PodSet
from global_sched.shared.model.ids import PodSetName

CONTROLLER: Final = "jobset.sigs.k8s.io/jobset-controller"
IN_ORDER: Final = "InOrder"
_FIELD: Final = "spec.replicatedJobs"
_PODS_OF_A_JOB: Final = 1_000_000
"""More than the pods of any Job: places of one Job's pods come one after the other."""


class JobTemplate(Wire, frozen=True):
    """The batch Job that is made `replicas` times."""

    metadata: Meta = Meta()
    spec: BatchJobSpec = BatchJobSpec()


class DependsOnJob(Wire, frozen=True):
    """Another replicated job that has to be ready or complete before this one is made."""

    name: str = ""
    status: str = ""


class ReplicatedJob(Wire, frozen=True):
    """Equal Jobs."""

    name: str = ""
    replicas: int | None = None
    template: JobTemplate = JobTemplate()
    depends_on: list[DependsOnJob] | None = None


class StartupPolicy(Wire, frozen=True):
    """In which order replicated jobs start."""

    startup_policy_order: str = ""


class JobSetSpec(Wire, frozen=True):
    """The Jobs, and how they start."""

    replicated_jobs: list[ReplicatedJob] | None = None
    startup_policy: StartupPolicy | None = None
    suspend: bool | None = None
    managed_by: str = ""
    ttl_seconds_after_finished: int | None = None


class JobSet(Wire, frozen=True):
    """jobset.x-k8s.io/v1alpha2 JobSet."""

    api_version: str = "jobset.x-k8s.io/v1alpha2"
    kind: str = "JobSet"
    metadata: Meta = Meta()
    spec: JobSetSpec = JobSetSpec()


def read_job_set(job: JobSet) -> Reading:
    """The gang of a JobSet: all pods of all its Jobs. Raises RefusedError, HeldError."""
    spec, meta = job.spec, job.metadata
    managed_here(spec.managed_by, CONTROLLER)
    stays_after_its_end(spec.ttl_seconds_after_finished, "spec.ttlSecondsAfterFinished")
    parts = spec.replicated_jobs or []
    if not parts:
        raise RefusedError(_FIELD, "is empty", "a JobSet needs at least one replicated job")
    _check_exclusive(job)
    _check_order(parts)
    pod_sets = tuple(_pod_set(part, f"{_FIELD}[{i}]") for i, part in enumerate(parts))
    if len({one.name for one in pod_sets}) < len(pod_sets):
        raise RefusedError(_FIELD, "has two replicated jobs of one name", "names must be unique")
    pods = sum(one.count for one in pod_sets)
    pods_total(pods, f"{_FIELD}[*].replicas × parallelism")
    if spec.suspend:
        raise HeldError("spec.suspend is true; set it to false to start the JobSet")
    if pods == 0:
        raise HeldError(f"{_FIELD} add up to 0 pods; raise replicas to start the JobSet")
    templates = [part.template.spec.template for part in parts]
    limits = [part.template.spec.active_deadline_seconds for part in parts]
    every = [limit for limit in limits if limit is not None]
    leaving = leaving_of(
        meta,
        [one.metadata for one in templates],
        deadline=max(every) if len(every) == len(limits) else None,
    )
    return Reading(
        api_version=JOB_SETS.api_version,
        kind=JOB_SETS.kind,
        pod_sets=pod_sets,
        minimum=pods,
        constraint=common_constraint(templates, _FIELD),
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=first_queue(templates, meta),
        priority_class=first_priority(templates),
        scheduling=scheduling(
            [
                SchedulerField(
                    f"/spec/replicatedJobs/{i}/template/spec/template/spec/schedulerName",
                    one.spec.scheduler_name,
                )
                for i, one in enumerate(templates)
            ]
        ),
    )


def _pod_set(part: ReplicatedJob, field: str) -> PodSet:
    if not part.name:
        raise RefusedError(f"{field}.name", "is missing", "name every replicated job")
    spec, inner = part.template.spec, f"{field}.template.spec"
    jobs = whole_number(part.replicas, f"{field}.replicas", default=1)
    pods = whole_number(spec.parallelism, f"{inner}.parallelism", default=1)
    pods = min(pods, whole_number(spec.completions, f"{inner}.completions", default=pods))
    return PodSet(
        name=PodSetName(part.name),
        count=jobs * pods,
        minimum=jobs * pods,
        shape=shape(spec.template, f"{inner}.template"),
    )


def _check_exclusive(job: JobSet) -> None:
    """A domain for each Job, and no other Job in it, is nothing that can be promised here."""
    found = [("metadata", job.metadata)]
    found += [
        (f"{_FIELD}[{i}].template.metadata", part.template.metadata)
        for i, part in enumerate(job.spec.replicated_jobs or ())
    ]
    for field, meta in found:
        if value := meta.annotation(JOB_SET_EXCLUSIVE):
            raise RefusedError(
                f"{field}.annotations[{JOB_SET_EXCLUSIVE}]",
                f"is {value[:80]!r}: domains are not given to one Job alone",
                "use volcano.sh/network-topology-mode and -highest-tier on the pod templates",
            )


def _check_order(parts: list[ReplicatedJob]) -> None:
    """What is waited for must come before: JobSet's webhook says the same."""
    before: set[str] = set()
    for i, part in enumerate(parts):
        for one in part.depends_on or ():
            if one.name not in before:
                raise RefusedError(
                    f"{_FIELD}[{i}].dependsOn",
                    f"names {one.name[:60]!r}, which is no replicated job before it",
                    "name one that comes earlier in the list",
                )
        before.add(part.name)


# --- in a member ----------------------------------------------------------------------------


class OwnedTemplate(Wire, frozen=True):
    """A Job's counts."""

    spec: OwnedSpec = OwnedSpec()


class OwnedPart(Wire, frozen=True):
    """A replicated job without its pod template."""

    name: str = ""
    replicas: int | None = None
    template: OwnedTemplate = OwnedTemplate()
    depends_on: list[DependsOnJob] | None = None


class OwnedSetSpec(Wire, frozen=True):
    """The replicated jobs, and how they start."""

    replicated_jobs: list[OwnedPart] | None = None
    startup_policy: StartupPolicy | None = None


class OwnedSet(Wire, frozen=True):
    """A JobSet without pod templates."""

    metadata: Meta = Meta()
    spec: OwnedSetSpec = OwnedSetSpec()


def facts(job: OwnedSet) -> OwnerFacts:
    """All pods of all Jobs, and which Jobs wait for others. Raises CountError."""
    policy = job.spec.startup_policy
    in_order = policy is not None and policy.startup_policy_order == IN_ORDER
    tasks = tuple(
        TaskRecord(
            name=PodSetName(part.name),
            replicas=_pods_of(part),
            depends=bool(part.depends_on) or (in_order and i > 0),
        )
        for i, part in enumerate(job.spec.replicated_jobs or ())
    )
    minimum = Amounts.of({task.name: task.replicas for task in tasks})
    return OwnerFacts(minimum=minimum, tasks=tasks)


def _pods_of(part: OwnedPart) -> int:
    field, spec = f"{_FIELD}[{part.name}]", part.template.spec
    pods = bounded(spec.parallelism, f"{field}.parallelism")
    pods = min(pods, bounded(spec.completions, f"{field}.completions", default=pods))
    jobs = bounded(part.replicas, f"{field}.replicas")
    return bounded(jobs * pods, f"{field}: replicas × parallelism")


def _pod_set_of(meta: Meta) -> PodSetName | None:
    name = meta.label(JOB_SET_REPLICATED_JOB)
    return PodSetName(name) if name else None


def _index_of(meta: Meta) -> int | None:
    """Jobs one after the other, and in each its pods in their order."""
    job = number(meta.label(JOB_SET_JOB_INDEX))
    if job is None:
        return None
    place = number(meta.label(COMPLETION_INDEX) or meta.annotation(COMPLETION_INDEX))
    return job * _PODS_OF_A_JOB + (place or 0)


RULES: Final[Mapping[str, Mapping[str, Any]]] = {
    "spec.replicatedJobs[]": {"required": ["name", "template"]},
    "spec.replicatedJobs[].replicas": {"default": 1, "format": "int32"},
    "spec.replicatedJobs[].dependsOn": {"maxItems": 5},
    "spec.replicatedJobs[].dependsOn[]": {"required": ["name", "status"]},
    "spec.replicatedJobs[].dependsOn[].status": {"enum": ["Ready", "Complete"]},
    "spec.ttlSecondsAfterFinished": {"minimum": 0, "format": "int32"},
    "spec.startupPolicy": {"required": ["startupPolicyOrder"]},
    "spec.startupPolicy.startupPolicyOrder": {"enum": ["AnyOrder", IN_ORDER]},
}

_CRD: Final = CrdKind(
    resource=JOB_SETS,
    type=JobSet,
    columns=(
        ("TerminalState", ".status.terminalState", "string"),
        ("Restarts", ".status.restarts", "string"),
        ("Completed", '.status.conditions[?(@.type=="Completed")].status', "string"),
        ("Suspended", ".spec.suspend", "string"),
        ("Age", ".metadata.creationTimestamp", "date"),
    ),
    rules=RULES,
)

KIND: Final = WorkloadKind(
    resource=JOB_SETS,
    crd=_CRD,
    wire=JobSet,
    read=read_job_set,
    runtimes=None,
    notes=(JOB_SET_EXCLUSIVE,),
    schedulers=("/spec/replicatedJobs/*/template/spec/template/spec/schedulerName",),
    brings=("/spec/replicatedJobs/*",),
    ends=ends_with("Completed", "Failed"),
    completed=with_condition("Completed"),
    failed=with_condition("Failed"),
    owner=OwnedSet,
    facts=facts,
    pod_set=_pod_set_of,
    index=_index_of,
    makes=(BATCH_JOBS,),
    one_by_one=False,
    groups=False,
    karmada=UNKNOWN,
    about=About(
        gang="whole, in one cluster",
        minimum="all pods of all replicated jobs; those of `dependsOn` have their room from the "
        "start",
        elastic="no",
        queue="pod templates, then the object's annotation",
        topology="annotations of the pod templates, equal in all; exclusive topology is refused",
        restarts="its controller in the member (`failurePolicy`)",
        versions="jobset.x-k8s.io/v1alpha2 (JobSet 0.10.1)",
    ),
    fields=FieldNames(
        queue=QUEUE_LABEL,
        priority_class="priorityClassName of the pod templates",
        minimum="",
        topology=TIER_ANNOTATION,
    ),
    acts=Acts(
        suspend=Field(("spec", "suspend")),
        priority=Refused(
            "a JobSet keeps the pod templates that it was made with; delete it and make it "
            "again with the PriorityClass"
        ),
    ),
)
