"""A Job that is paused by its template frees its room, and goes on where it was."""

import asyncio

import pytest

from global_sched.shared.api import resource as kinds
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time


async def scale(world, name, replicas):
    """The user edits the template of the only task."""
    job = await world.job(name)
    tasks = [job["spec"]["tasks"][0] | {"replicas": replicas}]
    await world.admin.patch(kinds.VOLCANO_JOBS, name, {"spec": {"tasks": tasks}}, namespace=TEAM)


@pytest.mark.slow
@virtual_time
async def test_scale_to_zero_and_back(tmp_path):
    """Its pods go, the next job starts in its place, and it goes on once there is room again."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await world.submit(gang("train", seconds=600))
        await world.until_phase("train", "Running")
        await world.submit(gang("next", seconds=60))
        await asyncio.sleep(5)
        assert await world.clusters("next") == []

        await scale(world, "train", 0)
        await world.until_phase("next", "Running", seconds=60)
        assert await world.bound("m1", "train") == {}
        assert await world.phase("train") == "Pending"
        assert await world.clusters("train") == ["m1"]
        binding = await world.binding("train")
        [said] = [c for c in binding["status"]["conditions"] if c["type"] == "Scheduled"]
        assert said["status"] == "True"

        await scale(world, "train", 4)
        await asyncio.sleep(20)
        assert await world.bound("m1", "train") == {}
        assert len(await world.bound("m1", "next")) == 4

        await world.until_phase("next", "Completed", seconds=90)
        await world.until_phase("train", "Running", seconds=60)
        assert len(await world.bound("m1", "train")) == 4
