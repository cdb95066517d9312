"""Statuses of Queues, Tenants and reports, and the policy ConfigMap."""

import asyncio
import hashlib

from global_sched.shared.api import resource as kinds
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.values import from_json
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed, is_refused
from tests.virtual_time import virtual_time
from tests.wire import binding, queue, report, tenant, vcjob


@virtual_time
async def test_queue_status_counts_and_keeps_the_state(tmp_path):
    """Pending, starting and running jobs and what they hold; open or closed is the user's word."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=2)
        await plane.add(queue("q", state="Closed"))
        await plane.client.patch(
            kinds.QUEUES, "default", {"status": {"state": None}}, subresource="status"
        )
        async with scheduling(plane, tmp_path):
            for name, is_done in (("a", is_placed), ("b", is_refused)):
                await plane.add(binding(await plane.add(vcjob(name, replicas=2, gpus=8))))
                await plane.until(is_done, f"{name}-job")
            await asyncio.sleep(6)
            default = (await plane.client.get(kinds.QUEUES, "default"))["status"]
            plane.writes.clear()
            await asyncio.sleep(60)
        closed = (await plane.client.get(kinds.QUEUES, "q"))["status"]

    assert default["state"] == "Open"
    assert (default["pending"], default["inqueue"], default.get("running", 0)) == (1, 1, 0)
    assert default["allocated"] == {"cpu": "2", "nvidia.com/gpu": "16", "pods": "2"}
    assert closed["state"] == "Closed"
    assert plane.writes["patch queues/status"] == 0


@virtual_time
async def test_a_missing_default_queue_is_created(tmp_path):
    """Jobs that name no queue have one."""
    async with control_plane(tmp_path) as plane:
        await plane.client.delete(kinds.QUEUES, "default")
        await plane.member("m1")
        async with scheduling(plane, tmp_path):
            await plane.add(binding(await plane.add(vcjob("train"))))
            await plane.until(is_placed, "train-job")
        created = await plane.client.get(kinds.QUEUES, "default")

    assert created["spec"]["weight"] == 1


@virtual_time
async def test_tenants_are_told_about_namespaces_that_they_lost(tmp_path):
    """The older Tenant is Ready; the younger one's condition names the namespace and the owner."""
    async with control_plane(tmp_path) as plane:
        await plane.add(tenant("old", "team-a"))
        await asyncio.sleep(2)
        await plane.add(tenant("young", "team-a", "team-b"))
        async with scheduling(plane, tmp_path):
            await asyncio.sleep(6)
        old, young = [
            (await plane.client.get(kinds.TENANTS, name))["status"] for name in ("old", "young")
        ]

    assert [(c["type"], c["status"]) for c in old["conditions"]] == [("Ready", "True")]
    [condition] = young["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "NamespaceConflict")
    assert "team-a belongs to the older Tenant old" in condition["message"]


@virtual_time
async def test_reports_are_accepted_or_refused_with_the_reason(tmp_path):
    """The agent's owner sees on the report itself whether the leader uses it."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        await plane.namespace("karmada-es-m2")
        await plane.add(report("m1", namespace="karmada-es-m2"))
        async with scheduling(plane, tmp_path):
            await asyncio.sleep(6)
        good, bad = [
            (await plane.client.get(kinds.CAPACITY_REPORTS, "capacity", namespace=namespace))
            for namespace in ("karmada-es-m1", "karmada-es-m2")
        ]

    assert [(c["type"], c["status"]) for c in good["status"]["conditions"]] == [
        ("Accepted", "True")
    ]
    [condition] = bad["status"]["conditions"]
    assert condition["status"] == "False"
    assert "does not report in karmada-es-m2" in condition["message"]


@virtual_time
async def test_the_policy_in_force_is_published(tmp_path):
    """`explain` and `whatif` anywhere read the same Policy as the leader, with its hash."""
    async with control_plane(tmp_path) as plane:
        policy = Policy(placement_timeout_seconds=33)
        async with scheduling(plane, tmp_path, policy=policy):
            found = await plane.client.get(
                kinds.CONFIGMAPS, "global-sched-policy", namespace="karmada-system"
            )

    text = found["data"]["policy.json"].encode()
    assert from_json(text, Policy) == policy
    assert found["data"]["hash"] == hashlib.sha256(text).hexdigest()
