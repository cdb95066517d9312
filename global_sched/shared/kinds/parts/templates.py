"""Pod templates: the fields that every kind keeps in the same place."""

from collections.abc import Sequence
from typing import Final

from global_sched.shared.api.base import Meta
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.kinds.parts.reading import RefusedError, queue_of
from global_sched.shared.model.gang import TopologyConstraint
from global_sched.shared.placement import SpecError, annotations_constraint

PATH: Final = "/spec/template/spec/schedulerName"
"""Where the schedulerName of kinds with one pod template stands."""


def template_constraint(template: PodTemplate) -> TopologyConstraint | None:
    """The constraint in a pod template's annotations, None when there is none."""
    try:
        return annotations_constraint(template.metadata.annotations)
    except SpecError as error:
        raise RefusedError(
            "spec.template.metadata.annotations", str(error), "set mode and highest tier"
        ) from error


def common_constraint(templates: Sequence[PodTemplate], field: str) -> TopologyConstraint | None:
    """The one constraint that pod templates carry, None when none does. Raises RefusedError."""
    found = {one for t in templates if (one := template_constraint(t)) is not None}
    if len(found) > 1:
        raise RefusedError(
            field,
            "the pod templates carry different topology constraints",
            "use the same annotations on all of them",
        )
    return next(iter(found), None)


def first_queue(templates: Sequence[PodTemplate], owner: Meta) -> str:
    """The queue of the first pod template that names one, else the object's annotation."""
    named = (queue_of(one.metadata, Meta()) for one in templates)
    return next(filter(None, named), "") or queue_of(Meta(), owner)


def first_priority(templates: Sequence[PodTemplate]) -> str:
    """The PriorityClass of the first pod template that names one."""
    return next(filter(None, (one.spec.priority_class_name for one in templates)), "")


def stays_after_its_end(seconds: int | None, field: str) -> None:
    """Refuse an object that its own controller would delete in the member once it has ended."""
    if seconds is not None:
        raise RefusedError(
            field,
            f"is {seconds}: Karmada brings back what is deleted in a member, "
            "and it would run again",
            "leave it out, and delete the object on the control plane",
        )


def managed_here(managed_by: str, controller: str, field: str = "spec.managedBy") -> None:
    """Refuse an object that its own controller in the member would leave alone."""
    if managed_by and managed_by != controller:
        raise RefusedError(
            field,
            f"is {managed_by[:80]!r}: nothing in the member would make its pods",
            f"leave it out, or use {controller}",
        )
