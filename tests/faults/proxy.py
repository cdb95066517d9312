"""A proxy in front of one server, which spoils what a test tells it to spoil."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
from aiohttp import web

HOP = frozenset({"host", "content-length", "transfer-encoding", "connection"})


@dataclass(frozen=True, slots=True)
class Spoil:
    """One fault: `status` (a code), `delay`, `hang`, `lose` (the answer) or `cut` (a watch)."""

    kind: str
    value: float = 0


Rule = Callable[[str, str], Spoil | None]
"""From method (WATCH for a watch, EVENT for each part of it) and path to the fault, if any."""


class Proxy:
    """Listens on a free port; `rule` may be changed at any time."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.rule: Rule = lambda _method, _path: None
        self.spoiled = 0
        self.port = 0

    async def start(self) -> None:
        """Begin to listen."""
        self._session = aiohttp.ClientSession(auto_decompress=False)  # noqa: TID251 - not a client of ours
        handler = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(handler, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """End it, and whatever hangs in it."""
        await self._runner.cleanup()
        await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        watch = "watch=true" in request.raw_path
        fault = self._fault("WATCH" if watch else request.method, request.raw_path)
        match fault.kind:
            case "status":
                self.spoiled += 1
                status = {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "code": int(fault.value),
                }
                return web.json_response(status, status=int(fault.value))
            case "delay" | "hang":
                await asyncio.sleep(fault.value)
        if fault.kind == "hang":
            self._abort(request)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP}
        try:
            async with self._session.request(
                request.method,
                self.upstream + request.raw_path,
                data=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None),
            ) as answer:
                return await self._pass_on(request, answer, fault, watch=watch)
        except aiohttp.ClientError:
            self._abort(request)
            raise

    async def _pass_on(
        self,
        request: web.BaseRequest,
        answer: aiohttp.ClientResponse,
        fault: Spoil,
        *,
        watch: bool,
    ) -> web.StreamResponse:
        headers = {k: v for k, v in answer.headers.items() if k.lower() not in HOP}
        if not watch:
            data = await answer.read()
            if fault.kind == "lose":
                self._abort(request)
            return web.Response(status=answer.status, body=data, headers=headers)
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        async for part in answer.content.iter_any():
            if self._fault("EVENT", request.raw_path).kind == "cut":
                await response.write(part[: len(part) // 2])
                self._abort(request)
            await response.write(part)
        await response.write_eof()
        return response

    def _fault(self, method: str, path: str) -> Spoil:
        return self.rule(method, path) or Spoil("")

    def _abort(self, request: web.BaseRequest) -> None:
        self.spoiled += 1
        if request.transport is not None:
            request.transport.abort()
        raise asyncio.CancelledError
