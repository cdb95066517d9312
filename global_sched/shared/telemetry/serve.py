"""Metrics and probes over HTTP, on a port of its own that holds no secrets.

/metrics   the table of `metrics`, for Prometheus
/livez     200 while the event loop turns; an API server that is away does not fail it, because a
           restart would not bring that back
/readyz    200 when the program says it is ready, else 503 with the reason
/healthz   both
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from global_sched.shared.clock import Clock
from global_sched.shared.telemetry.metrics import LOOP_LAG, READY, TASKS
from global_sched.shared.telemetry.registry import Metrics

Readiness = Callable[[], str | None]
"""None when ready, else what is missing, in words."""


class LoopWatch:
    """Measures how late the event loop wakes up; alive while that stays below a limit.

    A probe is answered by the same loop, so a loop that hangs answers none and fails by that;
    what this adds is the loop that still turns, but far too slowly, for several beats.
    """

    def __init__(
        self, metrics: Metrics, *, clock: Clock, beat: float = 0.5, limit: float = 15.0
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._beat = beat
        self._limit = limit
        self._slow_beats = 0
        self.lag = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            started = self._clock.monotonic()
            await self._clock.sleep(self._beat)
            self.lag = max(0.0, self._clock.monotonic() - started - self._beat)
            self._slow_beats = self._slow_beats + 1 if self.lag > self._limit else 0
            self._metrics.set(LOOP_LAG, self.lag)

    @property
    def failure(self) -> str | None:
        """What is wrong, None while alive."""
        if self._slow_beats < 3:
            return None
        return f"the event loop wakes up {self.lag:.1f} s late, {self._slow_beats} times in a row"


def probe_app(
    metrics: Metrics, *, ready: Readiness, alive: Callable[[], str | None]
) -> web.Application:
    """The application with the four paths."""

    def verdict(*problems: str | None) -> web.Response:
        found = [problem for problem in problems if problem is not None]
        if found:
            return web.Response(status=503, text="; ".join(found) + "\n")
        return web.Response(text="ok\n")

    async def livez(_request: web.Request) -> web.Response:
        return verdict(alive())

    async def readyz(_request: web.Request) -> web.Response:
        return verdict(ready())

    async def healthz(_request: web.Request) -> web.Response:
        return verdict(alive(), ready())

    async def scrape(_request: web.Request) -> web.Response:
        metrics.set(READY, 1.0 if ready() is None else 0.0)
        metrics.set(TASKS, len(asyncio.all_tasks()))
        metrics.refresh()
        # Rendering thousands of series takes long enough to be felt by the loop.
        body = await asyncio.to_thread(metrics.render)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application(client_max_size=1024)
    app.router.add_get("/livez", livez)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/metrics", scrape)
    return app


@asynccontextmanager
async def serving(
    metrics: Metrics,
    *,
    host: str,
    port: int,
    ready: Readiness,
    clock: Clock,
) -> AsyncIterator[int]:
    """Serve until the context ends; gives the port, which differs from `port` when that is 0.

    Raises:  OSError when the port is taken.
    """
    watch = LoopWatch(metrics, clock=clock)
    app = probe_app(metrics, ready=ready, alive=lambda: watch.failure)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    beats = asyncio.ensure_future(watch.run())
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        beats.cancel()
        await asyncio.wait([beats])
        await runner.cleanup()
