"""The keyed work queue, in virtual time."""

import asyncio
from math import inf, nextafter

import pytest

from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.workqueue import QueueClosed, WorkQueue
from tests.virtual_time import virtual_time


async def take(queue):
    async with queue.item() as key:
        return key


async def drain(queue):
    """Every ready key, in order."""
    return [await take(queue) for _ in range(len(queue))]


@virtual_time
async def test_a_waiting_key_is_not_added_twice():
    """However often a key is added while it waits, it is processed once, in order of adding."""
    queue = WorkQueue(clock=LoopClock())
    for key in "abacab":
        queue.add(key)

    assert await drain(queue) == ["a", "b", "c"]


@virtual_time
async def test_a_key_added_while_processed_runs_again():
    """A change during processing is not lost, and no second worker gets the key meanwhile."""
    queue = WorkQueue(clock=LoopClock())
    queue.add("a")

    async with queue.item() as key:
        queue.add(key)
        queue.add(key)
        during = len(queue)

    assert during == 0
    assert await drain(queue) == ["a"]


@virtual_time
async def test_a_failing_worker_gives_its_key_back():
    """An exception in the context does not leave the key marked as processed."""
    queue = WorkQueue(clock=LoopClock())
    queue.add("a")
    with pytest.raises(RuntimeError):
        async with queue.item():
            raise RuntimeError

    queue.add("a")

    assert await drain(queue) == ["a"]


@virtual_time
async def test_delayed_keys_come_when_due():
    """The earliest of several delays counts; an immediate add cancels the delay."""
    queue = WorkQueue(clock=LoopClock())
    queue.add_after("late", 30)
    queue.add_after("late", 10)
    queue.add_after("late", 20)
    queue.add_after("soon", 5)
    queue.add_after("now", 60)
    queue.add("now")

    came = [(await take(queue), asyncio.get_running_loop().time()) for _ in range(3)]

    assert came == [("now", 0.0), ("soon", 5.0), ("late", 10.0)]
    assert queue.statistics().delayed == 0


@virtual_time
async def test_back_off_doubles_until_success():
    """Each failure doubles the wait up to the cap; forgetting starts again."""
    queue = WorkQueue(clock=LoopClock(), base=1.0, cap=10.0)

    delays = []
    for _ in range(6):
        delays.append(queue.retry("a"))
        await take(queue)
    queue.forget("a")
    delays.append(queue.retry("a"))

    assert delays == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 1.0]


@virtual_time
async def test_back_off_respects_the_server():
    """A server's Retry-After is a lower bound."""
    queue = WorkQueue(clock=LoopClock(), base=1.0)

    assert queue.retry("a", at_least=7.0) == 7.0


@virtual_time
async def test_waiting_workers_wake_up():
    """A worker that waits gets a key as soon as there is one."""
    queue = WorkQueue(clock=LoopClock())
    workers = [asyncio.create_task(take(queue)) for _ in range(2)]
    await asyncio.sleep(1)
    queue.add("a")
    queue.add_after("b", 3)

    assert await asyncio.gather(*workers) == ["a", "b"]
    assert asyncio.get_running_loop().time() == 4.0


@virtual_time
async def test_shut_down_hands_out_the_rest():
    """After shutting down nothing is accepted, what was ready is handed out, then it ends."""
    queue = WorkQueue(clock=LoopClock())
    queue.add("a")
    queue.add_after("never", 1)
    queue.shut_down()
    queue.add("b")

    assert await take(queue) == "a"
    with pytest.raises(QueueClosed):
        await take(queue)


@virtual_time
async def test_a_key_that_is_due_one_rounding_after_now():
    """The sum of an instant and a delay may lie a last bit after the same instant: it is due."""
    queue = WorkQueue(clock=LoopClock())
    now = 210.105
    await asyncio.sleep(now)
    for key in "abcd":
        queue.add_after(key, nextafter(now, inf) - now)

    async with asyncio.timeout(1):
        workers = []
        for _ in range(4):
            workers.append(asyncio.create_task(take(queue)))
            await asyncio.sleep(0)  # out of step: one of them always has something to do
        found = await asyncio.gather(*workers)

    assert sorted(found) == ["a", "b", "c", "d"]
    assert asyncio.get_running_loop().time() > now
