"""Retries of plain calls: reads, reports, status. Never of a decision: decide again instead."""

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from global_sched.shared.clock import Clock
from global_sched.shared.kube.backoff import JitteredBackoff
from global_sched.shared.kube.errors import ApiError

T = TypeVar("T")


def is_transient(error: BaseException) -> bool:
    """True for failures that may pass without a change by any client."""
    return isinstance(error, ApiError) and error.transient


async def retry(
    call: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    attempts: int = 5,
    floor: float = 0.5,
    cap: float = 30.0,
    rng: random.Random | None = None,
    patience: float | None = None,
    failed: Callable[[ApiError], None] = lambda _: None,
) -> T:
    """The first answer of `call`, called again after transient failures.

    Waits as long as the server asks (Retry-After), else a growing random time. With `patience`
    it is tried for so many seconds, however often; `failed` is called with every failure that
    another try follows.

    Raises:  whatever the last attempt raised; anything that is not transient at once.
    """
    backoff = JitteredBackoff(floor=floor, cap=cap, rng=rng)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        return backoff.next(at_least=error.retry_after if isinstance(error, ApiError) else None)

    started = clock.monotonic()

    def too_late(state: RetryCallState) -> bool:
        return clock.monotonic() + state.upcoming_sleep - started > (patience or 0.0)

    def tell(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, ApiError):
            failed(error)

    policy = AsyncRetrying(
        retry=retry_if_exception(is_transient),
        stop=stop_after_attempt(attempts) if patience is None else too_late,
        wait=wait,
        sleep=clock.sleep,
        before_sleep=tell,
        reraise=True,
    )

    async def attempt() -> T:
        # tenacity awaits only what it can see to be a coroutine function; a lambda is not one.
        return await call()

    return await policy(attempt)
