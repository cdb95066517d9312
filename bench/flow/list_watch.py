"""LIST and WATCH from a raw server in another process, through the client and the informer."""

import asyncio
import statistics
import sys
import time

from bench.harness import Figure, at_least, quiet_collector
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Access, Connection, FixedSource
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.kube.transport import AiohttpTransport

OBJECTS = 10_000
EVENTS = 50_000
RUNS = 3


class _Store:
    """Keeps objects by key and the time of the last event."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], ResourceBinding] = {}
        self.events = 0
        self.done = asyncio.Event()

    def upsert(self, obj: ResourceBinding) -> None:
        """Remember the newest version."""
        self.objects[obj.metadata.namespace, obj.metadata.name] = obj
        self.events += 1
        if self.events >= OBJECTS + EVENTS:
            self.done.set()

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Not sent by this server."""

    def malformed(self, bad: Malformed) -> None:
        """Not sent by this server."""

    def synced(self) -> None:
        """Nothing to do."""


async def _one(url: str) -> tuple[float, float]:
    """Seconds for the LIST to the cache, and for the events after it."""
    clock = SystemClock()
    client = Client(
        AiohttpTransport(Connection(FixedSource(Access(server=url)), clock=clock)), clock=clock
    )
    store = _Store()
    informer = Informer(client, RESOURCE_BINDINGS, ResourceBinding, handler=store, clock=clock)
    with quiet_collector():
        start = time.perf_counter()
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        listed = time.perf_counter()
        await store.done.wait()
        watched = time.perf_counter()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await client.close()
    return listed - start, watched - listed


async def _measure() -> list[tuple[float, float]]:
    """Each run against the same server."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.flow.list_watch_server", str(OBJECTS), str(EVENTS),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    port = int(await server.stdout.readline())
    try:
        return [await _one(f"http://127.0.0.1:{port}") for _ in range(RUNS)]
    finally:
        server.kill()
        await server.wait()


def figures() -> list[Figure]:
    """Objects per second of both."""
    runs = asyncio.run(_measure())
    lists = statistics.median(OBJECTS / first for first, _ in runs)
    watches = statistics.median(EVENTS / second for _, second in runs)
    note = f"bindings of 3.9 KB, median of {RUNS}"
    return [
        at_least("kube", "LIST of 10,000 bindings to cache", lists, "objects/s", 25_000, note),
        at_least("kube", "50,000 watch events to cache", watches, "events/s", 50_000, note),
    ]
