"""Pods, PodGroups and Directives to records; what cannot be read is refused with a sentence."""

import re
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from global_sched.shared.api import names
from global_sched.shared.api.base import Meta, condition
from global_sched.shared.api.core import Pod, PodSpec
from global_sched.shared.api.federation import DirectiveEntry
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.kinds import index_of, pod_set_of
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId, DecisionId, DomainId, PodSetName
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.placement import (
    SpecError,
    check_devices,
    host_ports,
    plain_shape,
    pod_requests,
    shape_of,
    shared_gpus,
)
from member_agent.cache import leader_worker
from member_agent.cache.causes import cause_of, exit_codes
from member_agent.cache.reading import (
    ReadError,
    binding_of,
    count,
    created,
    notes_of,
    owner_ref,
)
from member_agent.cache.records import GroupRecord, ManagedWorkload, PodRecord, PodUid

_DAEMONS = "DaemonSet"
"""Its pods name their nodes: they are never placed."""
_TRAILING_INDEX = re.compile(r"-(\d{1,9})$")
_TOPOLOGY_ANNOTATIONS = (names.TOPOLOGY_MODE, names.TOPOLOGY_TIER)


def read_pod(pod: Pod, shapes: dict[PodShape, PodShape]) -> PodRecord:
    """The record of a pod; equal shapes become one object through `shapes`.

    Raises:  ReadError.
    """
    meta, spec, status = pod.metadata, pod.spec, pod.status
    shape = _shape(spec)
    owner = owner_ref(meta.controller())
    wants = None if owner is not None and owner.kind == _DAEMONS else _wants(spec, shape)
    group = meta.annotation(names.GROUP_NAME) or meta.annotation(names.VOLCANO_GROUP_NAME)
    grouped = bool(group) or leader_worker.in_group(meta)
    keeps_labels = grouped or not spec.node_name
    cause, detail = cause_of(pod)
    return PodRecord(
        uid=PodUid(meta.uid),
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        created=created(meta),
        scheduler=spec.scheduler_name or names.DEFAULT_SCHEDULER,
        node=spec.node_name,
        phase=status.phase or "Pending",
        phase_reason=status.reason,
        deleting=meta.deletion_timestamp is not None,
        gated=bool(spec.scheduling_gates),
        shape=shapes.setdefault(shape, shape),
        wants=None if wants is None else shapes.setdefault(wants, wants),
        pod_set=pod_set_of(meta),
        index=_index_of(meta),
        priority=spec.priority or 0,
        group=group,
        owner=owner,
        binding=binding_of(meta),
        preemptable=(meta.annotation(names.PREEMPTABLE) or meta.label(names.PREEMPTABLE))
        != "false",
        annotations=tuple(
            (key, meta.annotation(key)) for key in _TOPOLOGY_ANNOTATIONS if meta.annotation(key)
        ),
        labels=tuple(sorted((meta.labels or {}).items())) if keeps_labels else (),
        refused="" if spec.node_name else _refused(pod, shape),
        pending_message=_pending_message(pod),
        cause=cause,
        detail=detail,
        ready=_ready(pod),
        exit_codes=exit_codes(pod),
        ended_at=_ended_at(pod) if status.phase == "Failed" else Instant(0),
        tolerates_loss=bool(spec.node_name) and _tolerates_loss(spec),
        call=meta.annotation(names.CHECKPOINT_CALL),
        answered=meta.annotation(names.CHECKPOINT_WRITTEN),
    )


def _ready(pod: Pod) -> bool:
    found = condition(pod.status.conditions, "Ready")
    return found is not None and found.status == "True"


def _ended_at(pod: Pod) -> Instant:
    """When the last of its containers ended; its creation where no container says so."""
    times = [created(pod.metadata)]
    for one in pod.status.container_statuses or ():
        ended = one.state.terminated
        if ended is not None and ended.finished_at:
            with suppress(InstantError):
                times.append(parse_instant(ended.finished_at))
    return max(times)


def _tolerates_loss(spec: PodSpec) -> bool:
    """Whether a toleration without a time matches the taint of an unreachable node."""
    return any(
        one.toleration_seconds is None
        and one.effect in ("", "NoExecute")
        and (
            one.operator == "Exists" if not one.key else one.key == "node.kubernetes.io/unreachable"
        )
        for one in spec.tolerations or ()
    )


def _shape(spec: PodSpec) -> PodShape:
    """What a waiting pod asks for; of a bound one only what it takes, by whatever it was bound."""
    try:
        if not spec.node_name:
            return shape_of(spec)
        return PodShape(requests=pod_requests(spec), ports=host_ports(spec))
    except SpecError as error:
        raise ReadError(f"spec.{error}") from error


def _refused(pod: Pod, shape: PodShape) -> str:
    """Which request of a waiting pod cannot be honoured, and what would help."""
    try:
        check_devices(pod.spec, pod.metadata.annotations)
    except SpecError as error:
        return str(error)
    if resource := shared_gpus(shape.requests):
        return (
            f"spec.containers[*].resources: {resource} is handed out by Volcano's scheduler only; "
            "use schedulerName volcano where it runs, or request whole devices"
        )
    return ""


def _wants(spec: PodSpec, shape: PodShape) -> PodShape | None:
    """What a pod asks for or asked for when it was placed, as the demand profile counts it."""
    if not spec.node_name:
        return plain_shape(shape)
    try:
        return plain_shape(shape_of(spec))
    except SpecError:
        return plain_shape(shape)


def _index_of(meta: Meta) -> int:
    if (declared := index_of(meta)) is not None:
        return declared
    match = _TRAILING_INDEX.search(meta.name)
    return int(match[1]) if match else 0


def _pending_message(pod: Pod) -> str:
    for one in pod.status.conditions or ():
        if one.type == "PodScheduled" and one.status == "False":
            return one.message
    return ""


def read_group(group: PodGroup) -> GroupRecord:
    """The record of a PodGroup.

    Raises:  ReadError for counts out of range.
    """
    meta, spec = group.metadata, group.spec
    count(spec.min_member, "spec.minMember")
    tasks = spec.min_task_member or {}
    for task, minimum in tasks.items():
        count(minimum, f"spec.minTaskMember[{task}]")
    return GroupRecord(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        created=created(meta),
        deleting=meta.deletion_timestamp is not None,
        owner=owner_ref(meta.controller()),
        binding=binding_of(meta),
        min_member=spec.min_member,
        min_task_member=_amounts(tasks),
        topology=spec.network_topology,
        subgroups=tuple(spec.sub_group_policy or ()),
        notes=notes_of(meta),
        together=meta.annotation(names.PARTITIONS_TOGETHER),
    )


def _amounts(counts: Mapping[str, int]) -> Amounts:
    return Amounts.of({PodSetName(name): pods for name, pods in counts.items()})


def read_entry(entry: DirectiveEntry) -> ManagedWorkload:
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
    return ManagedWorkload(
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
        call=entry.checkpoint_call,
    )


def _gang(entry: DirectiveEntry) -> Gang | None:
    if not entry.gang:
        return None
    gang = msgspec.convert(entry.gang, Gang, strict=True)
    for pod_set in gang.pod_sets:
        count(pod_set.count, f"{pod_set.name}.count")
        count(pod_set.minimum, f"{pod_set.name}.minimum")
        requests = pod_set.shape.requests
        if list(requests) != sorted(set(requests)) or any(n <= 0 for _, n in requests):
            raise ReadError(f"entry {entry.workload}: requests of {pod_set.name} are not amounts")
    count(gang.minimum, "minimum")
    return gang
