"""Tier names that mean another tier in another tree of one cluster.

A cluster may have several trees (roots of its HyperNodes), and a name such as `rack` may stand at
tier 1 in one and at tier 2 in the other. It means the tier that has it in the tree that is looked
at: the gang is read once for all trees by the lowest meaning, which no tree forbids, and then for
each tree in which a name means more, with that tier as a number.
"""

from collections.abc import Iterable
from dataclasses import replace

from global_sched.shared.model.gang import Gang, Mode, TopologyConstraint
from global_sched.shared.placement.tree.domain_index import TreeIndex

Reading = tuple[Gang, int]
"""A gang with tiers as numbers, and the root of the tree where they are meant."""


def is_ambiguous(index: TreeIndex, gang: Gang) -> bool:
    """Whether a name that the gang's constraints use has several meanings here."""
    return bool(index.ambiguous) and not index.ambiguous.keys().isdisjoint(_names(gang))


def readings(index: TreeIndex, gang: Gang) -> tuple[Reading, ...]:
    """The trees in which some name means a higher tier than the lowest one, lowest tiers first."""
    if not is_ambiguous(index, gang):
        return ()
    names = sorted(_names(gang) & index.ambiguous.keys())
    roots = {at for name in names for at in index.ambiguous[name]}
    found = []
    for root in roots:
        tiers = [tier_in(index, name, root) for name in names]
        if tiers != [index.tier_of_name(name) for name in names]:
            found.append((tiers, index.domains[root].name, root))
    return tuple((_read(index, gang, root), root) for _, _, root in sorted(found))


def tier_in(index: TreeIndex, name: str, root: int) -> int:
    """The tier of an ambiguous name in a tree: the lowest one there is, where it has none there."""
    meanings = index.ambiguous[name]
    return meanings.get(root, min(meanings.values()))


def _names(gang: Gang) -> set[str]:
    return {one.highest_tier_name for one in _constraints(gang) if one.mode == Mode.HARD} - {""}


def _constraints(gang: Gang) -> Iterable[TopologyConstraint]:
    inner = [one.partition.constraint for one in gang.pod_sets if one.partition is not None]
    return [one for one in (gang.constraint, *inner) if one is not None]


def _read(index: TreeIndex, gang: Gang, root: int) -> Gang:
    def number(one: TopologyConstraint | None) -> TopologyConstraint | None:
        if one is None or one.highest_tier_name not in index.ambiguous:
            return one
        tier = tier_in(index, one.highest_tier_name, root)
        return replace(one, highest_tier=tier, highest_tier_name="")

    sets = tuple(
        one
        if one.partition is None
        else replace(
            one, partition=replace(one.partition, constraint=number(one.partition.constraint))
        )
        for one in gang.pod_sets
    )
    return replace(gang, pod_sets=sets, constraint=number(gang.constraint))
