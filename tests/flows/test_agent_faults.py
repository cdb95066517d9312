"""Binds that fail midway: completed as planned, by a variant, or rolled back; never half a gang."""

import asyncio
import json

import pytest

from global_sched.shared.api import names
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import (
    CAPACITY_REPORTS,
    EVENTS,
    NODES,
    POD_GROUPS,
    PODS,
    VOLCANO_JOBS,
)
from global_sched.shared.kube.client import PatchKind
from global_sched.shared.kube.faults import Fault, FaultKind
from tests.flows.agent_world import agent_world, annotation
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import CLUSTER, gang_objects, pod, racks, volcano_job
from tests.virtual_time import virtual_time

GANG = [*racks(2, 4), *gang_objects("g", pods=4, tier=1, binding="b")]
DIRECTED = directive(entry("b", {"worker": 4}, domain="r1", tier=1))
BOUND = {f"g-worker-{at}": f"r1-{at}" for at in range(4)}


def on_bind(kind, **fields):
    return Fault("create", "pods/binding", kind=kind, **fields)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(on_bind(FaultKind.CONFLICT, nth=2), id="a bind is refused with 409"),
        pytest.param(on_bind(FaultKind.ERROR, nth=2, times=2), id="binds fail with 500"),
        pytest.param(on_bind(FaultKind.LOST_AFTER, nth=3), id="a bind's answer is lost"),
        pytest.param(on_bind(FaultKind.LOST_BEFORE, nth=1, times=4), id="no bind gets through"),
        pytest.param(on_bind(FaultKind.THROTTLE, nth=2, times=3), id="the server is busy"),
        pytest.param(
            Fault("patch", "podgroups.scheduling.volcano.sh", kind=FaultKind.CONFLICT),
            id="the plan meets a newer PodGroup",
        ),
        pytest.param(
            Fault("patch", "podgroups.scheduling.volcano.sh", kind=FaultKind.LOST_AFTER),
            id="the answer to the plan is lost",
        ),
        pytest.param(Fault("watch", "pods", kind=FaultKind.CUT, events=3), id="the watch breaks"),
    ],
)
def test_transient_failures(fault):
    """Whatever fails on the way, the gang ends whole where it was planned."""

    @virtual_time
    async def run():
        async with agent_world(GANG, DIRECTED) as world:
            world.faults.add(fault)
            async with world.agent():
                await asyncio.sleep(60)
                assert await world.nodes_of_pods() == BOUND
                assert (await world.reported("b")).minimum_reached

    run()


@pytest.mark.parametrize("binds", [0, 1, 2, 3])
def test_a_crash_between_binds(binds):
    """A new agent completes the plan of one that died after so many binds."""

    @virtual_time
    async def run():
        async with agent_world(GANG, DIRECTED) as world:
            world.faults.add(on_bind(FaultKind.HOLD, nth=binds + 1, times=9))
            async with world.agent(binds_at_once=1):
                await asyncio.sleep(5)
            assert len(await world.nodes_of_pods()) == binds
            plan = await _plan(world)
            world.faults.clear()
            async with world.agent():
                await asyncio.sleep(20)
                assert await world.nodes_of_pods() == BOUND
                assert await _plan(world) == plan

    run()


async def _plan(world):
    group = await world.member.get(POD_GROUPS, "g-pg", namespace="team")
    return json.loads(annotation(group, names.PLAN))["pods"]


async def _crash_after(world, binds):
    """An agent that dies after so many binds of the gang."""
    world.faults.add(on_bind(FaultKind.HOLD, nth=binds + 1, times=9))
    async with world.agent(binds_at_once=1):
        await asyncio.sleep(5)
    world.faults.clear()


@virtual_time
async def test_a_variant_keeps_the_bound_pods():
    """When a planned node is gone, another one in the same domain completes the gang."""
    objects = [*racks(2, 5), *gang_objects("g", pods=4, tier=1, binding="b")]
    async with agent_world(objects, DIRECTED) as world:
        await _crash_after(world, 2)
        await world.member.delete(NODES, "r1-3")
        async with world.agent():
            await asyncio.sleep(20)
            nodes = await world.nodes_of_pods()
            assert nodes == BOUND | {"g-worker-3": "r1-4"}


@virtual_time
async def test_rollback_deletes_the_bound_pods():
    """When nothing completes it any more, the bound pods go, and their room with them."""
    async with agent_world(GANG, DIRECTED) as world:
        await _crash_after(world, 2)
        await world.member.delete(NODES, "r1-3")
        async with world.agent(rollback_seconds=10):
            await asyncio.sleep(5)
            assert len(await world.nodes_of_pods()) == 2

            await asyncio.sleep(20)
            await world.end_deleted_pods()
            await asyncio.sleep(5)
            assert await world.nodes_of_pods() == {}
            left = (await world.member.list(PODS, namespace="team")).items
            assert sorted(p["metadata"]["name"] for p in left) == ["g-worker-2", "g-worker-3"]
            assert (
                annotation(await world.member.get(POD_GROUPS, "g-pg", namespace="team"), names.PLAN)
                == ""
            )
            assert (await world.reported("b")).bound is None

        # The Job's controller makes the pods anew, and the gang goes where it fits.
        fresh = gang_objects("g", pods=2, tier=1, binding="b")[2:]
        async with world.agent():
            await world.apply(fresh)
            await asyncio.sleep(40)
            assert {n.split("-")[0] for n in (await world.nodes_of_pods()).values()} == {"r0"}
            assert len(await world.nodes_of_pods()) == 4


@virtual_time
async def test_a_rollback_is_told_when_pods_went():
    """While the API server refuses the deletions, no Event says that pods were deleted."""
    async with agent_world(GANG, DIRECTED) as world:
        await _crash_after(world, 2)
        await world.member.delete(NODES, "r1-3")
        world.faults.add(Fault("delete", "pods", kind=FaultKind.FORBIDDEN, times=99))
        async with world.agent(rollback_seconds=1):
            await asyncio.sleep(20)
            assert len(await world.nodes_of_pods()) == 2
            refused = await _rollbacks(world)
            world.faults.clear()
            await asyncio.sleep(60)
            done = await _rollbacks(world)

    assert refused == []
    assert [note.partition(",")[0] for note in done] == ["2 bound pods were deleted"]


async def _rollbacks(world):
    found = await world.member.list(EVENTS, namespace="team")
    return [one["note"] for one in found.items if one["reason"] == "RolledBack"]


@virtual_time
async def test_a_rollback_is_no_eviction_for_the_job():
    """Pods that the agent itself takes back are made anew, and no policy of their Job answers."""
    job = volcano_job("train")
    container = {"name": "c", "image": "registry.example/t:1"}
    container["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    job["spec"] = {
        "minAvailable": 4,
        "tasks": [{"name": "worker", "replicas": 4, "template": template}],
        "policies": [{"event": "PodEvicted", "action": "AbortJob"}],
    }
    async with agent_world(racks(1, 4)) as world:
        world.faults.add(on_bind(FaultKind.HOLD, nth=3, times=9))
        async with world.agent(run_volcano_jobs=True, binds_at_once=1):
            await world.apply([job])
            await asyncio.sleep(3)
        world.faults.clear()
        bound = await world.nodes_of_pods()
        assert len(bound) == 2
        for name in bound:
            runs = {"status": {"phase": "Running"}}
            await world.member.patch(PODS, name, runs, namespace="team", subresource="status")
        gone = next(name for name in ("r0-2", "r0-3") if name not in bound.values())
        await world.member.delete(NODES, gone)
        async with world.agent(run_volcano_jobs=True, rollback_seconds=5):
            await asyncio.sleep(10)
            await world.end_deleted_pods()
            await asyncio.sleep(5)
            left = (await world.member.list(PODS, namespace="team")).items
            found = await world.member.get(VOLCANO_JOBS, "train", namespace="team")

    assert len(left) == 4
    assert not any(one["spec"].get("nodeName") for one in left)
    assert found["status"]["state"]["phase"] == "Pending"


@virtual_time
async def test_a_node_that_rejects_a_pod_is_left_alone():
    """A rejected pod counts as a failed bind: its node backs off, its successor goes elsewhere."""
    objects = [*racks(1, 5), *gang_objects("g", pods=4, tier=1)]
    async with agent_world(objects) as world, world.agent():
        await asyncio.sleep(5)
        rejected = (await world.nodes_of_pods())["g-worker-3"]
        await world.member.patch(
            PODS,
            "g-worker-3",
            {"status": {"phase": "Failed", "reason": "OutOfcpu"}},
            namespace="team",
            subresource="status",
        )
        await world.apply([pod("g-worker-3b", gpus=8, group="g-pg", task="worker", index=3)])
        await asyncio.sleep(3)

        nodes = await world.nodes_of_pods()
        assert nodes["g-worker-3b"] not in {rejected, *(nodes[f"g-worker-{n}"] for n in range(3))}


async def _forget_memory(world):
    unset = {"metadata": {"annotations": {names.MEMORY: None}}}
    await world.member.patch(VOLCANO_JOBS, "g", unset, namespace="team")


async def _forget_report(world):
    space = execution_namespace(CLUSTER)
    unset = [{"op": "remove", "path": "/spec/workloads"}]
    await world.control.patch(
        CAPACITY_REPORTS, CLUSTER, unset, namespace=space, kind=PatchKind.JSON
    )


@pytest.mark.parametrize(
    "forget",
    [
        pytest.param(_forget_memory, id="the last report tells it"),
        pytest.param(_forget_report, id="the memory on the Job tells it"),
    ],
)
def test_a_reached_minimum_survives_a_restart(forget):
    """Two places tell a new agent; each of them is enough."""

    @virtual_time
    async def run():
        async with agent_world(GANG, DIRECTED) as world:
            async with world.agent():
                await asyncio.sleep(10)
                generation = (await world.report()).spec.generation
            for name in ("g-worker-0", "g-worker-1"):
                await world.member.delete(PODS, name, namespace="team", grace_seconds=0)
            await forget(world)
            async with world.agent():
                await asyncio.sleep(10)
                seen = await world.reported("b")
                assert (seen.bound, seen.minimum_reached) == ({"worker": 2}, True)
                assert (await world.report()).spec.generation > generation
                # What is left runs on: later losses are the Job's business.
                assert len(await world.nodes_of_pods()) == 2

    run()


@virtual_time
async def test_two_replicas_are_safe():
    """Only the holder of the Lease acts; the other one takes over when it is gone."""
    async with agent_world(GANG, DIRECTED) as world, world.agent(identity="a"):
        await asyncio.sleep(5)
        assert await world.nodes_of_pods() == BOUND
        waiting = asyncio.create_task(_second(world))
        await asyncio.sleep(30)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])


async def _second(world):
    async with world.agent(identity="b"):
        raise AssertionError("two replicas act at once")
