"""Who is left alone for a while: bindings that the server refuses, and the server when it asks."""

from dataclasses import dataclass
from typing import Final

from global_sched.shared.model.ids import WorkloadKey

PENALTY: Final = 30.0
"""Seconds for which a binding that the server refuses is left alone; doubles up to the limit."""
PENALTY_LIMIT: Final = 600.0


@dataclass(slots=True)
class _Penalty:
    until: float
    seconds: float


class Penalties:
    """Times on a monotonic clock until which nothing is written."""

    def __init__(self) -> None:
        self._of: dict[WorkloadKey, _Penalty] = {}
        self._held_until = 0.0

    def held(self, now: float) -> bool:
        """Whether the server asked for silence."""
        return now < self._held_until

    def hold(self, until: float) -> None:
        """The server asks for silence."""
        self._held_until = max(self._held_until, until)

    def out(self, key: WorkloadKey, now: float) -> bool:
        """Whether a binding was refused lately."""
        found = self._of.get(key)
        return found is not None and now < found.until

    def refused(self, key: WorkloadKey, now: float) -> None:
        """The server refuses to write it: each time twice as long."""
        last = self._of.get(key)
        seconds = PENALTY if last is None else min(PENALTY_LIMIT, last.seconds * 2)
        self._of[key] = _Penalty(now + seconds, seconds)

    def forgive(self, key: WorkloadKey) -> None:
        """A write went through."""
        self._of.pop(key, None)

    def dues(self, now: float) -> list[float]:
        """When writing is possible again; forgets what is long over."""
        self._of = {key: one for key, one in self._of.items() if now < one.until + one.seconds}
        dues = [one.until for one in self._of.values() if one.until > now]
        if self.held(now):
            dues.append(self._held_until)
        return dues
