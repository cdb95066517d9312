"""A topology's domain tree with everything about it that room does not change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.topology import Domain

_DEEPEST = 64
_MOST_FAULTS = 2
"""So many HyperNodes that contradict each other are named in one refusal."""
_HIGHEST = 2**17
"""Sums over the pairs of two million pods are exact with tiers up to this one."""

TierSlices = tuple[tuple[int, NDArray[np.int64]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeIndex:
    """Domains by position, ascending by (tier, name); the position after the last is the root.

    The root stands for the whole cluster: it has no tier, and only soft or absent constraints
    reach it. Pods that have only the root in common count as one tier above the highest apart.
    """

    domains: tuple[Domain, ...]
    position: dict[DomainId, int]
    parent: tuple[int, ...]
    chain: tuple[tuple[int, ...], ...]
    """Per position: itself, its ancestors, and the root."""
    children: tuple[tuple[int, ...], ...]
    tier: tuple[int, ...]
    """Per position, the root included."""
    slices: tuple[tuple[int, int, int], ...]
    """(tier, first position, position after the last), ascending."""
    parents: NDArray[np.int64]
    """Per position its parent, the root's being itself, to index arrays with."""
    height: tuple[int, ...]
    """Per position what a pair costs there: the tier, but tiers far apart are brought closer."""
    heights_of: NDArray[np.int64]
    """`height` to index with arrays."""
    faults: str = ""
    """What a refusal for want of a domain adds: HyperNodes that contradict each other."""
    ambiguous: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Tier names that mean different tiers in different trees: by root position the tier there."""
    _under: dict[int, NDArray[np.bool_]] = field(default_factory=dict)
    _below: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    _cuts: dict[int, "Cut"] = field(default_factory=dict)
    _kinds: dict[int | None, str] = field(default_factory=dict)
    _parents_before: NDArray[np.int64] | None = None
    _levels: dict[int, "TierSlices"] = field(default_factory=dict)
    _flats: dict[int, bool] = field(default_factory=dict)
    _fans: dict[int, "Fan | None"] = field(default_factory=dict)

    @property
    def root(self) -> int:
        """The position of the whole cluster."""
        return len(self.domains)

    def at(self, domain: DomainId | None) -> int:
        """The position of a domain; the root for None and for one that does not exist."""
        return self.root if domain is None else self.position.get(domain, self.root)

    def tiers(self) -> tuple[int, ...]:
        """The tiers that exist, ascending."""
        return tuple(tier for tier, _, _ in self.slices)

    def kind_of(self, tier: int | None) -> str:
        """What domains of a tier are called: their tier's name, or `HyperNode of tier 1`."""
        found = self._kinds.get(tier)
        if found is None:
            named = (one.tier_name for one in self.domains if one.tier == tier and one.tier_name)
            found = self._kinds[tier] = next(named, f"HyperNode of tier {tier}")
        return found

    def up_to(self, tier: int) -> int:
        """The position after the last domain of a tier or below; 0 where none is so low."""
        for at, _, after in reversed(self.slices):
            if at <= tier:
                return after
        return 0

    def tier_of_name(self, name: str) -> int | None:
        """The tier of a tier name: the lowest one, should a name be used for several.

        Where trees differ in it, `tier_names` tells what it means in each.
        """
        return next((d.tier for d in self.domains if d.tier_name == name), None)

    def tree_of(self, position: int) -> int:
        """The topmost domain around a position; the root for itself."""
        return self.root if position == self.root else self.chain[position][-2]

    def under(self, position: int) -> NDArray[np.bool_]:
        """Which positions lie in a domain, itself included."""
        mask = self._under.get(position)
        if mask is None:
            mask = np.zeros(self.root + 1, dtype=np.bool_)
            mask[self.subtree(position)] = True
            self._under[position] = mask
        return mask

    def below(self, position: int) -> NDArray[np.int64]:
        """The children of a position, ascending by name, to index arrays with."""
        found = self._below.get(position)
        if found is None:
            found = self._below[position] = np.array(self.children[position], dtype=np.int64)
        return found

    def subtree(self, position: int) -> list[int]:
        """A domain and everything below it."""
        found = [position]
        for item in found:
            found.extend(self.children[item])
        return found

    def levels(self, position: int) -> "TierSlices":
        """What lies in a domain, tier by tier: what a pair saves there at best, and the positions.

        All that is kept together is as long as all chains are.
        """
        found = self._levels.get(position)
        if found is None:
            inside = np.array(sorted(self.subtree(position)[1:]), dtype=np.int64)
            heights = self.heights_of[inside]
            starts = np.flatnonzero(np.diff(heights)) + 1
            found = self._levels[position] = tuple(
                [
                    (int(self.heights_of[self.parents[one]].max()) - self.height[one[0]], one)
                    for one in np.split(inside, starts)
                    if len(one)
                ]
            )
        return found

    def cut(self, tier: int) -> "Cut":
        """The tree cut at a tier: the highest domains of at most that tier, and what is above."""
        found = self._cuts.get(tier)
        if found is None:
            high = np.array([t > tier for t in self.tier], dtype=np.bool_)
            high[self.root] = True
            places = np.arange(self.root + 1)
            tops = np.flatnonzero(~high & high[self.parents])
            above = [
                np.flatnonzero(high & (places >= first) & (places < after))
                for _, first, after in self.slices
            ]
            found = Cut(high, tops, tuple(level for level in above if len(level)))
            self._cuts[tier] = found
        return found

    def fan(self, tier: int) -> "Fan | None":
        """The domains of a tier whose children are leaves of one tier, side by side.

        None when there are none, or when their numbers of children differ too much for a table.
        """
        if tier not in self._fans:
            self._fans[tier] = self._make_fan(tier)
        return self._fans[tier]

    def _make_fan(self, tier: int) -> "Fan | None":
        bounds = next(((f, a) for t, f, a in self.slices if t == tier), (self.root, self.root + 1))
        parents = [at for at in range(*bounds) if self.flat(at)]
        listed = sum(len(self.children[at]) for at in parents)
        width = max((len(self.children[at]) for at in parents), default=0)
        if not parents or width * len(parents) > 4 * listed + 1024:
            return None
        table = np.full((len(parents), width), self.root + 1, dtype=np.int64)
        for row, at in enumerate(parents):
            table[row, : len(self.children[at])] = self.children[at]
        tiers = np.array([self.tier[self.children[at][0]] for at in parents], dtype=np.int64)
        rows = np.full(self.root + 1, -1, dtype=np.int64)
        rows[parents] = np.arange(len(parents))
        there = table <= self.root
        table[~there] = self.root
        heights = self.heights_of[table[:, 0]]
        whole = None if there.all() else there
        return Fan(rows, table, whole, tiers, self.height[parents[0]], heights)

    def childless(self, first: int, last: int) -> bool:
        """Whether no domain from one position to another has children."""
        if self._parents_before is None:
            has = np.array([bool(below) for below in self.children], dtype=np.int64)
            object.__setattr__(self, "_parents_before", np.concatenate(([0], np.cumsum(has))))
        before = self._parents_before
        assert before is not None, "made above"
        return bool(before[last + 1] == before[first])

    def flat(self, position: int) -> bool:
        """Whether a domain has children, all of them leaves of one tier."""
        known = self._flats.get(position)
        if known is None:
            below = self.children[position]
            known = self._flats[position] = (
                bool(below)
                and not any(self.children[at] for at in below)
                and len({self.tier[at] for at in below}) == 1
            )
        return known

    def common(self, left: int, right: int) -> int:
        """The smallest domain around two."""
        around = set(self.chain[left])
        return next(item for item in self.chain[right] if item in around)


@dataclass(frozen=True, slots=True)
class Cut:
    """A tree cut at a tier, by positions."""

    high: NDArray[np.bool_]
    """Which positions are above the cut, the root among them."""
    tops: NDArray[np.int64]
    """The highest domains below the cut: none of them lies in another."""
    levels: tuple[NDArray[np.int64], ...]
    """The domains above the cut without the root, tier by tier, ascending."""


@dataclass(frozen=True, slots=True)
class Fan:
    """Domains with leaves as children: a row for each, padded with the root."""

    rows: NDArray[np.int64]
    """By position the row of a domain, -1 where it has none."""
    children: NDArray[np.int64]
    there: NDArray[np.bool_] | None
    """Which of `children` are no padding; None where all are."""
    tiers: NDArray[np.int64]
    """Per row the tier of the children."""
    height: int
    """What a pair costs in these domains."""
    heights: NDArray[np.int64]
    """Per row what a pair costs in a child."""


def tree_index(domains: Sequence[Domain], problems: Sequence[str] = ()) -> TreeIndex:
    """Index a tree; `problems` are those of its HyperNodes, and others.

    A parent that is missing or not above its child counts as none.

    Reports come from elsewhere, so nothing here relies on the tree being a good one.
    """
    ordered = tuple(sorted(domains, key=lambda d: (d.tier, d.name)))
    position = {domain.name: at for at, domain in enumerate(ordered)}
    root = len(ordered)
    parent = [_parent(domain, position, ordered) for domain in ordered]
    chain: list[tuple[int, ...]] = [(root,)] * (root + 1)
    for at in range(root - 1, -1, -1):
        above = chain[parent[at]]
        if len(above) > _DEEPEST:
            parent[at], above = root, (root,)
        chain[at] = (at, *above)
    children: list[list[int]] = [[] for _ in range(root + 1)]
    for at, above_at in enumerate(parent):
        children[above_at].append(at)
    tiers = (*(d.tier for d in ordered), ordered[-1].tier + 1 if ordered else 1)
    heights = _heights(tiers)
    return TreeIndex(
        domains=ordered,
        position=position,
        parent=(*parent, -1),
        chain=tuple(chain),
        children=tuple(tuple(sorted(below, key=lambda at: ordered[at].name)) for below in children),
        tier=tiers,
        height=heights,
        slices=_slices(ordered),
        parents=np.array([*parent, root], dtype=np.int64),
        heights_of=np.array(heights, dtype=np.int64),
        ambiguous=_ambiguous(ordered, chain),
        faults=_faults([one for one in problems if one.startswith("HyperNode ")]),
    )


def _ambiguous(
    ordered: Sequence[Domain], chain: Sequence[tuple[int, ...]]
) -> Mapping[str, Mapping[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for at, domain in enumerate(ordered):
        if domain.tier_name:
            found.setdefault(domain.tier_name, {}).setdefault(chain[at][-2], domain.tier)
    return {name: tiers for name, tiers in found.items() if len(set(tiers.values())) > 1}


def _faults(problems: Sequence[str]) -> str:
    more = f" and {len(problems) - _MOST_FAULTS} more" if len(problems) > _MOST_FAULTS else ""
    named = (one.split(" ", 2) for one in problems[:_MOST_FAULTS])
    return (
        "".join(f"; HyperNode {name.rstrip(':')}: {' '.join(why)}" for _, name, *why in named)
        + more
    )


def _parent(domain: Domain, position: dict[DomainId, int], ordered: tuple[Domain, ...]) -> int:
    at = position.get(domain.parent) if domain.parent is not None else None
    return len(ordered) if at is None or ordered[at].tier <= domain.tier else at


def _heights(tiers: tuple[int, ...]) -> tuple[int, ...]:
    """The tiers, or in the same order and nearly the same proportion where sums would overflow."""
    if tiers[-1] <= _HIGHEST:
        return tiers
    known = sorted(set(tiers))
    span = known[-1] - known[0]
    height, heights = 0, {known[0]: 0}
    for below, tier in pairwise(known):
        height += max(1, (tier - below) * _HIGHEST // span)
        heights[tier] = height
    return tuple(heights[tier] for tier in tiers)


def _slices(ordered: tuple[Domain, ...]) -> tuple[tuple[int, int, int], ...]:
    bounds: dict[int, tuple[int, int]] = {}
    for at, domain in enumerate(ordered):
        first, _ = bounds.get(domain.tier, (at, at))
        bounds[domain.tier] = (first, at + 1)
    return tuple((tier, first, after) for tier, (first, after) in sorted(bounds.items()))
