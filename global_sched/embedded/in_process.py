"""Requests to an embedded API server of this process without sockets.

The client above and the server below are those of every other request: authentication, rights,
validation, watches and answers are the server's own. What is left out are HTTP's bytes, so a whole
federation costs a fraction of the time, and in virtual time nothing depends on when the system
hands bytes on.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from urllib.parse import unquote, urlencode, urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from global_sched.embedded.apiserver.http.bodies import BODY_LIMIT, too_large
from global_sched.embedded.apiserver.http.incoming import InProcessRequest
from global_sched.embedded.apiserver.server import ApiServer, OpenWatch
from global_sched.shared.clock import Clock
from global_sched.shared.kube.connection import Access, Connection
from global_sched.shared.kube.errors import Unreachable
from global_sched.shared.kube.transport import Request, Response, StreamResponse


class InProcessTransport:
    """A transport (`shared.kube.transport`) to the server that a connection's address names.

    servers:  by address (`ApiServer.url`).
    """

    def __init__(self, connection: Connection, servers: Mapping[str, ApiServer]) -> None:
        self._connection = connection
        self._servers = servers

    @classmethod
    def to(cls, server: ApiServer, *, clock: Clock) -> "InProcessTransport":
        """To one server that has started, without credentials."""
        return cls(Connection.to(server.url, clock=clock), {server.url: server})

    async def send(self, request: Request) -> Response:
        """The whole answer. Raises Unreachable where the server does not answer."""
        access = await self._connection.access()
        answer = await self._ask(request, access)
        if isinstance(answer, OpenWatch):
            raise Unreachable("a watch has no end", target=request.target, reason="Watch")
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamResponse]:
        """An answer as it comes; it breaks when the server hangs up."""
        access = await self._connection.access()
        answer = await self._ask(request, access)
        if isinstance(answer, Response):
            yield StreamResponse(
                status=answer.status, headers=answer.headers, chunks=_once(answer.body)
            )
            return
        async with aclosing(_chunks(answer, request, access)) as chunks:
            headers = CIMultiDict({"Content-Type": answer.content_type})
            yield StreamResponse(status=200, headers=headers, chunks=chunks)

    async def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, request: Request, access: Access) -> Response | OpenWatch:
        """Others have their turn before and after, as they would while bytes travel."""
        await asyncio.sleep(0)
        server = self._servers.get(access.server)
        if server is None or not server.answers:
            text = f"{access.server}: no server answers there"
            raise Unreachable(text, target=request.target, reason="ConnectionRefused")

        async def read() -> bytes:
            body = request.body or b""
            if len(body) > BODY_LIMIT:
                raise too_large()
            return body

        answer = await server.respond(_incoming(request, access), read)
        await asyncio.sleep(0)
        if isinstance(answer, OpenWatch):
            return answer
        body = answer.body
        assert body is None or isinstance(body, bytes)
        return Response(status=answer.status, headers=answer.headers, body=body or b"")


def _incoming(request: Request, access: Access) -> InProcessRequest:
    headers = CIMultiDict(request.headers)
    if access.authorization:
        headers["Authorization"] = access.authorization
    headers.extend(access.acting)
    query = urlencode(request.params)
    return InProcessRequest(
        method=request.method,
        raw_path=f"{request.path}?{query}" if query else request.path,
        path=unquote(request.path),
        host=urlsplit(access.server).netloc,
        headers=CIMultiDictProxy(headers),
        query=request.params,
    )


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _chunks(watch: OpenWatch, request: Request, access: Access) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(watch.frames) as frames:
            async for batch in frames:
                if batch:
                    yield batch
    except ConnectionResetError as error:
        text = f"{access.server}: {error}"
        raise Unreachable(text, target=request.target, reason=type(error).__name__) from error
