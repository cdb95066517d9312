"""A federation in which nothing happens writes nothing but leases, reports and heartbeats."""

import asyncio

import pytest

from global_sched.embedded.members import MemberOptions, nodes
from tests.deep import SETTLED_SECONDS
from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time

QUIET = {
    "patch capacityreports",  # the agents, once per period
    "update leases",  # both programs
    "patch leases",  # the kubelets
    "update nodes/status",  # the kubelets
    "patch clusters/status",  # Karmada's cluster status
}


@pytest.mark.slow
@pytest.mark.deep
@virtual_time
async def test_nothing_happens(tmp_path, monkeypatch):
    """With jobs that run and jobs that wait, nothing else is written, however long."""
    monkeypatch.setattr(nodes, "TICK", 30.0)  # how often a kubelet looks at its watch
    slow = MemberOptions(lease_seconds=600.0)
    members = (member("m1", racks=2, options=slow), member("m2", options=slow))
    async with whole(tmp_path, *members, lease_seconds=600.0, period=60) as world:
        await world.submit(*(gang(f"runs-{at}", seconds=9999) for at in range(3)))
        for at in range(3):
            await world.until_phase(f"runs-{at}", "Running", seconds=20)
        await world.submit(*(gang(f"waits-{at}") for at in range(3)), gang("wide", pods=5))
        await asyncio.sleep(130)
        world.writes.clear()
        assert world.scheduler is not None
        before = world.scheduler.loop.cycles
        await asyncio.sleep(SETTLED_SECONDS)

        written = {what.partition(": ")[2] for what in world.writes}
        assert written <= QUIET
        assert world.scheduler.loop.cycles - before == 0
        for cluster in ("m1", "m2"):
            assert len(await world.pods(cluster)) == {"m1": 8, "m2": 4}[cluster]
