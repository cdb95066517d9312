"""An event loop whose time jumps to the next deadline when nothing else is ready.

Real loopback sockets work in it: before a jump, the selector is given a short real moment,
because bytes written by one task are readable by another at once on loopback. While a thread of
the loop's executor works (name resolution, file reads), time stands still.

A test opts in with a decorator, and may have fixtures as long as they are not async::

    @virtual_time
    async def test_lease_expires():
        ...
        assert asyncio.get_running_loop().time() == 15.0  # the loop's time starts at 0

pytest-asyncio sees a plain function; nothing else of it is needed.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

SETTLE = 0.002
"""Real seconds that sockets get before time jumps."""


LEAST = 1e-6
"""Virtual seconds of the shortest jump."""


class _JumpingSelector(selectors.DefaultSelector):
    """Advance the loop's time instead of waiting for it."""

    offset = 0.0
    threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if len(self.get_map()) > 1:  # the loop's own end of a pair is always there
            ready = super().select(SETTLE)
            if ready:
                return ready
        if self.threads or timeout is None:
            # Only a thread or a peer outside this process can wake us: wait for it in real time.
            return super().select(1.0)
        # What is due in less than that is due now for the loop, but not for a program that compares
        # instants: the two would wait for each other.
        self.offset += max(timeout, LEAST)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A selector loop with virtual time; `loop.time()` starts at 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.offset

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Time stands still until the thread is done."""
        future = super().run_in_executor(executor, func, *args)
        self._jumping.threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _future: object) -> None:
        self._jumping.threads -= 1


def virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test on a loop of its own, in virtual time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run
