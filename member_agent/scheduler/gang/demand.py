"""The demand of a unit: its waiting pods by equal shape, and how many make its minimum."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from global_sched.shared.api.volcano import SubGroupPolicy
from global_sched.shared.kinds import GROUPED
from global_sched.shared.model.gang import Amounts, Gang, Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.placement import annotations_constraint, constraint_of
from member_agent.cache import ManagedWorkload, PodRecord, PodUnit
from member_agent.scheduler.gang.minimum import have_of, lacking
from member_agent.scheduler.gang.subgroups import (
    Key,
    by_index,
    constraint_of_policy,
    family_of,
    key_of,
    oversized,
    policy_of,
    rank_of,
    size_of,
)

Begun = frozenset[tuple[str, Key]]
"""Subgroups of units (by unit key) of which pods are bound, being bound, or have a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeDemand:
    """Equal pods of one pod set: those that wait (lower index first), and those still to come.

    Pods of one pod set usually have one shape; while a template changes there are several parts,
    and the second and further ones are named `set~2`, `set~3`.
    """

    name: PodSetName
    pod_set: PodSetName
    shape: PodShape
    pods: tuple[PodRecord, ...] = ()
    coming: int = 0
    partition: Partition | None = None
    mates: tuple[PodRecord, ...] = ()
    """Bound pods of the same subgroup: these pods belong beside them, under its constraint."""
    in_order: bool = False
    """Whether places are for the pods in their order: groups go by labels, not by index."""

    @property
    def by_name(self) -> bool:
        """Whether its places say for which pod each is."""
        return self.in_order or bool(self.mates)

    @property
    def count(self) -> int:
        """All pods, here or to come."""
        return len(self.pods) + self.coming


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingDemand:
    """Lots in the template's order, what of them the minimum lacks, and the constraint."""

    parts: tuple[ShapeDemand, ...]
    least: Amounts
    """By part: must be placed, else nothing is."""
    constraint: TopologyConstraint | None

    def gang(self) -> Gang:
        """The demand as placement reads it."""
        return Gang(
            pod_sets=tuple(
                PodSet(
                    name=part.name,
                    count=part.count,
                    minimum=self.least.get(part.name),
                    shape=part.shape,
                    partition=part.partition,
                )
                for part in self.parts
                if not part.mates
            ),
            minimum=self.least.pods(),
            constraint=self.constraint,
        )

    def amounts(self) -> Amounts:
        """Every pod of each part."""
        return Amounts.of({part.name: part.count for part in self.parts})


def unit_constraint(unit: PodUnit) -> TopologyConstraint | None:
    """The unit's topology constraint: its PodGroup's, else the one in its pods' annotations.

    Raises:  SpecError.
    """
    constraint = constraint_of(unit.topology)
    if constraint is not None or unit.root_kind in GROUPED:
        return constraint  # what pods of groups say bounds each group
    pods = (*unit.waiting, *unit.placed)
    return annotations_constraint(dict(pods[0].annotations)) if pods else None


def shape_demands(unit: PodUnit, pods: Sequence[PodRecord]) -> list[ShapeDemand]:
    """These waiting pods by pod set and shape, in the order in which they come.

    Pods of a subgroup are neighbours. Where a subgroup holds pods of several sets or shapes, or
    more pods than its size, its parts are parts of their own that lie together.

    Raises:  SpecError for a subgroup's constraint that cannot be read.
    """
    running: dict[Key, list[PodRecord]] = {}
    for pod in unit.staying():
        if subgroup := key_of(unit, pod):
            running.setdefault(subgroup, []).append(pod)
    mixed = _mixed(unit, pods) | set(oversized(unit, pods)) | _incomplete(unit, pods)
    grouped: dict[tuple[PodSetName, PodShape, int, Key, Key], list[PodRecord]] = {}
    for pod in _neighbours(unit, pods):
        key = key_of(unit, pod)
        beside = key if key in running else ()
        alone = key if key in mixed and not beside else ()
        rule = rank_of(unit, pod)
        grouped.setdefault((pod.pod_set, pod.shape, rule, beside, alone), []).append(pod)
    seen: dict[PodSetName, int] = {}
    placed: set[tuple[PodSetName, PodShape]] = set()
    parts: list[ShapeDemand] = []
    for (pod_set, shape, rule, beside, alone), alike in grouped.items():
        seen[pod_set] = number = seen.get(pod_set, 0) + 1
        # Places by position are for one part of a set and shape; others name their pods.
        again = (pod_set, shape) in placed
        placed.add((pod_set, shape))
        policy = unit.subgroups[rule] if rule >= 0 else None
        parts.append(
            ShapeDemand(
                name=pod_set if number == 1 else PodSetName(f"{pod_set}~{number}"),
                pod_set=pod_set,
                shape=shape,
                pods=tuple(alike),
                partition=None if policy is None else _partition(unit, policy, alike, alone),
                mates=tuple(running.get(beside, ())),
                in_order=again or (policy is not None and not _by_position(unit, policy)),
            )
        )
    return parts


def _neighbours(unit: PodUnit, pods: Sequence[PodRecord]) -> list[PodRecord]:
    """The pods in their order, but those of one subgroup next to each other."""
    first: dict[Key, int] = {}
    ranks: list[tuple[int, int, PodRecord]] = []
    for at, pod in enumerate(pods):
        policy = policy_of(unit.subgroups, pod)
        key = key_of(unit, pod)
        plain = policy is None or _by_position(unit, policy)
        ranks.append((at if plain else first.setdefault(key, at), at, pod))
    return [pod for _, _, pod in sorted(ranks, key=lambda item: item[:2])]


def _by_position(unit: PodUnit, policy: SubGroupPolicy) -> bool:
    """Whether a pod's index says in which group it is.

    So it is for a directed workload, since pods that are still to come have their places already.
    """
    return unit.binding is not None and by_index(policy)


def _incomplete(unit: PodUnit, pods: Sequence[PodRecord]) -> set[Key]:
    """Subgroups of which fewer pods wait than make one whole: each is a group of its own size."""
    counts: dict[Key, int] = {}
    sizes: dict[Key, int] = {}
    for pod in pods:
        policy = policy_of(unit.subgroups, pod)
        if policy is None or family_of(unit, policy) or _by_position(unit, policy):
            continue
        key = key_of(unit, pod)
        counts[key] = counts.get(key, 0) + 1
        sizes[key] = size_of(policy)
    return {key for key, count in counts.items() if count < sizes[key]}


def _mixed(unit: PodUnit, pods: Sequence[PodRecord]) -> set[Key]:
    """Subgroups of one policy that hold pods of several sets or shapes."""
    kinds: dict[Key, set[tuple[PodSetName, PodShape]]] = {}
    for pod in pods:
        policy = policy_of(unit.subgroups, pod)
        if policy is not None and not family_of(unit, policy):
            kinds.setdefault(key_of(unit, pod), set()).add((pod.pod_set, pod.shape))
    return {key for key, held in kinds.items() if len(held) > 1}


def _partition(
    unit: PodUnit, policy: SubGroupPolicy, pods: Sequence[PodRecord], alone: Key
) -> Partition:
    """The partition that a subgroup policy makes of these pods; `alone`: they are in one group."""
    size = len(pods) if alone else size_of(policy)
    return Partition(
        size=size,
        total=len(pods) // size,
        minimum=max(0, policy.min_sub_groups or 0),
        constraint=constraint_of_policy(policy),
        together="/".join(alone) if alone else family_of(unit, policy),
    )


# --- the minimum ----------------------------------------------------------------------------


def least_of(chosen: Iterable[PodRecord], parts: Sequence[ShapeDemand]) -> Amounts:
    """By part how many of these pods it has."""
    uids = {pod.uid for pod in chosen}
    return Amounts.of({part.name: sum(pod.uid in uids for pod in part.pods) for part in parts})


def spread_over_lots(least: Amounts, parts: Sequence[ShapeDemand]) -> Amounts:
    """A minimum by pod set as a minimum by part: the first parts make it up."""
    left = dict(least.entries)
    amounts: dict[PodSetName, int] = {}
    for part in parts:
        take = min(left.get(part.pod_set, 0), part.count)
        amounts[part.name] = take
        left[part.pod_set] = left.get(part.pod_set, 0) - take
    return Amounts.of(amounts)


# --- directed demand ------------------------------------------------------------------------


def managed_demand(
    entry: ManagedWorkload, units: Sequence[PodUnit], taken: Amounts, begun: Begun = frozenset()
) -> RemainingDemand | None:
    """What room a directed workload still needs here: admitted pods less `taken`, arrived or not.

    Pods that are here ask for themselves; those that are not here yet ask for what the Directive
    says of them. None when nothing is known of any pod that is left.

    Raises:  SpecError for a constraint that cannot be read.
    """
    left = entry.admitted.minus(taken)
    here: list[ShapeDemand] = []
    for unit in units:
        pods = allowed_pods(unit, unit.waiting, left.minus(_counted(here)), begun)
        here.extend(shape_demands(unit, pods))
    shapes = {p.name: p for p in entry.gang.pod_sets} if entry.gang else {}
    parts: list[ShapeDemand] = []
    for name in dict.fromkeys([*shapes, *(part.pod_set for part in here)]):
        own = [part for part in here if part.pod_set == name]
        coming = left.get(name) - sum(part.count for part in own)
        parts.extend(_with_coming(own, shapes.get(name), coming))
    if not parts:
        return None
    arrived = next((unit for unit in units if unit.waiting or unit.placed), None)
    constraint = unit_constraint(arrived) if arrived else None
    if constraint is None and entry.gang is not None:
        constraint = entry.gang.constraint
    return RemainingDemand(
        parts=tuple(parts),
        least=spread_over_lots(_directed_least(entry, units, taken), parts),
        constraint=constraint,
    )


def _counted(parts: Iterable[ShapeDemand]) -> Amounts:
    counts: dict[PodSetName, int] = {}
    for part in parts:
        counts[part.pod_set] = counts.get(part.pod_set, 0) + part.count
    return Amounts.of(counts)


def _with_coming(own: list[ShapeDemand], declared: PodSet | None, coming: int) -> list[ShapeDemand]:
    """The parts of one pod set, with the pods that are still to come in the part they belong to."""
    if coming <= 0:
        return own
    if declared is None:
        # Their requests are unknown: assumed equal to those of pods that are here.
        at = next((at for at, part in enumerate(own) if not part.mates), None)
        return own if at is None else [*own[:at], _grown(own[at], coming), *own[at + 1 :]]
    for at, part in enumerate(own):
        if part.shape == declared.shape and not part.mates:
            return [*own[:at], _grown(part, coming), *own[at + 1 :]]
    name = declared.name if not own else PodSetName(f"{declared.name}~{len(own) + 1}")
    return [
        *own,
        ShapeDemand(
            name=name,
            pod_set=declared.name,
            shape=declared.shape,
            coming=coming,
            partition=declared.partition,
        ),
    ]


def _grown(part: ShapeDemand, coming: int) -> ShapeDemand:
    return replace(part, coming=part.coming + coming)


def _directed_least(entry: ManagedWorkload, units: Sequence[PodUnit], taken: Amounts) -> Amounts:
    """The minimum that was admitted first, less what is there."""
    if entry.gang is not None:
        minimum = entry.gang.minimum_amounts()
    else:
        minimum = Amounts()
        for unit in units:
            own = lacking(unit, unit.waiting)
            minimum = minimum.plus(Amounts() if isinstance(own, str) else own.plus(have_of(unit)))
    succeeded = Amounts()
    for unit in units:
        succeeded = succeeded.plus(unit.succeeded)
    admitted = Amounts.of({n: min(p, entry.admitted.get(n)) for n, p in minimum.entries})
    return admitted.minus(taken).minus(succeeded)


def allowed_pods(
    unit: PodUnit, pods: Iterable[PodRecord], left: Amounts, begun: Begun = frozenset()
) -> list[PodRecord]:
    """The first of these pods of each pod set, at most so many; of new subgroups all or none.

    What subgroups that have begun lack comes first: those of which pods are bound, or in `begun`.
    """
    pods = list(pods)
    grouped = bool(unit.subgroups)
    keys: dict[str, Key] = {pod.uid: key_of(unit, pod) for pod in pods} if grouped else {}
    started = {key_of(unit, pod) for pod in unit.staying()} if grouped else set()
    started |= {key for name, key in begun if name == unit.key}
    room = dict(left.entries)
    allowed: set[str] = set()
    fresh: dict[Key, list[PodRecord]] = {}
    for pod in pods:
        key = keys.get(pod.uid, ())
        if key and key not in started:
            fresh.setdefault(key, []).append(pod)
        elif room.get(pod.pod_set, 0) > 0:
            room[pod.pod_set] -= 1
            allowed.add(pod.uid)
    for group in fresh.values():
        needs = _whole_group(unit, group)
        if all(room.get(name, 0) >= number for name, number in needs.items()):
            allowed.update(pod.uid for pod in group)
            room.update({name: room[name] - number for name, number in needs.items()})
    return [pod for pod in pods if pod.uid in allowed]


def _whole_group(unit: PodUnit, pods: Sequence[PodRecord]) -> dict[PodSetName, int]:
    """How many pods of each pod set make a subgroup whole of which these wait and none runs.

    Those that are still to come count, too, but where some of the pod set have succeeded.
    """
    sets = Counter(pod.pod_set for pod in pods)
    for pod in pods:
        policy = policy_of(unit.subgroups, pod)
        own = {p.pod_set for p in pods if policy_of(unit.subgroups, p) is policy}
        if policy is not None and len(own) == 1 and not unit.succeeded.get(pod.pod_set):
            sets[pod.pod_set] = max(sets[pod.pod_set], size_of(policy))
    return sets
