"""What can wait gives way, but not for ever."""

import asyncio

from global_sched.shared.clock import LoopClock
from member_agent.quiet import PATIENCE, Quiet
from tests.virtual_time import virtual_time


async def seconds(quiet: Quiet) -> float:
    """How long somebody gives way now."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await quiet.give_way()
    return loop.time() - began


@virtual_time
async def test_nobody_waits_while_nothing_is_urgent():
    """An idle agent writes its notes at once."""
    quiet = Quiet(LoopClock())
    with quiet.urgent():
        pass

    assert quiet.left() == 0
    assert await seconds(quiet) == 0


@virtual_time
async def test_what_can_wait_comes_after_the_last_urgent_thing():
    """Of two things at once both must have ended."""
    quiet = Quiet(LoopClock())
    loop = asyncio.get_running_loop()
    quiet.begin()
    quiet.begin()
    loop.call_later(0.5, quiet.end)
    loop.call_later(1.5, quiet.end)

    assert await seconds(quiet) == 1.5


@virtual_time
async def test_a_long_burst_holds_nothing_back():
    """After a few seconds without a pause notes come between binds, all of them."""
    quiet = Quiet(LoopClock())
    quiet.begin()
    await asyncio.sleep(1)
    quiet.begin()
    quiet.end()

    assert await seconds(quiet) == PATIENCE - 1
    assert await seconds(quiet) == 0


@virtual_time
async def test_a_new_term_begins_quietly():
    """Work of a term that was cut off holds nobody up in the next one."""
    quiet = Quiet(LoopClock())
    quiet.begin()
    quiet.reset()

    assert await seconds(quiet) == 0
