"""Back-off, token bucket and retries."""

import asyncio
import random
from itertools import pairwise

import pytest

from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.backoff import JitteredBackoff
from global_sched.shared.kube.errors import (
    Conflict,
    RequestTarget,
    ServerError,
    Throttled,
    Unreachable,
)
from global_sched.shared.kube.ratelimit import TokenBucket
from global_sched.shared.kube.retry import retry
from tests.virtual_time import virtual_time

TARGET = RequestTarget(verb="get", resource="pods")


def test_back_off_stays_between_floor_and_cap():
    """Delays grow at random and never leave their bounds; a reset starts again."""
    backoff = JitteredBackoff(floor=0.5, cap=60, rng=random.Random(7))
    delays = [backoff.next() for _ in range(200)]
    backoff.reset()

    assert min(delays) >= 0.5
    assert 20 < max(delays) <= 60
    assert backoff.next() <= 1.5


def test_back_off_takes_the_servers_word():
    """A time that the server named is used as it is."""
    assert JitteredBackoff().next(at_least=7.0) == 7.0


@pytest.mark.parametrize(
    "bounds", [pytest.param((0, 1), id="no floor"), pytest.param((2, 1), id="floor above cap")]
)
def test_back_off_refuses_bounds(bounds):
    """A back-off that would spin is refused."""
    with pytest.raises(ValueError, match="0 < floor <= cap"):
        JitteredBackoff(floor=bounds[0], cap=bounds[1])


@virtual_time
async def test_the_bucket_bounds_the_rate():
    """A burst passes at once, the rest at the rate, in order of asking."""
    bucket = TokenBucket(rate=2, burst=3, clock=LoopClock())
    served = []

    async def ask(number):
        await bucket.take()
        served.append((number, asyncio.get_running_loop().time()))

    await asyncio.gather(*(ask(number) for number in range(6)))

    assert served == [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.5), (4, 1.0), (5, 1.5)]
    assert not bucket.take_nowait()
    await asyncio.sleep(0.5)
    assert bucket.take_nowait()


@virtual_time
async def test_a_cancelled_waiter_gives_its_token_back():
    """A cancelled wait costs no token."""
    bucket = TokenBucket(rate=1, burst=1, clock=LoopClock())
    await bucket.take()
    waiter = asyncio.create_task(bucket.take())
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.wait([waiter])
    await asyncio.sleep(1)

    assert bucket.take_nowait()


def failing(*errors):
    """A call that raises these in order, then answers; and its times."""
    times = []
    left = list(errors)

    async def call():
        times.append(asyncio.get_running_loop().time())
        if left:
            raise left.pop(0)
        return "answer"

    return call, times


@virtual_time
async def test_transient_failures_are_retried():
    """Server errors and silence are waited out; Retry-After is honoured exactly."""
    call, times = failing(
        Throttled("slow", target=TARGET, retry_after=7.0),
        ServerError("boom", target=TARGET),
        Unreachable("gone", target=TARGET),
    )

    assert await retry(call, clock=LoopClock(), rng=random.Random(1)) == "answer"
    assert times[1] == 7.0
    assert all(0.5 <= later - earlier <= 30 for earlier, later in pairwise(times))


@virtual_time
async def test_other_failures_are_not_retried():
    """A conflict means that the decision is made again."""
    call, times = failing(Conflict("changed", target=TARGET))

    with pytest.raises(Conflict):
        await retry(call, clock=LoopClock())
    assert len(times) == 1


@virtual_time
async def test_patience_ends():
    """With patience it is tried for so many seconds, and every failure before a try is reported."""
    call, times = failing(*(Unreachable("gone", target=TARGET) for _ in range(99)))
    told = []

    with pytest.raises(Unreachable):
        await retry(call, clock=LoopClock(), cap=5.0, patience=60.0, failed=told.append)
    assert 50 < times[-1] - times[0] <= 60
    assert len(told) == len(times) - 1


@virtual_time
async def test_retries_end():
    """After the last attempt the failure is raised as it is."""
    call, times = failing(*(ServerError("boom", target=TARGET) for _ in range(9)))

    with pytest.raises(ServerError):
        await retry(call, clock=LoopClock(), attempts=3)
    assert len(times) == 3
