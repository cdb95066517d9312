"""The agent finds whose a pod is, and the kinds that a member has."""

import asyncio

import pytest

from global_sched.shared.api import names
from global_sched.shared.api.resource import CRDS, DEPLOYMENTS, Resource
from global_sched.shared.kube.faults import Fault, FaultKind
from tests.flows.agent_world import RESOURCES, agent_world
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import gang_objects, owner, pod, racks
from tests.virtual_time import virtual_time


@virtual_time
async def test_deployments_are_found_through_their_replica_sets():
    """Pod → ReplicaSet → Deployment → the binding that Karmada wrote on it."""
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "registry.example/web:1"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template, "replicas": 2}
    web = owner("Deployment", "web", api_version="apps/v1", binding="b", spec=spec)
    rs = owner("ReplicaSet", "web-1", api_version="apps/v1", controller=web, spec=spec)
    pods = [pod(f"web-1-{at}", owner=rs, labels=labels) for at in range(3)]
    told = directive(entry("b", {"main": 2}))
    async with agent_world([*racks(1, 1), web, rs, *pods], told) as world, world.agent():
        await asyncio.sleep(5)

        assert sorted(await world.nodes_of_pods()) == ["web-1-0", "web-1-1"]
        assert (await world.reported("b")).bound == {"main": 2}
        stored = await world.member.get(DEPLOYMENTS, "web", namespace="team")
        assert stored["metadata"]["annotations"][names.MINIMUM_REACHED] == "decision-b"


FLOWS = Resource("other.example", "v1", "flows", "Flow")
FLOW_CRD = {
    "metadata": {"name": "flows.other.example"},
    "spec": {
        "group": "other.example",
        "scope": "Namespaced",
        "names": {"plural": "flows", "kind": "Flow", "singular": "flow", "listKind": "FlowList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


@virtual_time
async def test_owners_of_unknown_kinds_are_looked_up():
    """A pod whose owner is of an unknown kind is found out through discovery."""
    async with agent_world(racks(1, 1)) as world:
        await world.member.create(CRDS, FLOW_CRD)
        RESOURCES["other.example/v1/Flow"] = FLOWS
        flow = owner("Flow", "f", api_version="other.example/v1", binding="b")
        gone = owner("Ghost", "g", api_version="ghost.example/v1")
        async with world.agent():
            await world.apply([flow, pod("managed", owner=flow)])
            await world.apply([pod("free", owner=gone)])
            await asyncio.sleep(10)

            assert list(await world.nodes_of_pods()) == ["free"]
            assert (await world.reported("b")).reason == "no Directive entry for binding b yet"


@virtual_time
async def test_owners_that_may_not_be_read():
    """A kind that the agent may not list ends the chain of owners; the agent starts anyway."""
    async with agent_world(racks(1, 1)) as world:
        await world.member.create(CRDS, FLOW_CRD)
        RESOURCES["other.example/v1/Flow"] = FLOWS
        flow = owner("Flow", "f", api_version="other.example/v1")
        await world.apply([flow, pod("p", owner=flow)])
        world.faults.add(Fault("list", "flows.other.example", kind=FaultKind.FORBIDDEN, times=99))
        async with world.agent():
            await asyncio.sleep(5)
            assert await world.nodes_of_pods() == {"p": "r0-0"}


@virtual_time
@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(("get", "/apis/other.example/v1"), id="asking what is served"),
        pytest.param(("list", "flows.other.example"), id="reading it"),
    ],
)
async def test_owners_that_a_starting_server_refuses(refused):
    """A server that is not ready refuses every request: nothing follows for a kind or its pods."""
    async with agent_world(racks(1, 1)) as world:
        await world.member.create(CRDS, FLOW_CRD)
        RESOURCES["other.example/v1/Flow"] = FLOWS
        flow = owner("Flow", "f", api_version="other.example/v1", binding="b")
        await world.apply([flow, pod("managed", owner=flow)])
        for verb, resource in (refused, ("get", "/readyz")):
            world.faults.add(Fault(verb, resource, kind=FaultKind.FORBIDDEN, times=1))
        async with world.agent():
            await asyncio.sleep(10)

            assert await world.nodes_of_pods() == {}
            assert (await world.reported("b")).reason == "no Directive entry for binding b yet"


@virtual_time
async def test_kinds_that_come_later():
    """A member without Volcano's kinds is served; they are watched as soon as they exist."""
    objects = [*racks(1, 2), pod("bare")]
    async with agent_world() as world:
        plain = [o for o in objects if o["kind"] != "HyperNode"]
        for crd in (await world.member.list(CRDS)).items:
            await world.member.delete(CRDS, crd["metadata"]["name"])
        await asyncio.sleep(1)
        await world.apply(plain)
        async with world.agent():
            await asyncio.sleep(2)
            assert list(await world.nodes_of_pods()) == ["bare"]
            assert (await world.report()).spec.tree is None

            world.install("member")
            await world.apply([o for o in objects if o["kind"] == "HyperNode"])
            await world.apply(gang_objects("g", pods=1, tier=1))
            await asyncio.sleep(45)
            assert sorted(await world.nodes_of_pods()) == ["bare", "g-worker-0"]
            assert [d.name for d in (await world.report()).spec.tree] == ["r0", "spine"]
