"""A queue of keys to reconcile: each key once, never two workers on one key.

Rules, as in every Kubernetes controller: a key that is added while it waits is not added twice;
a key that is added while it is processed runs once more afterwards; a failing key waits longer
each time; delayed keys wake up on their own.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from global_sched.shared.clock import Clock

K = TypeVar("K", bound=Hashable)

SHORTEST: Final = 1e-6
"""Seconds of the shortest wait. The sum of an instant and a delay can lie one rounding after now,
which no timer can wait for; a key that comes too early finds nothing due and asks again at once."""


class QueueClosed(Exception):  # noqa: N818 - an end, not an error
    """The queue was shut down and holds nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatistics:
    """Counts at one moment."""

    ready: int
    delayed: int
    processing: int
    failing: int
    """Keys with a back-off."""


class WorkQueue(Generic[K]):
    """Hands out keys one by one; use `async with queue.item() as key`.

    `base` and `cap` bound the back-off of `retry`: base × 2^(failures - 1), at most cap.
    """

    def __init__(self, *, clock: Clock, base: float = 1.0, cap: float = 600.0) -> None:
        self._clock = clock
        self._base = base
        self._cap = cap
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        self._processing: set[K] = set()
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = itertools.count()
        self._failures: dict[K, int] = {}
        self._changed = asyncio.Event()
        self._closed = False

    def add(self, key: K) -> None:
        """Process the key soon; a delay that it waits for is over."""
        if self._closed or key in self._dirty:
            return
        self._due.pop(key, None)
        self._dirty.add(key)
        if key not in self._processing:
            self._ready.append(key)
            self._changed.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Process the key after a delay; the earliest of several delays counts."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if self._closed or key in self._dirty or self._due.get(key, due + 1) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        self._changed.set()

    def retry(self, key: K, *, at_least: float | None = None) -> float:
        """Process the key again after its back-off, or after `at_least`; the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay: float = min(self._cap, self._base * 2 ** min(failures, 62))
        delay = delay if at_least is None else max(delay, at_least)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure starts from `base` again."""
        self._failures.pop(key, None)

    def shut_down(self) -> None:
        """Accept nothing more; `item` hands out what is ready, then raises QueueClosed."""
        self._closed = True
        self._due.clear()
        self._heap.clear()
        self._changed.set()

    @asynccontextmanager
    async def item(self) -> AsyncIterator[K]:
        """The next key; it counts as processed when the context ends, however it ends.

        Raises:  QueueClosed.
        """
        key = await self._next()
        try:
            yield key
        finally:
            self._processing.discard(key)
            if key in self._dirty:
                self._ready.append(key)
                self._changed.set()

    async def _next(self) -> K:
        while True:
            wait = self._wake_due()
            if self._ready:
                key = self._ready.popleft()
                self._dirty.discard(key)
                self._processing.add(key)
                return key
            if self._closed:
                raise QueueClosed
            self._changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _wake_due(self) -> float | None:
        """Move what is due to the ready keys; seconds until the next one is."""
        now = self._clock.monotonic()
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) != due:  # replaced by an earlier delay or by `add`
                heapq.heappop(self._heap)
            elif due <= now:
                heapq.heappop(self._heap)
                self.add(key)
            else:
                return max(due - now, SHORTEST)
        return None

    def statistics(self) -> QueueStatistics:
        """Counts now."""
        return QueueStatistics(
            ready=len(self._ready),
            delayed=len(self._due),
            processing=len(self._processing),
            failing=len(self._failures),
        )

    def __len__(self) -> int:
        return len(self._ready)
