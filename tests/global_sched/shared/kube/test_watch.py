"""One watch of the client, over a real socket."""

from contextlib import aclosing

import pytest

from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.kube.decode import EventType
from global_sched.shared.kube.errors import Gone
from tests.global_sched.shared.kube.scripted import event, fails, serving, streams, thing
from tests.virtual_time import virtual_time


@virtual_time
async def test_watch_events():
    """A watch gives typed events one by one; a bookmark has only its version."""
    async with serving(
        streams(event("ADDED", thing("a", 6)), event("BOOKMARK", thing("", 9)), 1.0)
    ) as script:
        client = script.client()
        watch = client.watch(CONFIGMAPS, resource_version="5", type=KubeObject, namespace="ns")
        async with aclosing(watch):
            events = [event async for event in watch]
        await client.close()

    assert [(e.type, e.resource_version) for e in events] == [
        (EventType.ADDED, "6"),
        (EventType.BOOKMARK, "9"),
    ]
    assert events[0].object.metadata.name == "a"
    assert events[1].object is None


@virtual_time
async def test_watch_errors_are_raised():
    """An ERROR event is raised as the error that its Status stands for, after what came before."""
    got = {}

    async def follow(watch):
        async with aclosing(watch):
            async for e in watch:
                got[e.type] = e.resource_version

    async with serving(
        streams(event("ADDED", thing("a", 6)), event("ERROR", {"code": 410, "reason": "Expired"}))
    ) as script:
        client = script.client()
        watch = client.watch(CONFIGMAPS, resource_version="5")
        with pytest.raises(Gone):
            await follow(watch)
        await client.close()

    assert got == {EventType.ADDED: "6"}


async def test_a_refused_watch_is_raised():
    """A refusal has its Status, as for any other request."""
    async with serving(fails(410, "Expired")) as script:
        client = script.client()
        watch = client.watch(CONFIGMAPS, resource_version="5")
        with pytest.raises(Gone, match="because Expired"):
            await anext(watch)
        await client.close()


@virtual_time
async def test_a_large_event_passes():
    """Three megabytes in one line are one event."""
    big = thing("a", 6, data={"blob": "x" * 3_000_000})
    async with serving(streams(event("ADDED", big), 1.0)) as script:
        client = script.client()
        watch = client.watch(CONFIGMAPS, resource_version="5")
        async with aclosing(watch):
            found = await anext(watch)
        await client.close()

    assert len(found.object["data"]["blob"]) == 3_000_000
