"""Writes that can wait give way, but not for ever."""

import asyncio

from global_sched.shared.clock import LoopClock
from member_agent.write_gate import PATIENCE, BackgroundWriteGate
from tests.virtual_time import virtual_time


async def seconds(write_gate: BackgroundWriteGate) -> float:
    """How long background work gives way now."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await write_gate.give_way()
    return loop.time() - began


@virtual_time
async def test_nobody_waits_while_nothing_is_urgent():
    """An idle agent writes its notes at once."""
    write_gate = BackgroundWriteGate(LoopClock())
    with write_gate.urgent():
        pass

    assert write_gate.left() == 0
    assert await seconds(write_gate) == 0


@virtual_time
async def test_what_can_wait_comes_after_the_last_urgent_thing():
    """Of two things at once both must have ended."""
    write_gate = BackgroundWriteGate(LoopClock())
    loop = asyncio.get_running_loop()
    write_gate.begin()
    write_gate.begin()
    loop.call_later(0.5, write_gate.end)
    loop.call_later(1.5, write_gate.end)

    assert await seconds(write_gate) == 1.5


@virtual_time
async def test_a_long_burst_holds_nothing_back():
    """After a few seconds without a pause notes come between binds, all of them."""
    write_gate = BackgroundWriteGate(LoopClock())
    write_gate.begin()
    await asyncio.sleep(1)
    write_gate.begin()
    write_gate.end()

    assert await seconds(write_gate) == PATIENCE - 1
    assert await seconds(write_gate) == 0


@virtual_time
async def test_a_new_term_begins_quietly():
    """Work of a term that was cut off delays nothing in the next one."""
    write_gate = BackgroundWriteGate(LoopClock())
    write_gate.begin()
    write_gate.reset()

    assert await seconds(write_gate) == 0
