"""The agent over HTTP: nodes to a report, directed gangs to nodes."""

import asyncio
import json

from global_sched.shared.api import names
from global_sched.shared.api.resource import POD_GROUPS, PODS, VOLCANO_JOBS
from tests.flows.agent_world import agent_world, annotation
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import gang_objects, pod, racks
from tests.virtual_time import virtual_time


@virtual_time
async def test_nodes_become_a_report():
    """The first report tells the tree, the room and the totals; the generation rises."""
    async with agent_world(racks(2, 2)) as world, world.agent():
        report = (await world.report()).spec

        assert (report.cluster, report.slices) == ("member1", 1)
        assert [(d.name, d.tier, d.parent) for d in report.tree] == [
            ("r0", 1, "spine"),
            ("r1", 1, "spine"),
            ("spine", 2, ""),
        ]
        assert [(row.domain, row.count) for row in report.rows] == [("r0", 2), ("r1", 2)]
        assert report.axis == ["cpu", "memory", "nvidia.com/gpu", "pods"]
        assert report.free == [[64000, 256 * 2**30, 8, 110]]
        assert report.scheduler_names == ["member-agent"]
        assert report.nodes.allocatable["nvidia.com/gpu"] == 32

        await asyncio.sleep(25)
        assert (await world.report()).spec.generation == report.generation + 2


@virtual_time
async def test_a_directed_gang_is_bound():
    """Pods go to the directed domain; plan, minimum and report follow."""
    objects = [*racks(2, 2), *gang_objects("g", pods=2, tier=1, binding="b")]
    told = directive(entry("b", {"worker": 2}, domain="r1", tier=1))
    async with agent_world(objects, told) as world, world.agent():
        await asyncio.sleep(5)

        assert await world.nodes_of_pods() == {"g-worker-0": "r1-0", "g-worker-1": "r1-1"}
        group = await world.member.get(POD_GROUPS, "g-pg", namespace="team")
        plan = json.loads(annotation(group, names.PLAN))
        assert sorted(plan["pods"].values()) == ["r1-0", "r1-1"]
        assert plan["decision"] == "decision-b"
        job = await world.member.get(VOLCANO_JOBS, "g", namespace="team")
        memory = json.loads(annotation(job, names.MEMORY))
        assert (memory["decision"], memory["domain"]) == ("decision-b", "r1")
        assert memory["reached"] == [group["metadata"]["uid"]]
        seen = await world.reported("b")
        assert (seen.bound, seen.minimum_reached, seen.decision, seen.reason) == (
            {"worker": 2},
            True,
            "decision-b",
            "",
        )


@virtual_time
async def test_a_waiting_pod_says_why():
    """A managed pod without an entry has a condition, an Event and a reason in the report."""
    objects = [*racks(1, 2), *gang_objects("g", pods=1, binding="b")]
    async with agent_world(objects) as world, world.agent():
        await asyncio.sleep(5)

        waiting = await world.member.get(PODS, "g-worker-0", namespace="team")
        [condition] = [c for c in waiting["status"]["conditions"] if c["type"] == "PodScheduled"]
        assert (condition["status"], condition["reason"], condition["message"]) == (
            "False",
            "Unschedulable",
            "no Directive entry for binding b yet",
        )
        version = waiting["metadata"]["resourceVersion"]
        assert (await world.reported("b")).reason == "no Directive entry for binding b yet"

        await asyncio.sleep(600)
        again = await world.member.get(PODS, "g-worker-0", namespace="team")
        assert again["metadata"]["resourceVersion"] == version


@virtual_time
async def test_free_pods_are_bound_and_others_left_alone():
    """Pods of other schedulers belong to them."""
    objects = [*racks(1, 1), pod("ours"), pod("theirs", scheduler="default-scheduler")]
    async with agent_world(objects) as world, world.agent():
        await asyncio.sleep(2)

        assert await world.nodes_of_pods() == {"ours": "r0-0"}


@virtual_time
async def test_without_scheduler_names_it_only_reports():
    """No scheduler name means that the agent binds nothing, and the report says so."""
    objects = [*racks(1, 2), *gang_objects("g", pods=1, binding="b"), pod("free")]
    told = directive(entry("b", {"worker": 1}))
    async with agent_world(objects, told) as world, world.agent(scheduler_names=()):
        await asyncio.sleep(5)

        assert await world.nodes_of_pods() == {}
        assert (await world.report()).spec.scheduler_names is None
        seen = await world.reported("b")
        assert seen.reason == "its pods are bound by member-agent, not by the agent"
