"""A bell: something changed, look again."""

import asyncio

from global_sched.shared.clock import Clock


class Wake:
    """Rings once for any number of changes between two looks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Something changed."""
        self._event.set()

    async def wait(self, due: float | None) -> bool:
        """Return when it rings (True) or at a monotonic time (False)."""
        try:
            async with asyncio.timeout(
                None if due is None else max(0.0, due - self._clock.monotonic())
            ):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True
