"""What people are told by Events: malformed objects, forgeries, withdrawals; and nothing else."""

import asyncio

from global_sched.shared.api import resource as kinds
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed
from tests.virtual_time import virtual_time
from tests.wire import batch_job, binding, cluster_object, queue, tenant, vcjob


async def events(plane):
    """(reason, object) of every Event."""
    found = await plane.client.list(kinds.EVENTS)
    return sorted((e["reason"], e["regarding"]["name"]) for e in found.items)


@virtual_time
async def test_events(tmp_path):
    """One warning per thing to tell, none for what went well, none again for what was told."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        await plane.add(queue("odd", capability={"cpu": "-5"}))
        await plane.namespace("karmada-es-m9")
        await plane.add(cluster_object("m9", taints=[{"key": "a", "effect": "Explode"}]))
        good = await plane.add(vcjob("good"))
        await plane.add(batch_job("good"))
        forged = {"decision.global-sched.io/decision": '{"id":"x"}'}
        await plane.add(binding(good, annotations=forged))
        async with scheduling(plane, tmp_path):
            await plane.until(is_placed, "good-job")
            for _ in range(10):
                await asyncio.sleep(30)
            found = await events(plane)

    assert found == [
        ("DecisionNotBelieved", "good-job"),
        ("Malformed", "m9"),
        ("Malformed", "odd"),
        ("NameCollision", "good-job"),
    ]


@virtual_time
async def test_a_tenant_that_names_what_is_not_there(tmp_path):
    """Ready=False names the Queue and the PriorityClass that do not exist."""
    async with control_plane(tmp_path) as plane:
        await plane.add(tenant("t", "team-a", queues=["default", "gone"], priorityClasses=["no"]))
        async with scheduling(plane, tmp_path):
            await asyncio.sleep(6)
        found = await plane.client.get(kinds.TENANTS, "t")

    [condition] = found["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "ReferenceMissing")
    assert condition["message"].startswith("Queue gone, PriorityClass no does not exist")
