"""Past usage of tenants, as an average that forgets: half of it after each half-life.

The average follows what is held: `held + (average - held) * 2 ** -(time / half-life)`. A record
says both as of an instant, so that a reader knows the average at any later time, and
nothing has to be written while what is held stays the same. Whole numbers only: every machine
comes to the same value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Final

from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.resources import Resources

FINE: Final = 1_000_000
"""Averages are kept in millionths of a base unit: half a GPU is not nothing."""
_BITS: Final = 64
_ONE: Final = 1 << _BITS


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Past:
    """What a tenant held through one queue: `average` (in millionths) until `at`, `held` since."""

    queue: QueueName
    tenant: TenantName
    at: Instant
    held: Resources = Resources()
    average: Resources = Resources()

    def averaged(self, left: int) -> dict[str, int]:
        """The average later, when `left` (see `what_is_left`) of the old one still counts."""
        before, held = dict(self.average.entries), dict(self.held.entries)
        found = {}
        for name in before.keys() | held.keys():
            goal = held.get(name, 0) * FINE
            apart = before.get(name, 0) - goal
            # Rounded towards what is held, so that the average arrives there.
            moved = abs(apart) * left >> _BITS
            found[name] = goal + (moved if apart > 0 else -moved)
        return found


def what_is_left(since: Instant, now: Instant, half_life_seconds: int) -> int:
    """The part of an average that still counts after that time, of 2**64."""
    half_life = half_life_seconds * SECOND
    halvings, rest = divmod(max(0, now - since), half_life)
    if halvings >= _BITS:
        return 0
    left = _ONE
    for root in _ROOTS:
        rest *= 2
        if rest >= half_life:
            rest -= half_life
            left = left * root >> _BITS
    return left >> halvings


def _roots() -> tuple[int, ...]:
    """2**-(1/2), 2**-(1/4), ... of 2**64: each is the root of the one before."""
    found = [isqrt(1 << (2 * _BITS - 1))]
    while len(found) < _BITS // 2:
        found.append(isqrt(found[-1] << _BITS))
    return tuple(found)


_ROOTS: Final = _roots()


def whole(average: Mapping[str, int]) -> Resources:
    """An average for people, in whole base units, rounded."""
    return Resources.of({name: (value + FINE // 2) // FINE for name, value in average.items()})
