"""Deployments and StatefulSets: replicas of one pod template, each of use alone."""

from global_sched.shared.api.workloads import Deployment
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.reading import (
    Reading,
    SchedulerField,
    queue_of,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.kinds.parts.templates import PATH, template_constraint
from global_sched.shared.model.gang import PodSet
from global_sched.shared.model.ids import MAIN


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
