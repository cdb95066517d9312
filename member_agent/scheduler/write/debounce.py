"""Which waits are worth a word: those that have lasted for a moment."""

from collections.abc import Iterable
from typing import Final

from member_agent.scheduler.plan.outcome import Wait

MOMENT: Final = 2.0
"""Seconds that a unit waits before anybody is told. While its pods are still being made it waits
for each of them in turn, and an Event or a condition would be out of date before it is read."""


class Lasting:
    """Remembers since when each unit waits, whatever it has waited for."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def of(self, waits: Iterable[Wait], now: float) -> list[Wait]:
        """The waits of units that have waited for a moment already (`now` is monotonic)."""
        waits = tuple(waits)
        keys = [wait.unit.key for wait in waits]
        self._since = {key: self._since.get(key, now) for key in keys}
        return [wait for wait in waits if self._since[wait.unit.key] + MOMENT <= now]

    def dues(self) -> Iterable[float]:
        """When each unit that waits has waited for a moment (monotonic)."""
        return (since + MOMENT for since in self._since.values())
