"""RayClusters: the head and the workers of each group, one gang.

Source:  KubeRay v1.5.0 (ray.io/v1): one head pod; of each worker group `replicas` (held between
         `minReplicas` and `maxReplicas`) times `numOfHosts` pods, all made at once; an init
         container in each worker that waits for the head. Queue, priority and topology stand in
         labels of the object, where KubeRay reads them for Volcano, or in the pod templates.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.core import Container, PodTemplate, ResourceRequirements
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import (
    QUEUE_NAME,
    RAY_GROUP,
    RAY_PRIORITY,
    RAY_REPLICA_INDEX,
    RAY_TOPOLOGY_TIER,
    TOPOLOGY_MODE,
)
from global_sched.shared.api.raw import Obj, get
from global_sched.shared.api.resource import RAY_CLUSTERS
from global_sched.shared.kinds.parts.acts import Acts, Field
from global_sched.shared.kinds.parts.interpretation import Interpretation, Items
from global_sched.shared.kinds.parts.kind import About, FieldNames, WorkloadKind
from global_sched.shared.kinds.parts.leaving import leaving_of
from global_sched.shared.kinds.parts.owner import OwnerFacts, bounded
from global_sched.shared.kinds.parts.pod_labels import index_by, number
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
from global_sched.shared.kinds.parts.statuses import (
    has_condition,
    never_ends,
    statuses,
    total,
)
from global_sched.shared.kinds.parts.templates import (
    common_constraint,
    first_priority,
    first_queue,
    managed_here,
)
from global_sched.shared.model.gang import Amounts, Mode, Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import PodSetName

CONTROLLER: Final = "ray.io/kuberay-operator"
HEAD: Final = PodSetName("headgroup")
"""The head's pod set: what KubeRay writes into the label `ray.io/group` of its pod."""
NOTES: Final = (QUEUE_NAME, RAY_PRIORITY, TOPOLOGY_MODE, RAY_TOPOLOGY_TIER)
_WAIT_FOR_HEAD: Final = Container(
    name="wait-gcs-ready",
    resources=ResourceRequirements(requests={"cpu": "200m", "memory": "256Mi"}),
)
"""The init container that KubeRay puts into every worker."""
_MOST: Final = 2_147_483_647
_SUMS: Final = (
    "readyWorkerReplicas",
    "availableWorkerReplicas",
    "desiredWorkerReplicas",
    "minWorkerReplicas",
    "maxWorkerReplicas",
)


class HeadGroup(Wire, frozen=True):
    """The head: one pod."""

    template: PodTemplate = PodTemplate()


class WorkerGroup(Wire, frozen=True):
    """Equal workers: `num_of_hosts` pods for each replica."""

    group_name: str = ""
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    suspend: bool | None = None
    template: PodTemplate = PodTemplate()


class RayClusterSpec(Wire, frozen=True):
    """A head and groups of workers."""

    suspend: bool | None = None
    managed_by: str = ""
    enable_in_tree_autoscaling: bool | None = None
    head_group_spec: HeadGroup = HeadGroup()
    worker_group_specs: list[WorkerGroup] | None = None


class RayCluster(Wire, frozen=True):
    """ray.io/v1 RayCluster."""

    api_version: str = "ray.io/v1"
    kind: str = "RayCluster"
    metadata: Meta = Meta()
    spec: RayClusterSpec = RayClusterSpec()


class Parts(NamedTuple):
    """What a cluster's spec asks for, wherever that spec stands."""

    pod_sets: tuple[PodSet, ...]
    templates: tuple[PodTemplate, ...]
    schedulers: tuple[SchedulerField, ...]


def read_ray_cluster(cluster: RayCluster) -> Reading:
    """The gang of a RayCluster. Raises RefusedError, HeldError."""
    spec, meta = cluster.spec, cluster.metadata
    managed_here(spec.managed_by, CONTROLLER)
    parts = parts_of(spec, "spec")
    if spec.suspend:
        raise HeldError("spec.suspend is true; set it to false to start the cluster")
    leaving = leaving_of(meta, [one.metadata for one in parts.templates])
    return Reading(
        api_version=RAY_CLUSTERS.api_version,
        kind=RAY_CLUSTERS.kind,
        pod_sets=parts.pod_sets,
        minimum=sum(one.minimum for one in parts.pod_sets),
        constraint=constraint_of_cluster(meta, parts.templates, "spec"),
        carries_replicas=False,
        preemptable=leaving.preemptable,
        run_limit=leaving.run_limit,
        checkpoint=leaving.checkpoint,
        queue=meta.label(QUEUE_NAME) or first_queue(parts.templates, meta),
        priority_class=meta.label(RAY_PRIORITY) or first_priority(parts.templates),
        scheduling=scheduling(parts.schedulers),
    )


def parts_of(spec: RayClusterSpec, field: str, *, beside_head: Container | None = None) -> Parts:
    """Pod sets, templates and scheduler names of a cluster's spec that stands at `field`.

    beside_head: a further container of the head. Raises RefusedError.
    """
    if spec.enable_in_tree_autoscaling:
        raise RefusedError(
            f"{field}.enableInTreeAutoscaling",
            "is true: workers that the autoscaler adds cannot be admitted before they are there",
            "set it to false and set replicas",
        )
    head, groups = spec.head_group_spec.template, spec.worker_group_specs or []
    alone = PodSet(
        name=HEAD,
        count=1,
        minimum=1,
        shape=shape(_with(head, also=beside_head), f"{field}.headGroupSpec.template"),
    )
    workers = [_workers(one, f"{field}.workerGroupSpecs[{i}]") for i, one in enumerate(groups)]
    pod_sets = (alone, *workers)
    if len({one.name for one in pod_sets}) < len(pod_sets):
        raise RefusedError(
            f"{field}.workerGroupSpecs",
            f"has two groups of one name, or one named {HEAD}",
            "give each its own groupName",
        )
    pods_total(
        sum(one.count for one in pod_sets), f"{field}.workerGroupSpecs[*].replicas × numOfHosts"
    )
    pointer = "/" + field.replace(".", "/")
    places = [f"{pointer}/headGroupSpec"]
    places += [f"{pointer}/workerGroupSpecs/{i}" for i in range(len(groups))]
    templates = (head, *(one.template for one in groups))
    return Parts(
        pod_sets=pod_sets,
        templates=templates,
        schedulers=tuple(
            SchedulerField(f"{place}/template/spec/schedulerName", one.spec.scheduler_name)
            for place, one in zip(places, templates, strict=True)
        ),
    )


def _workers(group: WorkerGroup, field: str) -> PodSet:
    if not group.group_name:
        raise RefusedError(f"{field}.groupName", "is missing", "name every worker group")
    least = whole_number(group.min_replicas, f"{field}.minReplicas", default=0)
    most = group.max_replicas
    if most is not None and most < least:
        raise RefusedError(
            f"{field}.maxReplicas", f"is {most}, below minReplicas {least}", "raise it"
        )
    replicas = max(least, whole_number(group.replicas, f"{field}.replicas", default=0))
    replicas = replicas if most is None else min(replicas, most)
    if group.suspend:
        replicas = least = 0
    hosts = whole_number(group.num_of_hosts, f"{field}.numOfHosts", default=1, least=1)
    pods_total(replicas * hosts, f"{field}.replicas × numOfHosts")
    return PodSet(
        name=PodSetName(group.group_name),
        count=replicas * hosts,
        minimum=least * hosts,
        shape=shape(_with(group.template, before=_WAIT_FOR_HEAD), f"{field}.template"),
        partition=Partition(size=hosts, total=replicas, minimum=least)
        if hosts > 1 and replicas
        else None,
    )


def _with(
    template: PodTemplate, *, before: Container | None = None, also: Container | None = None
) -> PodTemplate:
    """The template with what the operator adds to its pods; one without containers as it is."""
    spec = template.spec
    if not spec.containers:
        return template
    spec = msgspec.structs.replace(
        spec,
        init_containers=[*(spec.init_containers or ()), *([before] if before else ())],
        containers=[*spec.containers, *([also] if also else ())],
    )
    return msgspec.structs.replace(template, spec=spec)


def constraint_of_cluster(
    meta: Meta, templates: Sequence[PodTemplate], field: str
) -> TopologyConstraint | None:
    """The constraint in the object's labels, as KubeRay reads them; else the templates' one."""
    mode, tier = meta.label(TOPOLOGY_MODE), meta.label(RAY_TOPOLOGY_TIER)
    if not mode and not tier:
        return common_constraint(templates, field)
    if mode not in ("", *Mode):
        where = f"metadata.labels[{TOPOLOGY_MODE}]"
        raise RefusedError(where, f"is {mode[:40]!r}", "use hard or soft")
    highest = number(tier)
    if tier and highest is None:
        where = f"metadata.labels[{RAY_TOPOLOGY_TIER}]"
        raise RefusedError(where, f"is {tier[:40]!r}", "use a whole number such as 1")
    found = Mode(mode or Mode.HARD)
    return TopologyConstraint(mode=found, highest_tier=highest if found == Mode.HARD else None)


# --- in a member ----------------------------------------------------------------------------


class OwnedGroup(Wire, frozen=True):
    """A worker group without its pod template."""

    group_name: str = ""
    min_replicas: int | None = None
    num_of_hosts: int | None = None
    suspend: bool | None = None


class OwnedClusterSpec(Wire, frozen=True):
    """The worker groups."""

    worker_group_specs: list[OwnedGroup] | None = None


class OwnedCluster(Wire, frozen=True):
    """A RayCluster without pod templates."""

    metadata: Meta = Meta()
    spec: OwnedClusterSpec = OwnedClusterSpec()


def minimum_of(spec: OwnedClusterSpec) -> Amounts:
    """The head and the least workers of each group. Raises CountError."""
    found = {HEAD: 1}
    for group in spec.worker_group_specs or ():
        name = group.group_name
        least = bounded(group.min_replicas, f"worker group {name}: minReplicas", default=0)
        hosts = bounded(group.num_of_hosts, f"worker group {name}: numOfHosts")
        pods = 0 if group.suspend else bounded(least * hosts, f"worker group {name}: pods")
        found[PodSetName(name)] = pods
    return Amounts.of(found)


def facts(cluster: OwnedCluster) -> OwnerFacts:
    """What must run together. Raises CountError."""
    return OwnerFacts(minimum=minimum_of(cluster.spec))


def _pod_set_of(meta: Meta) -> PodSetName | None:
    group = meta.label(RAY_GROUP)
    return PodSetName(group) if group else None


# --- in Karmada -----------------------------------------------------------------------------


def _health(obj: Obj) -> bool:
    status = get(obj, "status")
    return (
        has_condition(status, "HeadPodReady")
        and has_condition(status, "RayClusterProvisioned")
        and not has_condition(status, "RayClusterReplicaFailure")
    )


def _aggregate(template: Obj, items: Items, _now: str) -> Obj:
    """One copy: its status. Several (one that moves): workers add up, the rest is the first's."""
    parts = statuses(items)
    if len(items) == 1 or len(parts) < 2:
        return dict(parts[0]) if parts else dict(get(template, "status") or {})
    merged = dict(parts[0]) | {name: total(parts, name) for name in _SUMS}
    return merged | {"conditions": [one for part in parts for one in part.get("conditions") or ()]}


GROUP_RULES: Final = {
    "replicas": {"default": 0, "format": "int32"},
    "minReplicas": {"default": 0, "format": "int32"},
    "maxReplicas": {"default": _MOST, "format": "int32"},
    "numOfHosts": {"default": 1, "format": "int32"},
}


def group_rules(at: str) -> dict[str, dict[str, object]]:
    """The rules of a cluster's spec that stands at this path of a schema."""
    groups = f"{at}.workerGroupSpecs[]"
    return {
        at: {"required": ["headGroupSpec"]},
        f"{at}.headGroupSpec": {"required": ["template"]},
        groups: {"required": ["groupName", "maxReplicas", "minReplicas", "template"]},
        **{f"{groups}.{name}": rule for name, rule in GROUP_RULES.items()},
    }


def scheduler_paths(at: str) -> tuple[str, ...]:
    """Where the schedulerNames of a cluster's spec at this pointer stand."""
    return (
        f"{at}/headGroupSpec/template/spec/schedulerName",
        f"{at}/workerGroupSpecs/*/template/spec/schedulerName",
    )


KIND: Final = WorkloadKind(
    resource=RAY_CLUSTERS,
    crd=CrdKind(
        resource=RAY_CLUSTERS,
        type=RayCluster,
        categories=("all",),
        columns=(
            ("desired workers", ".status.desiredWorkerReplicas", "integer"),
            ("available workers", ".status.availableWorkerReplicas", "integer"),
            ("cpus", ".status.desiredCPU", "string"),
            ("memory", ".status.desiredMemory", "string"),
            ("gpus", ".status.desiredGPU", "string"),
            ("status", ".status.state", "string"),
            ("age", ".metadata.creationTimestamp", "date"),
        ),
        rules=group_rules("spec"),
    ),
    wire=RayCluster,
    read=read_ray_cluster,
    runtimes=None,
    notes=NOTES,
    schedulers=scheduler_paths("/spec"),
    brings=("/spec/workerGroupSpecs/*",),
    ends=never_ends,
    completed=None,
    failed=None,
    owner=OwnedCluster,
    facts=facts,
    pod_set=_pod_set_of,
    index=index_by(RAY_REPLICA_INDEX),
    makes=(),
    one_by_one=False,
    groups=False,
    karmada=Interpretation(
        replicas=None,
        components=True,
        revised=None,
        pods=None,
        prune=None,
        retain=None,
        reflect=None,
        health=_health,
        aggregate=_aggregate,
    ),
    about=About(
        gang="whole, in one cluster",
        minimum="the head, and Σ `minReplicas` × `numOfHosts`",
        elastic="workers up to `replicas`; the in-tree autoscaler is refused",
        queue="label `volcano.sh/queue-name` of the object, then the pod templates, then the "
        "object's annotation",
        topology="labels of the object, as KubeRay reads them, or annotations of the pod templates",
        restarts="KubeRay in the member: pods that failed are made anew",
        versions="ray.io/v1 (KubeRay 1.5.0)",
    ),
    fields=FieldNames(
        queue=f"label {QUEUE_NAME}",
        priority_class=f"label {RAY_PRIORITY}",
        minimum="spec.workerGroupSpecs[*].minReplicas",
        topology=f"label {RAY_TOPOLOGY_TIER}",
    ),
    acts=Acts(
        suspend=Field(("spec", "suspend")),
        priority=Field(("metadata", "labels", RAY_PRIORITY)),
    ),
)
