"""A Job that is paused by its template frees its room, and goes on where it was."""

import asyncio

import pytest

from global_sched.shared.api import resource as kinds
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import batch_job, pytorch_job


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


@pytest.mark.slow
@virtual_time
@pytest.mark.parametrize("kind", ["PyTorchJob", "Job"])
async def test_a_suspended_job_of_another_kind(tmp_path, kind):
    """It keeps its cluster of two and its object there; its room goes to the next job and back."""
    async with whole(tmp_path, member("m1", nodes=2), member("m2", nodes=1)) as world:
        one, resource, field = suspendable(kind)
        await world.submit(one)
        await world.until(lambda: runs(world, "m1", "held", 2), "it runs in m1", seconds=60)
        await world.submit(gang("next", pods=2, seconds=60))
        await asyncio.sleep(5)
        assert await world.clusters("next") == []

        await suspend(world, resource, field, on=True)
        await world.until_phase("next", "Running", seconds=60)
        assert await runs(world, "m1", "held", 0)

        await suspend(world, resource, field, on=False)
        await asyncio.sleep(20)
        assert await runs(world, "m1", "held", 0)
        await world.until(lambda: runs(world, "m1", "held", 2), "it goes on", seconds=120)


def suspendable(kind):
    """A job of two pods, its resource, and where its `suspend` stands."""
    template = gang("held", pods=2, gpus=8, seconds=600)["spec"]["tasks"][0]["template"]
    template["spec"]["schedulerName"] = "member-agent"
    if kind == "Job":
        spec = {"parallelism": 2, "completions": 2}
        return batch_job("held", template=template, spec=spec), kinds.BATCH_JOBS, ()
    template["spec"]["containers"][0]["name"] = "pytorch"
    job = pytorch_job("held", {"Master": 1, "Worker": 1}, template=template)
    return job, kinds.PYTORCH_JOBS, ("runPolicy",)


async def suspend(world, resource, field, *, on):
    """The user sets `suspend`."""
    spec = {"suspend": on}
    for name in reversed(field):
        spec = {name: spec}
    await world.admin.patch(resource, "held", {"spec": spec}, namespace=TEAM)


async def runs(world, cluster, name, pods):
    """Whether so many of its pods are on nodes there."""
    found = [
        one
        for one in await world.pods(cluster)
        if one["metadata"]["name"].startswith(f"{name}-") and one["spec"].get("nodeName")
    ]
    return len(found) == pods
