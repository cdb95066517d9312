"""New kinds from the template to running pods and to their end: JobSet, TrainJob, MPIJob, Ray's."""

import asyncio

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import EXIT_CODE, RUN_SECONDS
from global_sched.view.look import look
from tests.flows.federation import TEAM, member, whole
from tests.virtual_time import virtual_time
from tests.wire import GPU, placement
from tests.wire_templates import (
    job_set,
    mpi_job,
    pod_template,
    ray_cluster,
    ray_job,
    replicated_job,
    train_job,
    trainer_part,
    training_runtime,
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


def runtime(**more):
    """A training runtime of the namespace: one pod prepares the data, then nodes train."""
    never = {"restartPolicy": "Never"}
    data = pod(gpus=0, seconds=10, **never)
    step = "dataset-initializer"
    return training_runtime(
        "torch",
        trainer_part(step, step=step, container=step, template=data),
        trainer_part(
            template=pod(gpus=0, seconds=20, **never),
            dependsOn=[{"name": step, "status": "Complete"}],
        ),
        kind="TrainingRuntime",
        **more,
    )


def align(**more):
    """A TrainJob of four whole nodes."""
    own = {"resourcesPerNode": {"limits": {"cpu": "8", GPU: "8"}}}
    return train_job("align", 4, kind="TrainingRuntime", trainer=own, **more)


@pytest.mark.slow
@virtual_time
async def test_a_train_job_waits_for_its_runtime_and_runs_to_its_end(tmp_path):
    """Its demand stands in two objects; once both are there it goes where one rack holds it."""
    async with whole(tmp_path, member("east", racks=2, nodes=3), member("west", nodes=4)) as world:
        await world.submit(align())
        await asyncio.sleep(6)
        _, waiting = await workload(world, "align")
        none = await world.pods("west")
        await world.submit(runtime())
        await asyncio.sleep(8)
        before = await placed(world, "west")
        await asyncio.sleep(14)
        then = await placed(world, "west")
        await asyncio.sleep(40)
        one, _ = await workload(world, "align")
        [copy] = await world.member_list("west", kinds.TRAIN_JOBS)

        assert (waiting.verdict.code.name, waiting.verdict.reason) == ("WAIT", "RuntimeMissing")
        assert "create it there" in waiting.verdict.detail
        assert none == []
        assert set(before) == {"dataset-initializer"}
        assert then == {"node": ["west-0"] * 4}
        assert await placed(world, "east") == {}
        assert ("Complete", "True") in [
            (c["type"], c["status"]) for c in copy["status"]["conditions"]
        ]
        assert one.finished


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
@pytest.mark.parametrize("name", ["ray", "tune"])
async def test_workers_of_several_hosts_run_whole(tmp_path, name):
    """Five nodes hold two replicas of two hosts; a fifth host alone would be of no use."""
    group = worker_group("gpu", 3, 1, hosts=2, template=pod())
    objects = {
        "ray": ray_cluster("ray", group, head=pod(gpus=0)),
        "tune": ray_job("tune", group, head=pod(gpus=0), submitter=pod(gpus=0)),
    }
    async with whole(tmp_path, member("west", nodes=5)) as world:
        await world.submit(objects[name])
        await asyncio.sleep(20)
        one, _ = await workload(world, name)
        running = await placed(world, "west")
        waiting = [p for p in await world.pods("west") if not p["spec"].get("nodeName")]

        assert running["gpu"] == ["west-0"] * 4
        assert [p["metadata"]["labels"]["ray.io/group"] for p in waiting] == ["gpu"] * 2
        [granted] = one.decision.grants
        assert granted.amounts.get("gpu") == 4
        assert one.demand.gang.minimum == (3 if name == "ray" else 4)


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
@virtual_time
async def test_a_failed_ray_job_whose_cluster_stays(tmp_path):
    """Its pods run on after the end of the job: it holds what it has."""
    job = tune(code=1, spec={"shutdownAfterJobFinishes": False})
    job["spec"]["submitterConfig"] = {"backoffLimit": 0}
    async with whole(tmp_path, member("west", nodes=3)) as world:
        await world.submit(job)
        await asyncio.sleep(60)
        one, _ = await workload(world, "tune")
        template = await world.admin.get(kinds.RAY_JOBS, "tune", namespace=TEAM)

        assert template["status"]["jobStatus"] == "FAILED"
        assert not one.finished
        assert set(await placed(world, "west")) == {"headgroup", "gpu"}


@pytest.mark.slow
@virtual_time
async def test_suspended_ones_are_held_and_resumed(tmp_path):
    """What is suspended goes nowhere; once it is resumed it runs."""
    resources = {"steps": kinds.JOB_SETS, "ray": kinds.RAY_CLUSTERS, "tune": kinds.RAY_JOBS}
    objects = [steps(), cluster(), tune()]
    for obj in objects:
        obj["spec"]["suspend"] = True
    async with whole(tmp_path, member("west", racks=3, nodes=4)) as world:
        await world.submit(*objects)
        await asyncio.sleep(10)
        said = {(await workload(world, name))[1].verdict.reason for name in resources}
        held = await placed(world, "west")
        for name, resource in resources.items():
            body = {"spec": {"suspend": False}}
            await world.admin.patch(resource, name, body, namespace=TEAM)
        await asyncio.sleep(12)

        assert said == {"Suspended"}
        assert held == {}
        assert set(await placed(world, "west")) >= {"data", "headgroup", "gpu"}


@pytest.mark.slow
@virtual_time
async def test_an_mpi_job_runs_to_its_end(tmp_path):
    """Workers first, then the launcher in room that was kept; the workers go with its end."""
    launcher = pod(gpus=0, seconds=15)
    job = mpi_job("solve", 2, template=pod(), launcher=launcher, run={"backoffLimit": 0})
    job["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady"
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
    async with whole(tmp_path, member("west", racks=2, nodes=2)) as world:
        await world.submit(job)
        await asyncio.sleep(12)
        pods = [one for one in await world.pods("west") if one["spec"].get("nodeName")]
        used = {one["spec"]["nodeName"].rpartition("-")[0] for one in pods}
        await asyncio.sleep(40)
        one, _ = await workload(world, "solve")
        template = await world.admin.get(kinds.MPI_JOBS, "solve", namespace=TEAM)
        told = [c["type"] for c in template["status"]["conditions"] if c["status"] == "True"]

        assert (len(pods), len(used)) == (3, 1)
        assert "Succeeded" in told
        assert one.finished
        assert await placed(world, "west") == {}


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
        assert outcome.verdict.code.name == "NEVER"
        assert outcome.verdict.reason == "TopologyDoesNotFit"
