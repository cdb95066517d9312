"""The virtual loop: time jumps when nothing happens, and only then."""

import asyncio
import threading

from tests.virtual_time import virtual_time


def now():
    return asyncio.get_running_loop().time()


@virtual_time
async def test_time_starts_at_zero_and_jumps():
    """A day of sleep takes no time, and is exactly a day."""
    assert now() == 0.0
    await asyncio.sleep(86_400)
    assert now() == 86_400.0


@virtual_time
async def test_deadlines_come_in_order():
    """Sleepers wake in the order of their deadlines, each at its own."""
    woke = []

    async def sleeper(seconds):
        await asyncio.sleep(seconds)
        woke.append((seconds, now()))

    await asyncio.gather(*(sleeper(seconds) for seconds in (30, 10, 20)))

    assert woke == [(10, 10.0), (20, 20.0), (30, 30.0)]


@virtual_time
async def test_sockets_are_served_before_time_jumps():
    """A thousand round trips over loopback do not use up a timeout of ten seconds."""

    async def echo(reader, writer):
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    async with asyncio.timeout(10):
        for _ in range(1000):
            writer.write(b"ping\n")
            assert await reader.readline() == b"ping\n"
    writer.close()
    await writer.wait_closed()
    server.close()
    await server.wait_closed()

    assert now() == 0.0


@virtual_time
async def test_time_stands_still_while_a_thread_works():
    """Work in a thread is waited for in real time, whatever timeouts are pending."""
    go = threading.Event()

    def work():
        go.wait(0.02)
        return "done"

    async with asyncio.timeout(5):
        assert await asyncio.to_thread(work) == "done"

    assert now() == 0.0
