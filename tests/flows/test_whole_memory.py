"""The placement history of a gang outlives the agent, the PodGroup and the whole Job's restart."""

import asyncio
import json

import pytest

from global_sched.embedded.federation import MemberSpec
from global_sched.embedded.members.racks import NodePlan, hyper_node, node
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import MEMORY
from tests.flows.federation import TEAM, gang, whole
from tests.virtual_time import virtual_time

RACKS = {"r0": "s0", "r1": "s1", "r2": "s1"}
RESTART = {"policies": [{"event": "PodEvicted", "action": "RestartJob"}], "maxRetry": 10}


def two_spines(nodes=4):
    """Rack r0 under one spine, r1 and r2 under another; r0 comes first by name."""
    names = {rack: [f"{rack}-{at}" for at in range(nodes)] for rack in RACKS}
    tree = [hyper_node(rack, 1, "rack", "Node", own) for rack, own in names.items()]
    tree += [
        hyper_node(
            spine, 2, "spine", "HyperNode", [r for r, above in RACKS.items() if above == spine]
        )
        for spine in ("s0", "s1")
    ]
    tree.append(hyper_node("core", 3, "core", "HyperNode", ["s0", "s1"]))
    plan = NodePlan(
        nodes=tuple(node(name) for own in names.values() for name in own), hyper_nodes=tuple(tree)
    )
    return MemberSpec(name="m1", nodes=plan)


async def in_r1(world, *, pods=4):
    """A gang that runs in r1, though r0 would be taken if it were placed afresh."""
    await world.submit(gang("first", pods=4))
    await world.until_phase("first", "Running")
    await world.submit(gang("train", pods=pods, tier=2, seconds=36_000, spec=RESTART))
    await world.until_phase("train", "Running")
    await world.admin.delete(kinds.VOLCANO_JOBS, "first", namespace=TEAM)
    await asyncio.sleep(10)
    assert await racks(world, "first") == set()
    assert await racks(world, "train") == {"r1"}


async def racks(world, name):
    """The racks of a job's pods."""
    return {on.rpartition("-")[0] for on in (await world.bound("m1", name)).values()}


async def uids(world):
    """The pods of `train` by name, with their uids."""
    return {
        pod["metadata"]["name"]: pod["metadata"]["uid"]
        for pod in await world.pods("m1")
        if pod["metadata"]["name"].startswith("train-")
    }


async def restart(world):
    """The whole Job starts again: one pod is evicted, and all are made anew."""
    before = await uids(world)
    await world.delete_pod("m1", "train-worker-0")
    await asyncio.sleep(90)
    after = await uids(world)
    assert sorted(after) == sorted(before)
    assert not set(after.values()) & set(before.values())
    await world.until_phase("train", "Running")


async def forget_everything(world):
    """The agent's process is gone with all that it knew, and so is the PodGroup."""
    await world.kill("m1")
    client = world.federation.member_client("m1")
    [group] = [g for g in await world.member_list("m1", kinds.POD_GROUPS) if owner(g) == "train"]
    await client.delete(kinds.POD_GROUPS, group["metadata"]["name"], namespace=TEAM)
    await client.close()
    await world.start_agent("m1")
    return group


def owner(obj):
    """The name of its controller."""
    return obj["metadata"]["ownerReferences"][0]["name"]


async def memory(world):
    """What the Job in the member remembers."""
    [job] = [
        one
        for one in await world.member_list("m1", kinds.VOLCANO_JOBS)
        if one["metadata"]["name"] == "train"
    ]
    return json.loads(job["metadata"]["annotations"][MEMORY])


@pytest.mark.slow
@virtual_time
async def test_a_restarted_job_returns_to_its_domain(tmp_path):
    """The annotation on the Job brings it back, after the agent and the PodGroup are gone."""
    async with whole(tmp_path, two_spines()) as world:
        await in_r1(world)
        assert (await memory(world))["domain"] == "r1"
        group = await forget_everything(world)
        assert MEMORY not in (group["metadata"].get("annotations") or {})

        await restart(world)

        assert await racks(world, "train") == {"r1"}
        assert await world.clusters("train") == ["m1"]


@pytest.mark.slow
@virtual_time
async def test_then_to_the_closest(tmp_path):
    """Where its rack no longer holds it, it stays under the spine that it was under."""
    async with whole(tmp_path, two_spines()) as world:
        await in_r1(world)
        await forget_everything(world)
        await world.cordon("m1", ["r1-0", "r1-1"])
        await asyncio.sleep(3)

        await restart(world)

        assert await racks(world, "train") == {"r2"}


@pytest.mark.slow
@virtual_time
async def test_a_failed_node_is_avoided_for_a_while(tmp_path):
    """A node that was lost under the gang is not used for ten minutes, though it is back."""
    async with whole(tmp_path, two_spines()) as world:
        await in_r1(world, pods=3)
        [lost] = sorted({"r1-0"} & set((await world.bound("m1", "train")).values()))
        machine = world.federation.running_member("m1")
        await machine.lose_node(lost)
        await asyncio.sleep(5)
        await machine.recover_node(lost)
        await asyncio.sleep(5)
        await forget_everything(world)

        await restart(world)
        avoided = await world.bound("m1", "train")
        await asyncio.sleep(600)
        await world.cordon("m1", ["r1-3"])
        await restart(world)
        forgiven = await world.bound("m1", "train")

        assert sorted(avoided.values()) == ["r1-1", "r1-2", "r1-3"]
        assert sorted(forgiven.values()) == ["r1-0", "r1-1", "r1-2"]
