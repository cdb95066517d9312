"""Events: decisions, refusals, malformed objects, forgeries."""

import asyncio

import pytest
from structlog.testing import capture_logs

from global_sched.shared.api import resource as kinds
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed
from tests.virtual_time import virtual_time
from tests.wire import batch_job, binding, cluster_object, counted, queue, tenant, vcjob


async def events(plane):
    """(reason, object) of every Event."""
    found = await plane.client.list(kinds.EVENTS)
    return sorted((e["reason"], e["regarding"]["name"]) for e in found.items)


@virtual_time
async def test_events(tmp_path):
    """One Event per thing to say, on the binding and on the job, and none for it again."""
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
        ("Admitted", "good"),
        ("Admitted", "good-job"),
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


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(FaultKind.DELAY, id="a write that hangs"),
        pytest.param(FaultKind.CONFLICT, id="a conflict"),
        pytest.param(FaultKind.ERROR, id="a 500"),
        pytest.param(FaultKind.LOST_AFTER, id="a lost answer"),
    ],
)
@virtual_time
async def test_a_decision_is_said_once_it_stands(tmp_path, kind):
    """No log line or Event speaks of a placement or withdrawal that is not written, or twice."""
    fault = Fault("patch", "resourcebindings.work.karmada.io", kind=kind, seconds=7)
    plan = FaultPlan(fault)
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path, faults=plan):
        with capture_logs() as logs:
            await plane.member("m1")
            await plane.add(binding(await plane.add(vcjob("train", gpus=8))))
            await _until_done(plane, logs, "admitted", placed=True)
            plan.add(fault)
            await _until_done(plane, logs, "withdrawn", placed=False)
            await asyncio.sleep(5)
            found = await events(plane)

    assert len(plan.fired) == 2
    said = [one["event"] for one in logs if one["event"] in ("admitted", "withdrawn")]
    assert said == ["admitted", "withdrawn"]
    assert found == [
        ("Admitted", "train"),
        ("Admitted", "train-job"),
        ("BeingEvicted", "train"),
        ("BeingEvicted", "train-job"),
        ("PlacementTimeout", "train"),
        ("PlacementTimeout", "train-job"),
    ]


async def _until_done(plane, logs, word, *, placed):
    """Until the binding has its cluster, or has it no more; nothing is said of it before."""
    waiting = counted("id-train-job", reached=False, reason="node is full")
    for generation in range(2, 30):
        await plane.report("m1", generation=generation, workloads=[] if placed else [waiting])
        for _ in range(20):
            reason = "Admitted" if placed else "PlacementTimeout"
            told = reason in [one for one, _ in await events(plane)]
            said = told or any(one["event"] == word for one in logs)
            done = bool((await plane.binding("train-job"))["spec"].get("clusters")) == placed
            assert done or not said
            if said:
                return
            await asyncio.sleep(0.25)
    raise AssertionError(f"{word} is not said")
