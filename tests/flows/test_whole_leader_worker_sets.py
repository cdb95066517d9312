"""LeaderWorkerSets from the template to running groups, each in one rack."""

import asyncio
from pathlib import Path

import pytest
import yaml

from global_sched.shared.api import resource as kinds
from global_sched.view.look import look
from tests.flows.federation import member, whole
from tests.virtual_time import virtual_time

EXAMPLE = Path(__file__).parents[2] / "examples" / "leader-worker-set.yaml"
SPACE = "language"


def example():
    """The example's objects: the set, then its policy."""
    return list(yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8")))


async def bound(world, cluster):
    """Pod to node in a member."""
    return {
        one["metadata"]["name"]: one["spec"]["nodeName"]
        for one in await world.pods(cluster, SPACE)
        if one["spec"].get("nodeName") and not one["metadata"].get("deletionTimestamp")
    }


def racks(placed):
    """The racks of every group."""
    found = {}
    for name, node in placed.items():
        found.setdefault(name.split("-")[1], set()).add(node.rpartition("-")[0])
    return found


async def submit(world, *objects):
    """The set with its policy and namespace."""
    await world.admin.create(kinds.NAMESPACES, {"metadata": {"name": SPACE}})
    for one in reversed(objects):
        await world.apply(one)


@pytest.mark.slow
@pytest.mark.parametrize("startup", ["LeaderCreated", "LeaderReady"])
@virtual_time
async def test_the_example_runs(tmp_path, startup):
    """It goes to the cluster with a rack for each group, and becomes available there."""
    app, policy = example()
    app["spec"]["startupPolicy"] = startup
    small, large = member("east", racks=2, nodes=3), member("west", racks=2, nodes=4)
    async with whole(tmp_path, small, large) as world:
        await submit(world, app, policy)
        await asyncio.sleep(20)
        placed = await bound(world, "west")
        [copy] = await world.member_list("west", kinds.LEADER_WORKER_SETS)
        [counted] = (await world.report("west"))["workloads"]

        assert await bound(world, "east") == {}
        assert sorted(placed) == [
            "serving-0",
            *(f"serving-0-{at}" for at in (1, 2, 3)),
            "serving-1",
            *(f"serving-1-{at}" for at in (1, 2, 3)),
        ]
        assert all(len(own) == 1 for own in racks(placed).values())
        assert copy["status"]["readyReplicas"] == 2
        assert counted["bound"] == {"leader": 2, "worker": 6}
        assert counted["minimumReached"] is True


@pytest.mark.slow
@virtual_time
async def test_a_group_that_starts_anew_keeps_together(tmp_path):
    """A lost worker takes its group with it; the group comes back whole, the other stays."""
    app, policy = example()
    async with whole(tmp_path, member("west", racks=2, nodes=4)) as world:
        await submit(world, app, policy)
        await asyncio.sleep(20)
        before = await bound(world, "west")
        pods = await world.pods("west", SPACE)
        uids = {p["metadata"]["name"]: p["metadata"]["uid"] for p in pods}
        client = world.federation.member_client("west")
        await client.delete(kinds.PODS, "serving-0-2", namespace=SPACE)
        await client.close()
        await asyncio.sleep(60)
        after = await bound(world, "west")
        same = {
            p["metadata"]["name"]
            for p in await world.pods("west", SPACE)
            if uids[p["metadata"]["name"]] == p["metadata"]["uid"]
        }

        assert same == {"serving-1", *(f"serving-1-{at}" for at in (1, 2, 3))}
        assert sorted(after) == sorted(before)
        assert racks(after) == racks(before)


@pytest.mark.slow
@virtual_time
async def test_no_rack_for_a_group_is_told(tmp_path):
    """Where racks are too small for a group nothing starts, and the reason has the numbers."""
    app, policy = example()
    async with whole(tmp_path, member("east", racks=4, nodes=2)) as world:
        await submit(world, app, policy)
        await asyncio.sleep(20)
        view = await look(world.admin, world.clock)
        [one] = [w for w in view.state.workloads() if w.name == "serving"]
        outcome = view.outcome(one.key)

        assert await world.pods("east", SPACE) == []
        assert outcome is not None
        assert outcome.verdict.code.name == "NO_FIT"
        assert "with room for 8 pods in whole partitions" in outcome.verdict.detail
