"""A dict of what was worked out, up to a number of entries: the oldest goes first.

What is kept is keyed by what users write (shapes, gangs), so every such dict has a bound, and each
belongs to the object that asks: to the rows of one pass, or to the baseline of one topology. Where
the key is an object's `id`, the entry holds the object, so that no other object gets its identity.
"""

from collections.abc import Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(dict[K, V]):
    """At most `most` entries; read it as a dict, write with `keep`."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def keep(self, key: K, value: V) -> V:
        """Keep a value, and return it. Cost O(1)."""
        if len(self) >= self.most and key not in self:
            del self[next(iter(self))]
        self[key] = value
        return value
