"""Probes and metrics over HTTP."""

import asyncio

import pytest

from global_sched.settings import Settings as GlobalSettings
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.errors import ServerError
from global_sched.shared.kube.transport import AiohttpTransport
from global_sched.shared.telemetry import metrics as m
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.serve import LoopWatch, serving
from global_sched.shared.telemetry.spec import Program
from member_agent.settings import Settings as AgentSettings
from tests.virtual_time import virtual_time


@virtual_time
async def test_paths():
    """Readiness follows the callback with its reason; liveness does not."""
    clock, metrics = LoopClock(), Metrics(Program.GLOBAL)
    missing = "informers: Queue not synced"
    problems = [missing]
    metrics.before_scrape(lambda: metrics.set(m.EPOCH, 7))
    ready = lambda: problems[0] if problems else None  # noqa: E731 - a one-line callback
    async with serving(metrics, host="127.0.0.1", port=0, ready=ready, clock=clock) as port:
        client = Client(
            AiohttpTransport(Connection.to(f"http://127.0.0.1:{port}", clock=clock)), clock=clock
        )
        assert await client.raw("GET", "/livez") == b"ok\n"
        for path in ("/readyz", "/healthz"):
            with pytest.raises(ServerError, match=missing):
                await client.raw("GET", path)
        unready = await client.raw("GET", "/metrics")
        problems.clear()
        assert await client.raw("GET", "/readyz") == b"ok\n"
        assert await client.raw("GET", "/healthz") == b"ok\n"
        body = await client.raw("GET", "/metrics")
        await client.close()

    assert b"gsched_ready 0.0\n" in unready
    assert b"gsched_ready 1.0\n" in body
    assert b"gsched_epoch 7.0\n" in body
    assert b"process_resident_memory_bytes" in body


@virtual_time
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(GlobalSettings(), id="global-sched"),
        pytest.param(AgentSettings(cluster="m1"), id="member-agent"),
    ],
)
async def test_other_machines_reach_the_port_only_where_an_address_is_set(settings):
    """Nothing asks for credentials there, so the default is this machine alone."""
    reached = []
    for host in (settings.metrics_host, "0.0.0.0"):
        async with serving(
            Metrics(Program.GLOBAL), host=host, port=0, ready=lambda: None, clock=LoopClock()
        ) as port:
            for address in ("127.0.0.1", "127.0.0.2"):
                try:
                    _, writer = await asyncio.open_connection(address, port)
                except ConnectionRefusedError:
                    continue
                writer.close()
                reached.append((host, address))

    assert reached == [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.2"),
    ]


class LateClock(LoopClock):
    """A clock on which every sleep ends `late` seconds late."""

    late = 0.0

    async def sleep(self, seconds):
        await super().sleep(seconds + self.late)


@virtual_time
async def test_a_slow_loop_is_not_alive():
    """Three late beats in a row fail liveness; one good beat heals it."""
    clock = LateClock()
    watch = LoopWatch(Metrics(Program.GLOBAL), clock=clock, beat=1.0, limit=5.0)
    task = asyncio.create_task(watch.run())
    await asyncio.sleep(10)
    assert watch.failure is None

    clock.late = 6.0
    await asyncio.sleep(16)
    assert watch.failure is None
    await asyncio.sleep(8)
    assert watch.failure == "the event loop wakes up 6.0 s late, 3 times in a row"

    clock.late = 0.0
    await asyncio.sleep(10)
    assert watch.failure is None
    task.cancel()
    await asyncio.wait([task])
