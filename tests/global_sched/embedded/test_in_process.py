"""Requests within the process and over a socket: one server, the same answers."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from global_sched.embedded.apiserver.http.bodies import BODY_LIMIT
from global_sched.embedded.apiserver.http.identity import User
from global_sched.embedded.apiserver.server import ApiServer
from global_sched.embedded.in_process import InProcessTransport
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.errors import RequestTarget, Unreachable
from global_sched.shared.kube.transport import AiohttpTransport, Request
from tests.virtual_time import virtual_time

MAPS = "/api/v1/namespaces/default/configmaps"
TOKENS = {
    "admin": User(name="admin", groups=("system:masters",)),
    "tenant": User(name="tenant", groups=()),
}


@asynccontextmanager
async def served(token="admin"):
    """A server with one ConfigMap, and both ways to it."""
    clock = LoopClock()
    server = ApiServer(name="one", clock=clock, tokens=TOKENS, seed=1)
    await server.start()
    ways = [
        AiohttpTransport(Connection.to(server.url, clock=clock, token=token)),
        InProcessTransport(
            Connection.to(server.url, clock=clock, token=token), {server.url: server}
        ),
    ]
    admin = Client(
        InProcessTransport(
            Connection.to(server.url, clock=clock, token="admin"), {server.url: server}
        ),
        clock=clock,
    )
    await admin.create(CONFIGMAPS, {"metadata": {"name": "a"}}, namespace="default")
    try:
        yield server, ways, admin
    finally:
        for way in ways:
            await way.close()
        await server.stop()


def asked(method, path, *, body=None, params=None, **headers):
    """A request as the client makes it."""
    return Request(
        method=method,
        path=path,
        target=RequestTarget(verb="get", resource="configmaps"),
        params=params or {},
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=body,
    )


@pytest.mark.parametrize(
    ("token", "request_", "status"),
    [
        pytest.param("admin", asked("GET", f"{MAPS}/a"), 200, id="an object"),
        pytest.param("admin", asked("GET", MAPS, params={"limit": "1"}), 200, id="a list"),
        pytest.param("admin", asked("GET", f"{MAPS}/%62"), 404, id="an object that is not there"),
        pytest.param("tenant", asked("GET", MAPS), 403, id="no right"),
        pytest.param("unknown", asked("GET", MAPS), 401, id="a token without a user"),
        pytest.param(
            "admin", asked("GET", MAPS, Impersonate_User="tenant"), 403, id="acting as another"
        ),
        pytest.param(
            "admin",
            asked("POST", MAPS, body=b"{", Content_Type="application/json"),
            400,
            id="no JSON",
        ),
        pytest.param("admin", asked("GET", "/version"), 200, id="the version"),
        pytest.param("admin", asked("GET", "/apis"), 200, id="discovery"),
        pytest.param("admin", asked("GET", "/nowhere"), 404, id="no path"),
    ],
)
@virtual_time
async def test_the_answer_is_the_same(token, request_, status):
    """Status, content type and body."""
    async with served(token) as (_, ways, _):
        http, direct = [await way.send(request_) for way in ways]

    assert direct.status == http.status == status
    assert direct.body == http.body
    assert direct.headers["content-type"] == http.headers["Content-Type"]


@virtual_time
async def test_a_watch_sees_the_same():
    """Both get the frames of an object that a third client makes."""

    async def first(way):
        async with way.stream(asked("GET", MAPS, params={"watch": "1"})) as answer:
            async for chunk in answer.chunks:
                if b'"name":"b"' in chunk:
                    return answer.status, chunk[chunk.index(b'{"type":"ADDED"') :].splitlines()[-1]
        return None

    async with served() as (_, ways, admin):
        looking = [asyncio.create_task(first(way)) for way in ways]
        await asyncio.sleep(1)
        await admin.create(CONFIGMAPS, {"metadata": {"name": "b"}}, namespace="default")
        http, direct = await asyncio.gather(*looking)

    assert http is not None
    assert direct == http


@virtual_time
async def test_a_closed_server_breaks_watches_and_answers_nothing_until_it_is_open():
    """As one whose process is away; what it holds is there afterwards."""

    async def watched(way):
        async with way.stream(asked("GET", MAPS, params={"watch": "1"})) as answer:
            async for _ in answer.chunks:
                pass

    async with served() as (server, ways, admin):
        looking = [asyncio.create_task(watched(way)) for way in ways]
        await asyncio.sleep(1)
        await server.close()
        for one in looking:
            with pytest.raises(Unreachable):
                await one
        for way in ways:
            with pytest.raises(Unreachable):
                await way.send(asked("GET", MAPS))
        await server.open()
        found = [(await way.send(asked("GET", f"{MAPS}/a"))).status for way in ways]
        await admin.create(CONFIGMAPS, {"metadata": {"name": "b"}}, namespace="default")

    assert found == [200, 200]


@virtual_time
async def test_a_body_is_not_read_for_a_sender_without_the_right():
    """The refusal comes first, as on a socket, where the bytes would be left where they are."""
    async with served("tenant") as (_, ways, _):
        codes = [(await way.send(asked("POST", MAPS, body=b"{"))).status for way in ways]

    assert codes == [403, 403]


@virtual_time
async def test_without_a_socket():
    """A server that does not listen has an address all the same, and answers within the process."""
    clock = LoopClock()
    server = ApiServer(name="quiet", clock=clock, seed=1)
    await server.start(listen=False)
    client = Client(InProcessTransport.to(server, clock=clock), clock=clock)
    await client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, namespace="default")
    names = [one["metadata"]["name"] for one in (await client.list(CONFIGMAPS)).items]
    await server.stop()

    assert server.url == "http://quiet.in-process:80"
    assert "a" in names
    with pytest.raises(Unreachable, match=r"quiet\.in-process"):
        await client.list(CONFIGMAPS)


@virtual_time
async def test_a_body_that_is_too_large():
    """The limit is that of the socket."""
    async with served() as (_, (_, direct), _):
        answer = await direct.send(asked("POST", MAPS, body=b" " * (BODY_LIMIT + 1)))

    assert answer.status == 413
