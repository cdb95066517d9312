"""Values in the order of their keys, changed one at a time and read as one tuple."""

from bisect import bisect_left
from typing import Generic, TypeVar

K = TypeVar("K", bound="tuple[object, ...] | str")
V = TypeVar("V")


class SortedValues(Generic[K, V]):
    """A sorted map with cheap single changes; `values()` is shared until something changes.

    Cost:  O(log n) to find, a move of pointers to insert, one copy of pointers to read.
    """

    __slots__ = ("_keys", "_tuple", "_values")

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._values: list[V] = []
        self._tuple: tuple[V, ...] | None = ()

    def set(self, key: K, value: V) -> None:
        """Insert or replace."""
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            self._values[at] = value
        else:
            self._keys.insert(at, key)
            self._values.insert(at, value)
        self._tuple = None

    def remove(self, key: K) -> None:
        """Remove it if it is there."""
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            del self._keys[at], self._values[at]
            self._tuple = None

    def get(self, key: K) -> V | None:
        """The value, None when absent."""
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            return self._values[at]
        return None

    def values(self) -> tuple[V, ...]:
        """All values by ascending key."""
        if self._tuple is None:
            self._tuple = tuple(self._values)
        return self._tuple

    def __len__(self) -> int:
        return len(self._keys)
