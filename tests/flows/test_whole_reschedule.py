"""A reschedule is answered whenever it was asked for."""

import pytest

from global_sched.shared.api import resource as kinds
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time

CORDON = [{"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}]
ORDERED = {
    "clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["m1"]},
        {"affinityName": "second", "clusterNames": ["m2"]},
    ]
}


@pytest.mark.slow
@virtual_time
async def test_a_reschedule_of_the_second_of_the_placement(tmp_path):
    """Karmada's times are whole seconds: a job that was placed and at once asked back moves."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:

        async def scheduled():
            return (await world.binding("a")).get("status", {}).get("lastScheduledTime")

        async def answered():
            binding = await world.binding("a")
            done = binding["status"]["lastScheduledTime"] > binding["spec"]["rescheduleTriggeredAt"]
            return done and await world.clusters("a") == ["m1"]

        await world.admin.patch(kinds.CLUSTERS, "m1", {"spec": {"taints": CORDON}})
        await world.submit(gang("a"), where=ORDERED)
        await world.until(scheduled, "the job is placed")
        assert await world.clusters("a") == ["m2"]
        await world.admin.patch(kinds.CLUSTERS, "m1", {"spec": {"taints": None}})
        asked = {"spec": {"rescheduleTriggeredAt": await scheduled()}}
        await world.admin.patch(kinds.RESOURCE_BINDINGS, "a-job", asked, namespace=TEAM)

        await world.until(answered, "the job is in its first group, and the answer is stamped")
        await world.until_phase("a", "Running", seconds=60)
