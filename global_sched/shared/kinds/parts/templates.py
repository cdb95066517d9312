"""What pod templates say that every kind keeps in the same place."""

from typing import Final

from global_sched.shared.api.core import PodTemplate
from global_sched.shared.kinds.parts.reading import RefusedError
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
