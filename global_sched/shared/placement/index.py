"""A topology's domain tree with everything about it that room does not change."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.topology import Domain

_DEEPEST = 64


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
    _under: dict[int, NDArray[np.bool_]] = field(default_factory=dict)
    _below: dict[int, NDArray[np.int64]] = field(default_factory=dict)

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

    def tier_of_name(self, name: str) -> int | None:
        """The tier of a tier name: the lowest one, should a name be used for several."""
        return next((d.tier for d in self.domains if d.tier_name == name), None)

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

    def common(self, left: int, right: int) -> int:
        """The smallest domain around two."""
        around = set(self.chain[left])
        return next(item for item in self.chain[right] if item in around)


def tree_index(domains: Sequence[Domain]) -> TreeIndex:
    """Index a tree. A parent that is missing or not above its child counts as none.

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
    return TreeIndex(
        domains=ordered,
        position=position,
        parent=(*parent, -1),
        chain=tuple(chain),
        children=tuple(tuple(sorted(below, key=lambda at: ordered[at].name)) for below in children),
        tier=(*(d.tier for d in ordered), ordered[-1].tier + 1 if ordered else 1),
        slices=_slices(ordered),
    )


def _parent(domain: Domain, position: dict[DomainId, int], ordered: tuple[Domain, ...]) -> int:
    at = position.get(domain.parent) if domain.parent is not None else None
    return len(ordered) if at is None or ordered[at].tier <= domain.tier else at


def _slices(ordered: tuple[Domain, ...]) -> tuple[tuple[int, int, int], ...]:
    bounds: dict[int, tuple[int, int]] = {}
    for at, domain in enumerate(ordered):
        first, _ = bounds.get(domain.tier, (at, at))
        bounds[domain.tier] = (first, at + 1)
    return tuple((tier, first, after) for tier, (first, after) in sorted(bounds.items()))
