"""batch/v1 Jobs: a gang of the pods that may run at once."""

from typing import Final

from global_sched.shared.api.base import Condition, LabelSelector, Meta, Wire
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.api.names import MIN_PARALLELISM
from global_sched.shared.api.raw import Obj, drop, get
from global_sched.shared.api.resource import BATCH_JOBS
from global_sched.shared.kinds.parts.acts import Acts, Field, Refused
from global_sched.shared.kinds.parts.interpretation import (
    Interpretation,
    Items,
    keep,
    template_pods,
)
from global_sched.shared.kinds.parts.kind import (
    QUEUE_LABEL,
    TIER_ANNOTATION,
    About,
    FieldNames,
    WorkloadKind,
)
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.owner import OwnerFacts, asked, bounded
from global_sched.shared.kinds.parts.pod_labels import index_by
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    Reading,
    RefusedError,
    SchedulerField,
    queue_of,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.kinds.parts.statuses import (
    ends_with,
    has_condition,
    old_status,
    some,
    statuses,
    total,
    with_condition,
)
from global_sched.shared.kinds.parts.templates import PATH, template_constraint
from global_sched.shared.model.gang import Amounts, PodSet
from global_sched.shared.model.ids import MAIN

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_SELECTOR_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_TEMPLATE_LABELS: Final = (*_SELECTOR_LABELS, "job-name", "batch.kubernetes.io/job-name")
_ENDS: Final = ("Complete", "Failed")
_REFLECTED: Final = ("active", "succeeded", "failed", "conditions", "startTime", "completionTime")


class BatchJobSpec(Wire, frozen=True):
    """How many pods, at once and in all."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    suspend: bool | None = None
    active_deadline_seconds: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class BatchJobStatus(Wire, frozen=True):
    """Its conditions tell whether it ended."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: list[Condition] | None = None


class BatchJob(Wire, frozen=True):
    """batch/v1 Job."""

    api_version: str = "batch/v1"
    kind: str = "Job"
    metadata: Meta = Meta()
    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()


def read_batch_job(job: BatchJob) -> Reading:
    """The gang of a Job: the pods that may run at once. Raises RefusedError, HeldError."""
    spec = job.spec
    if spec.suspend:
        raise HeldError("spec.suspend is true; set it to false to start the Job")
    pods = whole_number(spec.parallelism, "spec.parallelism", default=1)
    if spec.completions is not None:
        pods = min(pods, whole_number(spec.completions, "spec.completions", default=1))
    if pods == 0:
        raise HeldError("spec.parallelism or spec.completions is 0; raise it to start the Job")
    minimum = _min_parallelism(job.metadata.annotation(MIN_PARALLELISM), pods)
    leaving = leaving_of(
        job.metadata, [spec.template.metadata], deadline=spec.active_deadline_seconds
    )
    pod_set = PodSet(
        name=MAIN,
        count=pods,
        minimum=minimum,
        shape=shape(spec.template, "spec.template"),
    )
    return Reading(
        api_version=BATCH_JOBS.api_version,
        kind=BATCH_JOBS.kind,
        pod_sets=(pod_set,),
        minimum=minimum,
        constraint=template_constraint(spec.template),
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=queue_of(spec.template.metadata, job.metadata),
        priority_class=spec.template.spec.priority_class_name,
        scheduling=scheduling([SchedulerField(PATH, spec.template.spec.scheduler_name)]),
    )


def _min_parallelism(text: str, pods: int) -> int:
    field = f"metadata.annotations[{MIN_PARALLELISM}]"
    if not text:
        return pods
    if not (text.isascii() and text.isdigit() and len(text) < 8 and 1 <= int(text) <= pods):
        raise RefusedError(field, f"is {text[:40]!r}", f"use a whole number from 1 to {pods}")
    return int(text)


# --- in a member ----------------------------------------------------------------------------


class OwnedSpec(Wire, frozen=True):
    """How many pods, at once and in all."""

    parallelism: int | None = None
    completions: int | None = None


class OwnedJob(Wire, frozen=True):
    """A Job without its pod template."""

    metadata: Meta = Meta()
    spec: OwnedSpec = OwnedSpec()


def facts(job: OwnedJob) -> OwnerFacts:
    """All pods that run at once, or as many as the annotation asks for. Raises CountError."""
    at_once = bounded(job.spec.parallelism, "spec.parallelism")
    at_once = min(at_once, bounded(job.spec.completions, "spec.completions", default=at_once))
    if text := job.metadata.annotation(MIN_PARALLELISM):
        at_once = min(at_once, asked(text, MIN_PARALLELISM))
    return OwnerFacts(minimum=Amounts.of({MAIN: at_once}))


# --- in Karmada -----------------------------------------------------------------------------


def _parallelism(template: Obj) -> int:
    """No more than the completions: a fixed count never runs more pods than it needs."""
    parallelism = get(template, "spec", "parallelism")
    parallelism = 1 if parallelism is None else int(parallelism)
    completions = get(template, "spec", "completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def _prune(manifest: Obj) -> None:
    """The generated selector names this server's uid; a TTL would delete the copy under us."""
    drop(manifest, "spec", "ttlSecondsAfterFinished")
    if get(manifest, "spec", "manualSelector"):
        return
    selector = get(manifest, "spec", "selector", "matchLabels")
    for label in _SELECTOR_LABELS:
        (selector or {}).pop(label, None)
    template = get(manifest, "spec", "template", "metadata", "labels")
    for label in _TEMPLATE_LABELS:
        (template or {}).pop(label, None)


def _retain(done: Obj, observed: Obj) -> None:
    keep(done, observed, "spec", "selector", "matchLabels")
    keep(done, observed, "spec", "template", "metadata", "labels")


def _reflect(_obj: Obj, status: Obj) -> Obj:
    return some(status, _REFLECTED)


def _aggregate(template: Obj, items: Items, now: str) -> Obj:
    """Complete when every member's is; failed when any is; once finished it stays."""
    old = old_status(template)
    if _finished(old):
        return old
    parts = statuses(items)
    status: Obj = {
        name: count for name in ("active", "succeeded", "failed") if (count := total(parts, name))
    }
    if conditions := _job_conditions(items, parts, now):
        status["conditions"] = conditions
    starts = [part["startTime"] for part in parts if part.get("startTime")]
    if old.get("startTime"):
        status["startTime"] = old["startTime"]
    elif starts and len(starts) == len(items):
        status["startTime"] = min(starts)
    ends = [part["completionTime"] for part in parts if part.get("completionTime")]
    if ends and len(ends) == len(items):
        status["completionTime"] = max(ends)
    return status


def _finished(status: Obj) -> str:
    """`Complete` or `Failed` when that condition is true, else empty."""
    for one in status.get("conditions") or []:
        if one.get("type") in _ENDS and one.get("status") == "True":
            return str(one["type"])
    return ""


def _job_conditions(items: Items, parts: list[Obj], now: str) -> list[Obj]:
    conditions: list[Obj] = []
    failed = [
        item["clusterName"] for item in items if _finished(item.get("status") or {}) == "Failed"
    ]
    if failed:
        message = f"Job executed failed in member clusters {','.join(failed)}"
        if any(has_condition(part, "FailureTarget") for part in parts):
            conditions.append(_condition("FailureTarget", "JobFailed", message, now))
        conditions.append(_condition("Failed", "JobFailed", message, now))
    complete = sum(_finished(part) == "Complete" for part in parts)
    if complete and complete == len(items):
        conditions.append(_condition("Complete", "Completed", "Job completed", now))
        if all(has_condition(part, "SuccessCriteriaMet") for part in parts):
            text = "All member clusters have met success criteria"
            conditions.append(_condition("SuccessCriteriaMet", "CompletionsReached", text, now))
    return conditions


def _condition(kind: str, reason: str, message: str, now: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


KIND: Final = WorkloadKind(
    resource=BATCH_JOBS,
    crd=None,
    wire=BatchJob,
    read=read_batch_job,
    runtimes=None,
    notes=(MIN_PARALLELISM,),
    schedulers=(PATH,),
    brings=(),
    ends=ends_with(*_ENDS),
    completed=with_condition("Complete"),
    failed=with_condition("Failed"),
    owner=OwnedJob,
    facts=facts,
    pod_set=None,
    index=index_by(COMPLETION_INDEX),
    makes=(),
    one_by_one=False,
    groups=False,
    karmada=Interpretation(
        replicas=_parallelism,
        components=False,
        revised="parallelism",
        pods=template_pods,
        prune=_prune,
        retain=_retain,
        reflect=_reflect,
        health=None,
        aggregate=_aggregate,
    ),
    about=About(
        gang="whole, in one cluster",
        minimum="min(parallelism, completions), or the annotation "
        "`federation.global-sched.io/min-parallelism`",
        elastic="the pods above the annotation's minimum",
        queue="pod template, then the object's annotation",
        topology="annotations of the pod template",
        restarts="the Job controller of the member (`backoffLimit`)",
        versions="batch/v1",
    ),
    fields=FieldNames(
        queue=QUEUE_LABEL,
        priority_class="spec.template.spec.priorityClassName",
        minimum=f"annotation {MIN_PARALLELISM}",
        topology=TIER_ANNOTATION,
    ),
    acts=Acts(
        suspend=Field(("spec", "suspend")),
        priority=Refused(
            "a Job keeps the pod template that it was made with; delete it and make it "
            "again with the PriorityClass"
        ),
    ),
)
