"""Kubeflow's training jobs: replica types with a pod template each."""

from collections.abc import Iterable

from global_sched.shared.api.base import Wire
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.kinds.parts.reading import SchedulerField


class ReplicaSpec(Wire, frozen=True):
    """One replica type: how many pods of which template."""

    replicas: int | None = None
    restart_policy: str = ""
    template: PodTemplate = PodTemplate()


class OwnedReplicas(Wire, frozen=True):
    """How many pods of one replica type, without their template."""

    replicas: int | None = None


def scheduler_fields(path: str, specs: Iterable[tuple[str, ReplicaSpec]]) -> list[SchedulerField]:
    """The schedulerName of each replica type, by its JSON pointer below `path`."""
    return [
        SchedulerField(
            f"{path}/{name}/template/spec/schedulerName", one.template.spec.scheduler_name
        )
        for name, one in specs
    ]
