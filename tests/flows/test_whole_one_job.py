"""One job, one queue, one member: from the template to its end, and nothing left."""

import asyncio

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import execution_namespace
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time

GPUS = "nvidia.com/gpu"


def free_gpus(report):
    """GPUs that a report says are free, over all rows."""
    at = report["axis"].index(GPUS)
    return sum(
        row["count"] * report["free"][row.get("free", 0)][at] for row in report.get("rows") or ()
    )


async def allocated(world):
    """What the queue says it holds, and of how many jobs."""
    await asyncio.sleep(6)  # its status is written every 5 s
    status = (await world.admin.get(kinds.QUEUES, "default"))["status"]
    return status["allocated"].get(GPUS, "0"), status["running"], status["pending"]


@pytest.mark.slow
@virtual_time
async def test_a_job_from_its_template_to_its_end(tmp_path):
    """Claimed, admitted, directed, bound where directed, running, finished, deleted."""
    async with whole(tmp_path, member("m1", racks=2, nodes=4), sockets=True) as world:
        await world.submit(gang("train", pods=4, seconds=30))
        await world.until_phase("train", "Running")

        binding = await world.binding("train")
        assert binding["spec"]["clusters"] == [{"name": "m1"}]
        [condition] = [c for c in binding["status"]["conditions"] if c["type"] == "Scheduled"]
        assert (condition["status"], condition["reason"]) == ("True", "Success")
        decision = await world.decision("train")
        [grant] = decision["grants"]
        [entry] = await world.entries("m1")
        assert entry["decision"] == decision["id"]
        assert entry["admitted"] == grant["amounts"] == {"worker": 4}
        assert entry["domain"] == grant["domain"]
        placed = await world.bound("m1", "train")
        assert sorted(placed.values()) == [f"{grant['domain']}-{node}" for node in range(4)]
        await asyncio.sleep(3)  # the report interval
        [counted] = (await world.report("m1"))["workloads"]
        assert counted["bound"] == {"worker": 4}
        assert counted["minimumReached"] is True
        assert free_gpus(await world.report("m1")) == 32
        assert await allocated(world) == ("32", 1, 0)

        await world.until_phase("train", "Completed")
        assert await world.entries("m1") == []
        assert await allocated(world) == ("0", 0, 0)
        assert free_gpus(await world.report("m1")) == 64
        assert await world.clusters("train") == ["m1"]


@pytest.mark.slow
@virtual_time
async def test_the_end_of_one_job_is_the_start_of_the_next(tmp_path):
    """Room and quota are free as soon as a job is finished, with its object still there."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        limit = {"metadata": {"name": "default"}, "spec": {"capability": {GPUS: "32"}}}
        await world.apply({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"} | limit)
        await world.submit(gang("first", seconds=20))
        await world.until_phase("first", "Running")
        await world.submit(gang("second", seconds=20))
        await asyncio.sleep(5)
        assert await world.clusters("second") == []
        assert await world.bound("m1", "second") == {}

        await world.until_phase("first", "Completed")
        await world.until_phase("second", "Running", seconds=5)
        assert await world.phase("first") == "Completed"


@pytest.mark.slow
@virtual_time
async def test_deletion_cleans_everything(tmp_path):
    """A running job that is deleted leaves no binding, Work, Directive entry, pod or use."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await world.submit(gang("train", seconds=3600))
        await world.until_phase("train", "Running")
        await world.admin.delete(kinds.VOLCANO_JOBS, "train", namespace=TEAM)
        await asyncio.sleep(10)

        assert await world.binding("train") == {}
        works = await world.admin.list(kinds.WORKS, namespace=execution_namespace("m1"))
        jobs = [w for w in works.items if w["metadata"]["name"].startswith("train")]
        assert jobs == []
        assert await world.entries("m1") == []
        assert await world.pods("m1") == []
        assert "workloads" not in await world.report("m1")
        assert free_gpus(await world.report("m1")) == 32
        assert await allocated(world) == ("0", 0, 0)
        groups = await world.member_list("m1", kinds.POD_GROUPS)
        assert groups == []
