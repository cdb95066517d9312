"""Wire objects to records. What cannot be read is refused with a sentence for its owner."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from global_sched.shared.api import names
from global_sched.shared.api.base import KubeObject, Meta, OwnerReference, Wire
from global_sched.shared.api.core import Pod, PodSpec
from global_sched.shared.api.federation import DirectiveEntry
from global_sched.shared.api.volcano import DependsOn, PodGroup
from global_sched.shared.api.workloads import ElasticPolicy
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import MAIN, BindingId, DecisionId, DomainId, PodSetName
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.placement import SpecError, host_ports, pod_requests, shape_of
from member_agent.cache.records import (
    Directed,
    GroupRecord,
    Notes,
    OwnerRecord,
    OwnerRef,
    PodRecord,
    PodUid,
    TaskRecord,
)

PODS_LIMIT: Final = 1_000_000
"""No unit has more pods; a larger count in a spec is refused."""
_INDEX_LABELS = (
    names.TASK_INDEX,
    names.REPLICA_INDEX,
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
)
_TRAILING_INDEX = re.compile(r"-(\d{1,9})$")
_TOPOLOGY_ANNOTATIONS = (names.TOPOLOGY_MODE, names.TOPOLOGY_TIER)


class ReadError(ValueError):
    """An object cannot be used; the message names the field, the reason and what would help."""


class ReplicaCount(Wire, frozen=True):
    """How many pods of one replica type."""

    replicas: int | None = None


class OwnerTask(Wire, frozen=True):
    """A task of a Volcano Job, without its template."""

    name: str = ""
    replicas: int | None = None
    depends_on: DependsOn | None = None


class OwnerSpec(Wire, frozen=True):
    """The fields of owners that say what must run together."""

    tasks: list[OwnerTask] | None = None

    parallelism: int | None = None
    completions: int | None = None
    pytorch_replica_specs: dict[str, ReplicaCount] | None = None
    elastic_policy: ElasticPolicy | None = None


class OwnerObject(Wire, frozen=True):
    """An object that controls pods: its metadata, and what of its spec makes a minimum."""

    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()
    spec: OwnerSpec = OwnerSpec()


def binding_of(meta: Meta) -> BindingId | None:
    """The permanent id that Karmada put on an object, None for one that came another way."""
    value = meta.label(names.BINDING_ID) or meta.label(names.CLUSTER_BINDING_ID)
    return BindingId(value) if value else None


def notes_of(meta: Meta) -> Notes:
    """The agent's own annotations."""
    reached = DecisionId(meta.annotation(names.MINIMUM_REACHED))
    memory = meta.annotation(names.MEMORY)
    return Notes(plan=meta.annotation(names.PLAN), reached=reached, memory=memory)


def read_pod(pod: Pod, shapes: dict[PodShape, PodShape]) -> PodRecord:
    """The record of a pod; equal shapes become one object through `shapes`.

    Raises:  ReadError.
    """
    meta, spec, status = pod.metadata, pod.spec, pod.status
    shape = _shape(spec)
    group = meta.annotation(names.GROUP_NAME) or meta.annotation(names.VOLCANO_GROUP_NAME)
    keeps_labels = bool(group) or not spec.node_name
    return PodRecord(
        uid=PodUid(meta.uid),
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        created=_created(meta),
        scheduler=spec.scheduler_name or names.DEFAULT_SCHEDULER,
        node=spec.node_name,
        phase=status.phase or "Pending",
        phase_reason=status.reason,
        deleting=meta.deletion_timestamp is not None,
        gated=bool(spec.scheduling_gates),
        shape=shapes.setdefault(shape, shape),
        pod_set=pod_set_of(meta),
        index=_index_of(meta),
        priority=spec.priority or 0,
        group=group,
        owner=_owner_ref(meta.controller()),
        binding=binding_of(meta),
        preemptable=(meta.annotation(names.PREEMPTABLE) or meta.label(names.PREEMPTABLE))
        != "false",
        annotations=tuple(
            (key, meta.annotation(key)) for key in _TOPOLOGY_ANNOTATIONS if meta.annotation(key)
        ),
        labels=tuple(sorted((meta.labels or {}).items())) if keeps_labels else (),
        told=_told(pod),
    )


def _shape(spec: PodSpec) -> PodShape:
    """What a waiting pod asks for; of a bound one only what it takes, whoever bound it by what."""
    try:
        if not spec.node_name:
            return shape_of(spec)
        return PodShape(requests=pod_requests(spec), ports=host_ports(spec))
    except SpecError as error:
        raise ReadError(f"spec.{error}") from error


def pod_set_of(meta: Meta) -> PodSetName:
    """Which pod set a pod belongs to: its task, its replica type, else `main`."""
    task = meta.label(names.TASK_SPEC) or meta.annotation(names.TASK_SPEC)
    if task:
        return PodSetName(task)
    replica_type = meta.label(names.REPLICA_TYPE)
    return PodSetName(replica_type.lower()) if replica_type else MAIN


def _index_of(meta: Meta) -> int:
    for label in _INDEX_LABELS:
        text = meta.label(label) or meta.annotation(label)
        if text.isascii() and text.isdigit() and len(text) <= 9:
            return int(text)
    match = _TRAILING_INDEX.search(meta.name)
    return int(match[1]) if match else 0


def _told(pod: Pod) -> str:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.message
    return ""


def _created(meta: Meta) -> Instant:
    try:
        return parse_instant(meta.creation_timestamp or "")
    except InstantError:
        return Instant(0)


def _owner_ref(owner: OwnerReference | None) -> OwnerRef | None:
    if owner is None or not owner.uid:
        return None
    return OwnerRef(owner.uid, owner.api_version, owner.kind, owner.name)


def read_group(group: PodGroup) -> GroupRecord:
    """The record of a PodGroup.

    Raises:  ReadError for counts out of range.
    """
    meta, spec = group.metadata, group.spec
    _count(spec.min_member, "spec.minMember")
    tasks = spec.min_task_member or {}
    for task, minimum in tasks.items():
        _count(minimum, f"spec.minTaskMember[{task}]")
    return GroupRecord(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        created=_created(meta),
        deleting=meta.deletion_timestamp is not None,
        owner=_owner_ref(meta.controller()),
        binding=binding_of(meta),
        min_member=spec.min_member,
        min_task_member=_amounts(tasks),
        topology=spec.network_topology,
        subgroups=tuple(spec.sub_group_policy or ()),
        notes=notes_of(meta),
        together=meta.annotation(names.PARTITIONS_TOGETHER),
    )


def read_owner(obj: OwnerObject | KubeObject, api_version: str, kind: str) -> OwnerRecord:
    """The record of an object that controls pods.

    Raises:  ReadError for counts out of range.
    """
    meta = obj.metadata
    return OwnerRecord(
        uid=meta.uid,
        api_version=api_version,
        kind=kind,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        deleting=meta.deletion_timestamp is not None,
        owner=_owner_ref(meta.controller()),
        binding=binding_of(meta),
        minimum=_minimum_of(obj, f"{api_version}/{kind}") if isinstance(obj, OwnerObject) else None,
        tasks=_tasks_of(obj) if isinstance(obj, OwnerObject) else (),
        notes=notes_of(meta),
    )


def _tasks_of(owner: OwnerObject) -> tuple[TaskRecord, ...]:
    return tuple(
        TaskRecord(
            name=PodSetName(task.name),
            replicas=_count(1 if task.replicas is None else task.replicas, f"task {task.name}"),
            depends=bool(task.depends_on and task.depends_on.name),
        )
        for task in owner.spec.tasks or ()
    )


def _minimum_of(owner: OwnerObject, kind: str) -> Amounts | None:
    if kind == "batch/v1/Job":
        return Amounts.of({MAIN: _job_minimum(owner)})
    if kind.endswith("/PyTorchJob"):
        return _training_minimum(owner.spec)
    return None


def _job_minimum(owner: OwnerObject) -> int:
    asked = owner.metadata.annotation(names.MIN_PARALLELISM)
    parallelism = 1 if owner.spec.parallelism is None else owner.spec.parallelism
    at_once = _count(parallelism, "spec.parallelism")
    if owner.spec.completions is not None:
        at_once = min(at_once, _count(owner.spec.completions, "spec.completions"))
    if not asked:
        return at_once
    if not (asked.isascii() and asked.isdigit() and len(asked) <= 7 and int(asked) >= 1):
        raise ReadError(f"annotation {names.MIN_PARALLELISM} is {asked[:40]!r}, not a whole number")
    return min(at_once, int(asked))


def _training_minimum(spec: OwnerSpec) -> Amounts:
    replicas = {
        PodSetName(kind.lower()): _count(
            1 if count.replicas is None else count.replicas, f"spec.pytorchReplicaSpecs[{kind}]"
        )
        for kind, count in (spec.pytorch_replica_specs or {}).items()
    }
    elastic = spec.elastic_policy
    worker = PodSetName("worker")
    if elastic is not None and elastic.min_replicas is not None and worker in replicas:
        least = _count(elastic.min_replicas, "spec.elasticPolicy.minReplicas")
        replicas[worker] = min(replicas[worker], least)
    return Amounts.of(replicas)


def _count(value: int, field: str) -> int:
    if not 0 <= value <= PODS_LIMIT:
        raise ReadError(f"{field} is {value}: expected 0 to {PODS_LIMIT}")
    return value


def _amounts(counts: Mapping[str, int]) -> Amounts:
    return Amounts.of({PodSetName(name): pods for name, pods in counts.items()})


def read_entry(entry: DirectiveEntry) -> Directed:
    """One entry of a Directive.

    Raises:  ReadError.
    """
    if not entry.binding or not entry.decision:
        raise ReadError("an entry names no binding or no decision")
    try:
        at = parse_instant(entry.at)
        until = parse_instant(entry.held_until) if entry.held_until else Instant(0)
        gang = _gang(entry)
    except (InstantError, msgspec.ValidationError) as error:
        raise ReadError(f"entry {entry.workload or entry.binding}: {error}") from error
    return Directed(
        at=at,
        order=entry.order,
        binding=BindingId(entry.binding),
        workload=entry.workload,
        decision=DecisionId(entry.decision),
        epoch=entry.epoch,
        domain=DomainId(entry.domain) if entry.domain else None,
        tier=entry.tier,
        admitted=_amounts(entry.admitted or {}),
        gang=gang,
        give_up=_amounts(entry.give_up or {}),
        held=_amounts(entry.held or {}),
        held_domain=DomainId(entry.held_domain) if entry.held_domain else None,
        held_until=until,
        leaving=tuple(sorted({BindingId(one) for one in entry.leaving or ()})),
    )


def _gang(entry: DirectiveEntry) -> Gang | None:
    if not entry.gang:
        return None
    gang = msgspec.convert(entry.gang, Gang, strict=True)
    for pod_set in gang.pod_sets:
        _count(pod_set.count, f"{pod_set.name}.count")
        _count(pod_set.minimum, f"{pod_set.name}.minimum")
        requests = pod_set.shape.requests
        if list(requests) != sorted(set(requests)) or any(n <= 0 for _, n in requests):
            raise ReadError(f"entry {entry.workload}: requests of {pod_set.name} are not amounts")
    _count(gang.minimum, "minimum")
    return gang
