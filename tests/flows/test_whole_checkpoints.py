"""Calls for a checkpoint across the whole flow: pods are asked, and the wait ends in time."""

import asyncio

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import CHECKPOINT_CALL, CHECKPOINT_GRACE, CHECKPOINT_WRITTEN
from tests.flows.federation import TEAM, gang, member, whole
from tests.flows.test_whole_moves import events, lose, movable
from tests.flows.test_whole_reclaim import two_classes
from tests.virtual_time import virtual_time

GRACE = 60


def saving(job):
    """A job that asks to be waited for."""
    job["metadata"].setdefault("annotations", {})[CHECKPOINT_GRACE] = f"{GRACE}s"
    return job


async def calls(world, cluster, name):
    """The calls that stand on the pods of a gang, by pod."""
    return {
        pod["metadata"]["name"]: (pod["metadata"].get("annotations") or {}).get(CHECKPOINT_CALL)
        for pod in await world.pods(cluster)
        if pod["metadata"]["name"].startswith(f"{name}-")
    }


async def called(world, cluster, name, pods=4):
    """The one call, once it stands on all pods."""

    async def there():
        found = await calls(world, cluster, name)
        return len(found) == pods and None not in found.values()

    await world.until(there, f"{name} is called", seconds=30)
    [call] = set((await calls(world, cluster, name)).values())
    return call


async def answer(world, cluster, pod, call):
    """What the program of a gang does when its checkpoint is written."""
    client = world.federation.member_client(cluster)
    body = {"metadata": {"annotations": {CHECKPOINT_WRITTEN: call}}}
    await client.patch(kinds.PODS, pod, body, namespace=TEAM)
    await client.close()


async def a_victim(world):
    """Gang `low` runs in m1 and asks to be waited for; `high` claims its place."""
    await two_classes(world)
    low = gang("low", seconds=9999, spec={"priorityClassName": "low"})
    await world.submit(saving(low))
    await world.until_phase("low", "Running")
    await world.submit(gang("high", seconds=9999, spec={"priorityClassName": "high"}))


@pytest.mark.slow
@virtual_time
async def test_a_victim_leaves_when_it_has_answered(tmp_path):
    """All of its pods are asked; one answer is enough, and an answer to another call is none."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await a_victim(world)
        call = await called(world, "m1", "low")
        told = await events(world, "CheckpointCalled")
        assert sorted(told) == ["Job", "ResourceBinding"]

        await answer(world, "m1", "low-worker-3", "2026-01-01T00:00:00Z")
        await asyncio.sleep(20)
        assert (await world.clusters("low"), len(await world.bound("m1", "low"))) == (["m1"], 4)
        await answer(world, "m1", "low-worker-0", call)
        await world.until_phase("high", "Running", seconds=20)
        assert await world.bound("m1", "low") == {}


@pytest.mark.slow
@virtual_time
async def test_no_pod_is_called_in_a_term_that_has_ended(tmp_path):
    """An agent that has not stopped yet leaves the call to the one that leads."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await a_victim(world)
        world.end_term("m1")
        await asyncio.sleep(30)
        assert list((await calls(world, "m1", "low")).values()) == [None] * 4
        await world.kill("m1")
        await world.start_agent("m1")
        await called(world, "m1", "low")


@pytest.mark.slow
@virtual_time
async def test_a_call_that_is_never_answered_ends_with_its_grace(tmp_path):
    """Whichever program is killed meanwhile: the call stands in objects, and is made once."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await a_victim(world)
        call = await called(world, "m1", "low")
        started = world.clock.monotonic()
        await world.kill("global-sched")
        await world.kill("m1")
        await asyncio.sleep(5)
        await world.start_scheduler()
        await world.start_agent("m1")
        while world.clock.monotonic() - started < GRACE - 10:
            assert len(await world.bound("m1", "low")) == 4
            assert set((await calls(world, "m1", "low")).values()) == {call}
            await asyncio.sleep(5)
        await world.until_phase("high", "Running", seconds=30)
        assert world.clock.monotonic() - started < GRACE + 20


@pytest.mark.slow
@virtual_time
async def test_a_call_ends_when_the_claimant_goes(tmp_path):
    """The gang runs on, with the same pods, and nothing is asked of it any more."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await a_victim(world)
        await called(world, "m1", "low")
        before = {pod["metadata"]["uid"] for pod in await world.pods("m1")}
        await world.admin.delete(kinds.VOLCANO_JOBS, "high", namespace=TEAM)

        async def ended():
            return set((await calls(world, "m1", "low")).values()) == {None}

        await world.until(ended, "the call is taken back", seconds=30)
        await asyncio.sleep(GRACE)
        assert {pod["metadata"]["uid"] for pod in await world.pods("m1")} == before
        assert "called" not in await world.decision("low")


@pytest.mark.slow
@virtual_time
async def test_a_move_waits_for_the_answer(tmp_path):
    """The pods that are left are asked; then the gang moves, once."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        where = {
            "clusterAffinities": [
                {"affinityName": "a", "clusterNames": ["m1"]},
                {"affinityName": "b", "clusterNames": ["m2"]},
            ]
        }
        await world.submit(saving(movable()), where=where)
        await world.until_phase("train", "Running")
        await lose(world)
        await asyncio.sleep(60)

        async def asked():
            return len([one for one in (await calls(world, "m1", "train")).values() if one]) == 3

        await world.until(asked, "the three pods that run are called", seconds=30)
        assert await world.clusters("train") == ["m1"]
        [call] = {one for one in (await calls(world, "m1", "train")).values() if one}
        await answer(world, "m1", "train-worker-1", call)
        await world.until_phase("train", "Running", seconds=60)
        assert (await world.clusters("train"), await world.pods("m1")) == (["m2"], [])
