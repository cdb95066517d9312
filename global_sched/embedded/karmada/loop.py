"""A controller's loop: keys from a queue, workers, back-off; a bad object stops only itself."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

from global_sched.shared.clock import Clock
from global_sched.shared.kube.errors import ApiError, Conflict, NotFound
from global_sched.shared.kube.workqueue import WorkQueue
from global_sched.shared.telemetry.logs import get_logger

K = TypeVar("K", bound=Hashable)

log = get_logger(__name__)


class Runnable(Protocol):
    """Any loop, whatever its keys are."""

    failures: int

    async def run(self) -> None:
        """Work until cancelled."""
        ...


class Loop(Generic[K]):
    """Reconciles keys until cancelled.

    `reconcile` brings the context in line for one key; a number that it returns is the seconds
    after which the key is looked at again.
    """

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[float | None]],
        *,
        clock: Clock,
        workers: int = 4,
    ) -> None:
        self.name = name
        self.failures = 0
        self._reconcile = reconcile
        self._workers = workers
        self._queue: WorkQueue[K] = WorkQueue(clock=clock, base=0.05, cap=30.0)

    def add(self, key: K) -> None:
        """Look at a key soon."""
        self._queue.add(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Look at a key later."""
        self._queue.add_after(key, seconds)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            async with self._queue.item() as key:
                await self._once(key)

    async def _once(self, key: K) -> None:
        try:
            again = await self._reconcile(key)
        except (Conflict, NotFound) as error:
            # What was read is stale already; the watch is about to say so.
            log.debug("reconcile_stale", controller=self.name, key=str(key), error=str(error))
            self._queue.retry(key)
        except NotNow as error:
            delay = self._queue.retry(key)
            log.info(
                "reconcile_waits",
                controller=self.name,
                key=str(key),
                reason=str(error),
                retry_seconds=round(delay, 2),
            )
        except ApiError as error:
            self._failed(key, error)
        except Exception as error:  # noqa: BLE001 - the loop's guard: counted, logged, tried again
            self._failed(key, error)
        else:
            self._queue.forget(key)
            if again is not None:
                self._queue.add_after(key, again)

    def _failed(self, key: K, error: Exception) -> None:
        self.failures += 1
        at_least = error.retry_after if isinstance(error, ApiError) else None
        delay = self._queue.retry(key, at_least=at_least)
        log.warning(
            "reconcile_failed",
            controller=self.name,
            key=str(key),
            error=f"{type(error).__name__}: {error}",
            retry_seconds=round(delay, 2),
        )


class NotNow(Exception):  # noqa: N818 - a reason, not a failure of ours
    """Tried again after a back-off; the message is for the object's owner."""
