"""Programs that die at any point: the same end state, nothing placed twice, nothing lost."""

import asyncio

import pytest

from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time


def request(verb, resource, subresource="", *, nth=1):
    """Whether a server has carried out this request for the nth time."""
    seen = 0

    def look(record):
        nonlocal seen
        if record.code >= 300:
            return False
        if (record.verb, record.resource, record.subresource) == (verb, resource, subresource):
            seen += 1
        return seen >= nth

    return look


async def settled(world, *names):
    """All jobs run, each whole, in one cluster, and counted there."""
    for name in names:
        await world.until_phase(name, "Running", seconds=90)
    await asyncio.sleep(5)
    used: list[str] = []
    for name in names:
        [cluster] = await world.clusters(name)
        for other in world.federation.members:
            nodes = await world.bound(other, name)
            assert len(nodes) == (4 if other == cluster else 0)
            used += nodes.values()
        [grant] = (await world.decision(name))["grants"]
        assert grant["amounts"] == {"worker": 4}
        assert (await world.binding(name))["spec"].get("gracefulEvictionTasks") is None
    assert len(used) == len(set(used))  # every pod takes a whole node


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(request("create", "leases"), id="it has the lease"),
        pytest.param(request("create", "configmaps"), id="its policy is published"),
        pytest.param(
            request("patch", "resourcebindings"),
            id="the first placement is written, not its status",
        ),
        pytest.param(request("patch", "resourcebindings", nth=2), id="two placements are written"),
        pytest.param(
            request("patch", "resourcebindings", "status"),
            id="the status is written, no Directive says so",
        ),
        pytest.param(
            request("update", "directives"), id="the Directive is written, nothing is bound"
        ),
    ],
)
def test_global_sched_dies(tmp_path, moment):
    """Whenever it dies, its successor goes on from what is written."""

    @virtual_time
    async def run():
        async with whole(tmp_path, member("m1", racks=2), member("m2"), start=False) as world:
            for name in world.federation.members:
                await world.start_agent(name)
            died = world.kill_after("global-sched", moment)
            await world.start_scheduler(wait=False)
            await world.submit(gang("a"), gang("b"), gang("c"))
            await world.until(died.done, "it is killed", seconds=20)
            await asyncio.sleep(3)
            await world.start_scheduler(wait=False)
            await settled(world, "a", "b", "c")

    run()


@pytest.mark.slow
@virtual_time
async def test_global_sched_dies_before_it_writes(tmp_path):
    """A decision whose write never left is made again, once."""
    async with whole(tmp_path, member("m1"), member("m2"), sockets=True) as world:
        world.hold("global-sched", "patch", "resourcebindings.work.karmada.io")
        await world.submit(gang("a"), gang("b"))
        await world.until(lambda: world.plan("global-sched").held, "a placement is under way")
        await world.kill("global-sched")
        assert await world.clusters("a") == []
        await world.start_scheduler(wait=False)
        await settled(world, "a", "b")


@pytest.mark.slow
@virtual_time
async def test_an_answer_is_lost(tmp_path):
    """A placement that was written without its answer is not written elsewhere."""
    async with whole(tmp_path, member("m1"), member("m2"), sockets=True) as world:
        world.lose_answers("global-sched", "patch", "resourcebindings.work.karmada.io*", times=3)
        await world.submit(gang("a"), gang("b"))
        await settled(world, "a", "b")
        for name in ("a", "b"):
            condition = next(
                one
                for one in (await world.binding(name))["status"]["conditions"]
                if one["type"] == "Scheduled"
            )
            assert condition["status"] == "True"


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(request("create", "podgroups"), id="the group is made, its pods are not"),
        pytest.param(request("create", "pods", nth=2), id="half of the pods are made"),
        pytest.param(request("patch", "podgroups"), id="the plan is written, nothing is bound"),
        pytest.param(request("create", "pods", "binding"), id="one pod is bound"),
        pytest.param(request("create", "pods", "binding", nth=4), id="all pods are bound"),
        pytest.param(request("patch", "jobs", "status", nth=2), id="the job's status is written"),
    ],
)
def test_an_agent_dies(tmp_path, moment):
    """Whenever it dies, its successor completes what was begun."""

    @virtual_time
    async def run():
        async with whole(tmp_path, member("m1", racks=2), member("m2")) as world:
            died = world.kill_after("m1", moment)
            await world.submit(gang("a"), gang("b"), gang("c"))
            await world.until(died.done, "it is killed", seconds=20)
            await asyncio.sleep(3)
            await world.start_agent("m1", wait=False)
            await settled(world, "a", "b", "c")

    run()


@pytest.mark.slow
@virtual_time
async def test_both_restart_while_jobs_run(tmp_path):
    """Nothing moves and nothing is written again; what comes later finds the room that is left."""
    async with whole(tmp_path, member("m1", racks=2), member("m2")) as world:
        await world.submit(gang("a", seconds=3600), gang("b", seconds=3600))
        await settled(world, "a", "b")
        before = {name: await world.decision(name) for name in "ab"}
        for program in ("global-sched", "m1", "m2"):
            await world.kill(program)
        await asyncio.sleep(40)  # reports are stale by now
        await world.start()
        await world.submit(gang("c"))
        await settled(world, "a", "b", "c")
        assert {name: await world.decision(name) for name in "ab"} == before
