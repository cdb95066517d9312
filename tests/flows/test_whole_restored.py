"""A control plane restored to an older state: what runs in members runs on, and is counted."""

import asyncio

from tests.flows.federation import member, whole
from tests.restored import play
from tests.virtual_time import virtual_time


@virtual_time
async def test_nothing_that_runs_is_ended_and_usage_is_exact(tmp_path):
    """A gang placed after the backup stays where it runs, although only another place is free."""
    async with whole(tmp_path, member("m1", racks=2), member("m2", racks=2)) as world:
        seen = await play(world, before=1, after=1)

        assert "global-sched" in seen.ended
        assert seen.run == seen.ran
        assert len(seen.ran) == 8
        assert seen.found == seen.placed
        assert seen.exact < 40
        assert (await world.decision("after0"))["grants"][0]["amounts"] == {"worker": 4}
        version = await world.bindings_version()
        await asyncio.sleep(15)
        assert await world.bindings_since(version, "after0") == []
