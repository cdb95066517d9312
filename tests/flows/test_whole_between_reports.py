"""Admissions between two reports: never more than there is."""

import asyncio

import pytest

from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import placement

REPORT = "capacityreports.federation.global-sched.io"


async def where(world, *names):
    """The clusters of jobs."""
    return [await world.clusters(name) for name in names]


async def places(world, names):
    """The cluster of each job that has one."""
    return {name: at[0] for name in names if (at := await world.clusters(name))}


@pytest.mark.slow
@virtual_time
async def test_two_jobs_of_a_racks_size(tmp_path):
    """With one rack free and no new report, one job is admitted; its end lets the other in."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        world.hold("m1", "patch", REPORT)
        await world.submit(gang("a", seconds=10))
        await asyncio.sleep(1)
        await world.submit(gang("b", seconds=10))
        await asyncio.sleep(5)
        assert await where(world, "a", "b") == [["m1"], []]
        world.plan("m1").clear()
        await asyncio.sleep(3)
        assert await where(world, "a", "b") == [["m1"], []]
        await world.until_phase("a", "Completed", seconds=20)
        await world.until_phase("b", "Running", seconds=20)


@pytest.mark.slow
@virtual_time
async def test_many_jobs_at_once(tmp_path):
    """Jobs of several sizes, two clusters, no report in between: all that is admitted is bound."""
    sizes = {f"j{at}": 1 + at % 4 for at in range(12)}
    async with whole(
        tmp_path, member("m1", racks=2, nodes=4), member("m2", racks=1, nodes=3)
    ) as world:
        for name in ("m1", "m2"):
            world.hold(name, "patch", REPORT)
        await world.submit(*(gang(name, pods=pods, seconds=3600) for name, pods in sizes.items()))
        await asyncio.sleep(15)
        placed = await places(world, sizes)
        used = {
            cluster: sum(sizes[name] for name, at in placed.items() if at == cluster)
            for cluster in ("m1", "m2")
        }
        assert used["m1"] <= 8
        assert used["m2"] <= 3
        assert used["m1"] + used["m2"] >= 9  # no fuller by chance than the largest job hides
        for name, cluster in placed.items():
            nodes = await world.bound(cluster, name)
            assert len(nodes) == sizes[name]
            assert len({node.rpartition("-")[0] for node in nodes.values()}) == 1
        for name in ("m1", "m2"):
            world.plan(name).clear()
        await asyncio.sleep(15)
        assert await places(world, sizes) == placed


@pytest.mark.slow
@virtual_time
async def test_a_report_before_the_binds(tmp_path):
    """A report that knows nothing of an admitted job does not give its room to another."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        world.hold("m1", "create", "pods/binding")
        await world.submit(gang("a", seconds=3600))
        await asyncio.sleep(15)
        report = await world.report("m1")
        assert report["workloads"][0].get("bound") is None
        await world.submit(gang("b", seconds=3600), where=placement("m1"))
        await asyncio.sleep(15)
        assert await where(world, "a", "b") == [["m1"], []]
        assert await world.bound("m1", "a") == {}
        world.plan("m1").clear()
        await world.until_phase("a", "Running", seconds=20)
        await asyncio.sleep(15)
        assert await where(world, "a", "b") == [["m1"], []]
        assert len(await world.bound("m1", "a")) == 4
