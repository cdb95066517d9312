"""Times come from the given clock, and nothing waits for the real one."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest

from global_sched.embedded.apiserver import ApiServer
from global_sched.shared.clock import LoopClock
from tests.virtual_time import virtual_time

MAPS = "/api/v1/namespaces/default/configmaps"


@asynccontextmanager
async def running():
    """A server, its clock and a session, in the loop's time."""
    clock = LoopClock()
    server = ApiServer(clock=clock)
    await server.start()
    try:
        async with aiohttp.ClientSession(server.url) as session:  # noqa: TID251 - plain HTTP
            yield clock, session
    finally:
        await server.stop()


@virtual_time
async def test_objects_carry_virtual_times():
    """An object made an hour later is an hour younger."""
    async with running() as (clock, session):
        times = []
        for name in ("a", "b"):
            async with session.post(MAPS, json={"metadata": {"name": name}}) as made:
                times.append((await made.json())["metadata"]["creationTimestamp"])
            await clock.sleep(3600)

        assert times == ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"]


@virtual_time
async def test_a_quiet_watch_sends_a_bookmark_every_minute():
    """Bookmarks carry the newest version, so that a quiet watcher can resume."""
    async with running() as (clock, session):
        params = {"watch": "1", "resourceVersion": "1", "allowWatchBookmarks": "true"}
        start = clock.monotonic()
        async with session.get(MAPS, params={**params, "timeoutSeconds": "150"}) as response:
            lines = (await response.text()).splitlines()

        assert [json.loads(line)["type"] for line in lines] == ["BOOKMARK", "BOOKMARK"]
        assert clock.monotonic() - start == pytest.approx(150, abs=1)


@virtual_time
async def test_an_expired_service_account_token_is_nobodys():
    """A requested token lives as long as it was asked for."""
    async with running() as (_, session):
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await (await session.post(accounts, json={"metadata": {"name": "robot"}})).read()
        body = {"spec": {"expirationSeconds": 600}}
        async with session.post(f"{accounts}/robot/token", json=body) as made:
            token = (await made.json())["status"]["token"]
        review = {"spec": {"token": token}}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        names = []
        for _ in range(2):
            async with session.post(path, json=review) as response:
                names.append((await response.json())["status"]["user"].get("username"))
            await asyncio.sleep(601)

        assert names == ["system:serviceaccount:default:robot", None]
