"""Back-off of writes: per binding that cannot be written, and for the server when it asks."""

from dataclasses import dataclass
from typing import Final

from global_sched.shared.model.ids import WorkloadKey

PENALTY: Final = 30.0
"""Seconds for which a binding that the server refuses is left alone; doubles up to the limit."""
PENALTY_LIMIT: Final = 600.0
FIRST_PAUSE: Final = 0.1
"""Seconds after a write that met another writer, or had no answer; doubles with each in a row."""
LONGEST_PAUSE: Final = 30.0


@dataclass(slots=True)
class _Penalty:
    until: float
    seconds: float


class WriteBackoff:
    """Times on a monotonic clock until which nothing is written."""

    def __init__(self) -> None:
        self._of: dict[WorkloadKey, _Penalty] = {}
        self._held_until = 0.0
        self._pauses: dict[tuple[WorkloadKey, str], _Penalty] = {}

    def held(self, now: float) -> bool:
        """Whether the server asked for silence."""
        return now < self._held_until

    def hold(self, until: float) -> None:
        """The server asks for silence."""
        self._held_until = max(self._held_until, until)

    def is_blocked(self, key: WorkloadKey, now: float) -> bool:
        """Whether a binding was refused lately."""
        found = self._of.get(key)
        return found is not None and now < found.until

    def refused(self, key: WorkloadKey, now: float) -> None:
        """The server refuses to write it: each time twice as long."""
        last = self._of.get(key)
        seconds = PENALTY if last is None else min(PENALTY_LIMIT, last.seconds * 2)
        self._of[key] = _Penalty(now + seconds, seconds)

    def pause(self, key: WorkloadKey, part: str, now: float) -> float:
        """Seconds until that part of a binding (itself, its status) may be written again."""
        last = self._pauses.get((key, part))
        seconds = FIRST_PAUSE
        if last is not None and now < last.until + LONGEST_PAUSE:
            seconds = min(LONGEST_PAUSE, last.seconds * 2)
        self._pauses[key, part] = _Penalty(now + seconds, seconds)
        return seconds

    def clear(self, key: WorkloadKey, part: str) -> None:
        """A write went through."""
        self._of.pop(key, None)
        self._pauses.pop((key, part), None)

    def dues(self, now: float) -> list[float]:
        """When writing is possible again; forgets what is long over."""
        if len(self._pauses) > 1024:
            self._pauses = {
                key: one for key, one in self._pauses.items() if now < one.until + LONGEST_PAUSE
            }
        self._of = {key: one for key, one in self._of.items() if now < one.until + one.seconds}
        dues = [one.until for one in self._of.values() if one.until > now]
        if self.held(now):
            dues.append(self._held_until)
        return dues
