"""A running server per test, and a client that speaks plain HTTP to it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from global_sched.embedded.apiserver import ApiServer
from global_sched.shared.clock import LoopClock, SystemClock

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Reply:
    """A status code, headers and a parsed body."""

    def __init__(self, code: int, headers: Any, text: str) -> None:
        self.code = code
        self.headers = headers
        self.text = text

    @property
    def obj(self) -> Any:
        return json.loads(self.text)

    def __repr__(self) -> str:
        return f"{self.code} {self.text}"


class Http:
    """Requests to one server."""

    def __init__(
        self,
        session: aiohttp.ClientSession,  # noqa: TID251 - tests speak plain HTTP
        token: str | None = None,
    ) -> None:
        self.session = session
        self.server: ApiServer | None = None
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = JSON,
        headers: Any = None,
        params: Any = None,
    ) -> Reply:
        data = body if isinstance(body, bytes | str) or body is None else json.dumps(body)
        sent = {**self.headers, "User-Agent": "Python/3", **(headers or {})}
        if data is not None:
            sent.setdefault("Content-Type", kind)
        async with self.session.request(
            method, path, data=data, headers=sent, params=params, skip_auto_headers=["Content-Type"]
        ) as response:
            return Reply(
                response.status, response.headers.copy(), await response.text(errors="replace")
            )

    async def watch(self, path: str, **params: str) -> list[Any]:
        """Every event until the server ends the watch, a second of its clock later."""
        reply = await self("GET", path, params={"watch": "true", "timeoutSeconds": "1", **params})
        return [json.loads(line) for line in reply.text.splitlines()]

    async def opens(self, path: str, **params: str) -> int:
        """The code that a watch starts with; it is closed at once."""
        asked = {"watch": "true", **params}
        async with self.session.get(path, params=asked, headers=self.headers) as response:
            return response.status


@asynccontextmanager
async def team_world(**options: Any) -> AsyncIterator[Http]:
    """A server in the running loop's time, with a namespace `team`, for tests in virtual time."""
    found = ApiServer(clock=LoopClock(), seed=1, **options)
    await found.start()
    try:
        async with aiohttp.ClientSession(  # noqa: TID251 - tests speak plain HTTP
            found.url, read_bufsize=1 << 20
        ) as session:
            http = Http(session)
            http.server = found
            await http("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
            yield http
    finally:
        await found.stop()


@pytest.fixture
async def server():
    found = ApiServer(name="test", clock=SystemClock(), seed=1)
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
async def session(server):
    async with aiohttp.ClientSession(  # noqa: TID251 - tests speak plain HTTP
        server.url, read_bufsize=1 << 20
    ) as found:
        yield found


@pytest.fixture
async def http(session):
    return Http(session)


@pytest.fixture
async def team(http):
    """A namespace `team`."""
    await http("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    return http
