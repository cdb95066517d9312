"""A member that cannot place what its report promised: taken back, kept in line, tried later."""

import asyncio
import json

import pytest

from global_sched.shared.api.names import DECISION
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import SECOND, parse_instant
from global_sched.view.look import look
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import placement

REPORT = "capacityreports.federation.global-sched.io"
NODES = [f"m1-0-{at}" for at in range(4)]
TIMEOUT, BACKOFF = 120, 60


async def admitted_to_cordoned(world, name):
    """Admit a job by a report that is not true any more; then let the agent say so."""
    world.hold("m1", "patch", REPORT)
    await world.cordon("m1", NODES)
    await world.submit(gang(name, seconds=3600))
    await until_in(world, name, "m1", seconds=10)
    await asyncio.sleep(5)
    world.plan("m1").clear()
    assert await world.bound("m1", name) == {}
    return await world.decision(name)


async def until_in(world, name, *clusters, seconds):
    """Until a job is in these clusters."""

    async def there():
        return await world.clusters(name) == list(clusters)

    await world.until(there, f"{name} is in {clusters}", seconds=seconds)


def carried(binding):
    """The decision that a version of a binding carries."""
    return json.loads(binding["metadata"]["annotations"].get(DECISION, "{}"))


@pytest.mark.slow
@virtual_time
async def test_it_goes_elsewhere(tmp_path):
    """One PATCH takes it out of the cluster, with an eviction task; the old one goes first."""
    async with whole(tmp_path, member("m1", nodes=4), member("m2", nodes=5)) as world:
        version = await world.bindings_version()
        before = await admitted_to_cordoned(world, "a")
        await until_in(world, "a", "m2", seconds=TIMEOUT + 10)
        await world.until_phase("a", "Running", seconds=20)
        await asyncio.sleep(5)

        versions = await world.bindings_since(version, "a")
        first = next(one for one in versions if carried(one) and carried(one)["id"] != before["id"])
        assert "clusters" not in first["spec"]
        [task] = first["spec"]["gracefulEvictionTasks"]
        assert (task["fromCluster"], task["purgeMode"], task["producer"], task["reason"]) == (
            "m1",
            "Directly",
            "global-sched",
            "PlacementTimeout",
        )
        [backoff] = carried(first)["backoffs"]
        assert backoff["cluster"] == "m1"
        assert "4" in backoff["reason"]  # how many of its pods find no node
        assert [(one["cluster"], bool(one["left"])) for one in carried(first)["grants"]] == [
            ("m1", True)
        ]
        waited = parse_instant(carried(first)["at"]) - parse_instant(before["at"])
        assert TIMEOUT * SECOND <= waited <= (TIMEOUT + 10) * SECOND
        assert parse_instant(backoff["until"]) - parse_instant(carried(first)["at"]) == (
            BACKOFF * SECOND
        )

        now = await world.binding("a")
        assert now["spec"].get("gracefulEvictionTasks") is None
        assert [one["cluster"] for one in carried(now)["grants"]] == ["m2"]
        assert [one["cluster"] for one in carried(now)["backoffs"]] == ["m1"]
        assert len(await world.bound("m2", "a")) == 4
        assert await world.pods("m1") == []
        assert await world.entries("m1") == []


@pytest.mark.slow
@virtual_time
async def test_it_keeps_its_place_and_comes_back(tmp_path):
    """After the back-off it is before a job that came later, and may use the same cluster."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await admitted_to_cordoned(world, "a")
        await until_in(world, "a", seconds=TIMEOUT + 10)
        [backoff] = (await world.decision("a"))["backoffs"]
        until = parse_instant(backoff["until"])
        await asyncio.sleep(5)
        await world.submit(gang("b", seconds=3600), where=placement("m1"))
        await asyncio.sleep(5)

        view = await look(world.admin, world.clock)
        positions = [view.outcome(WorkloadKey(f"{TEAM}/{n}-job")).position for n in "ab"]
        assert positions == [1, 2]
        assert [c["type"] for c in await conditions(world, "a")] == ["Scheduled"]
        [condition] = await conditions(world, "a")
        assert condition["status"] == "False"
        assert "m1" in condition["message"]
        version = await world.bindings_version()

        await world.until(
            lambda: world.clock.now() > until + 5 * SECOND, "the back-off is over", seconds=BACKOFF
        )
        await world.cordon("m1", NODES, on=False)
        await world.until_phase("a", "Running", seconds=20)
        assert await world.clusters("b") == []
        admitted = [v for v in await world.bindings_since(version, "a") if "clusters" in v["spec"]]
        assert parse_instant(carried(admitted[0])["at"]) >= until


async def conditions(world, name):
    """The conditions of a binding that says whether it is scheduled."""
    found = (await world.binding(name))["status"]["conditions"]
    return [one for one in found if one["type"] == "Scheduled"]


@pytest.mark.slow
@virtual_time
async def test_room_that_comes_in_time(tmp_path):
    """A gang that is bound before the time is over stays; losing a pod later does not move it."""
    async with whole(tmp_path, member("m1", nodes=4), member("m2", nodes=5)) as world:
        before = await admitted_to_cordoned(world, "a")
        await asyncio.sleep(60)
        await world.cordon("m1", NODES, on=False)
        await world.until_phase("a", "Running", seconds=20)
        await asyncio.sleep(5)
        await world.cordon("m1", NODES)
        await world.delete_pod("m1", "a-worker-0")
        await asyncio.sleep(TIMEOUT + 30)

        assert await world.clusters("a") == ["m1"]
        assert (await world.decision("a"))["id"] == before["id"]
        assert len(await world.bound("m1", "a")) == 3
