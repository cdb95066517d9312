"""Programs that die again and again on a bad network: no job is lost, no node given twice."""

import asyncio
import random

import pytest

from global_sched.shared.kube.faults import Fault, FaultKind
from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time

PROGRAMS = ("m1", "m2", "global-sched")
CALLS = (
    FaultKind.CONFLICT,
    FaultKind.THROTTLE,
    FaultKind.ERROR,
    FaultKind.LOST_BEFORE,
    FaultKind.LOST_AFTER,
    FaultKind.DELAY,
)
STREAMS = (FaultKind.CUT, FaultKind.GONE, FaultKind.DUPLICATE, FaultKind.DELAY)


def mishaps(rng):
    """Some calls that fail, and a stream."""
    for verb in rng.sample(["create", "update", "patch", "delete", "list"], 2):
        kind, nth, times = rng.choice(CALLS), rng.randint(1, 8), rng.randint(1, 3)
        yield Fault(verb, "*", kind=kind, nth=nth, times=times, seconds=rng.uniform(0.1, 3))
    kind, nth, events = rng.choice(STREAMS), rng.randint(1, 3), rng.randint(0, 3)
    yield Fault("watch", "*", kind=kind, nth=nth, events=events, seconds=rng.uniform(0.1, 3))


async def taken_twice(world, found):
    """Note nodes that more than one pod has, each of which takes a whole node; and rejections."""
    while True:
        for cluster in ("m1", "m2"):
            nodes = [
                one["spec"]["nodeName"]
                for one in await world.pods(cluster)
                if one["spec"].get("nodeName")
                and one["status"]["phase"] in ("Pending", "Running")
                and not one["metadata"].get("deletionTimestamp")
            ]
            found += {node for node in nodes if nodes.count(node) > 1}
        await asyncio.sleep(0.5)


async def restart(world, program):
    """Kill a program and start it again."""
    await world.kill(program)
    if program == "global-sched":
        await world.start_scheduler(wait=False)
    else:
        await world.start_agent(program, wait=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_job_ends(tmp_path, seed):
    """Jobs of all sizes come while programs die and calls fail: all of them end, each once."""

    @virtual_time
    async def run():
        rng = random.Random(seed)
        names = [f"j{number}" for number in range(7)]
        twice: list[str] = []
        async with whole(tmp_path, member("m1", racks=2), member("m2", nodes=3)) as world:
            watching = asyncio.create_task(taken_twice(world, twice))
            for name in names:
                for program in PROGRAMS:
                    world.plan(program).add(*mishaps(rng))
                await world.submit(gang(name, pods=rng.randint(1, 4), seconds=rng.randint(2, 20)))
                await asyncio.sleep(rng.uniform(0, 5))
                await restart(world, rng.choice(PROGRAMS))
            for program in PROGRAMS:
                world.plan(program).clear()
            version = await world.bindings_version()
            where = {name: await world.clusters(name) for name in names}
            for name in names:
                await world.until_phase(name, "Completed", seconds=300)
            watching.cancel()
            await asyncio.wait([watching])
            moved = [
                name
                for name in names
                for one in await world.bindings_since(version, name)
                if where[name] and one["spec"].get("clusters") != [{"name": where[name][0]}]
            ]
        assert twice == []
        assert moved == []

    run()


@pytest.mark.slow
@virtual_time
async def test_a_long_job_ends_while_nobody_looks(tmp_path):
    """A job past its placement timeout whose pods end during a restart is finished, not late."""
    async with whole(tmp_path, member("m1"), member("m2", nodes=5)) as world:
        await world.submit(gang("long", seconds=130))
        await world.until_phase("long", "Running")
        decision = await world.decision("long")
        version = await world.bindings_version()
        await asyncio.sleep(100)
        await world.kill("m1")
        await world.kill("global-sched")
        await asyncio.sleep(50)
        await world.start_scheduler(wait=False)
        await asyncio.sleep(20)
        await world.start_agent("m1", wait=False)
        await world.until_phase("long", "Completed", seconds=60)
        await asyncio.sleep(10)
        assert await world.decision("long") == decision
        versions = await world.bindings_since(version, "long")
        assert {str(one["spec"]["clusters"]) for one in versions} == {"[{'name': 'm1'}]"}
