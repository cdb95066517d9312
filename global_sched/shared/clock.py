"""The only clock: every other module asks one of these for the time."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

from global_sched.shared.model.instant import SECOND, Instant


class Clock(Protocol):
    """Wall time for objects, monotonic time for timeouts, and a sleep on the same scale."""

    def now(self) -> Instant:
        """Wall-clock time: for what is written on objects, never for measuring."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back: for timeouts, back-off and leases."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of this clock."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> Instant:
        """Wall-clock time in microseconds, UTC."""
        return Instant(time.time_ns() // 1000)

    def monotonic(self) -> float:
        """The machine's monotonic seconds."""
        return time.monotonic()  # noqa: TID251 - this is the clock module

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running event loop."""
        await asyncio.sleep(seconds)


class LoopClock:
    """A clock that follows the running event loop, whose time a test may bend."""

    def __init__(self, epoch: Instant | None = None) -> None:
        default = datetime(2026, 1, 1, tzinfo=UTC)
        self._epoch = epoch if epoch is not None else Instant(int(default.timestamp()) * SECOND)
        self._start: float | None = None

    def _elapsed(self) -> float:
        time_now = asyncio.get_running_loop().time()
        if self._start is None:
            self._start = time_now
        return time_now - self._start

    def now(self) -> Instant:
        """The epoch plus the loop's elapsed time."""
        return Instant(self._epoch + round(self._elapsed() * SECOND))

    def monotonic(self) -> float:
        """The loop's own time."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running event loop."""
        await asyncio.sleep(seconds)
