"""batch/v1 Jobs: a gang of the pods that may run at once."""

from typing import Final

from global_sched.shared.api.names import MIN_PARALLELISM
from global_sched.shared.api.resource import BATCH_JOBS
from global_sched.shared.api.workloads import BatchJob
from global_sched.shared.kinds.parts.kind import WorkloadKind
from global_sched.shared.kinds.parts.leaving import leaving_of
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
from global_sched.shared.kinds.parts.templates import PATH, template_constraint
from global_sched.shared.model.gang import PodSet
from global_sched.shared.model.ids import MAIN


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


KIND: Final = WorkloadKind(resource=BATCH_JOBS, wire=BatchJob, read=read_batch_job)
