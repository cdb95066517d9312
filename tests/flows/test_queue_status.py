"""A Queue tells the truth: state, counts, amounts of the whole subtree, and by cluster."""

import asyncio
import json

import msgspec
import pytest

from global_sched.cache import State
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import GLOBAL_SCHEDULER, PAST_USAGE, QUEUE_USAGE
from global_sched.shared.api.volcano import Queue
from global_sched.shared.model.policy import Policy
from tests.deep import SETTLED_SECONDS
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed
from tests.virtual_time import virtual_time
from tests.wire import binding, queue, vcjob


@pytest.mark.deep
@virtual_time
async def test_a_tree_is_told_level_by_level(tmp_path):
    """Amounts count in all queues above; a closed one is closing while it has a workload.

    Then nothing is written any more.
    """
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=2)
        await plane.add(queue("org", guarantee={"resource": {"nvidia.com/gpu": "8"}}))
        await plane.add(queue("team", parent="org", deserved={"nvidia.com/gpu": "4"}))
        await plane.add(queue("lost", parent="gone"))
        async with scheduling(plane, tmp_path):
            await plane.add(binding(await plane.add(vcjob("a", gpus=8, queue="team"))))
            await plane.until(is_placed, "a-job")
            await plane.client.patch(
                kinds.QUEUES, "team", {"status": {"state": "Closed"}}, subresource="status"
            )
            await asyncio.sleep(12)
            org, team, lost = [
                await plane.client.get(kinds.QUEUES, name) for name in ("org", "team", "lost")
            ]
            await plane.add(binding(await plane.add(vcjob("late", gpus=8))))
            await plane.until(is_placed, "late-job")
            await asyncio.sleep(12)
            events = await plane.client.list(kinds.EVENTS)
            plane.writes.clear()
            await asyncio.sleep(SETTLED_SECONDS)

    assert org["status"]["allocated"] == team["status"]["allocated"]
    assert org["status"]["allocated"]["nvidia.com/gpu"] == "8"
    assert org["status"]["reservation"] == {"resource": {"nvidia.com/gpu": "8"}}
    assert (org["status"]["inqueue"], team["status"]["inqueue"]) == (1, 1)
    assert (org["status"]["state"], team["status"]["state"]) == ("Open", "Closing")
    usage = json.loads(team["metadata"]["annotations"][QUEUE_USAGE])
    assert usage["deserved"] == usage["borrowed"] == {"nvidia.com/gpu": "4"}
    assert usage["share"] == 2.0
    assert usage["clusters"]["m1"]["nvidia.com/gpu"] == "8"
    problem = json.loads(lost["metadata"]["annotations"][QUEUE_USAGE])["problem"]
    assert problem == "spec.parent: queue gone does not exist; create it or use another"
    told = [one["note"] for one in events.items if one["regarding"]["kind"] == "Queue"]
    assert told == [f"Queue lost: {problem}"]
    assert plane.writes["patch queues"] == plane.writes["patch queues/status"] == 0


@virtual_time
async def test_past_usage_outlives_the_leader(tmp_path):
    """What a tenant holds is noted on the Queue once, and again when it ends, with the average.

    A reader of the objects has the same past; a settled world writes none of it; it
    goes when the Policy counts it no more.
    """
    forgets = Policy(usage_half_life_seconds=3600)
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=2)
        async with scheduling(plane, tmp_path, policy=forgets):
            await plane.add(binding(await plane.add(vcjob("a", gpus=8))))
            await plane.until(is_placed, "a-job")
            await asyncio.sleep(12)
            first = await _past(plane)
            plane.writes.clear()
            await asyncio.sleep(600)
            idle = plane.writes["patch queues"]
        async with scheduling(plane, tmp_path, policy=forgets):
            item = {"clusterName": "m1", "status": {"state": {"phase": "Completed"}}}
            await plane.client.patch(
                kinds.RESOURCE_BINDINGS,
                "a-job",
                {"status": {"aggregatedStatus": [item]}},
                namespace="team-a",
                subresource="status",
            )
            await asyncio.sleep(12)
            second = await _past(plane)
            live = await plane.client.get(kinds.QUEUES, "default")
            state = State(frozenset({GLOBAL_SCHEDULER}))
            state.upsert_queue(msgspec.convert(live, Queue))
        async with scheduling(plane, tmp_path):
            await asyncio.sleep(12)
            gone = await _past(plane)

    (tenant,) = first["tenants"]
    assert first["tenants"][tenant]["held"]["nvidia.com/gpu"] == 8
    assert "average" not in first["tenants"][tenant]
    assert idle == 0
    assert "held" not in second["tenants"][tenant]
    average = second["tenants"][tenant]["average"]["nvidia.com/gpu"]
    assert 870_000 <= average <= 910_000
    (record,) = state.snapshot().past
    assert record.average.get("nvidia.com/gpu") == average
    assert gone is None


async def _past(plane):
    """The annotation on the default queue, as JSON."""
    live = await plane.client.get(kinds.QUEUES, "default")
    text = live["metadata"].get("annotations", {}).get(PAST_USAGE)
    return None if text is None else json.loads(text)
