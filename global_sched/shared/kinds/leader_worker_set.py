"""LeaderWorkerSets: one pod set of leaders and one of workers, tied together group by group.

Source:  LeaderWorkerSet v1: `replicas` groups of one leader and `size` - 1 workers. The topology
         annotations of the pod templates bound each group, as they would bound the PodGroup that
         its controller makes of each group for Volcano.
"""

from typing import Final

from global_sched.shared.api.base import Meta
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.api.names import LWS_EXCLUSIVE, LWS_SUBGROUP_EXCLUSIVE, MIN_GROUPS
from global_sched.shared.api.resource import LEADER_WORKER_SETS
from global_sched.shared.api.workloads import LeaderWorkerSet
from global_sched.shared.kinds.parts.kind import WorkloadKind
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    Reading,
    RefusedError,
    SchedulerField,
    pods_total,
    queue_of,
    scheduling,
    shape,
    whole_number,
)
from global_sched.shared.kinds.parts.templates import template_constraint
from global_sched.shared.model.gang import Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import LEADERS, WORKERS

_FIELD: Final = "spec.leaderWorkerTemplate"
_PATH: Final = "/spec/leaderWorkerTemplate"
TOGETHER: Final = f"{LEADERS}+{WORKERS}"


def read_leader_worker_set(app: LeaderWorkerSet) -> Reading:
    """The gang of a LeaderWorkerSet. Raises RefusedError, HeldError."""
    spec, meta = app.spec, app.metadata
    template = spec.leader_worker_template
    groups = whole_number(spec.replicas, "spec.replicas", default=1)
    size = whole_number(template.size, f"{_FIELD}.size", default=1, least=1)
    pods_total(groups * size, "spec.replicas × size")
    if groups == 0:
        raise HeldError("spec.replicas is 0; raise it to start groups")
    _check_exclusive(meta)
    templates = _templates(app)
    least = _least_groups(meta.annotation(MIN_GROUPS), groups)
    constraint = _constraint(list(templates.values()))
    together = TOGETHER if size > 1 else ""
    pod_sets = tuple(
        PodSet(
            name=name,
            count=groups * pods,
            minimum=least * pods,
            shape=shape(one, f"{_FIELD}.{field}"),
            partition=Partition(
                size=pods, total=groups, minimum=least, constraint=constraint, together=together
            ),
        )
        for (name, pods), (field, one) in zip(
            ((LEADERS, 1), (WORKERS, size - 1)), _in_order(templates), strict=True
        )
        if pods
    )
    leaving = leaving_of(meta, [one.metadata for one in templates.values()])
    queues = [queue_of(one.metadata, Meta()) for one in templates.values()]
    classes = [one.spec.priority_class_name for one in templates.values()]
    return Reading(
        api_version=LEADER_WORKER_SETS.api_version,
        kind=LEADER_WORKER_SETS.kind,
        pod_sets=pod_sets,
        minimum=least * size,
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=next(filter(None, queues), "") or queue_of(Meta(), meta),
        priority_class=next(filter(None, classes), ""),
        scheduling=scheduling(
            [
                SchedulerField(f"{_PATH}/{field}/spec/schedulerName", one.spec.scheduler_name)
                for field, one in templates.items()
            ]
        ),
    )


def _templates(app: LeaderWorkerSet) -> dict[str, PodTemplate]:
    """The pod templates that are there, by field, the leader's first."""
    template = app.spec.leader_worker_template
    found = {"leaderTemplate": template.leader_template, "workerTemplate": template.worker_template}
    return {field: one for field, one in found.items() if one is not None}


def _in_order(templates: dict[str, PodTemplate]) -> list[tuple[str, PodTemplate]]:
    """The leaders' template and the workers'; without one of its own a leader is a worker."""
    found = list(templates.items())
    return [found[0], found[-1]]


def _constraint(templates: list[PodTemplate]) -> TopologyConstraint | None:
    """What every group keeps to."""
    found = {one for t in templates if (one := template_constraint(t)) is not None}
    if len(found) > 1:
        raise RefusedError(
            _FIELD,
            "the pod templates carry different topology constraints",
            "use the same annotations on both",
        )
    return next(iter(found), None)


def _check_exclusive(meta: Meta) -> None:
    """One group per domain, and no other in it, is nothing that can be promised here."""
    for key in (LWS_EXCLUSIVE, LWS_SUBGROUP_EXCLUSIVE):
        if meta.annotation(key):
            raise RefusedError(
                f"metadata.annotations[{key}]",
                f"is {meta.annotation(key)[:80]!r}: domains are not given to one group alone",
                "use volcano.sh/network-topology-mode and -highest-tier on the pod templates",
            )


def _least_groups(text: str, groups: int) -> int:
    if not text:
        return groups
    if not (text.isascii() and text.isdigit() and len(text) < 8 and 1 <= int(text) <= groups):
        raise RefusedError(
            f"metadata.annotations[{MIN_GROUPS}]",
            f"is {text[:40]!r}",
            f"use a whole number from 1 to {groups}",
        )
    return int(text)


KIND: Final = WorkloadKind(
    resource=LEADER_WORKER_SETS, wire=LeaderWorkerSet, read=read_leader_worker_set
)
