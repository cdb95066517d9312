"""Objects that global-sched keeps true by itself: reasons, the queue `default`, a metric."""

import asyncio
import json

from global_sched.shared.api.names import QUEUE_USAGE
from global_sched.shared.api.resource import QUEUES, RESOURCE_BINDINGS
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan
from global_sched.shared.model.policy import Policy
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed, is_refused, scheduled
from tests.virtual_time import virtual_time
from tests.wire import GPU, binding, vcjob

MINUTE = 60.0
QUEUE = "queues.scheduling.volcano.sh"
TRUSTING = Policy(report_trust_seconds=3600)
STATUS = "resourcebindings.work.karmada.io/status"


def text(found):
    return scheduled(found)["message"]


@virtual_time
async def test_numbers_that_changed_are_told_within_a_minute(tmp_path):
    """The nearest cluster is the same and holds less now: the condition says so a minute later."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=3)
        job = await plane.add(vcjob("train", replicas=4, gpus=8, tier=1))
        await plane.add(binding(job))
        async with scheduling(plane, tmp_path, policy=TRUSTING):
            first = text(await plane.until(is_refused, "train-job"))
            await asyncio.sleep(5)
            await plane.report("m1", nodes=2, generation=2)
            await asyncio.sleep(5)
            soon = text(await plane.binding("train-job"))
            await asyncio.sleep(MINUTE)
            later = text(await plane.binding("train-job"))

    assert "has room for 3 (" in first
    assert soon == first
    assert "has room for 2 (" in later


@virtual_time
async def test_numbers_that_keep_changing_cost_a_write_a_minute(tmp_path):
    """Ten minutes of changing reports: about ten writes, and the last word is the last number."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=3)
        job = await plane.add(vcjob("train", replicas=4, gpus=8, tier=1))
        await plane.add(binding(job))
        async with scheduling(plane, tmp_path, policy=TRUSTING):
            await plane.until(is_refused, "train-job")
            plane.writes.clear()
            for round_ in range(100):
                await plane.report("m1", nodes=1 + round_ % 3, generation=2 + round_)
                await asyncio.sleep(6)
            during = plane.writes["patch resourcebindings/status"]
            await plane.report("m1", nodes=2, generation=200)
            await asyncio.sleep(MINUTE + 5)
            last = text(await plane.binding("train-job"))

    assert 8 <= during <= 10
    assert "has room for 2 (" in last


@virtual_time
async def test_the_queue_default_is_made_again_when_somebody_deletes_it(tmp_path):
    """Without a restart; a job of that queue that came meanwhile is placed."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        async with scheduling(plane, tmp_path):
            await plane.client.delete(QUEUES, "default")
            job = await plane.add(vcjob("train", gpus=8))
            await plane.add(binding(job))
            await plane.until(is_placed, "train-job")
            queue = await plane.client.get(QUEUES, "default")
            await asyncio.sleep(3600)

    assert queue["spec"]["weight"] == 1
    assert plane.writes["create queues"] == 2, "the test's own, and one after the deletion"


@virtual_time
async def test_how_long_the_first_decision_took_is_measured(tmp_path):
    """One sample per admitted job."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        job = await plane.add(vcjob("train", gpus=8))
        await plane.add(binding(job))
        async with scheduling(plane, tmp_path) as program:
            await plane.until(is_placed, "train-job")
            shown = program.metrics.render().decode()

    assert 'admission_wait_seconds_count{queue="default"} 1.0' in shown


@virtual_time
async def test_a_reason_that_met_another_writer_is_written_all_the_same(tmp_path):
    """Karmada touches the binding at the same moment, and nothing else ever happens."""
    plan = FaultPlan(Fault("patch", STATUS, kind=FaultKind.CONFLICT))
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=3)
        job = await plane.add(vcjob("train", replicas=4, gpus=8, tier=1))
        await plane.add(binding(job))
        async with scheduling(plane, tmp_path, policy=TRUSTING, faults=plan):
            found = await plane.until(is_refused, "train-job")

    assert len(plan.fired) == 1
    assert "has room for 3 (" in text(found)


@virtual_time
async def test_a_reason_that_changed_while_it_was_written_is_written_again(tmp_path):
    """The first one takes five seconds; meanwhile another cluster comes closer."""
    plan = FaultPlan(Fault("patch", STATUS, kind=FaultKind.DELAY, seconds=5))
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=2)
        job = await plane.add(vcjob("train", replicas=4, gpus=8, tier=1))
        await plane.add(binding(job))
        async with scheduling(plane, tmp_path, policy=TRUSTING, faults=plan):
            await asyncio.sleep(1)
            await plane.member("m2", nodes=3)
            await plane.until(is_refused, "train-job")
            await asyncio.sleep(2)
            last = text(await plane.binding("train-job"))

    assert "nearest m2" in last
    assert plane.writes["patch resourcebindings/status"] == 2


def used(queue):
    """The GPUs that the status of a queue and its annotation name."""
    usage = json.loads(queue["metadata"]["annotations"][QUEUE_USAGE])
    clusters = sum(int(one.get(GPU, 0)) for one in usage["clusters"].values())
    return int((queue["status"].get("allocated") or {}).get(GPU, 0)), clusters


@virtual_time
async def test_a_status_that_was_not_written_is_tried_again_where_nothing_changes(tmp_path):
    """Three attempts meet a conflict after the job was placed, and nothing else ever happens."""
    plan = FaultPlan(Fault("patch", f"{QUEUE}/status", kind=FaultKind.CONFLICT, times=3))
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        async with scheduling(plane, tmp_path, policy=TRUSTING, faults=plan):
            await asyncio.sleep(10)
            job = await plane.add(vcjob("train", gpus=8))
            await plane.add(binding(job))
            await plane.until(is_placed, "train-job")
            await asyncio.sleep(2 * MINUTE)
            queue = await plane.client.get(QUEUES, "default")

    assert len(plan.fired) == 3
    assert used(queue) == (8, 8)


@virtual_time
async def test_a_status_that_was_written_in_part_does_not_stay(tmp_path):
    """The annotation is not written for the job that was placed, and then the job is gone."""
    plan = FaultPlan(Fault("patch", QUEUE, kind=FaultKind.TIMEOUT, nth=2))
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        async with scheduling(plane, tmp_path, policy=TRUSTING, faults=plan):
            await asyncio.sleep(10)
            job = await plane.add(vcjob("train", gpus=8))
            bound = await plane.add(binding(job))
            await plane.until(is_placed, "train-job")
            await asyncio.sleep(7)
            between = await plane.client.get(QUEUES, "default")
            await plane.client.delete(
                RESOURCE_BINDINGS,
                bound["metadata"]["name"],
                namespace=bound["metadata"]["namespace"],
            )
            await asyncio.sleep(2 * MINUTE)
            queue = await plane.client.get(QUEUES, "default")

    assert len(plan.fired) == 1
    assert used(between) == (8, 0)
    assert used(queue) == (0, 0)
