"""The seam between the client and the network: a request in, a response or a stream out.

`AiohttpTransport` is the real one. `faults.FaultyTransport` wraps any other. Tests of the client
run over real sockets; nothing above this file knows that aiohttp exists.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from global_sched.shared.kube.connection import Access, Connection
from global_sched.shared.kube.errors import RequestTarget, TooLarge, Unreachable

MAX_ANSWER: Final = 256 * 1024 * 1024
"""Bytes of one answer that we are willing to hold; a page of a list is the largest we ask for."""

KEEPALIVE: Final = 60.0
"""Seconds that an idle connection stays open: a handshake costs both sides more than a
request does. API servers close what is idle for 90 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request to an API server."""

    method: str
    path: str
    target: RequestTarget
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 30.0
    """Seconds for the whole answer; for a stream, the longest silence that still counts as life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResponse:
    """An answer whose body arrives over time; chunk borders mean nothing."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class Transport(Protocol):
    """Carries requests to one API server.

    Raises:  Unreachable when there is no answer, or when an answer is cut off. HTTP status
             codes are not errors here.
    """

    async def send(self, request: Request) -> Response:
        """The whole answer."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamResponse]:
        """An answer to be read as it comes; leaving the context closes the connection."""
        ...

    async def close(self) -> None:
        """Give every socket back."""
        ...


# Everything that aiohttp, asyncio and the socket layer raise when a peer is away or breaks off.
_NETWORK_ERRORS: Final = (aiohttp.ClientError, TimeoutError, OSError)


class AiohttpTransport:
    """One aiohttp session per API server, made when the first request is sent.

    A 401 reloads the credentials and repeats the request once: it was not carried out.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._session: aiohttp.ClientSession | None = None  # noqa: TID251 - the one client room

    async def send(self, request: Request) -> Response:
        """The whole answer; at most MAX_ANSWER bytes."""
        access = await self._connection.access()
        response = await self._send(request, access)
        if response.status == 401 and await self._connection.renew(access):
            response = await self._send(request, await self._connection.access())
        return response

    async def _send(self, request: Request, access: Access) -> Response:
        timeout = aiohttp.ClientTimeout(total=request.timeout)
        try:
            async with self._request(request, access, timeout) as answer:
                body = await _read_capped(answer, request.target)
                return Response(status=answer.status, headers=answer.headers, body=body)
        except _NETWORK_ERRORS as error:
            raise _unreachable(error, request, access) from error

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamResponse]:
        """An answer without a total timeout; silence beyond the request's timeout breaks it."""
        access = await self._connection.access()
        timeout = aiohttp.ClientTimeout(
            total=None, connect=request.timeout, sock_read=request.timeout
        )
        try:
            answer = await self._request(request, access, timeout)
            if answer.status == 401 and await self._connection.renew(access):
                answer.close()
                access = await self._connection.access()
                answer = await self._request(request, access, timeout)
        except _NETWORK_ERRORS as error:
            raise _unreachable(error, request, access) from error
        try:
            yield StreamResponse(
                status=answer.status,
                headers=answer.headers,
                chunks=_chunks(answer, request, access),
            )
        finally:
            answer.close()

    def _request(
        self, request: Request, access: Access, timeout: aiohttp.ClientTimeout
    ) -> "aiohttp.client._RequestContextManager":
        headers = CIMultiDict(request.headers)
        if access.authorization:
            headers["Authorization"] = access.authorization
        headers.extend(access.acting)
        url = URL(access.server + request.path, encoded=True)
        if request.params:
            url = url.update_query(request.params)
        return self._open().request(
            request.method,
            url,
            headers=headers,
            data=request.body,
            timeout=timeout,
            allow_redirects=False,
            ssl=access.tls if access.tls is not None else True,
            server_hostname=access.server_hostname,
            proxy=access.proxy,
        )

    def _open(self) -> aiohttp.ClientSession:  # noqa: TID251 - the one client room
        if self._session is None:
            # No connection limit: every watch holds one. A large read buffer lets one wake-up
            # hand over many watch events.
            connector = aiohttp.TCPConnector(
                limit=0, keepalive_timeout=KEEPALIVE, socket_factory=_keepalive_socket
            )
            self._session = aiohttp.ClientSession(  # noqa: TID251 - the one client room
                connector=connector,
                read_bufsize=1 << 20,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def close(self) -> None:
        """Close the session; requests in flight fail."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _keepalive_socket(info: "aiohttp.AddrInfoType") -> socket.socket:
    """A socket on which the kernel notices a dead peer even when nothing is written."""
    family, kind, protocol, _, _ = info
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


async def _read_capped(answer: aiohttp.ClientResponse, target: RequestTarget) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size > MAX_ANSWER:
            raise TooLarge(f"the answer is larger than {MAX_ANSWER} bytes", target=target)
        parts.append(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _chunks(
    answer: aiohttp.ClientResponse, request: Request, access: Access
) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.content.iter_any():
            yield chunk
    except _NETWORK_ERRORS as error:
        raise _unreachable(error, request, access) from error


def _unreachable(error: BaseException, request: Request, access: Access) -> Unreachable:
    if isinstance(error, (asyncio.TimeoutError, aiohttp.ServerTimeoutError)):
        text = f"{access.server} did not answer within {request.timeout:g} s"
        return Unreachable(text, target=request.target, reason="Timeout")
    text = f"{access.server}: {error or type(error).__name__}"
    return Unreachable(text, target=request.target, reason=type(error).__name__)
