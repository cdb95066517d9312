"""The server of the dashboard: entry, viewers and pages together, and its life."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import web

from global_sched.web.entry import HEALTH, STATIC, Entry, guard, plain
from global_sched.web.pages import MOST_MANIFEST, Pages
from global_sched.web.viewers import Viewers

STATIC_FILES: Final = Path(__file__).parent / "static"
_END: Final = 1.0
"""Seconds that open streams get when the server ends."""


def application(entry: Entry, pages: Pages) -> web.Application:
    """All addresses behind the guard."""
    app = web.Application(middlewares=[guard(entry)], client_max_size=4 * MOST_MANIFEST)
    app.add_routes(pages.routes())
    app.router.add_get(HEALTH, _health)
    app.router.add_static(STATIC, STATIC_FILES)
    return app


async def _health(_request: web.Request) -> web.Response:
    return plain(200, "ok")


@asynccontextmanager
async def serving(
    entry: Entry, pages: Pages, viewers: Viewers, *, host: str, port: int
) -> AsyncIterator[int]:
    """The port on which it is served, inside of the block.

    No access log: an address may hold the token that is printed at the start.
    Raises:  OSError where the port is taken.
    """
    runner = web.AppRunner(
        application(entry, pages),
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=_END,
    )
    async with viewers.running():
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port)
            await site.start()
            yield int(runner.addresses[0][1])
        finally:
            await runner.cleanup()


async def forever() -> None:
    """Until cancelled."""
    await asyncio.Event().wait()
