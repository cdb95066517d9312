"""Topology constraints as users write them, in the one form that placement reads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from global_sched.shared.api.names import PARTITIONS_TOGETHER, TOPOLOGY_MODE, TOPOLOGY_TIER
from global_sched.shared.api.volcano import NetworkTopology
from global_sched.shared.model.gang import Mode, PodSet, TopologyConstraint
from global_sched.shared.placement.requirements import SpecError

_LONGEST_NAME = 253
_HIGHEST_TIER = 2**31


def constraint_of(topology: NetworkTopology | None) -> TopologyConstraint | None:
    """The constraint of a Volcano Job, a PodGroup or a partition; None when there is none.

    The mode is hard when nothing is said. A hard constraint without a tier stays one: clusters
    refuse it, because upstream's reading of it as "no constraint" is what users complain about.
    Soft needs no tier and drops it.

    Raises:  SpecError for an unknown mode, both tier fields, or a tier out of range.
    """
    if topology is None:
        return None
    mode = _mode(topology.mode, "networkTopology.mode")
    tier, name = topology.highest_tier_allowed, topology.highest_tier_name
    if tier is not None and name:
        raise SpecError(
            "networkTopology", "highestTierAllowed and highestTierName exclude each other"
        )
    if len(name) > _LONGEST_NAME:
        raise SpecError("networkTopology.highestTierName", "is longer than 253 characters")
    if tier is not None:
        _check_tier(tier, "networkTopology.highestTierAllowed")
    if mode == Mode.SOFT:
        return TopologyConstraint(mode=mode)
    return TopologyConstraint(mode=mode, highest_tier=tier, highest_tier_name=name)


def annotations_constraint(annotations: Mapping[str, str] | None) -> TopologyConstraint | None:
    """The constraint in a pod template's annotations, for kinds without a field for it.

    Raises:  SpecError naming the annotation, for an unknown mode or a tier that is no number.
    """
    mode_text = (annotations or {}).get(TOPOLOGY_MODE, "")
    tier_text = (annotations or {}).get(TOPOLOGY_TIER, "")
    if not mode_text and not tier_text:
        return None
    mode = _mode(mode_text, f"annotation {TOPOLOGY_MODE}")
    field = f"annotation {TOPOLOGY_TIER}"
    tier: int | None = None
    if tier_text:
        digits = tier_text.strip()
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > 10:
            raise SpecError(field, f"{tier_text[:40]!r} is not a whole number such as 1")
        tier = int(digits)
        _check_tier(tier, field)
    if mode == Mode.SOFT:
        return TopologyConstraint(mode=mode)
    return TopologyConstraint(mode=mode, highest_tier=tier)


def families_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The sets of tasks whose partitions lie together, as the annotation lists them, sorted.

    `prefill,decode; a,b` are two sets. Sets of one task say nothing and are left out.
    """
    sets = ({name.strip() for name in part.split(",")} - {""} for part in text.split(";"))
    return tuple(tuple(sorted(names)) for names in sets if len(names) > 1)


def with_families(pod_sets: Sequence[PodSet], text: str) -> tuple[PodSet, ...]:
    """The pod sets, with those that share their partitions marked so.

    Raises:  SpecError when a set names what is no task with partitions, or tasks that differ in
             how many they have, or one task twice.
    """
    field = f"annotation {PARTITIONS_TOGETHER}"
    known = {str(pod_set.name): pod_set for pod_set in pod_sets}
    families = families_of(text)
    family_of: dict[str, str] = {}
    for names in families:
        for name in names:
            if name not in known or known[name].partition is None:
                raise SpecError(field, f"{name[:80]!r} is no task with a partitionPolicy")
            if name in family_of:
                raise SpecError(field, f"{name!r} is in two sets")
            family_of[name] = "+".join(names)
        totals = {p.total for name in names if (p := known[name].partition) is not None}
        if len(totals) > 1:
            raise SpecError(field, f"{', '.join(names)} differ in totalPartitions")
    return tuple(
        replace(one, partition=replace(one.partition, together=family_of[one.name]))
        if one.partition is not None and one.name in family_of
        else one
        for one in pod_sets
    )


def _mode(text: str, field: str) -> Mode:
    try:
        return Mode(text or Mode.HARD)
    except ValueError as error:
        raise SpecError(field, f"{text[:40]!r} is none of hard, soft") from error


def _check_tier(tier: int, field: str) -> None:
    if not 0 <= tier < _HIGHEST_TIER:
        raise SpecError(field, f"{tier} is not a tier: tiers are whole numbers from 0")
