"""A whole world to list, in a process of its own, every page made when it is asked for.

`python -m bench.flow.memory_server BINDINGS [CLUSTERS NODES]` prints its port. It serves lists,
silent watches, and which kinds there are.
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
from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import SystemClock

SIZE = Size(filled=0.9)
_Part = tuple[int, Callable[[int], Obj]]
"""How many objects there are, and each by its position."""


_NONE: _Part = (0, lambda _: {})


def _listed(found: list[Obj]) -> _Part:
    return len(found), found.__getitem__


def world(bindings: int, size: Size = SIZE) -> dict[str, _Part]:
    """What there is, by collection path."""
    now = SystemClock().now()
    jobs = Jobs(size, now)
    members = clusters(size)
    reports = [report for member in members for report in report_objects(member, now)]
    return {
        kinds.RESOURCE_BINDINGS.path(): (bindings, jobs.binding),
        kinds.VOLCANO_JOBS.path(): (bindings, jobs.template),
        kinds.CLUSTERS.path(): _listed([cluster_object(member) for member in members]),
        kinds.CAPACITY_REPORTS.path(): _listed(reports),
        kinds.QUEUES.path(): _listed(list(queue_objects(size))),
        kinds.TENANTS.path(): _listed(list(tenant_objects(size))),
    }


def _page(of: Resource, part: _Part, start: int, limit: int) -> bytes:
    count, item = part
    end = min(count, start + limit)
    meta: Obj = {"resourceVersion": str(10**7)}
    if end < count:
        meta["continue"] = str(end)
    kind = {"apiVersion": of.api_version, "kind": f"{of.kind}List", "metadata": meta}
    return msgspec.json.encode(kind | {"items": [item(at) for at in range(start, end)]})


def _collections() -> dict[str, Resource]:
    """The kinds by the paths that list them; any other path is an object that is not there."""
    found = (one for one in vars(kinds).values() if isinstance(one, Resource))
    return {one.path(): one for one in found}


def _served() -> dict[str, bytes]:
    """The kinds of each API group and version, by the path that is asked for them."""
    found: dict[str, list[Obj]] = {}
    for one in vars(kinds).values():
        if isinstance(one, Resource):
            found.setdefault(one.prefix, []).append({"name": one.plural, "kind": one.kind})
    return {path: msgspec.json.encode({"resources": listed}) for path, listed in found.items()}


async def serve(bindings: int, size: Size = SIZE) -> None:
    """Serve until the process is ended."""
    found, served, collections = world(bindings, size), _served(), _collections()

    async def answer(request: web.Request) -> web.StreamResponse:
        query = request.query
        if query.get("watch") in ("1", "true"):
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.sleep(3600)
            return response
        if request.path in served:
            return web.Response(body=served[request.path], content_type="application/json")
        if request.path not in collections:
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        part = found.get(request.path, _NONE)
        start, limit = int(query.get("continue") or 0), int(query.get("limit") or part[0])
        body = _page(collections[request.path], part, start, limit)
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.sleep(3600)


if __name__ == "__main__":
    count, *more = map(int, sys.argv[1:])
    asyncio.run(serve(count, Size(filled=0.9, clusters=more[0], nodes=more[1]) if more else SIZE))
