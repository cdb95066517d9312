"""Client and informer against the embedded API server: each tests the other over HTTP."""

import asyncio
import random
from contextlib import aclosing, asynccontextmanager

import pytest

from global_sched.embedded.apiserver.server import ApiServer
from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.resource import CONFIGMAPS, EVENTS, LEASES, NAMESPACES, QUEUES
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.backoff import JitteredBackoff
from global_sched.shared.kube.client import Client, PatchKind
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.decode import EventType
from global_sched.shared.kube.errors import AlreadyExists, Conflict, Gone, NotFound
from global_sched.shared.kube.events import EventRecorder, Regarding
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.lease import LeaderElection
from global_sched.shared.kube.preflight import missing_resources
from global_sched.shared.kube.transport import AiohttpTransport
from tests.virtual_time import virtual_time


def client_of(server, clock, plan=None):
    transport = AiohttpTransport(Connection.to(server.url, clock=clock))
    return Client(FaultyTransport(transport, plan, clock=clock) if plan else transport, clock=clock)


@asynccontextmanager
async def federation(**options):
    """A server, a client of it, and their clock."""
    clock = LoopClock()
    server = ApiServer(clock=clock, seed=1, **options)
    await server.start()
    client = client_of(server, clock)
    try:
        await client.create(NAMESPACES, {"metadata": {"name": "team"}})
        yield server, client, clock
    finally:
        await client.close()
        await server.stop()


def configmap(name, value="0"):
    return {"metadata": {"name": name}, "data": {"v": value}}


@virtual_time
async def test_writes_are_conditional():
    """Create, conditional patch, replace and delete mean on the server what they say."""
    async with federation() as (_, client, _):
        made = await client.create(CONFIGMAPS, configmap("a"), namespace="team", type=KubeObject)
        with pytest.raises(AlreadyExists):
            await client.create(CONFIGMAPS, configmap("a"), namespace="team")
        version = made.metadata.resource_version
        step = {"metadata": {"resourceVersion": version}, "data": {"v": "1"}}
        changed = await client.patch(CONFIGMAPS, "a", step, namespace="team")
        with pytest.raises(Conflict):
            await client.patch(CONFIGMAPS, "a", step, namespace="team")
        with pytest.raises(Conflict):
            await client.delete(CONFIGMAPS, "a", namespace="team", uid="another")
        stale = changed | {"metadata": changed["metadata"] | {"resourceVersion": version}}
        with pytest.raises(Conflict):
            await client.replace(CONFIGMAPS, "a", stale, namespace="team")
        await client.delete(CONFIGMAPS, "a", namespace="team", uid=made.metadata.uid)
        with pytest.raises(NotFound) as caught:
            await client.get(CONFIGMAPS, "a", namespace="team")

    assert changed["data"] == {"v": "1"}
    assert not caught.value.resource_missing


@virtual_time
async def test_every_patch_kind():
    """The server reads each kind of patch as the client names it."""
    async with federation() as (_, client, _):
        await client.create(CONFIGMAPS, configmap("a"), namespace="team")
        seen = []
        for kind, body in [
            (PatchKind.MERGE, {"data": {"m": "1"}}),
            (PatchKind.STRATEGIC, {"data": {"s": "1"}}),
            (PatchKind.JSON, [{"op": "add", "path": "/data/j", "value": "1"}]),
            (PatchKind.APPLY, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}),
        ]:
            manager = "test" if kind is PatchKind.APPLY else None
            result = await client.patch(
                CONFIGMAPS, "a", body, namespace="team", kind=kind, field_manager=manager
            )
            seen.append(sorted(result["data"]))

    assert seen == [["m", "v"], ["m", "s", "v"], ["j", "m", "s", "v"], ["a", "j", "m", "s", "v"]]


@virtual_time
async def test_lists_and_watches_continue_each_other():
    """What a paged list does not hold, the watch from its version does."""
    async with federation() as (_, client, _):
        for name in "abcde":
            await client.create(CONFIGMAPS, configmap(name), namespace="team")
        listed = await client.list(CONFIGMAPS, namespace="team", type=KubeObject, limit=2)
        await client.create(CONFIGMAPS, configmap("f"), namespace="team")
        await client.delete(CONFIGMAPS, "a", namespace="team")
        watch = client.watch(
            CONFIGMAPS,
            namespace="team",
            resource_version=listed.resource_version,
            timeout_seconds=5,
        )
        async with aclosing(watch):
            events = [(e.type, e.identity.key.name) async for e in watch]

    names = [item.metadata.name for item in listed.items if len(item.metadata.name) == 1]
    assert names == list("abcde")
    assert [e for e in events if e[0] is not EventType.BOOKMARK] == [
        (EventType.ADDED, "f"),
        (EventType.DELETED, "a"),
    ]


@virtual_time
async def test_missing_resources_are_found():
    """Discovery tells which CRDs are not installed."""
    async with federation() as (_, client, _):
        assert await missing_resources(client, [CONFIGMAPS, QUEUES, LEASES]) == [QUEUES]
        with pytest.raises(NotFound) as caught:
            await client.list(QUEUES)

    assert caught.value.resource_missing


class Mirror:
    """A handler that keeps a copy."""

    def __init__(self):
        self.objects = {}
        self.problems = []

    def upsert(self, obj):
        self.objects[obj["metadata"]["name"]] = (obj["metadata"]["uid"], obj["data"]["v"])

    def delete(self, key, uid):
        known = self.objects.pop(key.name, None)
        if known is None or known[0] != uid:
            self.problems.append(f"delete of {key} with {uid}, known {known}")

    def malformed(self, bad):
        self.problems.append(str(bad))

    def synced(self):
        pass


async def change_at_random(client, clock, rng, steps):
    """Create, change, delete and re-create ten objects over some minutes."""
    for step in range(steps):
        name = f"cm-{rng.randrange(10)}"
        try:
            if rng.random() < 0.3:
                await client.delete(CONFIGMAPS, name, namespace="team")
            else:
                await client.patch(CONFIGMAPS, name, {"data": {"v": str(step)}}, namespace="team")
        except NotFound:
            await client.create(CONFIGMAPS, configmap(name, str(step)), namespace="team")
        await clock.sleep(rng.uniform(0, 2))


MANY = 10_000
PLANS = {
    "a good network": [],
    "every watch is cut in its third event": [("watch", FaultKind.CUT, 2)],
    "every third watch is too old": [("watch", FaultKind.GONE, 4)],
    "every watch falls silent": [("watch", FaultKind.HALF_OPEN, 3)],
    "events come twice": [("watch", FaultKind.DUPLICATE, 1)],
    "events come 20 s late": [("watch", FaultKind.DELAY, 0)],
    "lists are throttled and watches are refused": [
        ("list", FaultKind.THROTTLE, 0),
        ("watch", FaultKind.GONE, 0),
    ],
    "watches fail with 500": [("watch", FaultKind.ERROR, 0)],
}


@pytest.mark.parametrize("faults", PLANS.values(), ids=PLANS.keys())
@pytest.mark.slow
@virtual_time
async def test_the_mirror_converges(faults):
    """Whatever happens to its streams, the informer ends with the server's state, in order."""
    async with federation() as (server, client, clock):
        plan = FaultPlan(
            *(
                Fault(verb, "configmaps", kind=kind, events=events, seconds=20, nth=nth, times=1)
                for verb, kind, events in faults
                for nth in range(1, 40, 2)
            )
        )
        faulty = client_of(server, clock, plan)
        mirror = Mirror()
        informer = Informer(
            faulty,
            CONFIGMAPS,
            dict,
            handler=mirror,
            clock=clock,
            namespace="team",
            field_selector="metadata.name!=kube-root-ca.crt",
            backoff=JitteredBackoff(rng=random.Random(3)),
            page_size=3,
        )
        task = asyncio.create_task(informer.run())
        await change_at_random(client, clock, random.Random(5), 300)
        plan.clear()
        await clock.sleep(300)
        task.cancel()
        await asyncio.wait([task])
        await faulty.close()
        truth = await client.list(
            CONFIGMAPS, namespace="team", field_selector="metadata.name!=kube-root-ca.crt"
        )

    assert mirror.problems == []
    assert mirror.objects == {
        item["metadata"]["name"]: (item["metadata"]["uid"], item["data"]["v"])
        for item in truth.items
    }
    assert bool(plan.fired) == bool(faults)
    stats = informer.statistics()
    assert stats.objects == len(truth.items)
    assert stats.lists.total() <= asyncio.get_running_loop().time() / 10 + 1


@virtual_time
async def test_the_servers_own_compaction():
    """A server that forgot our version says so, and the client raises it as Gone."""
    async with federation(history_bytes=20_000) as (_, client, _):
        listed = await client.list(CONFIGMAPS, namespace="team")
        for step in range(200):
            name = f"cm-{step % 3}"
            body = {"data": {"v": "x" * 500 + str(step)}}
            try:
                await client.patch(CONFIGMAPS, name, body, namespace="team")
            except NotFound:
                await client.create(CONFIGMAPS, configmap(name), namespace="team")
        watch = client.watch(CONFIGMAPS, namespace="team", resource_version=listed.resource_version)
        with pytest.raises(Gone):
            await anext(watch)
        await watch.aclose()


@virtual_time
async def test_leases_and_events_are_what_the_server_accepts():
    """An election and a series of events leave valid objects behind."""
    async with federation() as (_, client, clock):
        recorder = EventRecorder(client, component="gs", instance="gs-0", clock=clock)
        writer = asyncio.create_task(recorder.run())

        async def body(term):
            assert term.valid()
            for _ in range(20):
                recorder.record(
                    Regarding("v1", "ConfigMap", "team", "a", "u"),
                    reason="Tested",
                    note="it works",
                    action="Test",
                )
                await clock.sleep(3)

        election = LeaderElection(client, namespace="team", name="gs", identity="gs-0", clock=clock)
        await election.run(body)
        await clock.sleep(20)
        writer.cancel()
        await asyncio.wait([writer])
        lease = await client.get(LEASES, "gs", namespace="team")
        events = await client.list(EVENTS, namespace="team")

    assert lease["spec"]["holderIdentity"] == ""
    assert lease["spec"]["leaseTransitions"] == 365 * 24 * 3600
    assert [event["series"]["count"] for event in events.items] == [20]
    assert recorder.statistics().dropped == 0
