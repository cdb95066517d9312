"""Parts of a job that come later, and objects that carry the labels of the one above them."""

import pytest

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import PodSetName
from member_agent.cache import units_of
from tests.member_agent.member import AGENT, member, owner, pod

OURS = frozenset({AGENT})
PART = "jobset.sigs.k8s.io/replicatedjob-name"


def amounts(**pods):
    """Pods by pod set."""
    return Amounts.of({PodSetName(name): count for name, count in pods.items()})


def job_set(**spec):
    """A JobSet of one data pod and four trainers that wait for it, and its two Jobs."""
    parts = [
        {"name": "data", "replicas": 1},
        {
            "name": "train",
            "replicas": 2,
            "template": {"spec": {"parallelism": 2, "completions": 2}},
            "dependsOn": [{"name": "data", "status": "Complete"}],
        },
    ]
    top = owner(
        "JobSet",
        "steps",
        api_version="jobset.x-k8s.io/v1alpha2",
        binding="b-steps",
        spec={"replicatedJobs": parts, **spec},
    )
    first = owner("Job", "steps-data-0", controller=top)
    then = owner("Job", "steps-train-0", controller=top)
    return top, first, then


def of(part, name, job, **more):
    """A pod of a part."""
    return pod(name, owner=job, labels={PART: part}, **more)


@pytest.mark.parametrize(
    ("phase", "trainers", "want", "want_floor"),
    [
        pytest.param("", 0, amounts(data=1), 1, id="trainers are not made yet"),
        pytest.param("Succeeded", 4, amounts(data=1, train=4), 5, id="they are there"),
        pytest.param("Succeeded", 1, amounts(data=1, train=4), 5, id="the first of them is there"),
    ],
)
def test_a_part_that_waits_for_another_is_not_waited_for(phase, trainers, want, want_floor):
    """`dependsOn`: what is not made before another part has ended is no part of the minimum yet."""
    top, first, then = job_set()
    node = "n" if phase else ""
    pods = [of("data", "d", first, phase=phase, node=node)]
    pods += [of("train", f"t{at}", then) for at in range(trainers)]
    [unit] = units_of(member(top, first, then, pods), OURS)

    assert (unit.minimum, unit.floor) == (want, want_floor)
    assert (unit.binding, unit.root_kind) == ("b-steps", "JobSet")


def test_a_ray_cluster_of_a_ray_job_is_part_of_the_job():
    """KubeRay copies the job's labels, Karmada's id among them, to the cluster: one unit."""
    spec = {"rayClusterSpec": {"workerGroupSpecs": [{"groupName": "gpu", "minReplicas": 2}]}}
    job = owner("RayJob", "tune", api_version="ray.io/v1", binding="b-tune", spec=spec)
    cluster = owner(
        "RayCluster", "tune-x", api_version="ray.io/v1", binding="b-tune", controller=job
    )
    submits = owner("Job", "tune", controller=job)
    pods = [
        pod("head", owner=cluster, labels={"ray.io/group": "headgroup"}),
        pod("worker", owner=cluster, labels={"ray.io/group": "gpu"}),
        pod("submitter", owner=submits),
    ]
    [unit] = units_of(member(job, cluster, submits, pods), OURS)

    assert (unit.root_kind, unit.name, unit.binding) == ("RayJob", "tune", "b-tune")
    assert unit.minimum == amounts(headgroup=1, gpu=2, main=1)
    assert unit.floor == 4


def test_a_copy_with_another_id_is_its_own_root():
    """What came through Karmada itself ends the chain, whatever owns it."""
    job = owner("RayJob", "tune", api_version="ray.io/v1", binding="b-tune")
    cluster = owner("RayCluster", "ray", api_version="ray.io/v1", binding="b-ray", controller=job)
    [unit] = units_of(member(job, cluster, pod("head", owner=cluster)), OURS)

    assert (unit.root_kind, unit.binding) == ("RayCluster", "b-ray")


def test_the_submitter_is_not_waited_for():
    """It is made once the cluster runs."""
    job = owner("RayJob", "tune", api_version="ray.io/v1", binding="b-tune")
    head = pod("head", owner=job, labels={"ray.io/group": "headgroup"})
    [unit] = units_of(member(job, head), OURS)

    assert (unit.minimum, unit.floor) == (amounts(headgroup=1), 1)


def test_a_train_job_needs_what_its_job_set_says():
    """Its own fields name a runtime; the JobSet that Trainer made has the parts and their order."""
    top, first, then = job_set()
    train = owner(
        "TrainJob", "align", api_version="trainer.kubeflow.org/v1alpha1", binding="b-align"
    )
    made = owner(
        "JobSet",
        "steps",
        api_version="jobset.x-k8s.io/v1alpha2",
        controller=train,
        spec=top["spec"],
    )
    [unit] = units_of(member(train, made, first, then, [of("data", "d", first)]), OURS)
    assert (unit.root_kind, unit.name, unit.binding) == ("TrainJob", "align", "b-align")
    assert (unit.minimum, unit.floor) == (amounts(data=1), 1)

    pods = [of("data", "d", first, phase="Succeeded", node="n"), of("train", "t", then)]
    [unit] = units_of(member(train, made, first, then, pods), OURS)
    assert (unit.minimum, unit.floor) == (amounts(data=1, train=4), 5)
