"""One binding at a time: from its creation to its placement, both as a watcher sees them."""

import asyncio
import gc
import time
from typing import Final

from bench.peers.bindings import SPACE, Obj, binding, clear
from bench.peers.site import Site, System
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.objects import Malformed, ObjectKey

PAUSE: Final = 0.1
PATIENCE: Final = 60.0


class _Seen:
    """When each binding was seen first, and first with clusters."""

    def __init__(self) -> None:
        self.born: dict[str, float] = {}
        self.placed: dict[str, float] = {}
        self.news = asyncio.Event()

    def upsert(self, obj: ResourceBinding) -> None:
        """A version of a binding."""
        now = time.perf_counter()
        self.born.setdefault(obj.metadata.name, now)
        if obj.spec.clusters:
            self.placed.setdefault(obj.metadata.name, now)
            self.news.set()

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Nothing to note."""

    def malformed(self, bad: Malformed) -> None:
        """Known by the waiting: it never gets clusters."""

    def synced(self) -> None:
        """Nothing to note."""

    async def until_placed(self, name: str) -> None:
        """Until it has clusters."""
        async with asyncio.timeout(PATIENCE):
            while name not in self.placed:
                self.news.clear()
                await self.news.wait()


async def latencies(site: Site, system: System, templates: list[Obj]) -> list[float]:
    """Milliseconds of each; the first one, which waits for the start, is left out."""
    seen = _Seen()
    informer = Informer(
        site.admin, kinds.RESOURCE_BINDINGS, ResourceBinding, handler=seen, clock=SystemClock()
    )
    # What this process has gathered so far: walking it takes longer than placing a binding.
    gc.collect()
    gc.freeze()
    watching = asyncio.create_task(informer.run())
    try:
        await site.start(system)
        for template in templates:
            body = binding(template, system.scheduler)
            await site.admin.create(kinds.RESOURCE_BINDINGS, body, namespace=SPACE)
            await seen.until_placed(body["metadata"]["name"])
            await asyncio.sleep(PAUSE)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await site.stop(system)
        await clear(site.admin, kinds.RESOURCE_BINDINGS)
    return [1000 * (seen.placed[name] - born) for name, born in seen.born.items()][1:]
