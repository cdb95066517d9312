"""An event loop whose time jumps to the next deadline when nothing else is ready.

Real loopback sockets work in it: before a jump, the selector is given a short real moment,
because bytes written by one task are readable by another at once on loopback.
"""

import asyncio
import selectors
from typing import Any


class _JumpingSelector(selectors.DefaultSelector):
    """Advance the loop's time instead of waiting for it."""

    offset = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        ready = super().select(0.002)
        if ready:
            return ready
        if timeout is None:
            return super().select(1.0)
        self.offset += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A selector loop with virtual time; `loop.time()` starts at 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.offset


class VirtualPolicy(asyncio.DefaultEventLoopPolicy):
    """Give every test in a module a virtual loop: `event_loop_policy` fixture returns this."""

    def new_event_loop(self) -> Any:
        return VirtualLoop()
