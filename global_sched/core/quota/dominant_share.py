"""Weighted dominant shares (DRF), exact: who has had least of what the federation has.

A share is the largest part of any resource that a queue or tenant holds, over its weight. All
shares are put over one common denominator, which is cross-multiplying done once: from then on
two shares compare as two ints. Totals are what the member clusters' nodes really have.
"""

from collections.abc import Iterable, Mapping
from math import lcm

from global_sched.shared.model.explanation import Share
from global_sched.shared.model.resources import Resources

Amount = dict[str, int]
"""Held amounts by resource, in base units; mutable, private to one cycle."""

ShareKey = tuple[bool, int]
"""Orders shares: (has no weight, share over the common denominator). Less goes first."""


class Scale:
    """The common denominator of one cycle's shares.

    A resource that no cluster has cannot be shared and counts for nothing.
    """

    def __init__(self, totals: Resources, weights: Iterable[int]) -> None:
        self.totals = totals
        amounts = [total for _, total in totals.entries]
        self._common = lcm(*amounts) if amounts else 1
        self._factors = {name: self._common // total for name, total in totals.entries}
        self._weights = lcm(*{weight for weight in weights if weight > 0})

    def key(self, held: Mapping[str, int], weight: int) -> ShareKey:
        """The share as a value to order by. Without a weight it is last."""
        if weight <= 0:
            return (True, 0)
        return (False, self._dominant(held)[0] * (self._weights // weight))

    def share(self, held: Mapping[str, int], weight: int) -> Share:
        """The share as a fraction, for people."""
        _, name = self._dominant(held)
        return Share(
            resource=name, held=held.get(name, 0), total=self.totals.get(name), weight=weight
        )

    def _dominant(self, held: Mapping[str, int]) -> tuple[int, str]:
        """The largest part over the common denominator, and its resource (first by name)."""
        largest, dominant = 0, ""
        factors = self._factors
        for name, amount in held.items():
            factor = factors.get(name)
            if factor is None:
                continue
            part = amount * factor
            if part > largest or (part == largest and (not dominant or name < dominant)):
                largest, dominant = part, name
        return largest, dominant


def add(held: Amount, amount: Resources, times: int = 1) -> None:
    """Add `times` that amount (negative to take it away)."""
    for name, value in amount.entries:
        try:
            held[name] += value * times
        except KeyError:
            held[name] = value * times
