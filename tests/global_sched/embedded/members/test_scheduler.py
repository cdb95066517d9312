"""The default scheduler of an embedded member."""

import asyncio

import pytest

from global_sched.embedded.members import NodePlan
from global_sched.embedded.members.racks import node
from global_sched.shared.api.resource import NODES, PODS
from tests.global_sched.embedded.members.member_world import TEAM, member, pod
from tests.virtual_time import virtual_time

GPU_TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
PLAN = NodePlan(
    nodes=(
        node("a", allocatable={"cpu": "4", "pods": "10"}, labels={"zone": "x"}),
        node("b", allocatable={"cpu": "8", "pods": "10"}, labels={"zone": "y"}),
        node("c", allocatable={"cpu": "64", "pods": "10"}, taints=(GPU_TAINT,)),
    )
)
TOLERATES = [{"key": "gpu", "operator": "Exists"}]


@virtual_time
@pytest.mark.parametrize(
    ("spec", "cpus", "want"),
    [
        pytest.param({}, "1", "a", id="the first by name"),
        pytest.param({}, "6", "b", id="the first with room"),
        pytest.param({"nodeSelector": {"zone": "y"}}, "1", "b", id="the one that is selected"),
        pytest.param({"tolerations": TOLERATES}, "32", "c", id="a tainted one that is tolerated"),
        pytest.param({}, "32", None, id="none"),
        pytest.param(
            {"resourceClaims": [{"name": "gpu"}]}, "1", None, id="no claims are allocated there"
        ),
    ],
)
async def test_where_a_pod_goes(spec, cpus, want):
    """Readiness, selectors, taints and room decide; nothing else."""
    async with member(plan=PLAN) as one:
        await one.add(PODS, pod("p", limits={"cpu": cpus}, **spec))
        await asyncio.sleep(1)
        found = await one.get(PODS, "p")

    assert found["spec"].get("nodeName") == want


@virtual_time
async def test_why_not():
    """The PodScheduled condition counts the nodes by reason."""
    async with member(plan=PLAN) as one:
        await one.add(PODS, pod("p", limits={"cpu": "32"}))
        await asyncio.sleep(1)
        status = (await one.get(PODS, "p"))["status"]

    (condition,) = [c for c in status["conditions"] if c["type"] == "PodScheduled"]
    assert condition["reason"] == "Unschedulable"
    assert condition["message"].startswith("0/3 nodes are available: ")
    assert "2 Insufficient cpu" in condition["message"]


@virtual_time
async def test_room_that_comes_free_is_used():
    """A waiting pod is tried again when a pod ends, and when a node changes."""
    async with member(plan=PLAN, run_seconds=3) as one:
        await one.add(PODS, pod("first", limits={"cpu": "8"}))
        await one.add(PODS, pod("second", limits={"cpu": "8"}))
        await one.add(PODS, pod("third", limits={"cpu": "60"}))
        await asyncio.sleep(2)
        before = {n: p["spec"].get("nodeName") for n, p in (await one.pods()).items()}
        await one.client.patch(NODES, "c", {"spec": {"taints": None}})
        await asyncio.sleep(5)
        after = {n: p["spec"].get("nodeName") for n, p in (await one.pods()).items()}

    assert before == {"first": "b", "second": None, "third": None}
    assert after["third"] == "c"
    assert after["second"] in ("b", "c")


@virtual_time
async def test_it_can_be_switched_off():
    """Then such pods are not bound."""
    async with member(plan=PLAN, default_scheduler=False) as one:
        await one.add(PODS, pod("p"))
        await asyncio.sleep(5)
        found = await one.client.get(PODS, "p", namespace=TEAM)

    assert "nodeName" not in found["spec"]
