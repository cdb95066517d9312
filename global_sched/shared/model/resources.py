"""Amounts of resources: exact ints in base units, by name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.values import InvariantError

PODS = "pods"
"""Every pod asks for one of these, so that a node's pod limit is a resource like any other."""


@dataclass(frozen=True, slots=True, order=True)
class Resources:
    """A vector of amounts; a name that is absent is 0.

    `entries` is sorted by name and holds no zeros, so equal amounts are equal values.
    Build with `Resources.of`.
    """

    entries: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> "Resources":
        """Amounts by name; zeros are dropped. Raises InvariantError for a negative one."""
        for name, value in amounts.items():
            if value < 0:
                raise InvariantError(
                    f"resource {name} would be {value}: amounts are never negative"
                )
        return cls(tuple(sorted((n, v) for n, v in amounts.items() if v)))

    @classmethod
    def total(cls, parts: "Iterable[Resources]") -> "Resources":
        """The sum of all parts."""
        amounts: dict[str, int] = {}
        for part in parts:
            for name, value in part.entries:
                amounts[name] = amounts.get(name, 0) + value
        return cls(tuple(sorted(amounts.items())))

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def get(self, name: str) -> int:
        """The amount of one resource, 0 when absent."""
        for entry, value in self.entries:
            if entry == name:
                return value
        return 0

    def names(self) -> tuple[str, ...]:
        """The names with an amount, ascending."""
        return tuple(name for name, _ in self.entries)

    def plus(self, other: "Resources") -> "Resources":
        """The sum."""
        return Resources.total((self, other))

    def minus(self, other: "Resources") -> "Resources":
        """The difference. Raises InvariantError when `other` is not within this one."""
        amounts = dict(self.entries)
        for name, value in other.entries:
            amounts[name] = amounts.get(name, 0) - value
        return Resources.of(amounts)

    def times(self, factor: int) -> "Resources":
        """Each amount times a non-negative whole number."""
        return Resources.of({name: value * factor for name, value in self.entries})

    def at_least(self, other: "Resources") -> "Resources":
        """The larger amount of each name."""
        amounts = dict(self.entries)
        for name, value in other.entries:
            amounts[name] = max(amounts.get(name, 0), value)
        return Resources(tuple(sorted(amounts.items())))

    def within(self, limit: "Resources") -> bool:
        """Whether each amount is at most the limit's (absent there = 0)."""
        return all(value <= limit.get(name) for name, value in self.entries)

    def text(self) -> str:
        """`cpu 2, memory 4Gi`; the pod count is left out when anything else is there."""
        shown = [(n, v) for n, v in self.entries if n != PODS] or list(self.entries)
        return ", ".join(f"{n} {format_quantity(v, n)}" for n, v in shown) or "nothing"
