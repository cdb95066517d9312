"""JobSets, RayClusters and RayJobs from the template to running pods, and back to their end."""

import asyncio

import pytest

from global_sched.cli.view import look
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import EXIT_CODE, RUN_SECONDS
from tests.flows.federation import TEAM, member, whole
from tests.virtual_time import virtual_time
from tests.wire import GPU, placement
from tests.wire_templates import (
    job_set,
    pod_template,
    ray_cluster,
    ray_job,
    replicated_job,
    worker_group,
)

RACK = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "1",
}


def pod(*, gpus=8, seconds=600, code=0, **spec):
    """A pod template of a whole node, in one rack with the others."""
    notes = {**RACK, RUN_SECONDS: str(seconds), EXIT_CODE: str(code)}
    made = pod_template(annotations=notes, schedulerName="member-agent", **spec)
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "8", GPU: str(gpus)}}
    return made


def steps(**more):
    """A JobSet: a data pod, and once that is complete two Jobs of two nodes each."""
    never = {"restartPolicy": "Never"}
    return job_set(
        "steps",
        replicated_job("data", 1, template=pod(gpus=0, seconds=12, **never)),
        replicated_job(
            "train",
            2,
            pods=2,
            template=pod(seconds=20, **never),
            dependsOn=[{"name": "data", "status": "Complete"}],
        ),
        **more,
    )


def cluster(replicas=3, **more):
    """A RayCluster: a head without GPUs, and workers of a node each, of which two must be."""
    return ray_cluster("ray", worker_group("gpu", replicas, 2, template=pod()), head=pod(gpus=0))


def tune(*, code=0, **more):
    """A RayJob of a head, two workers and a submitter."""
    submitter = pod(gpus=0, seconds=15, code=code, restartPolicy="Never")
    return ray_job(
        "tune",
        worker_group("gpu", 2, 2, template=pod()),
        head=pod(gpus=0),
        submitter=submitter,
        **more,
    )


async def placed(world, cluster):
    """Pod set to racks of its bound pods in a member."""
    found = {}
    for one in await world.pods(cluster):
        labels, node = one["metadata"]["labels"], one["spec"].get("nodeName")
        name = labels.get("ray.io/group") or labels.get("jobset.sigs.k8s.io/replicatedjob-name")
        if node and one["status"]["phase"] == "Running":
            found.setdefault(name or "main", []).append(node.rpartition("-")[0])
    return found


async def workload(world, name):
    """The workload of a name, as the leader sees it."""
    view = await look(world.admin, world.clock)
    [one] = [w for w in view.state.workloads() if w.name == name]
    return one, view.outcome(one.key)


@pytest.mark.slow
@virtual_time
async def test_a_job_set_runs_in_its_order(tmp_path):
    """It goes where one rack holds all of it; later Jobs find their room kept, and it completes."""
    async with whole(tmp_path, member("east", racks=2, nodes=3), member("west", nodes=4)) as world:
        await world.submit(steps())
        await asyncio.sleep(8)
        before = await placed(world, "west")
        await asyncio.sleep(15)
        then = await placed(world, "west")
        await asyncio.sleep(40)
        one, _ = await workload(world, "steps")
        [copy] = await world.member_list("west", kinds.JOB_SETS)

        assert await placed(world, "east") == {}
        assert set(before) == {"data"}
        assert then == {"train": ["west-0"] * 4}
        assert copy["status"]["terminalState"] == "Completed"
        assert one.finished


@pytest.mark.slow
@virtual_time
async def test_a_job_set_that_fails_frees_its_room(tmp_path):
    """A failed Job ends the set, and the room goes to who comes next."""
    failing = job_set("steps", replicated_job("a", 1, pods=4, template=pod(seconds=3, code=1)))
    next_one = job_set("next", replicated_job("a", 1, pods=4, template=pod(seconds=600)))
    for one in (failing, next_one):
        one["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
            "restartPolicy"
        ] = "Never"
    async with whole(tmp_path, member("west", nodes=4)) as world:
        await world.submit(failing)
        await asyncio.sleep(2)
        await world.submit(next_one)
        await asyncio.sleep(60)
        first, _ = await workload(world, "steps")
        [copy] = [
            one
            for one in await world.member_list("west", kinds.JOB_SETS)
            if one["metadata"]["name"] == "steps"
        ]

        assert copy["status"]["terminalState"] == "Failed"
        assert first.finished
        assert await placed(world, "west") == {"a": ["west-0"] * 4}


@pytest.mark.slow
@virtual_time
async def test_a_ray_cluster_takes_its_minimum_and_what_more_there_is(tmp_path):
    """Three nodes hold the head and three of five workers; the other two wait for room."""
    async with whole(tmp_path, member("west", nodes=3)) as world:
        await world.submit(cluster(replicas=5))
        await asyncio.sleep(20)
        one, _ = await workload(world, "ray")
        pods = await world.pods("west")
        waiting = [p for p in pods if not p["spec"].get("nodeName")]
        template = await world.admin.get(kinds.RAY_CLUSTERS, "ray", namespace=TEAM)

        assert await placed(world, "west") == {"headgroup": ["west-0"], "gpu": ["west-0"] * 3}
        assert len(waiting) == 2
        assert [(g.cluster, dict(g.amounts.entries)) for g in one.decision.grants] == [
            ("west", {"gpu": 3, "headgroup": 1})
        ]
        assert template["status"]["readyWorkerReplicas"] == 3


@pytest.mark.slow
@virtual_time
async def test_a_ray_job_runs_to_its_end(tmp_path):
    """The cluster first, then the submitter in room that was kept; at the end both are gone."""
    async with whole(tmp_path, member("west", racks=2, nodes=3)) as world:
        await world.submit(tune())
        await asyncio.sleep(12)
        during = await placed(world, "west")
        await asyncio.sleep(40)
        one, _ = await workload(world, "tune")
        template = await world.admin.get(kinds.RAY_JOBS, "tune", namespace=TEAM)

        assert len({rack for racks in during.values() for rack in racks}) == 1
        assert {name: len(racks) for name, racks in during.items()} == {
            "headgroup": 1,
            "gpu": 2,
            "main": 1,
        }
        assert (template["status"]["jobDeploymentStatus"], template["status"]["jobStatus"]) == (
            "Complete",
            "SUCCEEDED",
        )
        assert one.finished
        assert await world.member_list("west", kinds.RAY_CLUSTERS) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shutdown", "want"),
    [
        pytest.param(True, True, id="its cluster goes: it holds nothing"),
        pytest.param(False, False, id="its cluster stays: it holds what it has"),
    ],
)
@virtual_time
async def test_a_ray_job_that_fails(tmp_path, shutdown, want):
    """A failed submitter ends the job; what its pods hold is counted as long as they run."""
    job = tune(code=1, spec={"shutdownAfterJobFinishes": shutdown})
    job["spec"]["submitterConfig"] = {"backoffLimit": 0}
    async with whole(tmp_path, member("west", nodes=3)) as world:
        await world.submit(job)
        await asyncio.sleep(60)
        one, _ = await workload(world, "tune")
        template = await world.admin.get(kinds.RAY_JOBS, "tune", namespace=TEAM)

        assert template["status"]["jobStatus"] == "FAILED"
        assert one.finished is want
        assert bool(await placed(world, "west")) is not want


@pytest.mark.slow
@pytest.mark.parametrize(
    ("obj", "field"),
    [
        pytest.param(steps(spec={"suspend": True}), kinds.JOB_SETS, id="a JobSet"),
        pytest.param(cluster(), kinds.RAY_CLUSTERS, id="a RayCluster"),
        pytest.param(tune(), kinds.RAY_JOBS, id="a RayJob"),
    ],
)
@virtual_time
async def test_suspended_ones_are_held_and_resumed(tmp_path, obj, field):
    """One that is suspended goes nowhere; once it is resumed it runs."""
    name = obj["metadata"]["name"]
    obj = {**obj, "spec": {**obj["spec"], "suspend": True}}
    async with whole(tmp_path, member("west", nodes=5)) as world:
        await world.submit(obj)
        await asyncio.sleep(10)
        _, outcome = await workload(world, name)
        held = await placed(world, "west")
        body = {"spec": {"suspend": False}}
        await world.admin.patch(field, name, body, namespace=TEAM)
        await asyncio.sleep(15)

        assert outcome.verdict.reason == "Suspended"
        assert held == {}
        assert await placed(world, "west") != {}


@pytest.mark.slow
@virtual_time
async def test_a_minimum_that_fits_nowhere_is_told(tmp_path):
    """Nothing of a gang starts where its minimum does not fit, and the reason has the numbers."""
    async with whole(tmp_path, member("west", racks=2, nodes=2)) as world:
        big = ray_cluster("ray", worker_group("gpu", 4, 3, template=pod()), head=pod(gpus=0))
        await world.submit(big, where=placement("west"))
        await asyncio.sleep(10)
        _, outcome = await workload(world, "ray")

        assert await world.pods("west") == []
        assert outcome.verdict.code.name == "NO_FIT"
        assert outcome.verdict.reason == "TopologyDoesNotFit"
