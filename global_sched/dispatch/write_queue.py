"""Pending writes, in the order in which they go out."""

import asyncio
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from global_sched.dispatch.binding_writer import Work

PLACEMENT: Final = 0
STATUS: Final = 1
REASON: Final = 2


@dataclass(order=True, slots=True)
class _Item:
    rank: int
    serial: int
    work: Work = field(compare=False)


class WriteQueue:
    """Placements first, then statuses, then reasons; in each rank the oldest first.

    `placing` counts placements that are queued, being written, or put off until another is written.
    """

    def __init__(self) -> None:
        self._heap: list[_Item] = []
        self._serial = count()
        self._available = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._placed = asyncio.Event()
        self._placed.set()
        self._deciding = False
        self._placing = 0
        self.writing = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, rank: int, work: Work) -> None:
        """Queue a write."""
        heapq.heappush(self._heap, _Item(rank, next(self._serial), work))
        self._available.set()
        self._idle.clear()

    async def pop(self) -> Work:
        """The next write; it is being written until `done`."""
        while not self._heap or (self._deciding and self._heap[0].rank > PLACEMENT):
            self._available.clear()
            await self._available.wait()
        self.writing += 1
        return heapq.heappop(self._heap).work

    def done(self) -> None:
        """A write that was popped has ended."""
        self.writing -= 1
        self._check_idle()

    def drop(self, unless: Callable[[Work], bool]) -> list[Work]:
        """Take everything out that is not begun; what was taken out, in order."""
        dropped = [item.work for item in sorted(self._heap) if not unless(item.work)]
        self._heap = [item for item in self._heap if unless(item.work)]
        heapq.heapify(self._heap)
        return dropped

    def begin_placement(self) -> None:
        """One more placement is under way."""
        self._placing += 1
        self._placed.clear()

    def end_placement(self) -> None:
        """One is not under way any more."""
        self._placing -= 1
        if not self._placing:
            self._placed.set()

    async def idle(self) -> None:
        """Return when nothing is queued or being written."""
        self._check_idle()
        await self._idle.wait()

    async def placed(self) -> None:
        """Return when no placement is under way."""
        await self._placed.wait()

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """While a long cycle runs, statuses and reasons wait: placements go before them.

        They get their turn, because a cycle rests as long as it took.
        """
        self._deciding = True
        try:
            yield
        finally:
            self._deciding = False
            self._available.set()

    def _check_idle(self) -> None:
        if not self._heap and not self.writing:
            self._idle.set()
