"""LeaderWorkerSets: one pod set of leaders and one of workers, tied together group by group.

Source:  LeaderWorkerSet v1: `replicas` groups of one leader and `size` - 1 workers. The topology
         annotations of the pod templates bound each group, as they would bound the PodGroup that
         its controller makes of each group for Volcano.
"""

from typing import Final

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import (
    LWS_EXCLUSIVE,
    LWS_GROUP_INDEX,
    LWS_SIZE,
    LWS_SUBGROUP_EXCLUSIVE,
    LWS_WORKER_INDEX,
    MIN_GROUPS,
)
from global_sched.shared.api.resource import LEADER_WORKER_SETS, STATEFUL_SETS
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
from global_sched.shared.kinds.parts.owner import GroupsRecord, OwnerFacts, asked, bounded
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
from global_sched.shared.kinds.parts.statuses import never_ends
from global_sched.shared.kinds.parts.templates import (
    common_constraint,
    first_priority,
    first_queue,
)
from global_sched.shared.model.gang import Partition, PodSet
from global_sched.shared.model.ids import LEADERS, WORKERS, PodSetName

LEADER_READY: Final = "LeaderReady"
"""The startup policy under which workers are made once their leader is ready."""
_FIELD: Final = "spec.leaderWorkerTemplate"
_PATH: Final = "/spec/leaderWorkerTemplate"
TOGETHER: Final = f"{LEADERS}+{WORKERS}"
_LEADER: Final = "0"
"""The worker index of a leader."""


class LeaderWorkerTemplate(Wire, frozen=True):
    """One group: a leader, and `size` - 1 workers."""

    leader_template: PodTemplate | None = None
    """None: the leader is like the workers."""
    worker_template: PodTemplate = PodTemplate()
    size: int | None = None
    restart_policy: str = ""


class LeaderWorkerSetSpec(Wire, frozen=True):
    """How many groups, and how they start."""

    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    startup_policy: str = ""


class LeaderWorkerSet(Wire, frozen=True):
    """leaderworkerset.x-k8s.io/v1 LeaderWorkerSet."""

    api_version: str = "leaderworkerset.x-k8s.io/v1"
    kind: str = "LeaderWorkerSet"
    metadata: Meta = Meta()
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


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
    constraint = common_constraint(list(templates.values()), _FIELD)
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
    return Reading(
        api_version=LEADER_WORKER_SETS.api_version,
        kind=LEADER_WORKER_SETS.kind,
        pod_sets=pod_sets,
        minimum=least * size,
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=first_queue(list(templates.values()), meta),
        priority_class=first_priority(list(templates.values())),
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


# --- in a member ----------------------------------------------------------------------------


class OwnedTemplate(Wire, frozen=True):
    """How many pods a group has."""

    size: int | None = None


class OwnedSpec(Wire, frozen=True):
    """How many groups of how many pods, and how they start."""

    replicas: int | None = None
    leader_worker_template: OwnedTemplate = OwnedTemplate()
    startup_policy: str = ""


class OwnedSet(Wire, frozen=True):
    """A LeaderWorkerSet without pod templates."""

    metadata: Meta = Meta()
    spec: OwnedSpec = OwnedSpec()


def facts(app: OwnedSet) -> OwnerFacts:
    """The groups. Raises CountError."""
    spec = app.spec
    size = bounded(spec.leader_worker_template.size, f"{_FIELD}.size")
    groups = bounded(spec.replicas, "spec.replicas")
    least = app.metadata.annotation(MIN_GROUPS)
    return OwnerFacts(
        groups=GroupsRecord(
            size=max(1, size),
            least=min(groups, asked(least, MIN_GROUPS)) if least else groups,
            late=spec.startup_policy == LEADER_READY,
        )
    )


def pod_set_of(meta: Meta) -> PodSetName | None:
    """The pod set by the labels of a group's pods; None for pods of other kinds."""
    place = meta.label(LWS_WORKER_INDEX)
    if not place or not meta.label(LWS_GROUP_INDEX):
        return None
    return LEADERS if place == _LEADER else WORKERS


def index_of(meta: Meta) -> int | None:
    """The place in its pod set: groups one after the other; None for pods of other kinds."""
    group, place = number(meta.label(LWS_GROUP_INDEX)), number(meta.label(LWS_WORKER_INDEX))
    if group is None or place is None:
        return None
    size = number(meta.annotation(LWS_SIZE)) or place + 1
    return group if place == 0 else group * max(1, size - 1) + place - 1


KIND: Final = WorkloadKind(
    resource=LEADER_WORKER_SETS,
    crd=CrdKind(
        resource=LEADER_WORKER_SETS,
        type=LeaderWorkerSet,
        short_names=("lws",),
        columns=(
            ("Ready", ".status.readyReplicas", "integer"),
            ("Desired", ".spec.replicas", "integer"),
            ("Up-to-date", ".status.updatedReplicas", "integer"),
            ("Age", ".metadata.creationTimestamp", "date"),
        ),
        rules={
            "spec": {"required": ["leaderWorkerTemplate"]},
            "spec.replicas": {"default": 1},
            "spec.startupPolicy": {
                "default": "LeaderCreated",
                "enum": ["LeaderCreated", LEADER_READY],
            },
            "spec.leaderWorkerTemplate": {"required": ["workerTemplate"]},
            "spec.leaderWorkerTemplate.size": {"default": 1},
            "spec.leaderWorkerTemplate.restartPolicy": {
                "default": "RecreateGroupOnPodRestart",
                "enum": [
                    "Default",
                    "RecreateGroupOnPodRestart",
                    "RecreateGroupAfterStart",
                    "None",
                ],
            },
        },
        scale={
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.hpaPodSelector",
        },
    ),
    wire=LeaderWorkerSet,
    read=read_leader_worker_set,
    runtimes=None,
    notes=(LWS_EXCLUSIVE, LWS_SUBGROUP_EXCLUSIVE, MIN_GROUPS),
    schedulers=(
        f"{_PATH}/leaderTemplate/spec/schedulerName",
        f"{_PATH}/workerTemplate/spec/schedulerName",
    ),
    brings=(f"{_PATH}/leaderTemplate",),
    ends=never_ends,
    completed=None,
    failed=None,
    owner=OwnedSet,
    facts=facts,
    pod_set=pod_set_of,
    index=index_of,
    makes=(STATEFUL_SETS,),
    one_by_one=False,
    groups=True,
    karmada=UNKNOWN,
    about=About(
        gang="whole, in one cluster",
        minimum="all groups, or the annotation `federation.global-sched.io/min-groups`",
        elastic="groups above the annotation's minimum",
        queue="pod templates, then the object's annotation",
        topology="annotations of the pod templates, for each group",
        restarts="its controller in the member, group by group (`restartPolicy`)",
        versions="leaderworkerset.x-k8s.io/v1",
    ),
    fields=FieldNames(
        queue=QUEUE_LABEL,
        priority_class="priorityClassName of the pod templates",
        minimum=f"annotation {MIN_GROUPS}",
        topology=TIER_ANNOTATION,
    ),
    acts=Acts(
        suspend=Refused("a LeaderWorkerSet has no field for it; scale it to 0 replicas, and back"),
        priority=Field(
            ("spec", "leaderWorkerTemplate", "workerTemplate", "spec", "priorityClassName"),
            also=(("spec", "leaderWorkerTemplate", "leaderTemplate", "spec", "priorityClassName"),),
        ),
    ),
)
