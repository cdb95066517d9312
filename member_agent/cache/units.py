"""The units of a member: which pods start together, who carries their plan, what they need.

A unit is the pods of one PodGroup, or those of one root owner (a Deployment's pods over all its
ReplicaSets are one unit). Its binding is the first permanent id on the way up from the pods.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from global_sched.shared.api.volcano import SubGroupPolicy
from global_sched.shared.kinds import ONE_BY_ONE
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.instant import Instant
from member_agent.cache import leader_worker
from member_agent.cache.pods import Kind, PodSource
from member_agent.cache.records import (
    GroupRecord,
    Key,
    NoteHolder,
    Notes,
    OwnerRecord,
    OwnerRef,
    PodRecord,
    PodUid,
    PodUnit,
    count_pods,
)
from member_agent.cache.state import ClusterCache

DEPTH: Final = 16
"""Owners above owners; more is a cycle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """Where a chain of owners ends."""

    owner: OwnerRecord | None = None
    """None for a bare pod, and where not even the first owner is known."""
    binding: BindingId | None = None
    missing: OwnerRef | None = None
    """An owner on the way that has not been seen."""


@dataclass(slots=True)
class _Draft:
    """A unit while its pods are collected."""

    key: str
    namespace: str
    root: Root
    group: GroupRecord | None
    pods: list[PodRecord] = field(default_factory=list)
    problem: str = ""


def find_root(
    cache: ClusterCache, start: OwnerRef | None, leave: frozenset[tuple[str, str]] = frozenset()
) -> Root:
    """Follow controllers upwards to the first object with a permanent id, or to the top.

    `leave` are the (apiVersion, kind) that cannot be watched here: the chain ends below them.
    """
    owner: OwnerRecord | None = None
    ref = start
    for _ in range(DEPTH):
        if ref is None or (ref.api_version, ref.kind) in leave:
            return Root(owner=owner)
        above = cache.pods.get(PodUid(ref.uid))
        if above is not None:  # a leader owns the StatefulSet of its workers
            ref = above.owner
            continue
        known = cache.owners.get(ref.uid)
        if known is None:
            return Root(owner=owner, missing=ref)
        if known.below and owner is not None:
            known = replace(known, minimum=owner.minimum, tasks=owner.tasks)
        owner = known
        if owner.binding is not None:
            return Root(owner=_topmost(cache, owner), binding=owner.binding)
        ref = owner.owner
    return Root(owner=owner)


def _topmost(cache: ClusterCache, owner: OwnerRecord) -> OwnerRecord:
    """The object that Karmada brought, where a controller copied its labels to what it made.

    A RayCluster has the labels of the RayJob above it, the permanent id among them.
    """
    for _ in range(DEPTH):
        above = cache.owners.get(owner.owner.uid) if owner.owner is not None else None
        if above is None or above.binding != owner.binding:
            break
        owner = above
    return owner


def units_of(
    cache: ClusterCache,
    schedulers: frozenset[str],
    leave: frozenset[tuple[str, str]] = frozenset(),
) -> list[PodUnit]:
    """Every unit with pods for us to bind, that came through Karmada or that we placed, by key."""
    drafts: dict[str, _Draft] = {}
    for source, pods in cache.sources.items():
        draft = _draft(cache, source, next(iter(pods.values())), leave)
        kept = drafts.setdefault(draft.key, draft)
        kept.pods.extend(pods.values())
        kept.problem = kept.problem or draft.problem
    units = (_unit(cache, draft, schedulers) for draft in drafts.values())
    return sorted(
        (unit for unit in units if unit.waiting or unit.binding is not None or _planned(unit)),
        key=lambda unit: unit.key,
    )


def _planned(unit: PodUnit) -> bool:
    """Whether we placed it: what happens to it is remembered on its root owner."""
    return unit.holder is not None and bool(unit.holder.notes.plan)


def _draft(
    cache: ClusterCache, source: PodSource, pod: PodRecord, leave: frozenset[tuple[str, str]]
) -> _Draft:
    root = find_root(cache, pod.owner, leave)
    if pod.owner is None:
        root = Root(binding=pod.binding)
    group: GroupRecord | None = None
    problem = ""
    if root.missing is not None:
        problem = f"its owner {root.missing.kind} {root.missing.name} has not been seen yet"
    if source.group and not _in_groups(root):
        key: Key = (source.namespace, source.group)
        group = cache.groups.get(key)
        if group is None:
            bad = cache.problem(Kind.POD_GROUP, key)
            problem = f"PodGroup {source.group}: " + (bad or "it has not been seen yet")
        elif root.binding is None:
            root = _root_of_group(cache, group, root, leave)
        name = f"PodGroup/{source.namespace}/{source.group}"
    elif root.owner is not None and root.missing is None:
        name = f"{root.owner.kind}/{root.owner.namespace}/{root.owner.name}/{root.owner.uid}"
    else:
        name = f"Pod/{source.namespace}/{pod.name}/{source.owner}"
    return _Draft(
        key=name, namespace=source.namespace, root=root, group=group, pods=[], problem=problem
    )


def _in_groups(root: Root) -> bool:
    """Whether the root is a LeaderWorkerSet: then PodGroups of single groups say nothing new."""
    return root.owner is not None and root.owner.groups is not None


def _root_of_group(
    cache: ClusterCache, group: GroupRecord, root: Root, leave: frozenset[tuple[str, str]]
) -> Root:
    """A PodGroup's own label, else its owners, tell where bare pods belong."""
    above = find_root(cache, group.owner, leave)
    if group.binding is not None:
        return Root(owner=root.owner or above.owner, binding=group.binding)
    return above if above.binding is not None else root


def _unit(cache: ClusterCache, draft: _Draft, schedulers: frozenset[str]) -> PodUnit:
    waiting: list[PodRecord] = []
    placed: list[PodRecord] = []
    failed = tuple(pod for pod in draft.pods if pod.phase == "Failed" and pod.node)
    succeeded = count_pods(pod for pod in draft.pods if pod.phase == "Succeeded")
    unbound: list[PodRecord] = []
    for pod in draft.pods:
        if pod.ended:
            continue
        if cache.node_of(pod):
            placed.append(pod)
        elif not pod.deleting:
            unbound.append(pod)
            if pod.scheduler in schedulers and not pod.gated:
                waiting.append(pod)
    ranks = _template_order(cache, draft)
    waiting.sort(key=lambda pod: (ranks.get(pod.pod_set, len(ranks)), *_start_order(pod)))
    owner, group = draft.root.owner, draft.group
    kind = owner.kind if owner else "Pod"
    minimum, floor = _minimum(cache, draft, [*unbound, *placed], succeeded)
    return PodUnit(
        key=draft.key,
        namespace=draft.namespace,
        name=(group.name if group else owner.name if owner else draft.pods[0].name),
        kind="PodGroup" if group else kind,
        root_kind=kind,
        created=_created(draft),
        holder=_holder(draft),
        binding=draft.root.binding,
        minimum=minimum,
        floor=floor,
        topology=group.topology if group else None,
        subgroups=_subgroups(cache, draft),
        waiting=tuple(waiting),
        placed=tuple(sorted(placed, key=_start_order)),
        succeeded=succeeded,
        unbound=count_pods(unbound),
        others=tuple(sorted({pod.scheduler for pod in unbound} - schedulers)),
        problem=draft.problem or _refused(waiting),
        root=_root_holder(owner),
        together=_together(draft),
        failed=failed,
        pod_sets=tuple(sorted(ranks, key=lambda name: ranks[name])),
        recovery=owner.recovery if owner else "",
    )


def _refused(waiting: Iterable[PodRecord]) -> str:
    """Why none of these pods is bound: one asks for what cannot be honoured."""
    refused = next((pod for pod in waiting if pod.refused), None)
    return f"Pod {refused.namespace}/{refused.name}: {refused.refused}" if refused else ""


def _subgroups(cache: ClusterCache, draft: _Draft) -> tuple[SubGroupPolicy, ...]:
    if draft.group is not None:
        return draft.group.subgroups
    groups = draft.root.owner.groups if draft.root.owner else None
    if groups is None:
        return ()
    return leader_worker.policies_of(groups, _admitted_gang(cache, draft), draft.pods)


def _together(draft: _Draft) -> str:
    if draft.group is not None:
        return draft.group.together
    return leader_worker.TOGETHER if _in_groups(draft.root) else ""


def _start_order(pod: PodRecord) -> tuple[str, int, Instant, str]:
    return pod.pod_set, pod.index, pod.created, pod.name


def _created(draft: _Draft) -> Instant:
    if draft.group is not None:
        return draft.group.created
    return min((pod.created for pod in draft.pods), default=Instant(0))


def _holder(draft: _Draft) -> NoteHolder | None:
    """Who carries the plan: the PodGroup, else the root owner; a bare pod needs none."""
    if draft.group is not None:
        group = draft.group
        return NoteHolder(
            api_version="scheduling.volcano.sh/v1beta1",
            kind="PodGroup",
            namespace=group.namespace,
            name=group.name,
            uid=group.uid,
            resource_version=group.resource_version,
            notes=_both(group.notes, draft.root.owner),
        )
    return _root_holder(draft.root.owner)


def _root_holder(owner: OwnerRecord | None) -> NoteHolder | None:
    if owner is None:
        return None
    return NoteHolder(
        api_version=owner.api_version,
        kind=owner.kind,
        namespace=owner.namespace,
        name=owner.name,
        uid=owner.uid,
        resource_version=owner.resource_version,
        notes=owner.notes,
    )


def _both(notes: Notes, owner: OwnerRecord | None) -> Notes:
    """A PodGroup that was made anew (a restarted Job) has no notes; its owner may have some."""
    if notes.reached or owner is None:
        return notes
    return Notes(plan=notes.plan, reached=owner.notes.reached, memory=owner.notes.memory)


# --- what must run together -----------------------------------------------------------------


def _template_order(cache: ClusterCache, draft: _Draft) -> Mapping[PodSetName, int]:
    if (gang := _admitted_gang(cache, draft)) is not None:
        return {pod_set.name: rank for rank, pod_set in enumerate(gang.pod_sets)}
    owner = draft.root.owner
    return {task.name: rank for rank, task in enumerate(owner.tasks)} if owner else {}


def _admitted_gang(cache: ClusterCache, draft: _Draft) -> Gang | None:
    """The gang as the Directive tells it; None where it tells none."""
    binding = draft.root.binding
    entry = cache.entries().get(binding) if binding is not None else None
    return entry.gang if entry is not None else None


def _minimum(
    cache: ClusterCache, draft: _Draft, pods: Iterable[PodRecord], succeeded: Amounts
) -> tuple[Amounts, int]:
    """Minimum per pod set, and how many pods in all make the minimum."""
    seen = {pod.pod_set for pod in pods} | {name for name, _ in succeeded.entries}
    if draft.group is not None:
        return _group_minimum(draft.group, draft.root.owner, seen)
    owner = draft.root.owner
    if owner is not None and owner.kind in ONE_BY_ONE:
        return Amounts(), 1
    gang = _admitted_gang(cache, draft)
    if owner is not None and owner.groups is not None:
        return leader_worker.minimum_of(owner.groups, gang)
    if gang is not None:
        return _begun_minimum(*gang_minimum(gang), owner, seen)
    if owner is not None and owner.minimum is not None:
        return _begun_minimum(owner.minimum, owner.minimum.pods(), owner, seen)
    return Amounts(), 1


def _begun_minimum(
    sets: Amounts, floor: int, owner: OwnerRecord | None, seen: set[PodSetName]
) -> tuple[Amounts, int]:
    """The minimum without the parts that still wait for others, and have no pods yet.

    Their room is kept: it is admitted. Waiting for their pods would wait for ever.
    """
    late = _late(owner, seen)
    begun = Amounts.of({name: pods for name, pods in sets.entries if name not in late})
    return begun, max(1, floor - (sets.pods() - begun.pods()))


def _late(owner: OwnerRecord | None, seen: set[PodSetName]) -> set[PodSetName]:
    """Parts of a job whose pods are not made yet, because they wait for other parts."""
    tasks = owner.tasks if owner is not None else ()
    return {task.name for task in tasks if task.depends and task.name not in seen}


def gang_minimum(gang: Gang) -> tuple[Amounts, int]:
    """Minimum per pod set (none where the gang's own minimum is below their sum) and in all."""
    sets = Amounts.of({pod_set.name: pod_set.minimum for pod_set in gang.pod_sets})
    return (sets if gang.minimum >= sets.pods() else Amounts()), gang.minimum


def _group_minimum(
    group: GroupRecord, owner: OwnerRecord | None, seen: set[PodSetName]
) -> tuple[Amounts, int]:
    """The PodGroup's minimum without the tasks that still wait for others.

    A task with `dependsOn` and no pods yet is not started by its controller, so that waiting for
    it would wait for ever; its part of the minimum is left out until it has pods. When minMember
    is below the sum of the tasks' minimums, those do not bind (Volcano's rule).
    """
    tasks = owner.tasks if owner is not None else ()
    late = _late(owner, seen)
    sets = Amounts.of({n: p for n, p in group.min_task_member.entries if n not in late})
    if group.min_member >= group.min_task_member.pods():
        postponed = group.min_task_member.pods() - sets.pods()
        return sets, max(group.min_member - postponed, sets.pods(), 1)
    pods = sum(task.replicas for task in tasks if task.name not in late)
    return Amounts(), max(1, min(group.min_member, pods) if late else group.min_member)
