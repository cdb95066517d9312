"""Binds that the member's API server refuses for good: in the report and on the pods."""

import asyncio

import pytest

from global_sched.shared.api.resource import NODES, PODS
from global_sched.shared.kube.faults import Fault, FaultKind
from tests.flows.agent_world import agent_world
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import gang_objects, racks
from tests.virtual_time import virtual_time

DIRECTED = directive(entry("b", {"worker": 2}, domain="r0", tier=1))
PLAN = "podgroups.scheduling.volcano.sh"


def gang(binding):
    return [*racks(1, 2), *gang_objects("g", pods=2, tier=1, binding=binding)]


def forever(kind, verb="create", resource="pods/binding"):
    return Fault(verb, resource, kind=kind, times=10**6)


async def said(world, name="g-worker-0"):
    """The message of a pod's condition PodScheduled."""
    pod = await world.member.get(PODS, name, namespace="team")
    [found] = [c for c in pod["status"].get("conditions") or [] if c["type"] == "PodScheduled"]
    return found["message"]


@pytest.mark.parametrize(
    ("fault", "want"),
    [
        pytest.param(
            forever(FaultKind.FORBIDDEN), "create pods/binding team/g-worker-", id="the binds"
        ),
        pytest.param(forever(FaultKind.FORBIDDEN, "patch", PLAN), f"patch {PLAN}", id="the plan"),
    ],
)
def test_the_report_says_what_is_refused(fault, want):
    """In the server's words, until it is allowed; then the gang is bound and nothing is said."""

    @virtual_time
    async def run():
        async with agent_world(gang("b"), DIRECTED) as world:
            world.faults.add(fault)
            async with world.agent():
                await asyncio.sleep(60)
                reason = (await world.reported("b")).reason
                assert reason.startswith(f"the member refuses it: {want}")
                assert "403" in reason
                assert await said(world) == reason

                world.faults.clear()
                await asyncio.sleep(60)
                assert len(await world.nodes_of_pods()) == 2
                assert (await world.reported("b")).reason == ""

    run()


@virtual_time
async def test_pods_that_nothing_manages_say_it_too():
    """No report is about them, so that their conditions are all that a user sees."""
    async with agent_world(gang(None)) as world:
        world.faults.add(forever(FaultKind.FORBIDDEN))
        async with world.agent():
            await asyncio.sleep(60)

            assert "the member refuses it: create pods/binding" in await said(world)


@virtual_time
async def test_what_passes_is_no_refusal():
    """A server that fails for a while is tried again, and never called a refusal."""
    async with agent_world(gang("b"), DIRECTED) as world:
        world.faults.add(forever(FaultKind.ERROR))
        async with world.agent():
            await asyncio.sleep(60)

            assert "refuses" not in (await world.reported("b")).reason


@virtual_time
async def test_pods_that_may_not_be_taken_back():
    """A gang that was bound by half cannot be completed, and its pods may not be deleted."""
    objects = [*racks(1, 2), *gang_objects("g", pods=2, tier=1, binding="b")]
    async with agent_world(objects, DIRECTED) as world:
        world.faults.add(Fault("create", "pods/binding", kind=FaultKind.HOLD, nth=2, times=9))
        async with world.agent(binds_at_once=1):
            await asyncio.sleep(5)
        world.faults.clear()
        [bound] = set((await world.nodes_of_pods()).values())
        [other] = {"r0-0", "r0-1"} - {bound}
        await world.member.delete(NODES, other)
        world.faults.add(forever(FaultKind.FORBIDDEN, "delete", "pods"))
        async with world.agent(rollback_seconds=10):
            await asyncio.sleep(60)
            reason = (await world.reported("b")).reason
            assert reason.startswith("the member refuses it: delete pods team/g-worker-")

            world.faults.clear()
            await asyncio.sleep(60)
            await world.end_deleted_pods()
            await asyncio.sleep(5)
            assert await world.nodes_of_pods() == {}
