"""Dividing an amount between weights, exactly: water-filling with floors and ceilings.

Whole numbers in, whole numbers out. Each part rises with the same level times its weight,
starts at its floor and stops at its ceiling; the level is where all is given. What does not divide
goes by the largest remainder, then by place.
"""

from collections.abc import Sequence
from functools import total_ordering
from math import inf, lcm
from typing import NamedTuple

_PLACES = 384


class Portion(NamedTuple):
    """Who takes part: `floor` is given whatever there is, `ceiling` is where it has enough."""

    ceiling: int
    weight: int = 1
    floor: int = 0


@total_ordering
class Ratio:
    """An exact fraction that compares by multiplying crosswise; nothing is ever rounded.

    A denominator of 0 stands for infinity, whatever is over it.
    """

    __slots__ = ("over", "under")

    def __init__(self, over: int, under: int) -> None:
        self.over, self.under = over, under

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratio):
            return NotImplemented
        if not self.under or not other.under:
            return self.under == other.under
        return self.over * other.under == other.over * self.under

    def __lt__(self, other: "Ratio") -> bool:
        if not self.under or not other.under:
            return bool(self.under) and not other.under
        return self.over * other.under < other.over * self.under

    def __gt__(self, other: "Ratio") -> bool:
        if not self.under or not other.under:
            return bool(other.under) and not self.under
        return self.over * other.under > other.over * self.under

    def key(self) -> float:
        """A number that orders ratios as they are: equal for equal ones, exact below 2^192.

        Two fractions differ by at least one over both denominators, so cut off after so many
        binary places they differ too; with larger denominators they might count as equal.
        """
        return (self.over << _PLACES) // self.under if self.under else inf

    def __hash__(self) -> int:
        return hash(self.over / self.under if self.under else None)

    def __float__(self) -> float:
        return self.over / self.under if self.under else float("inf")

    def __repr__(self) -> str:
        return f"{self.over}/{self.under}"


NOTHING = Ratio(0, 1)


def water_fill(total: int, parts: Sequence[Portion]) -> list[int]:
    """What each part gets of the total, in their order.

    The sum is the total, or less when all have enough, or more when the floors alone are more. A
    part without a weight gets its floor.
    """
    given = [min(part.floor, max(part.ceiling, part.floor)) for part in parts]
    left = total - sum(given)
    if left <= 0:
        return given
    growing = [at for at, part in enumerate(parts) if part.weight > 0 and part.ceiling > part.floor]
    if sum(parts[at].ceiling - parts[at].floor for at in growing) <= left:
        for at in growing:
            given[at] = parts[at].ceiling
        return given
    level, under, rising = _level(left, parts, growing)
    return _pour(total, parts, given, (level, under), rising)


def _level(left: int, parts: Sequence[Portion], growing: list[int]) -> tuple[int, int, list[int]]:
    """The level as a fraction, and who stands at it: between its floor and its ceiling.

    Levels are compared as amounts for the common multiple of all weights.
    """
    common = lcm(*{parts[at].weight for at in growing})
    starts = sorted((parts[at].floor * (common // parts[at].weight), at) for at in growing)
    ends = sorted((parts[at].ceiling * (common // parts[at].weight), at) for at in growing)
    weights, at_start, at_end = 0, 0, 0
    now, need = 0, left * common
    rising: set[int] = set()
    while True:
        comes = starts[at_start][0] if at_start < len(starts) else None
        stops = ends[at_end][0]
        until = stops if comes is None else min(comes, stops)
        if weights * (until - now) >= need and weights:
            break
        need -= weights * (until - now)
        now = until
        if comes == until:
            one = starts[at_start][1]
            at_start += 1
            rising.add(one)
            weights += parts[one].weight
        else:
            one = ends[at_end][1]
            at_end += 1
            rising.discard(one)
            weights -= parts[one].weight
    return now * weights + need, common * weights, sorted(rising)


def _pour(
    total: int,
    parts: Sequence[Portion],
    given: list[int],
    level: tuple[int, int],
    rising: list[int],
) -> list[int]:
    """The parts at that level, in whole numbers that add up."""
    over, under = level
    standing = set(rising)
    for at, part in enumerate(parts):
        if at in standing:
            given[at] = over * part.weight // under
        elif part.weight > 0 and part.ceiling * under <= over * part.weight:
            given[at] = max(part.floor, part.ceiling)
    rest = total - sum(given)
    by_remainder = sorted(rising, key=lambda at: (-(over * parts[at].weight % under), at))
    for at in by_remainder[:rest]:
        given[at] += 1
    return given
