"""The event recorder, in virtual time."""

import asyncio

from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from tests.global_sched.shared.kube.memory_server import MemoryTransport
from tests.virtual_time import virtual_time

JOB = Regarding("batch.volcano.sh/v1alpha1", "Job", "team", "train", "u1")
QUEUE = Regarding("scheduling.volcano.sh/v1beta1", "Queue", "", "gold", "u2")


async def recording(server, seconds, record, **options):
    """Let `record(recorder)` run while a recorder writes for some virtual seconds."""
    clock = LoopClock()
    recorder = EventRecorder(
        Client(server, clock=clock), component="gs", instance="gs-0", clock=clock, **options
    )
    task = asyncio.create_task(recorder.run())
    await record(recorder)
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.wait([task])
    return recorder.statistics()


def note(recorder, *, regarding=JOB, reason="Withdrawn", text="no room", **more):
    recorder.record(regarding, reason=reason, note=text, action="Schedule", **more)


@virtual_time
async def test_an_event_is_written():
    """One record is one Event in the object's namespace, with the fields the API demands."""
    server = MemoryTransport()

    async def record(recorder):
        note(recorder, kind=EventKind.WARNING, text="é" * 1000)

    await recording(server, 1, record)

    (event,) = server.objects.values()
    assert event["metadata"]["namespace"] == "team"
    assert event["metadata"]["name"].startswith("train.")
    assert event["regarding"] == {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "namespace": "team",
        "name": "train",
        "uid": "u1",
    }
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "Withdrawn", "Schedule")
    assert (event["reportingController"], event["reportingInstance"]) == ("gs", "gs-0")
    assert event["eventTime"].endswith("Z")
    assert len(event["note"].encode()) <= 1024
    assert "series" not in event


@virtual_time
async def test_events_of_cluster_scoped_objects():
    """They live in the namespace `default`."""
    server = MemoryTransport()

    async def record(recorder):
        note(recorder, regarding=QUEUE)

    await recording(server, 1, record)

    assert [event["metadata"]["namespace"] for event in server.objects.values()] == ["default"]


@virtual_time
async def test_repetitions_become_a_series():
    """A hundred repetitions are one Event with a count, written every ten seconds at most."""
    server = MemoryTransport()

    async def record(recorder):
        for _ in range(100):
            note(recorder)
            await asyncio.sleep(0.5)

    stats = await recording(server, 20, record)

    (event,) = server.objects.values()
    assert event["series"]["count"] == 100
    assert stats.pending == 0
    assert 5 <= len(server.requests) <= 7


@virtual_time
async def test_after_a_long_pause_it_is_a_new_event():
    """A repetition after six minutes is written as a new one."""
    server = MemoryTransport()

    async def record(recorder):
        note(recorder)
        await asyncio.sleep(400)
        note(recorder)

    await recording(server, 1, record)

    assert len(server.objects) == 2


@virtual_time
async def test_the_rate_is_bounded():
    """A storm of different events is written at the bucket's rate."""
    server = MemoryTransport()

    async def record(recorder):
        for index in range(100):
            note(recorder, reason=f"R{index}")

    stats = await recording(server, 5, record, rate=4, burst=10)

    assert 28 <= len(server.objects) <= 31
    assert stats.pending == 100 - len(server.objects)


@virtual_time
async def test_what_does_not_fit_is_dropped_and_counted():
    """Recording never waits: past the capacity, events are dropped."""
    server = MemoryTransport()
    server.down = True

    async def record(recorder):
        for index in range(30):
            note(recorder, reason=f"R{index}")

    stats = await recording(server, 0, record, capacity=10)

    assert (stats.recorded, stats.dropped, stats.pending) == (30, 20, 10)


@virtual_time
async def test_an_outage_costs_events_not_time():
    """While the server is away writes are tried again a few times, then dropped."""
    server = MemoryTransport()
    server.down = True

    async def record(recorder):
        note(recorder)

    stats = await recording(server, 600, record)

    assert (len(server.requests), stats.dropped, stats.pending) == (5, 1, 0)


@virtual_time
async def test_an_expired_event_is_made_anew():
    """API servers forget events after an hour: the series goes on in a new object."""
    server = MemoryTransport()

    async def record(recorder):
        note(recorder)
        await asyncio.sleep(1)
        server.objects.clear()
        note(recorder)

    await recording(server, 60, record)

    (event,) = server.objects.values()
    assert event["series"]["count"] == 2


@virtual_time
async def test_another_note_is_a_new_event():
    """API servers refuse to change a note: both stand, and the newest is never lost."""
    server = MemoryTransport()

    async def record(recorder):
        for text in ("no room", "no room", "no quota", "no quota", "no quota"):
            note(recorder, text=text)
            await asyncio.sleep(15)

    stats = await recording(server, 30, record)

    told = [(one["note"], one.get("series", {}).get("count", 1)) for one in server.objects.values()]
    assert told == [("no room", 2), ("no quota", 3)]
    assert (stats.dropped, stats.failed) == (0, 0)


@virtual_time
async def test_a_server_that_has_just_been_started():
    """It refuses every request for a moment: the events are kept, and written when it is ready."""
    server = MemoryTransport()
    server.refusals = 3

    async def record(recorder):
        for index in range(3):
            note(recorder, reason=f"R{index}")

    stats = await recording(server, 300, record)

    assert len(server.objects) == 3
    assert (stats.dropped, stats.pending) == (0, 0)


@virtual_time
async def test_a_refusal_that_lasts_costs_a_few_tries():
    """Without the right to write Events they are dropped in the end, and nothing piles up."""
    server = MemoryTransport()
    server.refusals = 10**6

    async def record(recorder):
        for index in range(3):
            note(recorder, reason=f"R{index}")

    stats = await recording(server, 3600, record)

    assert (len(server.requests), stats.dropped, stats.pending) == (15, 3, 0)
