"""HyperNodes that have the same nodes: a fact that is written twice is no contradiction.

Two tools may both write a rack, or a spine may list its racks' nodes a second time itself. All
HyperNodes with exactly the same nodes below them, however they list them, are one group. Of each
tier the oldest one stands for the others, and those of higher tiers lie around the lower ones,
as in a tree that was written once. What lists any of a group lists its outermost one below itself.

Facts that differ by a single node are left as they are: which of them is right is not known.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from global_sched.shared.placement.tree.member_selectors import Listed

_MOST_COUNTED = 5_000_000
"""Nodes of all HyperNodes together, each with all that is below it; a hostile tree stops here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """What each HyperNode lists once every fact counts once."""

    listed: Mapping[str, Listed]
    same: Mapping[str, str] = field(default_factory=dict)
    """HyperNodes that another one stands for: they are domains of the tree without nodes."""


class _Group:
    """HyperNodes with the same nodes, some of which may be of one tier."""

    def __init__(self, names: Sequence[str], tiers: Mapping[str, int]) -> None:
        self.names = names
        self.firsts: dict[int, str] = {}
        """By tier, ascending, the one that stands for those of its tier."""
        for name in sorted(names, key=lambda name: tiers[name]):
            self.firsts.setdefault(tiers[name], name)

    def below(self, tier: int) -> str:
        """The outermost one below a tier; empty where there is none."""
        return next((one for at, one in reversed(self.firsts.items()) if at < tier), "")

    def inside(
        self, tiers: Mapping[str, int], listed: Mapping[str, Listed]
    ) -> Mapping[str, set[str]]:
        """What each of those that stand for a tier lists: the next lower one, and other children.

        What any of the group lists besides lies in the lowest one that is above it.
        """
        found: dict[str, set[str]] = {name: set() for name in self.names}
        for lower, upper in pairwise(self.firsts.values()):
            found[upper].add(lower)
        others = {child for name in self.names for child in listed[name].children}
        for child in others.difference(self.names):
            above = [at for at in self.firsts if at > tiers.get(child, -1)]
            found[self.firsts[above[0] if above else max(self.firsts)]].add(child)
        return found


def merge_twins(tiers: Mapping[str, int], listed: Mapping[str, Listed]) -> Twins:
    """Read HyperNodes so that redundant facts are one.

    tiers:   of the good ones, in the order in which they stand for others of their tier.
    """
    contents = _contents(tiers, listed)
    by_nodes: dict[frozenset[str], list[str]] = {}
    for name in tiers:
        if name in contents:
            by_nodes.setdefault(contents[name], []).append(name)
    groups = [_Group(names, tiers) for names in by_nodes.values() if len(names) > 1]
    group_of = {name: group for group in groups for name in group.names}
    same = {
        name: first
        for name, group in sorted(group_of.items())
        if (first := group.firsts[tiers[name]]) != name
    }
    beside: dict[str, list[str]] = {}
    for name, first in same.items():
        beside.setdefault(first, []).append(name)
    children: dict[str, Iterable[str]] = {name: listed[name].children for name in tiers}
    for group in groups:
        children.update(group.inside(tiers, listed))
    found = dict(listed)
    for name in tiers:
        once = {_meant(child, name, group_of.get(child), tiers) for child in children[name]}
        more = {twin for child in once for twin in beside.get(child, ())}
        own = Listed() if name in same else listed[name]
        found[name] = replace(own, children=tuple(sorted(once | more)))
    return Twins(listed=found, same=same)


def _meant(child: str, lister: str, group: _Group | None, tiers: Mapping[str, int]) -> str:
    """What a HyperNode lists when it names one of a group: the outermost below itself."""
    if group is None or lister in group.names:
        return child
    return group.below(tiers[lister]) or child


def _contents(
    tiers: Mapping[str, int], listed: Mapping[str, Listed]
) -> Mapping[str, frozenset[str]]:
    """All nodes in and below each HyperNode that has some; not in or above a cycle, or a bad one.

    Nothing where that is absurdly much: then nothing is merged.
    """
    done: dict[str, frozenset[str] | None] = {}
    counted = 0
    for start in tiers:
        stack = [start]
        while stack:
            name = stack[-1]
            if name in done and done[name] is not None:
                stack.pop()
                continue
            below = [child for child in listed[name].children if child in tiers]
            if name not in done:
                done[name] = None  # entered
                stack.extend(child for child in below if child not in done)
                continue
            parts = [done[child] for child in below]
            nodes = frozenset(listed[name].nodes).union(*[part or () for part in parts])
            done[name] = nodes if all(part is not None for part in parts) else frozenset()
            counted += len(nodes)
            if counted > _MOST_COUNTED:
                return {}
            stack.pop()
    return {name: nodes for name, nodes in done.items() if nodes}
