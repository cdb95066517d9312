"""Waiting on a condition with a ceiling, so that no run hangs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from global_sched.shared.clock import SystemClock
from tools.local_karmada.errors import LocalError

PATIENCE: Final = 60.0


def now() -> float:
    """Seconds on a clock that only goes forward."""
    return SystemClock().monotonic()


async def until(
    check: Callable[[], Awaitable[object]],
    what: str,
    *,
    seconds: float = PATIENCE,
    every: float = 0.25,
) -> None:
    """Until a check is true.

    Raises:  LocalError that says what was waited for.
    """
    end = now() + seconds
    while not await check():
        if now() > end:
            raise LocalError(f"waited {seconds:g} s in vain for {what}")
        await asyncio.sleep(every)
