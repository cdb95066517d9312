"""A job that left its only cluster may come back: our own eviction task does not outlive its copy.

Karmada itself would keep the task for ten minutes while the job has no new home.
"""

import pytest

from global_sched.shared.api.resource import PROPAGATION_POLICIES, RESOURCE_BINDINGS
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import placement

SECONDS = 30
"""Far less than Karmada's ten minutes."""


async def tasks(world, name):
    """The eviction tasks of a job's binding."""
    return (await world.binding(name))["spec"].get("gracefulEvictionTasks") or []


async def select(world, name, *clusters):
    """Give the job's policy another choice of clusters."""
    body = {"spec": {"placement": placement(*clusters)}}
    await world.admin.patch(PROPAGATION_POLICIES, f"{name}-job", body, namespace=TEAM)


async def out_of(world, name):
    """The job runs in m1, and its policy stops selecting it."""
    await world.submit(gang(name, seconds=3600))
    await world.until_phase(name, "Running", seconds=30)
    await select(world, name, "nowhere")


@pytest.mark.slow
@virtual_time
async def test_it_comes_back_to_the_cluster_that_it_left(tmp_path):
    """The copy goes, our task goes, and the same cluster may have it again."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await out_of(world, "a")

        async def left():
            return await world.clusters("a") == [] and not await tasks(world, "a")

        await world.until(left, "a has left m1, and no task says so any more", seconds=SECONDS)
        await select(world, "a", "m1")
        await world.until_phase("a", "Running", seconds=SECONDS)
        assert await world.clusters("a") == ["m1"]


@pytest.mark.slow
@virtual_time
async def test_tasks_of_others_stay(tmp_path):
    """Another producer's task, and one that is to leave gracefully, are not ours to end."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await out_of(world, "a")
        others = [
            {"fromCluster": "m2", "purgeMode": "Directly", "reason": "Test", "producer": "other"},
            {
                "fromCluster": "m3",
                "purgeMode": "Gracefully",
                "reason": "Test",
                "producer": "global-sched",
            },
        ]

        async def added():
            if await world.clusters("a"):
                return False
            both = [*await tasks(world, "a"), *others]
            body = {"spec": {"gracefulEvictionTasks": both}}
            await world.admin.patch(RESOURCE_BINDINGS, "a-job", body, namespace=TEAM)
            return True

        await world.until(added, "a has left m1", seconds=SECONDS)

        async def ours_ended():
            return [one["fromCluster"] for one in await tasks(world, "a")] == ["m2", "m3"]

        await world.until(ours_ended, "only our task is ended", seconds=SECONDS)
