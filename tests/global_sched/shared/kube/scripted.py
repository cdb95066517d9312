"""A small HTTP server that answers as its script says: one real socket, no Kubernetes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.transport import AiohttpTransport

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """One request that arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Script:
    """Answers in order; the last one is repeated."""

    answers: list[Answer]
    seen: list[Seen] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(
            Seen(
                method=request.method,
                path=request.path,
                query=dict(request.query),
                headers=dict(request.headers),
                body=await request.read(),
                at=asyncio.get_running_loop().time(),
            )
        )
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)

    def client(self, **options: Any) -> Client:
        clock = LoopClock()
        transport = AiohttpTransport(Connection.to(self.url, clock=clock))
        return Client(transport, clock=clock, **options)


@asynccontextmanager
async def serving(*answers: Answer) -> AsyncIterator[Script]:
    """The script on a free loopback port."""
    script = Script(list(answers))
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", script.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    script.url = f"http://127.0.0.1:{port}"
    try:
        yield script
    finally:
        await runner.cleanup()


def says(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A JSON answer; bytes are sent as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(
            body=data, status=status, headers=headers, content_type="application/json"
        )

    return answer


def stores() -> Answer:
    """The object that a request names, as a server that has stored it answers."""

    async def answer(request: web.Request) -> web.Response:
        steps = [one for one in request.path.split("/") if one not in {"status", "binding"}]
        meta = {"name": steps[-1], "resourceVersion": "1"}
        kind = "Status" if request.path.endswith("/binding") else "Stored"
        return web.json_response({"kind": kind, "metadata": meta})

    return answer


def fails(code: int, reason: str, *, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """A Status answer."""
    status = {"kind": "Status", "code": code, "reason": reason, "message": f"because {reason}"}
    return says(status | more, status=code, headers=headers)


def hangs(seconds: float = 10_000) -> Answer:
    """Accept, and answer much too late."""

    async def answer(_request: web.Request) -> web.Response:
        await asyncio.sleep(seconds)
        return web.Response()

    return answer


def streams(*steps: bytes | dict[str, Any] | float, cut: bool = False) -> Answer:
    """A watch: events and raw bytes are sent, numbers are waited; then end, or cut the line."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for step in steps:
            if isinstance(step, (int, float)):
                await asyncio.sleep(step)
            else:
                data = step if isinstance(step, bytes) else json.dumps(step).encode() + b"\n"
                await response.write(data)
        if cut:
            assert request.transport is not None
            await asyncio.sleep(0.01)
            request.transport.abort()
            return response
        await response.write_eof()
        return response

    return answer


def untouched() -> Answer:
    """A list of nothing; a watch in which nothing comes until the server ends it, as asked."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return await says(listing(5))(request)
        return await streams(float(request.query["timeoutSeconds"]))(request)

    return answer


def thing(name: str, version: int, *, uid: str | None = None, **more: Any) -> dict[str, Any]:
    """An object of namespace `ns`."""
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    return {"metadata": metadata, **more}


def event(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": obj}


def listing(version: int, *items: dict[str, Any], token: str = "") -> dict[str, Any]:
    return {
        "kind": "List",
        "metadata": {"resourceVersion": str(version), "continue": token},
        "items": list(items),
    }
