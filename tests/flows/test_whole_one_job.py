"""One job, one queue, one member: from the template to its end, and nothing left."""

import asyncio, json

from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time
from global_sched.shared.api import resource as kinds


@virtual_time
async def test_a_job_lives_and_ends(tmp_path):
    """x"""
    import time
    t=time.time()
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        print("up", time.time()-t)
        await world.submit(gang("train", seconds=60))
        await world.until_phase("train", "Running")
        print(world.clock.monotonic(), await world.bound("m1", "train"), await world.binding("train"))
        await world.until_phase("train", "Completed")
        print(world.clock.monotonic())
        print(await world.report("m1"), await world.entries("m1"))
        print(world.writes)
        print("end", time.time()-t)
        t=time.time()
        await asyncio.sleep(20)
        print("20s", time.time()-t)
        print(await world.report("m1"), await world.entries("m1"), await world.admin.get(kinds.QUEUES, "default"))
        await world.admin.delete(kinds.VOLCANO_JOBS, "train", namespace="team-a")
        await asyncio.sleep(20)
        print(await world.report("m1"), await world.entries("m1"), await world.admin.get(kinds.QUEUES, "default"))
        print(await world.pods("m1"), await world.binding("train"))
