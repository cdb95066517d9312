"""A gang, compiled for one cluster: equal pods together, constraints as tiers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts, Gang, Mode, PodSet, TopologyConstraint
from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.words import did_you_mean
from global_sched.shared.placement.request.tier_names import is_ambiguous
from global_sched.shared.placement.result import Join
from global_sched.shared.placement.tree.domain_index import TreeIndex

TableKey = tuple[PodShape, str, str]
"""A shape; for one-per-node shapes also the pod set and the binding id (both else empty)."""

NOWHERE = -1
"""The anchor of a group whose running pods already break its constraint."""

_Piece = tuple[int, int | None, int, int, int | None, str]
"""(group size, tier, least, most, anchor, family)."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Pod sets that share their groups: so many groups at least and at most, under one tier.

    Without a tier that narrows only their numbers are equal: all of a group starts, or none of it.
    """

    name: str
    tier: int | None
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Where pods of a unit may lie together: under a domain of at most this tier.

    `tier` None: the lowest tier that fits, the whole cluster at worst. `scatter`: no constraint.
    """

    tier: int | None = None
    scatter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Pods of one shape that are placed alike: pod sets with equal shapes are one unit.

    `sets` are (name, least, most). `size` is that of a partition's groups, 0 for none; `tier` is
    the highest tier for a group, None where groups are only kept together as far as possible.
    """

    at: int
    """Its place among the task's units."""
    key: TableKey
    sets: tuple[tuple[PodSetName, int, int], ...]
    size: int = 0
    tier: int | None = None
    anchor: int | None = None
    """The domain in which a group runs already that these pods join; `NOWHERE` when none may."""
    family: str = ""
    """Units of one family have equally many groups; under a tier group i of each lies with the
    others'."""
    least: int = field(init=False)
    """Pods that must be placed."""
    most: int = field(init=False)
    """Pods that may be placed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", sum(least for _, least, _ in self.sets))
        object.__setattr__(self, "most", sum(most for _, _, most in self.sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be placed: the units, in the template's order, under one limit."""

    units: tuple[Unit, ...]
    limit: Limit
    any_number: bool
    """Nothing is required: as many as fit."""
    by_tree: bool = False
    """Whether a tier name of it means another tier in another tree (`tier_names`)."""
    least: int = field(init=False)
    """Pods that must be placed."""
    most: int = field(init=False)
    """Pods that may be placed."""
    lone: bool = field(init=False)
    """Whether counting one shape tells all of it: one pod set, of which all pods or none go."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", sum(unit.least for unit in self.units))
        object.__setattr__(self, "most", sum(unit.most for unit in self.units))
        unit = one_shape(self)
        lone = (
            unit is not None
            and len(unit.sets) == 1
            and unit.least == unit.most
            and not unit.key[1]
            and not unit.family
            and unit.anchor is None
        )
        object.__setattr__(self, "lone", lone)


def compile_task(
    index: TreeIndex,
    gang: Gang,
    amounts: Amounts,
    minimum: Amounts,
    binding: BindingId | None,
    joins: Sequence[Join] = (),
) -> Task | Verdict:
    """The task, or the verdict on a constraint that this cluster's tree cannot meet."""
    limit = _limit(index, gang.constraint)
    if isinstance(limit, Verdict):
        return limit
    families = _families(index, gang, amounts, minimum, limit)
    units: dict[tuple[TableKey, int, int | None, int, int], Unit] = {}
    for position, pod_set in enumerate(gang.pod_sets):
        most = min(pod_set.count, amounts.get(pod_set.name))
        least = min(most, minimum.get(pod_set.name))
        if most <= 0:
            continue
        inner = _inner_tier(index, pod_set, limit)
        if isinstance(inner, Verdict):
            return inner
        key = _table_key(pod_set, binding)
        alone = position if (pod_set.partition and pod_set.partition.size > 1) or key[1] else -1
        family = families.get(pod_set.partition.together) if pod_set.partition else None
        if family is not None:
            inner = family.tier
        pieces = _all_pieces(index, pod_set, inner, least, most, joins, family)
        for number, (size, tier, low, high, anchor, shared) in enumerate(pieces):
            apart = tier is not None or bool(shared)
            slot = (key, size, tier, position if apart else alone, number if apart else 0)
            known = units.get(slot)
            sets = (*(known.sets if known else ()), (pod_set.name, low, high))
            at = known.at if known else len(units)
            units[slot] = Unit(
                at=at, key=key, sets=sets, size=size, tier=tier, anchor=anchor, family=shared
            )
    return Task(
        units=tuple(units.values()),
        limit=limit,
        any_number=not any(n for _, n in minimum.entries),
        by_tree=is_ambiguous(index, gang),
    )


def _table_key(pod_set: PodSet, binding: BindingId | None) -> TableKey:
    if not pod_set.shape.most_per_node():
        return pod_set.shape, "", ""
    return pod_set.shape, pod_set.name, binding or ""


def limit_of(index: TreeIndex, constraint: TopologyConstraint | None) -> Limit | Verdict:
    """Under which tier a gang with that constraint lies here, or why the tree cannot say."""
    return _limit(index, constraint)


def _limit(index: TreeIndex, constraint: TopologyConstraint | None) -> Limit | Verdict:
    if constraint is None:
        return Limit(scatter=True)
    if constraint.mode == Mode.SOFT:
        return Limit()
    tier = _resolve(index, constraint)
    if isinstance(tier, Verdict):
        return tier
    return Limit() if tier >= index.tier[index.root] else Limit(tier=tier)


def _resolve(index: TreeIndex, constraint: TopologyConstraint) -> int | Verdict:
    tiers = index.tiers()
    if constraint.highest_tier is not None:
        # In a gap between two tiers the lower one bounds. Above the highest there is the whole
        # cluster, as Volcano's virtual top; without HyperNodes nothing is known to be close.
        allowed = [tier for tier in tiers if tier <= constraint.highest_tier]
        if allowed:
            top = index.tier[index.root]
            return top if constraint.highest_tier >= top else max(allowed)
        asked = f"tier {constraint.highest_tier}" + (" or below" if tiers else "")
    elif constraint.highest_tier_name:
        found = index.tier_of_name(constraint.highest_tier_name)
        if found is not None:
            return found
        asked = f"tier name {constraint.highest_tier_name!r}"
    else:
        return _unknown_tier(index, "the hard topology constraint names no tier")
    return _unknown_tier(index, f"the cluster has no {asked}", constraint.highest_tier_name)


def _unknown_tier(index: TreeIndex, problem: str, name: str = "") -> Verdict:
    names = dict.fromkeys(index.tiers(), "")
    for domain in index.domains:
        names[domain.tier] = names[domain.tier] or domain.tier_name
    shown = ", ".join(f"{tier} ({name})" if name else str(tier) for tier, name in names.items())
    exist = f"its tiers are {shown}" if names else "it has no HyperNodes"
    if name:
        exist += did_you_mean(name, {one.tier_name for one in index.domains} - {""})
    return Verdict(
        code=Code.NEVER,
        reason=Reason.TIER_UNKNOWN,
        detail=f"{problem}; {exist}{index.faults}",
        missing=1,
    )


def _inner_tier(index: TreeIndex, pod_set: PodSet, limit: Limit) -> int | Verdict | None:
    """The tier that groups of the pod set's partition must respect, where that narrows."""
    constraint = pod_set.partition.constraint if pod_set.partition else None
    if constraint is None or constraint.mode == Mode.SOFT:
        return None
    tier = _resolve(index, constraint)
    if isinstance(tier, Verdict):
        return Verdict(
            code=tier.code,
            reason=tier.reason,
            detail=f"partitions of {pod_set.name}: {tier.detail}",
            missing=1,
        )
    top = index.tier[index.root] if limit.tier is None else limit.tier
    return None if top <= tier else tier


def _all_pieces(
    index: TreeIndex,
    pod_set: PodSet,
    tier: int | None,
    least: int,
    most: int,
    joins: Sequence[Join],
    family: _Family | None,
) -> list[_Piece]:
    """Pods that join groups which run already, then the others."""
    pieces: list[_Piece] = []
    for join in joins:
        missing = min(join.missing, most)
        if join.pod_set != pod_set.name or tier is None or missing <= 0:
            continue
        low = missing if least > 0 else 0
        pieces.append((missing, tier, low, missing, _anchor(index, join, tier), ""))
        least, most = max(0, least - missing), most - missing
    size = pod_set.partition.size if pod_set.partition else 0
    if family is not None and size > 0 and most > 0:
        groups = min(family.most, most // size)
        low = min(groups, family.least)
        if groups:
            pieces.append((size, tier, low * size, groups * size, None, family.name))
        least, most = max(0, least - low * size), most - groups * size
    return [*pieces, *_pieces(pod_set, tier, min(least, most), most)]


def _families(
    index: TreeIndex, gang: Gang, amounts: Amounts, minimum: Amounts, limit: Limit
) -> dict[str, _Family]:
    """What the pod sets that share their groups have in common, by name."""
    found: dict[str, _Family] = {}
    for pod_set in gang.pod_sets:
        partition = pod_set.partition
        tier = _inner_tier(index, pod_set, limit)
        if partition is None or not partition.together or isinstance(tier, Verdict):
            continue
        size = max(1, partition.size)
        most = min(pod_set.count, amounts.get(pod_set.name)) // size
        least = min(most, -(-minimum.get(pod_set.name) // size))
        known = found.get(partition.together)
        if known is not None:
            tiers = [one for one in (tier, known.tier) if one is not None]
            tier, most = min(tiers, default=None), min(most, known.most)
            least = max(least, known.least)
        found[partition.together] = _Family(partition.together, tier, min(least, most), most)
    return found


def _anchor(index: TreeIndex, join: Join, tier: int) -> int:
    """The widest allowed domain around the group's running pods."""
    around = None
    for domain in join.domains:
        at = index.at(domain)
        around = at if around is None else index.common(around, at)
    if around is None:
        return NOWHERE
    allowed = [a for a in index.chain[around][:-1] if index.tier[a] <= tier]
    return allowed[-1] if allowed else NOWHERE


def _pieces(pod_set: PodSet, tier: int | None, least: int, most: int) -> list[_Piece]:
    """Whole groups, and what is left of the last one.

    A minimum that is no multiple of the size is rounded up to whole groups where they may all be
    placed, since part of a group is of no use.
    """
    partition = pod_set.partition
    if most <= 0:
        return []
    if partition is None or (partition.size <= 1 and tier is None):
        return [(0, None, least, most, None, "")]
    size = max(1, partition.size)
    if tier is None:
        return [(size, None, min(most, -(-least // size) * size), most, None, "")]
    whole = most // size * size
    low = min(whole, -(-least // size) * size)
    pieces: list[_Piece] = []
    if whole:
        pieces.append((size, tier, low, whole, None, ""))
    rest = most - whole
    if rest:
        pieces.append((rest, tier, max(0, min(rest, least - low)), rest, None, ""))
    return pieces


def one_shape(task: Task) -> Unit | None:
    """The unit of a task that counting one shape can answer; None for all others."""
    return None if task.by_tree else only_shape(task)


def only_shape(task: Task) -> Unit | None:
    """The same where trees may have to be counted one by one."""
    if len(task.units) != 1 or task.any_number:
        return None
    unit = task.units[0]
    return None if unit.tier is not None or unit.size > 1 else unit
