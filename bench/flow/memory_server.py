"""A whole world to list, in a process of its own, every page made when it is asked for.

`python -m bench.flow.memory_server BINDINGS` prints its port. It serves lists and silent watches.
"""

import asyncio
import sys
from collections.abc import Callable

import msgspec
from aiohttp import web

from bench.wires import (
    Jobs,
    Obj,
    cluster_object,
    clusters,
    queue_objects,
    report_objects,
    tenant_objects,
)
from bench.worlds import Size
from global_sched.shared.api import resource as kinds
from global_sched.shared.clock import SystemClock

SIZE = Size(filled=0.9)
_Part = tuple[int, Callable[[int], Obj]]
"""How many objects there are, and each by its position."""


_NONE: _Part = (0, lambda _: {})


def _listed(found: list[Obj]) -> _Part:
    return len(found), found.__getitem__


def world(bindings: int) -> dict[str, _Part]:
    """What there is, by collection path."""
    now = SystemClock().now()
    jobs = Jobs(SIZE, now)
    members = clusters(SIZE)
    reports = [report for member in members for report in report_objects(member, now)]
    return {
        kinds.RESOURCE_BINDINGS.path(): (bindings, jobs.binding),
        kinds.VOLCANO_JOBS.path(): (bindings, jobs.template),
        kinds.CLUSTERS.path(): _listed([cluster_object(member) for member in members]),
        kinds.CAPACITY_REPORTS.path(): _listed(reports),
        kinds.QUEUES.path(): _listed(list(queue_objects(SIZE))),
        kinds.TENANTS.path(): _listed(list(tenant_objects(SIZE))),
    }


def _page(part: _Part, start: int, limit: int) -> bytes:
    count, item = part
    end = min(count, start + limit)
    meta: Obj = {"resourceVersion": str(10**7)}
    if end < count:
        meta["continue"] = str(end)
    return msgspec.json.encode({"metadata": meta, "items": [item(at) for at in range(start, end)]})


async def serve(bindings: int) -> None:
    """Serve until the process is ended."""
    found = world(bindings)

    async def answer(request: web.Request) -> web.StreamResponse:
        query = request.query
        if query.get("watch") in ("1", "true"):
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.sleep(3600)
            return response
        part = found.get(request.path, _NONE)
        body = _page(part, int(query.get("continue") or 0), int(query.get("limit") or part[0]))
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
