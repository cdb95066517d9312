"""Waiting for a condition of the real world, with a ceiling and the last answer in the message."""

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.errors import KubeError

CEILING = 60.0
"""Seconds after which something that should come is taken to be lost."""
PAUSE = 0.2


async def until(check: Callable[[], Any], what: str, *, seconds: float = CEILING) -> Any:
    """The first true answer of a check; an error of the API counts as no answer yet.

    Raises:  AssertionError that says what did not come, and the last answer.
    """
    clock = SystemClock()
    end = clock.monotonic() + seconds
    while True:
        try:
            found = check()
            if inspect.isawaitable(found):
                found = await found
        except KubeError as error:
            found = None
            last = str(error)
        else:
            last = json.dumps(found, default=str)[:2000]
        if found:
            return found
        if clock.monotonic() > end:
            raise AssertionError(f"not so after {seconds:g} s: {what}; last answer: {last}")
        await asyncio.sleep(PAUSE)
