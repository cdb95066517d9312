"""Placements under a bad network or a busy API server: delayed, and nothing worse."""

import asyncio
import json

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed, is_refused, scheduled
from tests.virtual_time import virtual_time
from tests.wire import binding, vcjob

BINDING = "resourcebindings.work.karmada.io"
STATUS = f"{BINDING}/status"
FIRST = 365 * 24 * 3600
"""The first term: it begins with the virtual clock, a year after the day from which terms count."""


def epoch_of(found):
    """The term of a binding's decision."""
    return json.loads(found["metadata"]["annotations"]["decision.global-sched.io/decision"])[
        "epoch"
    ]


async def add_job(plane, name="train", replicas=1):
    return await plane.add(binding(await plane.add(vcjob(name, replicas=replicas, gpus=8))))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault("patch", BINDING, kind=FaultKind.CONFLICT, times=2), id="conflict"),
        pytest.param(Fault("patch", BINDING, kind=FaultKind.ERROR, times=2), id="500"),
        pytest.param(Fault("patch", BINDING, kind=FaultKind.LOST_BEFORE), id="never sent"),
        pytest.param(Fault("patch", BINDING, kind=FaultKind.LOST_AFTER), id="answer lost"),
        pytest.param(Fault("patch", BINDING, kind=FaultKind.TIMEOUT), id="no answer"),
        pytest.param(Fault("patch", BINDING, kind=FaultKind.THROTTLE, seconds=7), id="429"),
        pytest.param(Fault("patch", BINDING, kind=FaultKind.FORBIDDEN), id="403"),
        pytest.param(Fault("patch", STATUS, kind=FaultKind.CONFLICT, times=2), id="status 409"),
        pytest.param(Fault("patch", STATUS, kind=FaultKind.ERROR, times=2), id="status 500"),
        pytest.param(Fault("patch", STATUS, kind=FaultKind.LOST_AFTER), id="status answer lost"),
        pytest.param(Fault("watch", BINDING, kind=FaultKind.CUT, events=1), id="cut watch"),
        pytest.param(Fault("watch", BINDING, kind=FaultKind.GONE, events=1), id="410"),
        pytest.param(Fault("watch", BINDING, kind=FaultKind.DELAY, seconds=5), id="late watch"),
        pytest.param(Fault("watch", BINDING, kind=FaultKind.DUPLICATE), id="duplicate event"),
    ],
)
def test_one_failure_costs_time_only(tmp_path, fault):
    """The job is placed in the end, by one decision, with a complete status and no overcommit."""

    @virtual_time
    async def story():
        async with control_plane(tmp_path) as plane:
            await plane.member("m1", nodes=1)
            async with scheduling(plane, tmp_path, faults=FaultPlan(fault)):
                for name in ("a", "b"):
                    await add_job(plane, name)
                for generation in range(2, 11):
                    await asyncio.sleep(10)
                    await plane.report("m1", nodes=1, generation=generation)
            found.extend([await plane.binding(f"{name}-job") for name in ("a", "b")])

    found = []
    story()

    [one] = [binding for binding in found if is_placed(binding)]
    [other] = [binding for binding in found if not is_placed(binding)]
    assert "clusters" not in other["spec"]
    assert one["spec"]["clusters"] == [{"name": "m1"}]
    assert one["status"]["schedulerObservedGeneration"] == one["metadata"]["generation"]


@virtual_time
async def test_retry_after_is_honoured(tmp_path):
    """After a 429 nothing more is tried before the server's time is over."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        plan = FaultPlan(Fault("patch", BINDING, kind=FaultKind.THROTTLE, seconds=7))
        async with scheduling(plane, tmp_path, faults=plan):
            await add_job(plane)
            started = plane.clock.monotonic()
            await plane.until(is_placed, "train-job")
            took = plane.clock.monotonic() - started

    assert 7 <= took < 8
    assert len([call for call in plan.calls if str(call).startswith(f"patch {BINDING} ")]) == 2


@virtual_time
async def test_room_stays_taken_while_a_write_is_in_doubt(tmp_path):
    """An answer that was lost may have been a yes: no other workload gets the room meanwhile."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=1)
        plan = FaultPlan(
            Fault("patch", BINDING, kind=FaultKind.LOST_AFTER),
            Fault("get", BINDING, kind=FaultKind.ERROR, times=3),
            Fault("watch", BINDING, kind=FaultKind.DELAY, seconds=20),
        )
        async with scheduling(plane, tmp_path, faults=plan):
            await add_job(plane, "first")
            await asyncio.sleep(30)
            await add_job(plane, "second")
            await asyncio.sleep(60)
            first, second = await plane.binding("first-job"), await plane.binding("second-job")

    assert first["spec"]["clusters"] == [{"name": "m1"}]
    assert is_placed(first)
    assert "clusters" not in second["spec"]
    assert is_refused(second)


@virtual_time
async def test_somebody_elses_edit_is_judged_again(tmp_path):
    """A cluster that another writer takes away is not put back by a stale write."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1")
        await add_job(plane)
        await plane.until(is_placed, "train-job")
        task = {"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}
        await plane.client.patch(
            kinds.RESOURCE_BINDINGS,
            "train-job",
            {"spec": {"clusters": None, "gracefulEvictionTasks": [task]}},
            namespace="team-a",
        )
        found = await plane.until(is_refused, "train-job")

    assert "clusters" not in found["spec"]
    assert "m1" in scheduled(found)["message"]
    assert [t["producer"] for t in found["spec"]["gracefulEvictionTasks"]] == ["TaintManager"]


@virtual_time
async def test_nothing_is_decided_on_old_knowledge(tmp_path):
    """With the watches silent for longer than allowed, decisions pause; then they go on."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        plan = FaultPlan()
        async with scheduling(plane, tmp_path, faults=plan) as program:
            plan.add(
                Fault("watch", "*", kind=FaultKind.LOST_BEFORE, times=10_000),
                Fault("list", "*", kind=FaultKind.LOST_BEFORE, times=10_000),
            )
            await asyncio.sleep(600)
            await add_job(plane)
            await asyncio.sleep(60)
            cycles = program.loop.cycles
            await asyncio.sleep(60)
            assert program.loop.cycles == cycles
            assert "clusters" not in (await plane.binding("train-job"))["spec"]
            plan.clear()
            found = {}
            for generation in range(2, 20):
                await plane.report("m1", generation=generation)
                await asyncio.sleep(10)
                found = await plane.binding("train-job")
                if is_placed(found):
                    break

    assert is_placed(found)


@virtual_time
async def test_a_write_that_the_end_of_a_term_cuts_off(tmp_path):
    """What was assumed for it is not believed by the next term; the job is placed by that."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        plan = FaultPlan(Fault("patch", BINDING, kind=FaultKind.HOLD))
        async with scheduling(plane, tmp_path, faults=plan):
            await add_job(plane)
            await asyncio.sleep(1)
            assert plan.held == 1
            plan.add(Fault("update", "leases*", kind=FaultKind.LOST_BEFORE, times=8))
            for generation in range(2, 8):
                await plane.report("m1", generation=generation)
                await asyncio.sleep(10)
            found = await plane.binding("train-job")

    assert is_placed(found)
    assert epoch_of(found) > FIRST


@virtual_time
async def test_a_former_leader_writes_nothing(tmp_path):
    """Without a valid term queued writes are dropped."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        plan = FaultPlan(
            Fault("update", "leases*", kind=FaultKind.LOST_BEFORE, nth=3, times=10_000)
        )
        async with scheduling(plane, tmp_path, faults=plan) as program:
            await asyncio.sleep(30)
            assert not program.term.valid()
            plane.writes.clear()
            await add_job(plane)
            await asyncio.sleep(5)
            assert plane.writes["patch resourcebindings"] == 0
            plan.clear()
            await plane.report("m1", generation=2)
            placed = await plane.until(is_placed, "train-job")

    assert epoch_of(placed) > FIRST
