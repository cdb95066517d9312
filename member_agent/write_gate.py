"""The gate for background writes: they give way to plans, binds and new pods.

Notes for a restart and Events cost the API server as much as binds do. While a burst of gangs comes
they are held back, and written when it is over; never much later than they would have been.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from global_sched.shared.clock import Clock

PATIENCE: Final = 3.0
"""Seconds of a burst after which nothing gives way to it any more."""


class BackgroundWriteGate:
    """Knows whether something urgent is under way."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._urgent = 0
        self._since = 0.0
        self._over = asyncio.Event()

    def reset(self) -> None:
        """Forget all urgent work: the loops that began it have ended."""
        self._urgent = 0
        self._over.set()

    def begin(self) -> None:
        """Something urgent is under way, until as many calls of `end`."""
        if not self._urgent:
            self._since = self._clock.monotonic()
            self._over.clear()
        self._urgent += 1

    def end(self) -> None:
        """It is done, or has failed."""
        self._urgent -= 1
        if not self._urgent:
            self._over.set()

    @contextmanager
    def urgent(self) -> Iterator[None]:
        """Something urgent is under way until the block ends."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def left(self) -> float:
        """Seconds for which to give way at most; 0 when nothing need wait."""
        if not self._urgent:
            return 0.0
        return max(0.0, self._since + PATIENCE - self._clock.monotonic())

    async def give_way(self) -> None:
        """Return when nothing urgent is under way, or when that has lasted too long."""
        while (left := self.left()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._over.wait()
            except TimeoutError:
                return
