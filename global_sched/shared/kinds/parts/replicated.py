"""Deployments and StatefulSets: replicas of one pod template, each of use alone."""

from typing import Final

from global_sched.shared.api.base import LabelSelector, Meta, Wire
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.api.raw import Obj, get
from global_sched.shared.kinds.parts.kind import About
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.reading import (
    Reading,
    SchedulerField,
    queue_of,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.kinds.parts.statuses import is_observed, status_count
from global_sched.shared.kinds.parts.templates import PATH, template_constraint
from global_sched.shared.model.gang import PodSet
from global_sched.shared.model.ids import MAIN


class DeploymentSpec(Wire, frozen=True):
    """Also a ReplicaSet's and a StatefulSet's."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    service_name: str = ""


class Deployment(Wire, frozen=True):
    """apps/v1 Deployment, ReplicaSet or StatefulSet."""

    api_version: str = "apps/v1"
    kind: str = "Deployment"
    metadata: Meta = Meta()
    spec: DeploymentSpec = DeploymentSpec()


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


def rolled_out(obj: Obj) -> bool:
    """Whether every pod is of the newest template, and the updated ones are available."""
    replicas = get(obj, "spec", "replicas")
    updated = status_count(obj, "updatedReplicas")
    if not is_observed(obj) or (replicas is not None and updated < replicas):
        return False
    return status_count(obj, "availableReplicas") >= updated


ABOUT: Final = About(
    gang="divided or duplicated, as the policy says",
    minimum="one replica where it is divided, all where it is duplicated",
    elastic="every replica is of use alone",
    queue="pod template, then the object's annotation",
    topology="annotations of the pod template",
    restarts="its controller in the member, for ever",
    versions="apps/v1",
)
