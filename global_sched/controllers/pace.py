"""How soon one cycle follows another."""

from typing import Final

LONGEST: Final = 1.0
"""Seconds that a cycle rests at most."""


class Pace:
    """Collects changes for a moment, and leaves a large backlog half of the time.

    A cycle rests as long as those before it take. One slow cycle among quick ones (a shape that
    nobody asked for before) is no backlog, unless it took longer than the `budget`.
    """

    def __init__(self, *, debounce: float, budget: float) -> None:
        self._debounce = debounce
        self._budget = budget
        self._ended = 0.0
        self._rest = 0.0
        self.took = 0.0
        """Seconds of the last cycle."""

    def cycle(self, *, began: float, ended: float) -> None:
        """A cycle has run (monotonic seconds)."""
        took, before = ended - began, self.took
        self.took, self._ended = took, ended
        self._rest = min(LONGEST, took if took > self._budget else min(took, before))

    def pause(self, now: float) -> float:
        """Seconds until the next cycle may begin; none after a quiet time."""
        return max(0.0, max(self._debounce, self._rest) - (now - self._ended))
