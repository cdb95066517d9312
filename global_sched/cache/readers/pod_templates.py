"""Kinds with one pod template: batch/v1 Job, Deployment, StatefulSet."""

from global_sched.cache.readers.leaving import leaving_of
from global_sched.cache.readers.reading import (
    HeldError,
    Reading,
    RefusedError,
    SchedulerField,
    queue_of,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.api.names import MIN_PARALLELISM
from global_sched.shared.api.resource import BATCH_JOBS
from global_sched.shared.api.workloads import BatchJob, Deployment
from global_sched.shared.model.gang import PodSet, TopologyConstraint
from global_sched.shared.model.ids import MAIN
from global_sched.shared.placement import SpecError, annotations_constraint

PATH = "/spec/template/spec/schedulerName"


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


def read_replicated(app: Deployment, kind: str) -> Reading:
    """The replicas of a Deployment or StatefulSet. Raises RefusedError.

    The minimum depends on how the policy divides: the binding decides it.
    """
    spec = app.spec
    replicas = whole_number(spec.replicas, "spec.replicas", default=1)
    leaving = leaving_of(app.metadata, [spec.template.metadata])
    pod_set = PodSet(
        name=MAIN,
        count=replicas,
        minimum=replicas,
        shape=shape(spec.template, "spec.template"),
    )
    return Reading(
        api_version="apps/v1",
        kind=kind,
        pod_sets=(pod_set,),
        minimum=replicas,
        constraint=template_constraint(spec.template),
        divisible=True,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=queue_of(spec.template.metadata, app.metadata),
        priority_class=spec.template.spec.priority_class_name,
        scheduling=scheduling([SchedulerField(PATH, spec.template.spec.scheduler_name)]),
    )


def template_constraint(template: PodTemplate) -> TopologyConstraint | None:
    """The constraint in a pod template's annotations, None when there is none."""
    try:
        return annotations_constraint(template.metadata.annotations)
    except SpecError as error:
        raise RefusedError(
            "spec.template.metadata.annotations", str(error), "set mode and highest tier"
        ) from error


def _min_parallelism(text: str, pods: int) -> int:
    field = f"metadata.annotations[{MIN_PARALLELISM}]"
    if not text:
        return pods
    if not (text.isascii() and text.isdigit() and len(text) < 8 and 1 <= int(text) <= pods):
        raise RefusedError(field, f"is {text[:40]!r}", f"use a whole number from 1 to {pods}")
    return int(text)
