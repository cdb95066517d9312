"""Privacy: what a tenant may read in a crowded federation names nothing of another's."""

import asyncio
import json

import pytest

from global_sched.embedded.access import DEPLOY
from global_sched.shared.api import resource as kinds
from global_sched.shared.api import yaml_text
from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import priority_class, queue, tenant

OWN = {"vision": "vv0", "language": "ll0"}
"""Namespaces, and how the jobs, users and the Tenant of each begin."""


async def crowd(world):
    """Two tenants in one pair of queues: preemption, reclaim, limits, holds, faults."""
    for policy in yaml_text.read_all((DEPLOY / "policies/priority-classes.yaml").read_text()):
        await world.apply(policy)
    urgent = priority_class("urgent", 1000)
    urgent["metadata"]["labels"] = {"federation.global-sched.io/propagate": "true"}
    await world.apply(urgent)
    deserved = {"nvidia.com/gpu": "32"}
    for name in ("one", "two"):
        await world.apply(queue(name, deserved=deserved, reclaimable=True))
    for namespace, mark in OWN.items():
        limits = {"nvidia.com/gpu": "48"}
        await world.apply(tenant(f"{mark}-tenant", namespace, limits=limits))
    for namespace, mark in OWN.items():
        jobs = [
            gang(f"{mark}-fill-{at}", pods=2, tier=None, namespace=namespace, spec={"queue": "one"})
            for at in range(3)
        ]
        await world.submit(*jobs)
    await asyncio.sleep(15)
    for namespace, mark in OWN.items():
        urgent = {"queue": "one", "priorityClassName": "urgent"}
        await world.submit(
            gang(f"{mark}-urgent", pods=2, namespace=namespace, spec=urgent),
            gang(f"{mark}-owed", pods=2, namespace=namespace, spec={"queue": "two"}),
            gang(f"{mark}-wide", pods=5, namespace=namespace, spec={"queue": "two"}),
            gang(f"{mark}-typo", pods=1, namespace=namespace, spec={"queue": "twoo"}),
            gang(f"{mark}-much", pods=7, tier=2, namespace=namespace, spec={"queue": "one"}),
        )
    await asyncio.sleep(100)


async def readable(world, namespace):
    """Every condition, Event and WaitingList that the namespace's tenant may read, as text."""
    client = world.federation.client(f"tenant/{namespace}")
    found = []
    for resource in (kinds.RESOURCE_BINDINGS, kinds.VOLCANO_JOBS, kinds.EVENTS, kinds.CORE_EVENTS):
        found += (await client.list(resource, namespace=namespace)).items
    lists = (await client.list(kinds.WAITING_LISTS, namespace=namespace)).items
    await client.close()
    return found, lists


@pytest.mark.slow
@virtual_time
async def test_nothing_of_another_tenant_is_named(tmp_path):
    """Not its namespace, jobs, users or Tenant: in no condition, annotation, Event or list."""
    members = (member("m1", racks=2, nodes=4),)
    async with whole(tmp_path, *members, tenants=tuple(OWN)) as world:
        await crowd(world)
        seen = {namespace: await readable(world, namespace) for namespace in OWN}

    reasons = set()
    for namespace, (objects, lists) in seen.items():
        [other] = OWN.keys() - {namespace}
        text = json.dumps([objects, lists])
        for mark in (other, f"{OWN[other]}-"):
            assert mark not in text, text[max(0, text.find(mark) - 300) :][:600]
        assert [one["metadata"]["name"] for one in lists] == ["waiting"]
        events = [one for one in objects if one.get("kind", "Event") == "Event" and "note" in one]
        reasons |= {one["reason"] for one in events}
        reasons |= {one["reason"] for one in lists[0]["jobs"]}
    assert reasons == {
        "Admitted",
        "BeingEvicted",
        "CapacityDoesNotFit",
        "Preempted",
        "QueueMissing",
        "Reclaimed",
        "RoomBeingMade",
        "TenantLimit",
    }
