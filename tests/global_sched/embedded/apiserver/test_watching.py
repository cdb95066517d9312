"""Watches: resume, selectors, bookmarks, initial events, versions that are gone."""

import asyncio
import json

import pytest

from global_sched.embedded.apiserver import ApiServer
from tests.global_sched.embedded.apiserver.conftest import team_world
from tests.virtual_time import virtual_time

MAPS = "/api/v1/namespaces/team/configmaps"
ALL = "/api/v1/configmaps"
MERGE = "application/merge-patch+json"


def config(name, **labels):
    return {"metadata": {"name": name, "labels": labels}}


def brief(events):
    """Type, name and version of events."""
    return [(e["type"], e["object"]["metadata"].get("name")) for e in events]


async def version(http):
    return (await http("GET", MAPS)).obj["metadata"]["resourceVersion"]


@virtual_time
async def test_a_watch_resumes_after_a_version():
    """Every change after the version arrives once, in order; a deletion carries its version."""
    async with team_world() as team:
        await team("POST", MAPS, config("old"))
        start = await version(team)
        await team("POST", MAPS, config("a"))
        await team("PATCH", f"{MAPS}/a", {"data": {"x": "1"}}, kind=MERGE)
        await team("DELETE", f"{MAPS}/a")
        end = await version(team)

        events = await team.watch(MAPS, resourceVersion=start)

        assert brief(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert events[2]["object"]["metadata"]["resourceVersion"] == end
        assert events[2]["object"]["data"] == {"x": "1"}
        assert await team.watch(MAPS, resourceVersion=end) == []


@virtual_time
async def test_other_namespaces_are_not_seen():
    """A watch of a namespace sees that one; one of the cluster sees all."""
    async with team_world() as team:
        start = await version(team)
        await team("POST", "/api/v1/namespaces/default/configmaps", config("elsewhere"))
        await team("POST", MAPS, config("here"))

        assert brief(await team.watch(MAPS, resourceVersion=start)) == [("ADDED", "here")]
        assert len(await team.watch(ALL, resourceVersion=start)) == 2


@virtual_time
async def test_a_selector_turns_changes_into_comings_and_goings():
    """An object that starts to match is added, one that stops is deleted."""
    async with team_world() as team:
        start = await version(team)
        await team("POST", MAPS, config("a", on="no"))
        await team("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"on": "yes"}}}, kind=MERGE)
        await team("PATCH", f"{MAPS}/a", {"data": {"x": "1"}}, kind=MERGE)
        await team("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"on": "no"}}}, kind=MERGE)
        await team("DELETE", f"{MAPS}/a")

        events = await team.watch(MAPS, resourceVersion=start, labelSelector="on=yes")

        assert brief(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert events[2]["object"]["metadata"]["labels"] == {"on": "no"}


@virtual_time
async def test_initial_events_end_with_a_marked_bookmark():
    """The state comes first, then a bookmark that says so, then what happens."""
    async with team_world() as team:
        for name in ("b", "a"):
            await team("POST", MAPS, config(name))

        events = await team.watch(
            MAPS,
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
        )

        assert brief(events[:2]) == [("ADDED", "a"), ("ADDED", "b")]
        assert events[2]["type"] == "BOOKMARK"
        assert events[2]["object"]["metadata"] == {
            "resourceVersion": await version(team),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }


async def test_a_live_watch_sees_what_happens(team, session):
    """Changes arrive while the watch is open."""
    params = {"watch": "1", "resourceVersion": await version(team)}
    async with session.get(MAPS, params=params) as response:
        await team("POST", MAPS, config("a"))
        first = json.loads(await response.content.readline())
        await team("DELETE", f"{MAPS}/a")
        second = json.loads(await response.content.readline())

    assert brief([first, second]) == [("ADDED", "a"), ("DELETED", "a")]


async def test_a_forgotten_version_is_an_error_event(session):
    """What the history no longer holds ends the watch with 410, inside a 200."""
    small = ApiServer(name="small", history_bytes=2000)
    await small.start()
    try:
        maps = f"{small.url}/api/v1/namespaces/default/configmaps"
        for index in range(20):
            body = {"metadata": {"name": f"c{index}"}, "data": {"x": "y" * 200}}
            async with session.post(maps, json=body) as made:
                assert made.status == 201
        params = {"watch": "1", "resourceVersion": "18"}
        async with session.get(maps, params=params) as response:
            assert response.status == 200
            event = json.loads(await response.text())
        exact = {"resourceVersion": "18", "resourceVersionMatch": "Exact"}
        async with session.get(maps, params=exact) as response:
            listed = (response.status, (await response.json())["reason"])
    finally:
        await small.stop()

    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: 18 (")
    assert listed == (410, "Expired")


@pytest.mark.parametrize(
    ("params", "want_code", "want_text"),
    [
        pytest.param({"resourceVersion": "abc"}, 500, "invalid syntax", id="a version is a number"),
        pytest.param(
            {"resourceVersionMatch": "Exact", "resourceVersion": "1"},
            422,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            id="a match without initial events makes no sense",
        ),
        pytest.param(
            {"sendInitialEvents": "true"},
            422,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            id="initial events need the match",
        ),
        pytest.param(
            {"labelSelector": "a=("}, 400, "unable to parse requirement", id="selectors are parsed"
        ),
        pytest.param(
            {"fieldSelector": "data.x=1"},
            400,
            '"data.x" is not a known field selector',
            id="fields are known or refused",
        ),
    ],
)
async def test_refused_watches(team, params, want_code, want_text):
    """A watch that cannot be meant is refused before it starts."""
    reply = await team("GET", MAPS, params={"watch": "true", **params})

    assert reply.code == want_code
    assert want_text in reply.obj["message"]


async def test_many_watchers_share_the_frames(team, session):
    """Every watcher gets every event, however many there are and however fast it reads."""
    params = {"watch": "1", "resourceVersion": await version(team)}

    async def read():
        async with session.get(MAPS, params=params) as response:
            lines = [await response.content.readline() for _ in range(50)]
        return [json.loads(line)["object"]["metadata"]["name"] for line in lines]

    readers = [asyncio.create_task(read()) for _ in range(10)]
    names = [f"c{index:02}" for index in range(50)]
    for name in names:
        await team("POST", MAPS, config(name))

    assert await asyncio.gather(*readers) == [names] * 10
