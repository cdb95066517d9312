"""The kinds of AI teams on a real Karmada: binding, placement, pods, status, the end."""

import json

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.kinds import kind_of
from tests.e2e.waiting import until
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

EAST = placement("east")
RACK = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "1",
}


def pod(*, gpus=1, seconds=600, code=0, **spec):
    """A pod template in one rack with the others."""
    notes = {
        **RACK,
        "federation.global-sched.io/run-seconds": str(seconds),
        "federation.global-sched.io/exit-code": str(code),
    }
    made = pod_template(annotations=notes, schedulerName="member-agent", **spec)
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", GPU: str(gpus)}}
    return made


def steps(space, *, code=0, **more):
    """A JobSet: a data pod, and once that is complete two Jobs of one pod each."""
    return job_set(
        "steps",
        replicated_job("data", 1, template=pod(gpus=0, seconds=2, restartPolicy="Never")),
        replicated_job(
            "train",
            2,
            template=pod(seconds=4, code=code, restartPolicy="Never"),
            dependsOn=[{"name": "data", "status": "Complete"}],
        ),
        namespace=space,
        **more,
    )


def cluster(space, **more):
    """A RayCluster of a head and two workers, of which one must be."""
    group = worker_group("gpu", 2, 1, template=pod())
    return ray_cluster("ray", group, head=pod(gpus=0), namespace=space, **more)


def tune(space, *, code=0, **more):
    """A RayJob of a head, a worker and a submitter."""
    submitter = pod(gpus=0, seconds=4, code=code, restartPolicy="Never")
    return ray_job(
        "tune",
        worker_group("gpu", 1, 1, template=pod()),
        head=pod(gpus=0),
        submitter=submitter,
        namespace=space,
        **more,
    )


def solve(space, *, code=0, spec=None):
    """An MPIJob of two workers, and a launcher that comes once they are ready."""
    launcher = pod(gpus=0, seconds=4, code=code)
    job = mpi_job(
        "solve", 2, template=pod(), launcher=launcher, run={"backoffLimit": 0}, namespace=space
    )
    job["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady"
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
    job["spec"]["runPolicy"] |= spec or {}
    return job


def runtime(space, *, code=0):
    """A training runtime of the namespace: nodes in one rack."""
    node = pod(gpus=0, seconds=4, code=code, restartPolicy="Never")
    part = trainer_part(template=node)
    return training_runtime("torch", part, kind="TrainingRuntime", namespace=space)


def align(space, **more):
    """A TrainJob of two nodes with a GPU each."""
    own = {"resourcesPerNode": {"limits": {"cpu": "1", GPU: "1"}}}
    return train_job("align", 2, kind="TrainingRuntime", trainer=own, namespace=space, **more)


async def copy_status(world, space, obj):
    """What Karmada collected of the one copy, empty while there is nothing."""
    binding = await world.binding(space, obj["metadata"]["name"], obj["kind"])
    found = (binding.get("status") or {}).get("aggregatedStatus") or ()
    return (found[0].get("status") or {}) if found else {}


async def until_ended(world, space, obj):
    """The status with which it ended, as the binding has it."""
    kind = kind_of(obj["apiVersion"], obj["kind"])

    async def ended():
        status = await copy_status(world, space, obj)
        return status if kind.ends(status) else None

    return await until(ended, f"{obj['kind']} {obj['metadata']['name']} ended")


async def racks(world, space):
    """The racks of all bound pods of a namespace, and how many these are."""
    found = await world.pods("east", space)
    nodes = [one["spec"]["nodeName"] for one in found if one["spec"].get("nodeName")]
    return len(nodes), {node.rpartition("-")[0] for node in nodes}


@pytest.mark.parametrize(
    ("code", "want"),
    [
        pytest.param(0, "Completed", id="it completes"),
        pytest.param(3, "Failed", id="a Job of it fails"),
    ],
)
async def test_a_job_set(world, space, code, want):
    """One binding, one cluster, one rack; later Jobs find their room, and the end comes back."""
    job = steps(space, code=code)
    await world.submit(job, where=EAST)
    status = await until_ended(world, space, job)
    binding = await world.binding(space, "steps", "JobSet")

    assert status["terminalState"] == want
    assert [one["name"] for one in binding["spec"]["clusters"]] == ["east"]
    assert "replicas" not in binding["spec"]
    found = await world.decision(space, "steps", "JobSet")
    assert json.dumps(found).count('"train"') >= 1
    pods, used = await racks(world, space)
    assert (pods, len(used)) == (3, 1)


@pytest.mark.parametrize(
    ("code", "want"),
    [pytest.param(0, "Complete", id="it completes"), pytest.param(3, "Failed", id="it fails")],
)
async def test_a_train_job(world, space, code, want):
    """It waits for its runtime; then one binding, one rack, and the end comes back."""
    job = align(space)
    await world.submit(job, where=EAST)

    async def waits():
        found = await world.condition(space, "align", "TrainJob")
        return (
            "TrainingRuntime" in found.get("message", "") and "create it there" in found["message"]
        )

    await until(waits, "the condition names the runtime that is missing")
    assert await world.clusters(space, "align", "TrainJob") == {}
    await world.submit(runtime(space, code=code), where=EAST)
    status = await until_ended(world, space, job)

    assert want in [one["type"] for one in status["conditions"] if one["status"] == "True"]
    assert await world.clusters(space, "align", "TrainJob") == {"east": 0}
    pods, used = await racks(world, space)
    assert (pods, len(used)) == (2, 1)
    found = await world.decision(space, "align", "TrainJob")
    assert json.dumps(found).count('"node"') >= 1


async def test_a_ray_cluster(world, space, kubectl):
    """Head and workers in one rack; KubeRay's status comes back to the template."""
    obj = cluster(space)
    await world.submit(obj, where=EAST)

    async def ready():
        found = await world.get(kinds.RAY_CLUSTERS, "ray", space)
        return (found.get("status") or {}).get("readyWorkerReplicas") == 2

    await until(ready, "both workers are ready on the control plane")
    pods, used = await racks(world, space)
    assert (pods, len(used)) == (3, 1)
    assert (await world.clusters(space, "ray", "RayCluster")) == {"east": 0}
    shown = kubectl("get", "raycluster", "ray", "-n", space, "-o", "jsonpath={.status.state}")
    assert shown == "ready"


@pytest.mark.parametrize(
    ("code", "want"),
    [
        pytest.param(0, ("Complete", "SUCCEEDED"), id="it succeeds"),
        pytest.param(3, ("Failed", "FAILED"), id="its submitter fails"),
    ],
)
async def test_a_ray_job(world, space, code, want):
    """The cluster, then the submitter, one unit; at its end nothing is left in the member."""
    job = tune(space, code=code)
    job["spec"]["submitterConfig"] = {"backoffLimit": 0}
    await world.submit(job, where=EAST)
    status = await until_ended(world, space, job)

    assert (status["jobDeploymentStatus"], status["jobStatus"]) == want
    east = await world.member("east")

    async def gone():
        return not (await east.list(kinds.RAY_CLUSTERS, namespace=space)).items

    await until(gone, "the job's cluster is gone")

    async def told():
        found = await world.get(kinds.RAY_JOBS, "tune", space)
        return (found.get("status") or {}).get("jobDeploymentStatus") == want[0]

    await until(told, "the template says so, too")


@pytest.mark.parametrize(
    ("code", "want"),
    [pytest.param(0, "Succeeded", id="it succeeds"), pytest.param(3, "Failed", id="it fails")],
)
async def test_an_mpi_job(world, space, code, want):
    """Workers, then the launcher in the same rack; its end is the job's, and workers go with it."""
    job = solve(space, code=code)
    await world.submit(job, where=EAST)
    status = await until_ended(world, space, job)
    told = [one["type"] for one in status["conditions"] if one["status"] == "True"]

    assert want in told

    async def workers_gone():
        return [
            one["metadata"]["name"]
            for one in await world.pods("east", space)
            if one["status"]["phase"] == "Running"
        ] == []

    await until(workers_gone, "the workers are gone")

    async def at_the_template():
        found = await world.get(kinds.MPI_JOBS, "solve", space)
        listed = (found.get("status") or {}).get("conditions") or ()
        return want in [one["type"] for one in listed]

    await until(at_the_template, "the template says so, too")


@pytest.mark.parametrize("make", [steps, cluster, tune, align, solve])
async def test_a_suspended_one_waits(world, space, make):
    """It has no cluster and a reason, until it is resumed."""
    obj = make(space, spec={"suspend": True})
    if make is align:
        await world.submit(runtime(space), where=EAST)
    name, kind = obj["metadata"]["name"], obj["kind"]
    field = "spec.runPolicy" if make is solve else "spec"
    await world.submit(obj, where=EAST)

    async def held():
        found = await world.condition(space, name, kind)
        return f"{field}.suspend is true" in found.get("message", "")

    await until(held, "the condition says that it is suspended")
    assert await world.clusters(space, name, kind) == {}
    resource = kind_of(obj["apiVersion"], kind).resource
    told = {"suspend": False}
    body = {"spec": {"runPolicy": told} if make is solve else told}
    await world.admin.patch(resource, name, body, namespace=space)

    async def placed():
        return await world.clusters(space, name, kind) == {"east": 0}

    await until(placed, "it is placed once it is resumed")


@pytest.mark.parametrize(
    ("make", "change", "want"),
    [
        pytest.param(
            steps,
            {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone"}},
            "exclusive-topology",
            id="exclusive topology",
        ),
        pytest.param(
            cluster,
            {"spec": {"enableInTreeAutoscaling": True}},
            "set it to false and set replicas",
            id="autoscaling",
        ),
        pytest.param(
            tune,
            {"spec": {"clusterSelector": {"ray.io/cluster": "x"}}},
            "use rayClusterSpec",
            id="a cluster that runs already",
        ),
        pytest.param(
            solve,
            {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}},
            "use kubeflow.org/mpi-operator",
            id="an MPIJob that others run",
        ),
        pytest.param(
            align,
            {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}},
            "use trainer.kubeflow.org/trainjob-controller",
            id="a TrainJob that others run",
        ),
    ],
)
async def test_what_cannot_be_honoured_is_refused(world, space, make, change, want):
    """The binding's condition names the field and what would help."""
    obj = make(space, **change)
    await world.submit(obj, where=EAST)

    async def refused():
        found = await world.condition(space, obj["metadata"]["name"], obj["kind"])
        return want in found.get("message", "")

    await until(refused, f"a condition with {want!r}")
    assert await world.clusters(space, obj["metadata"]["name"], obj["kind"]) == {}
