"""The writes to a binding: what they carry, what they keep, what stops them."""

import asyncio

from global_sched.shared.api import resource as kinds
from tests.flows.control_plane import control_plane, scheduling
from tests.virtual_time import virtual_time
from tests.wire import batch_job, binding, counted, deployment, placement, vcjob

FULLY_APPLIED = {
    "type": "FullyApplied",
    "status": "True",
    "reason": "FullyAppliedSuccess",
    "message": "All works have been successfully applied",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def scheduled(found):
    """The Scheduled condition, None when there is none."""
    conditions = found.get("status", {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == "Scheduled"), None)


def is_placed(found):
    condition = scheduled(found)
    return condition is not None and condition["status"] == "True"


def is_refused(found):
    condition = scheduled(found)
    return condition is not None and condition["status"] == "False"


@virtual_time
async def test_other_conditions_are_kept(tmp_path):
    """The status PATCH replaces the list, so it carries Karmada's own condition along."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        job = await plane.add(vcjob("train", gpus=8))
        await plane.add(binding(job, status={"conditions": [FULLY_APPLIED]}))
        async with scheduling(plane, tmp_path):
            placed = await plane.until(is_placed, "train-job")

    assert {one["type"] for one in placed["status"]["conditions"]} == {"FullyApplied", "Scheduled"}
    assert FULLY_APPLIED in placed["status"]["conditions"]


@virtual_time
async def test_a_crash_between_the_two_writes_is_finished(tmp_path):
    """A binding with its decision and no status gets the second write only."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        job = await plane.add(vcjob("train", gpus=8))
        await plane.add(binding(job))
        async with scheduling(plane, tmp_path):
            placed = await plane.until(is_placed, "train-job")
        without = {
            "schedulerObservedGeneration": None,
            "lastScheduledTime": None,
            "conditions": None,
        }
        await plane.client.patch(
            kinds.RESOURCE_BINDINGS,
            "train-job",
            {"status": without},
            namespace="team-a",
            subresource="status",
        )
        plane.writes.clear()
        async with scheduling(plane, tmp_path):
            again = await plane.until(is_placed, "train-job")

    assert again["metadata"]["annotations"] == placed["metadata"]["annotations"]
    assert again["metadata"]["generation"] == placed["metadata"]["generation"]
    assert again["status"]["schedulerObservedGeneration"] == placed["metadata"]["generation"]
    assert plane.writes["patch resourcebindings"] == 0
    assert plane.writes["patch resourcebindings/status"] == 1


@virtual_time
async def test_replicas_in_entries(tmp_path):
    """A batch Job's entry carries the admitted parallelism; Divided entries sum to the replicas."""
    async with control_plane(tmp_path) as plane:
        for name in ("m1", "m2"):
            await plane.member(name, nodes=1, cpu=3)
        job = await plane.add(batch_job("sweep", spec={"parallelism": 2}))
        app = await plane.add(deployment("web", replicas=3))
        async with scheduling(plane, tmp_path):
            await plane.add(binding(job, where=placement("m1", divided=True), replicas=2))
            await plane.until(is_placed, "sweep-job")
            await plane.add(binding(app, where=placement(divided=True), replicas=3))
            web = await plane.until(is_placed, "web-deployment")
            sweep = await plane.binding("sweep-job")

    assert sweep["spec"]["clusters"] == [{"name": "m1", "replicas": 2}]
    assert sum(entry["replicas"] for entry in web["spec"]["clusters"]) == 3


@virtual_time
async def test_copies_go_everywhere_at_once(tmp_path):
    """A ConfigMap goes to every cluster, without queue, tenant, report or replicas."""
    template = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "conf", "namespace": "team-a", "uid": "u", "resourceVersion": "1"},
    }
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        for name in ("m1", "m2"):
            await plane.member(name)
        await plane.add(binding(template))
        placed = await plane.until(
            lambda b: len(b["spec"].get("clusters", ())) == 2 and is_placed(b), "conf-configmap"
        )

    assert placed["spec"]["clusters"] == [{"name": "m1"}, {"name": "m2"}]


@virtual_time
async def test_a_refusal_is_written_once(tmp_path):
    """Scheduled=False says code, nearest cluster and numbers; nothing else of the status moves."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1", nodes=3)
        job = await plane.add(vcjob("train", replicas=4, gpus=8, tier=1))
        await plane.add(binding(job))
        refused = await plane.until(is_refused, "train-job")
        plane.writes.clear()
        for generation in range(2, 8):
            await plane.report("m1", nodes=3, generation=generation)
            await asyncio.sleep(10)

    condition = scheduled(refused)
    assert condition["reason"] == "Unschedulable"
    assert condition["message"].startswith("NO_FIT ")
    assert ", nearest m1: " in condition["message"]
    assert "the largest has room for 3 (rack-0 in m1)" in condition["message"]
    assert "schedulerObservedGeneration" not in refused["status"]
    assert "lastScheduledTime" not in refused["status"]
    assert plane.writes["patch resourcebindings/status"] == 0


@virtual_time
async def test_room_that_comes_free_is_used(tmp_path):
    """A report with more room wakes what was refused."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1", nodes=3)
        job = await plane.add(vcjob("train", replicas=4, gpus=8, tier=1))
        await plane.add(binding(job))
        await plane.until(is_refused, "train-job")
        await plane.report("m1", nodes=4, generation=2)
        placed = await plane.until(is_placed, "train-job")

    assert placed["spec"]["clusters"] == [{"name": "m1"}]


@virtual_time
async def test_a_gang_that_is_never_bound_is_withdrawn(tmp_path):
    """After the timeout: out of the clusters, a Directly task, a back-off, the agent's reason."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1")
        job = await plane.add(vcjob("train", gpus=8))
        await plane.add(binding(job))
        await plane.until(is_placed, "train-job")
        old = {
            "fromCluster": "m9",
            "purgeMode": "Gracefully",
            "reason": "Other",
            "producer": "x",
            "suppressDeletion": True,
        }
        await plane.client.patch(
            kinds.RESOURCE_BINDINGS,
            "train-job",
            {"spec": {"gracefulEvictionTasks": [old]}},
            namespace="team-a",
        )
        for generation in range(2, 14):
            waiting = counted("id-train-job", reached=False, reason="node is full")
            await plane.report("m1", generation=generation, workloads=[waiting])
            await asyncio.sleep(10)
        withdrawn = await plane.until(is_refused, "train-job")
        directives = await plane.client.list(kinds.DIRECTIVES, namespace="karmada-es-m1")

    assert not withdrawn["spec"].get("clusters")
    kept, new = withdrawn["spec"]["gracefulEvictionTasks"]
    assert kept["suppressDeletion"] is True
    assert (new["fromCluster"], new["purgeMode"], new["producer"]) == (
        "m1",
        "Directly",
        "global-sched",
    )
    assert "node is full" in new["message"]
    assert "m1" in withdrawn["metadata"]["annotations"]["decision.global-sched.io/decision"]
    assert not directives.items[0]["spec"].get("entries")


@virtual_time
async def test_nothing_is_admitted_twice_after_a_restart(tmp_path):
    """What no report counts yet is still assumed by the next leader, in its domain."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1", nodes=4)
        for name in ("a", "b"):
            job = await plane.add(vcjob(name, replicas=4, gpus=8))
            if name == "a":
                await plane.add(binding(job))
                async with scheduling(plane, tmp_path):
                    first = await plane.until(is_placed, "a-job")
            else:
                await plane.add(binding(job))
                async with scheduling(plane, tmp_path):
                    refused = await plane.until(is_refused, "b-job")
        again = await plane.binding("a-job")

    assert "with room for 4 pods" in scheduled(refused)["message"]
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@virtual_time
async def test_a_finished_job_frees_its_room_at_once(tmp_path):
    """Completed in aggregatedStatus: the next gang takes the room, with the object still there."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1", nodes=1)
        for name, there in (("a", is_placed), ("b", is_refused)):
            await plane.add(binding(await plane.add(vcjob(name, gpus=8))))
            await plane.until(there, f"{name}-job")
        item = {"clusterName": "m1", "status": {"state": {"phase": "Completed"}}}
        await plane.client.patch(
            kinds.RESOURCE_BINDINGS,
            "a-job",
            {"status": {"aggregatedStatus": [item]}},
            namespace="team-a",
            subresource="status",
        )
        placed = await plane.until(is_placed, "b-job")

    assert placed["spec"]["clusters"] == [{"name": "m1"}]
