"""PyTorchJobs: replicas, variables, Services, conditions, elasticity; and the controller alone."""

import asyncio
import sys
from contextlib import aclosing

import pytest

from global_sched.embedded.members import NodePlan, rack_plan
from global_sched.shared.api.names import EXIT_CODE, FAIL_ONCE, RUN_SECONDS
from global_sched.shared.api.resource import PODS, PYTORCH_JOBS, SERVICES
from tests.definitions import crds
from tests.global_sched.embedded.members.member_world import TEAM, member, template
from tests.virtual_time import virtual_time

BARE = NodePlan(nodes=rack_plan("n", racks=1, nodes=1).nodes)


def training(*, workers=2, annotations=None, restart="OnFailure", master=True, **spec):
    """A PyTorchJob with a master and workers."""
    notes = {RUN_SECONDS: "3"} if annotations is None else annotations
    replicas = {
        "Worker": {
            "replicas": workers,
            "restartPolicy": restart,
            "template": template(annotations=notes),
        }
    }
    if master:
        replicas["Master"] = {
            "replicas": 1,
            "restartPolicy": restart,
            "template": template(annotations=notes),
        }
    return {"metadata": {"name": "fit"}, "spec": {"pytorchReplicaSpecs": replicas, **spec}}


def conditions(obj):
    """Every condition as type and status."""
    return [(c["type"], c["status"]) for c in obj["status"]["conditions"]]


@virtual_time
async def test_replicas_and_their_variables():
    """Names, labels and variables are the training operator's; the master has a Service."""
    async with member() as one:
        await one.add(PYTORCH_JOBS, training())
        await asyncio.sleep(2)
        pods = await one.pods()
        services = (await one.client.list(SERVICES, namespace=TEAM)).items
        job = await one.get(PYTORCH_JOBS, "fit")

    assert sorted(pods) == ["fit-master-0", "fit-worker-0", "fit-worker-1"]
    labels = pods["fit-worker-1"]["metadata"]["labels"]
    assert labels == {
        "training.kubeflow.org/job-name": "fit",
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/replica-index": "1",
        "training.kubeflow.org/replica-type": "worker",
    }
    assert pods["fit-master-0"]["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
    values = {v["name"]: v["value"] for v in pods["fit-worker-1"]["spec"]["containers"][0]["env"]}
    assert (values["RANK"], values["WORLD_SIZE"]) == ("2", "3")
    assert (values["MASTER_ADDR"], values["MASTER_PORT"]) == ("fit-master-0", "23456")
    assert pods["fit-worker-1"]["spec"]["restartPolicy"] == "OnFailure"
    assert [service["metadata"]["name"] for service in services] == ["fit-master-0"]
    assert services[0]["spec"]["clusterIP"] == "None"
    assert conditions(job) == [("Created", "True"), ("Running", "True")]
    assert job["status"]["replicaStatuses"]["Worker"]["active"] == 2
    assert job["status"]["conditions"][1]["message"] == "PyTorchJob team-a/fit is running."


@virtual_time
@pytest.mark.parametrize(
    ("job", "want", "want_reason"),
    [
        pytest.param(training(), "Succeeded", "PyTorchJobSucceeded", id="the master succeeds"),
        pytest.param(
            training(master=False), "Succeeded", "PyTorchJobSucceeded", id="all workers succeed"
        ),
        pytest.param(
            training(restart="Never", annotations={RUN_SECONDS: "1", EXIT_CODE: "1"}),
            "Failed",
            "PyTorchJobFailed",
            id="a replica fails for good",
        ),
        pytest.param(
            training(restart="ExitCode", annotations={RUN_SECONDS: "1", EXIT_CODE: "1"}),
            "Failed",
            "PyTorchJobFailed",
            id="a permanent exit code",
        ),
        pytest.param(
            training(
                restart="ExitCode",
                annotations={RUN_SECONDS: "1", FAIL_ONCE: "true", EXIT_CODE: "130"},
            ),
            "Succeeded",
            "PyTorchJobSucceeded",
            id="a retryable exit code",
        ),
        pytest.param(
            training(annotations={RUN_SECONDS: "1", FAIL_ONCE: "true"}),
            "Succeeded",
            "PyTorchJobSucceeded",
            id="the kubelet restarts",
        ),
    ],
)
async def test_how_a_job_ends(job, want, want_reason):
    """The last condition that is True says how; Running is False then."""
    async with member() as one:
        await one.add(PYTORCH_JOBS, job)
        await asyncio.sleep(12)
        found = await one.get(PYTORCH_JOBS, "fit")

    last = found["status"]["conditions"][-1]
    assert (last["type"], last["status"], last["reason"]) == (want, "True", want_reason)
    assert ("Running", "True") not in conditions(found)
    assert "completionTime" in found["status"]


@virtual_time
async def test_elastic_jobs_grow_and_shrink():
    """More workers join, fewer leave from the highest index; variables name the range."""
    async with member() as one:
        elastic = {"minReplicas": 1, "maxReplicas": 4, "rdzvBackend": "c10d"}
        job = training(workers=2, annotations={}, master=False, elasticPolicy=elastic)
        await one.add(PYTORCH_JOBS, job)
        await asyncio.sleep(2)
        values = (await one.pods())["fit-worker-0"]["spec"]["containers"][0]["env"]
        for number in (4, 1):
            spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": number}}}
            await one.client.patch(PYTORCH_JOBS, "fit", {"spec": spec}, namespace=TEAM)
            await asyncio.sleep(2)
            pods = sorted(await one.pods())
            assert pods == [f"fit-worker-{index}" for index in range(number)]

    found = {v["name"]: v["value"] for v in values}
    assert (found["PET_NNODES"], found["PET_RDZV_ENDPOINT"]) == ("1:4", "fit-worker-0:23456")


@virtual_time
async def test_suspension_and_clean_up():
    """A suspended job holds no pods; cleanPodPolicy All takes them away after the end."""
    async with member() as one:
        policy = {"suspend": True, "cleanPodPolicy": "All"}
        await one.add(PYTORCH_JOBS, training(runPolicy=policy))
        await asyncio.sleep(2)
        held = await one.get(PYTORCH_JOBS, "fit")
        none = await one.pods()
        resumed = {"spec": {"runPolicy": {"suspend": False}}}
        await one.client.patch(PYTORCH_JOBS, "fit", resumed, namespace=TEAM)
        await asyncio.sleep(8)
        found = await one.get(PYTORCH_JOBS, "fit")
        left = await one.pods()

    assert (conditions(held)[-1], none) == (("Suspended", "True"), {})
    assert conditions(found)[-1] == ("Succeeded", "True")
    assert left == {}


@virtual_time
async def test_a_member_without_the_crd_runs_all_the_rest():
    """PyTorchJobs are served where their CRD is installed."""
    async with member(crds="*.volcano.sh_*.yaml") as one:
        body = {"metadata": {"name": "p"}, "spec": template()["spec"]}
        await one.add(PODS, body)
        await asyncio.sleep(2)

        assert await one.phases() == {"p": "Running"}


async def _alone(*arguments: str) -> asyncio.subprocess.Process:
    module = "global_sched.embedded.members"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stderr=asyncio.subprocess.PIPE
    )


@pytest.mark.slow
async def test_the_controller_alone(tmp_path):
    """The kinds that a cluster serves run as a process against any kubeconfig."""
    kubeconfig = tmp_path / "kubeconfig"
    async with member(plan=BARE, crds="none*.yaml", sockets=True) as one:
        for definition in crds("kubeflow.org_*.yaml"):  # too late for the member's own controllers
            one.server.install_crd(definition)
        one.server.write_kubeconfig(kubeconfig)
        body = {"metadata": {"name": "other"}, "spec": template()["spec"]}
        await one.add(PODS, body)
        process = await _alone("--kubeconfig", str(kubeconfig))
        try:
            await one.add(PYTORCH_JOBS, training(annotations={RUN_SECONDS: "0"}))
            async with asyncio.timeout(20):
                await _succeeded(one)
        finally:
            process.terminate()
            await process.communicate()


async def _succeeded(one):
    """Watch the job until it has succeeded."""
    async with aclosing(one.client.watch(PYTORCH_JOBS, resource_version="0")) as events:
        async for event in events:
            if "status" in event.object and ("Succeeded", "True") in conditions(event.object):
                return


@pytest.mark.slow
async def test_the_controller_alone_without_the_crd(tmp_path):
    """One line says what is missing, and where it is."""
    kubeconfig = tmp_path / "kubeconfig"
    async with member(plan=BARE, crds="none*.yaml", sockets=True) as one:
        one.server.write_kubeconfig(kubeconfig)
        process = await _alone("--kubeconfig", str(kubeconfig))
        _, said = await process.communicate()

    assert process.returncode == 1
    assert said.decode().strip() == (
        "error: the cluster serves none of PyTorchJob.kubeflow.org, MPIJob.kubeflow.org, "
        "LeaderWorkerSet.leaderworkerset.x-k8s.io, JobSet.jobset.x-k8s.io, "
        "TrainJob.trainer.kubeflow.org, RayCluster.ray.io, RayJob.ray.io: install a CRD (see crds/)"
    )
