"""The informer against scripted servers, in virtual time."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.backoff import JitteredBackoff
from global_sched.shared.kube.errors import WentBack
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.informer_stats import ListReason
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.kube.reading import INACTIVITY, WATCH
from tests.global_sched.shared.kube.scripted import (
    event,
    fails,
    hangs,
    listing,
    says,
    serving,
    streams,
    thing,
    untouched,
)
from tests.virtual_time import virtual_time


@dataclass
class Recorder:
    """A handler that writes down its calls."""

    calls: list[str] = field(default_factory=list)

    def upsert(self, obj):
        self.calls.append(f"+{obj.metadata.name}@{obj.metadata.resource_version}")

    def delete(self, key: ObjectKey, uid: str):
        self.calls.append(f"-{key.name}({uid})")

    def malformed(self, bad: Malformed):
        self.calls.append(f"!{bad.key.name}@{bad.resource_version}")

    def synced(self):
        self.calls.append("synced")


class Sized(KubeObject, frozen=True):
    """An object with one typed field."""

    size: int = 0


async def watch_for(script, seconds, type_=KubeObject, **options):
    """Run an informer for some virtual seconds; the calls of the handler, and the informer."""
    client = script.client()
    recorder = Recorder()
    options.setdefault("backoff", JitteredBackoff(rng=random.Random(1)))
    informer = Informer(client, CONFIGMAPS, type_, handler=recorder, clock=LoopClock(), **options)
    task = asyncio.create_task(informer.run())
    await asyncio.sleep(seconds)
    assert not task.done(), task
    task.cancel()
    await asyncio.wait([task])
    await client.close()
    return recorder.calls, informer


def watches(script):
    return [seen for seen in script.seen if "watch" in seen.query]


def lists(script):
    return [seen for seen in script.seen if "watch" not in seen.query]


@virtual_time
async def test_list_then_watch():
    """The handler gets the list, that it is whole, and then of every change."""
    async with serving(
        says(listing(5, thing("a", 1), thing("b", 2))),
        streams(
            event("ADDED", thing("c", 6)),
            event("MODIFIED", thing("a", 7)),
            event("DELETED", thing("b", 8)),
            1000.0,
        ),
    ) as script:
        calls, informer = await watch_for(script, 10)

    assert calls == ["+a@1", "+b@2", "synced", "+c@6", "+a@7", "-b(uid-b)"]
    assert script.seen[1].query["resourceVersion"] == "5"
    assert script.seen[1].query["allowWatchBookmarks"] == "true"
    stats = informer.statistics()
    assert (stats.objects, stats.events, stats.resource_version) == (2, 3, "8")


@virtual_time
async def test_pages_are_followed():
    """A list of several pages is one state, and is synced only after its last page."""
    async with serving(
        says(listing(5, thing("a", 1), token="next")),
        says(listing(5, thing("b", 2))),
        hangs(),
    ) as script:
        calls, _ = await watch_for(script, 1, page_size=1)

    assert calls == ["+a@1", "+b@2", "synced"]
    assert [seen.query.get("continue") for seen in script.seen[:2]] == [None, "next"]


@virtual_time
async def test_gone_relists_and_tells_of_missed_deletes():
    """After 410 the new list is compared with what was known: changes and deletes are delivered."""
    async with serving(
        says(listing(5, thing("a", 1), thing("b", 2), thing("c", 3))),
        streams(event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})),
        says(listing(90, thing("a", 1), thing("b", 80))),
        streams(1000.0),
    ) as script:
        calls, informer = await watch_for(script, 30)

    assert calls == ["+a@1", "+b@2", "+c@3", "synced", "+b@80", "-c(uid-c)"]
    assert informer.statistics().lists == {ListReason.FIRST: 1, ListReason.GONE: 1}
    assert watches(script)[-1].query["resourceVersion"] == "90"
    # At most one list in ten seconds, so that a compacting server is not listed in a loop.
    assert lists(script)[1].at - lists(script)[0].at >= 10


@virtual_time
async def test_clean_end_continues_from_the_last_event():
    """A stream that the server ends is continued where it ended, bookmarks included."""
    async with serving(
        says(listing(5)),
        streams(event("ADDED", thing("a", 6)), event("BOOKMARK", thing("", 50)), 2.0),
        streams(1000.0),
    ) as script:
        calls, informer = await watch_for(script, 10)

    assert calls == ["synced", "+a@6"]
    assert [seen.query["resourceVersion"] for seen in watches(script)] == ["5", "50"]
    assert informer.statistics().bookmarks == 1


@virtual_time
async def test_streams_that_end_at_once_are_not_asked_in_a_loop():
    """A server that closes every watch at once is asked less and less often."""
    async with serving(says(listing(5)), streams()) as script:
        _, informer = await watch_for(script, 600)

    assert 10 <= len(watches(script)) <= 60
    assert informer.statistics().failures == 0


@virtual_time
async def test_cut_in_the_middle_of_an_event():
    """An event that was cut off is not applied; the next watch gets it again."""
    async with serving(
        says(listing(5)),
        streams(event("ADDED", thing("a", 6)), b'{"type":"ADDED","object":{"meta', 1.0, cut=True),
        streams(event("ADDED", thing("b", 7)), 1000.0),
    ) as script:
        calls, informer = await watch_for(script, 10)

    assert calls == ["synced", "+a@6", "+b@7"]
    assert [seen.query["resourceVersion"] for seen in watches(script)] == ["5", "6"]
    assert informer.statistics().failures == 1


@virtual_time
async def test_silence_is_noticed():
    """A half-open connection is given up after the inactivity time, and resumed."""
    async with serving(
        says(listing(5)),
        streams(event("ADDED", thing("a", 6)), 100_000.0),
        streams(event("ADDED", thing("b", 7)), 100_000.0),
    ) as script:
        calls, informer = await watch_for(script, 95)

    assert calls == ["synced", "+a@6", "+b@7"]
    assert 90 <= watches(script)[1].at - watches(script)[0].at <= 92
    assert informer.statistics().staleness < 5


@virtual_time
async def test_a_collection_that_nobody_touches_is_watched_in_peace():
    """Without an event or a bookmark for an hour: the server ends each watch, and none fails."""
    async with serving(untouched()) as script:
        _, informer = await watch_for(script, 3600)

    stats = informer.statistics()
    assert (stats.failures, stats.lists.total()) == (0, 1)
    assert stats.staleness < INACTIVITY
    assert 50 <= len(watches(script)) <= 60, "one a minute, and a fifth"
    assert {seen.query["resourceVersion"] for seen in watches(script)} == {"5"}
    assert all(WATCH <= int(seen.query["timeoutSeconds"]) < INACTIVITY for seen in watches(script))


@virtual_time
async def test_watches_do_not_end_together():
    """Many informers that start at once spread out: their watches have different lengths."""
    async with serving(untouched()) as script:
        for seed in range(3):
            backoff = JitteredBackoff(rng=random.Random(seed))
            await watch_for(script, 10, backoff=backoff)

    assert len({seen.query["timeoutSeconds"] for seen in watches(script)}) == 3


@virtual_time
async def test_retry_after_is_honoured():
    """A throttled list waits exactly as long as the server says."""
    async with serving(
        fails(429, "TooManyRequests", headers={"Retry-After": "7"}),
        says(listing(5)),
        streams(1000.0),
    ) as script:
        calls, _ = await watch_for(script, 20)

    assert calls == ["synced"]
    assert 7.0 <= lists(script)[1].at - lists(script)[0].at < 7.1


@virtual_time
async def test_outage_is_waited_out():
    """While the server fails, requests become rare; staleness grows; nothing is forgotten."""
    async with serving(
        says(listing(5, thing("a", 1))),
        streams(event("ADDED", thing("b", 6)), 1.0),
        fails(500, "InternalError"),
    ) as script:
        calls, informer = await watch_for(script, 600)

    assert calls == ["+a@1", "synced", "+b@6"]
    assert 8 <= len(watches(script)) <= 60
    stats = informer.statistics()
    assert stats.staleness > 500
    assert "because InternalError" in str(stats.failure)


@virtual_time
async def test_same_version_is_told_once():
    """A repeated event changes nothing, whatever the server repeats."""
    async with serving(
        says(listing(5, thing("a", 1))),
        streams(
            event("ADDED", thing("a", 1)),
            event("MODIFIED", thing("a", 6)),
            event("MODIFIED", thing("a", 6)),
            1000.0,
        ),
    ) as script:
        calls, _ = await watch_for(script, 5)

    assert calls == ["+a@1", "synced", "+a@6"]


@virtual_time
async def test_recreated_object_is_deleted_first():
    """A name that comes back with another uid is another object."""
    async with serving(
        says(listing(5, thing("a", 1, uid="one"))),
        streams(event("MODIFIED", thing("a", 9, uid="two")), 1000.0),
    ) as script:
        calls, _ = await watch_for(script, 5)

    assert calls == ["+a@1", "synced", "-a(one)", "+a@9"]


@virtual_time
async def test_unreadable_objects_hide_nothing():
    """An object that breaks its type is counted as malformed; the others arrive; its delete too."""
    async with serving(
        says(listing(5, thing("good", 1), thing("bad", 2, size="large"), thing("fine", 3))),
        streams(
            event("MODIFIED", thing("good", 6, size=[])),
            event("MODIFIED", thing("bad", 7, size=4)),
            event("DELETED", thing("good", 8, size=[])),
            1000.0,
        ),
    ) as script:
        calls, informer = await watch_for(script, 5, type_=Sized)

    assert calls == [
        "+good@1",
        "+fine@3",
        "!bad@2",
        "synced",
        "!good@6",
        "+bad@7",
        "-good(uid-good)",
    ]
    assert informer.statistics().malformed == 0


@virtual_time
async def test_garbage_on_the_stream_leads_to_a_list():
    """Lines that are no events at all are not asked for again: the collection is listed anew."""
    async with serving(
        says(listing(5)),
        streams(b"<html>gateway</html>\n"),
        says(listing(9, thing("a", 8))),
        streams(1000.0),
    ) as script:
        calls, informer = await watch_for(script, 60)

    assert calls == ["synced", "+a@8"]
    assert informer.statistics().lists[ListReason.UNREADABLE] == 1


@virtual_time
async def test_resync_finds_what_no_event_told():
    """The audit lists again after its period, and tells only the differences."""
    async with serving(
        says(listing(5, thing("a", 1))),
        streams(60.0),
        says(listing(9, thing("b", 7))),
        streams(1000.0),
    ) as script:
        calls, informer = await watch_for(script, 70, resync=60)

    assert calls == ["+a@1", "synced", "+b@7", "-a(uid-a)"]
    assert watches(script)[0].query["timeoutSeconds"] == "60"
    assert informer.statistics().lists[ListReason.RESYNC] == 1


@virtual_time
async def test_a_server_that_was_restored_to_an_older_state():
    """An object at an earlier version than before ends the informer."""
    gone = streams(event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}))
    async with serving(
        says(listing(50, thing("a", 10), thing("b", 40))),
        gone,
        says(listing(1000, thing("a", 10), thing("b", 20))),
    ) as script:
        client = script.client()
        informer = Informer(client, CONFIGMAPS, KubeObject, handler=Recorder(), clock=LoopClock())
        with pytest.raises(WentBack, match=r"ConfigMap ns/b is at version 20 and was at 40"):
            await informer.run()
        await client.close()


@virtual_time
async def test_another_object_of_that_name_may_be_older():
    """Versions of objects with different uids say nothing; nor does a handler that allows it."""
    gone = streams(event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}))
    async with serving(
        says(listing(50, thing("a", 10), thing("b", 40))),
        gone,
        says(listing(1000, thing("a", 9), thing("b", 20, uid="another"))),
        streams(1000.0),
    ) as script:
        calls, _ = await watch_for(script, 30, may_go_back=True)

    assert calls == ["+a@10", "+b@40", "synced", "+a@9", "-b(uid-b)", "+b@20"]
