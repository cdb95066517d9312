"""Demand of RayClusters and RayJobs: a head, the least workers, and more as surplus."""

import pytest

from global_sched.shared.api.base import Meta
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS, pod_set_of
from global_sched.shared.model.gang import Mode, Partition, TopologyConstraint
from global_sched.shared.model.verdict import Code
from tests.wire_templates import (
    decode,
    pod_template,
    ray_cluster,
    ray_job,
    worker_group,
)

CLUSTER = KINDS["ray.io/v1", "RayCluster"]
JOB = KINDS["ray.io/v1", "RayJob"]
HARD_1 = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "1",
}


def read(obj):
    """What it asks for."""
    kind = KINDS[obj["apiVersion"], obj["kind"]]
    return kind.reading(decode(obj, kind.wire))


def sets(reading):
    """Name, count and minimum of each pod set."""
    return [(p.name, p.count, p.minimum) for p in reading.pod_sets]


@pytest.mark.parametrize(
    ("group", "want"),
    [
        pytest.param(worker_group("w", 4, 2), (4, 2), id="minReplicas of replicas"),
        pytest.param(worker_group("w", 3, 1, hosts=4), (12, 4), id="times the hosts of each"),
        pytest.param(worker_group("w", None, 2), (2, 2), id="without replicas the least"),
        pytest.param(worker_group("w", 1, 3), (3, 3), id="never below minReplicas"),
        pytest.param(worker_group("w", 9, 1, most=5), (5, 1), id="never above maxReplicas"),
        pytest.param(worker_group("w", 4, None, most=None), (4, 0), id="no least: all surplus"),
        pytest.param(worker_group("w", 4, 2, suspend=True), (0, 0), id="a suspended group"),
    ],
)
def test_worker_groups(group, want):
    """The head and the least of every group are the minimum; replicas up to `replicas` surplus."""
    found = read(ray_cluster("r", group))

    assert found.problem is None
    assert sets(found) == [("headgroup", 1, 1), ("w", *want)]
    assert found.minimum == 1 + want[1]


def test_hosts_of_a_replica_stay_together():
    """A replica of several hosts is of use as a whole only."""
    [_, workers] = read(ray_cluster("r", worker_group("w", 3, 1, hosts=4))).pod_sets

    assert workers.partition == Partition(size=4, total=3, minimum=1)


def test_a_worker_asks_for_no_less_than_its_init_container():
    """KubeRay puts one into every worker: 200m and 256Mi."""
    small = pod_template(cpu="10m")
    [head, workers] = read(ray_cluster("r", worker_group("w", template=small), head=small)).pod_sets

    assert head.shape.requests.get("cpu") == 10
    assert workers.shape.requests.get("cpu") == 200
    assert workers.shape.requests.get("memory") == 256 * 2**20


@pytest.mark.parametrize("make", [ray_cluster, ray_job])
@pytest.mark.parametrize(
    ("labels", "annotations", "want"),
    [
        pytest.param({"volcano.sh/queue-name": "a"}, {}, "a", id="the object's label"),
        pytest.param({}, {"scheduling.volcano.sh/queue-name": "b"}, "b", id="its annotation"),
    ],
)
def test_queue(make, labels, annotations, want):
    """KubeRay reads the queue from a label of the object."""
    obj = make("r", worker_group(), labels=labels, annotations=annotations)

    assert read(obj).queue == want


@pytest.mark.parametrize("make", [ray_cluster, ray_job])
def test_priority_and_topology_of_the_object(make):
    """Labels of the object, as KubeRay's integration of Volcano reads them."""
    labels = {
        "ray.io/priority-class-name": "high",
        "volcano.sh/network-topology-mode": "hard",
        "volcano.sh/network-topology-highest-tier-allowed": "2",
    }
    found = read(make("r", worker_group(), labels=labels))

    assert found.priority_class == "high"
    assert found.constraint == TopologyConstraint(mode=Mode.HARD, highest_tier=2)


def test_topology_of_the_pod_templates():
    """Annotations of the pod templates count where the object has no labels for it."""
    pod = pod_template(annotations=HARD_1)
    found = read(ray_cluster("r", worker_group(template=pod), head=pod))

    assert found.constraint == TopologyConstraint(mode=Mode.HARD, highest_tier=1)


@pytest.mark.parametrize(
    ("spec", "submitter", "want"),
    [
        pytest.param({}, None, [("main", 1, 1)], id="KubeRay's own submitter"),
        pytest.param({}, pod_template(cpu="2"), [("main", 1, 1)], id="a submitter of the user's"),
        pytest.param({"submissionMode": "HTTPMode"}, None, [], id="none with HTTPMode"),
        pytest.param({"submissionMode": "SidecarMode"}, None, [], id="none beside a sidecar"),
    ],
)
def test_the_submitter_is_part_of_the_job(spec, submitter, want):
    """In K8sJobMode one more pod."""
    found = read(ray_job("r", worker_group("w", 2, 1), submitter=submitter, spec=spec))

    assert found.problem is None
    assert sets(found) == [("headgroup", 1, 1), ("w", 2, 1), *want]


@pytest.mark.parametrize(
    ("mode", "want_head", "want_submitter"),
    [
        pytest.param("K8sJobMode", 1000, 500, id="a pod of its own"),
        pytest.param("SidecarMode", 1500, None, id="a container of the head"),
    ],
)
def test_what_the_submitter_takes(mode, want_head, want_submitter):
    """KubeRay's submitter asks for half a CPU, wherever it is."""
    found = read(ray_job("r", worker_group(), spec={"submissionMode": mode}))
    cpu = {one.name: one.shape.requests.get("cpu") for one in found.pod_sets}

    assert (cpu["headgroup"], cpu.get("main")) == (want_head, want_submitter)


def test_a_submitter_without_template_has_no_say_in_the_scheduler():
    """Its scheduler cannot be set: the default one binds it, and the gang has the others'."""
    pod = pod_template(schedulerName="member-agent")
    found = read(ray_job("r", worker_group(template=pod), head=pod))

    assert found.scheduler_name() == "member-agent"


@pytest.mark.parametrize(("shutdown", "want"), [(True, False), (False, True)])
def test_a_cluster_that_stays_holds_what_it_has(shutdown, want):
    """Without shutdownAfterJobFinishes the pods run on after the end of the job."""
    obj = ray_job("r", worker_group(), spec={"shutdownAfterJobFinishes": shutdown})
    some = {"onSuccess": {"policy": "DeleteWorkers"}, "onFailure": {"policy": "DeleteCluster"}}
    parts = obj | {"spec": obj["spec"] | {"deletionStrategy": some}}

    assert read(parts).stays is True

    assert read(obj).stays is want


@pytest.mark.parametrize(
    ("obj", "want"),
    [
        pytest.param(
            ray_cluster("r", worker_group(), spec={"suspend": True}),
            "RayCluster.ray.io team-a/r: spec.suspend is true; set it to false to start the "
            "cluster",
            id="a suspended cluster",
        ),
        pytest.param(
            ray_job("r", worker_group(), spec={"suspend": True}),
            "RayJob.ray.io team-a/r: spec.suspend is true; set it to false to start the job",
            id="a suspended job",
        ),
    ],
)
def test_held(obj, want):
    """What its owner holds back waits without penalty."""
    problem = read(obj).problem

    assert (problem.code, problem.reason, problem.detail) == (Code.WAIT, Reason.SUSPENDED, want)


AUTOSCALED = {"enableInTreeAutoscaling": True}
WHY_NOT = (
    "enableInTreeAutoscaling: is true: workers that the autoscaler adds cannot be admitted before "
    "they are there; set it to false and set replicas"
)


@pytest.mark.parametrize(
    ("obj", "want"),
    [
        pytest.param(
            ray_cluster("r", worker_group(), spec=AUTOSCALED), f"spec.{WHY_NOT}", id="autoscaling"
        ),
        pytest.param(
            ray_job("r", worker_group(), cluster=AUTOSCALED),
            f"spec.rayClusterSpec.{WHY_NOT}",
            id="autoscaling of a job's cluster",
        ),
        *(
            pytest.param(
                ray_job("r", worker_group(), spec={"deletionStrategy": strategy}),
                "spec.deletionStrategy: has DeleteSelf: Karmada brings back what is deleted in a "
                "member, and it would run again; use DeleteCluster, and delete the object on the "
                "control plane",
                id=f"a job that deletes itself by {next(iter(strategy))}",
            )
            for strategy in (
                {"onFailure": {"policy": "DeleteSelf"}, "onSuccess": {"policy": "DeleteCluster"}},
                {"deletionRules": [{"policy": "DeleteSelf", "condition": {}}]},
            )
        ),
        pytest.param(
            ray_job("r", worker_group(), spec={"clusterSelector": {"ray.io/cluster": "x"}}),
            "spec.clusterSelector: is set: a cluster that runs already is in a member that this "
            "job does not choose; use rayClusterSpec, or submit the job to the cluster in its "
            "member",
            id="a cluster that runs already",
        ),
        pytest.param(
            ray_job("r", spec={"rayClusterSpec": None}),
            "spec.rayClusterSpec: is missing; say what the job's cluster is made of",
            id="no cluster",
        ),
        pytest.param(
            ray_job("r", spec={"submissionMode": "Carrier"}),
            "spec.submissionMode: is 'Carrier'; use K8sJobMode, HTTPMode, InteractiveMode, "
            "SidecarMode",
            id="an unknown mode",
        ),
        pytest.param(
            ray_job("r", worker_group("main")),
            "spec.rayClusterSpec.workerGroupSpecs: has a group named main, as the submitter's "
            "pods are; give it another groupName",
            id="a group with the submitter's name",
        ),
        pytest.param(
            ray_cluster("r", worker_group(""), spec={}),
            "spec.workerGroupSpecs[0].groupName: is missing; name every worker group",
            id="a group without a name",
        ),
        pytest.param(
            ray_cluster("r", worker_group("w"), worker_group("w")),
            "spec.workerGroupSpecs: has two groups of one name, or one named headgroup; "
            "give each its own groupName",
            id="two groups of one name",
        ),
        pytest.param(
            ray_cluster("r", worker_group("w", 2, 3, most=2)),
            "spec.workerGroupSpecs[0].maxReplicas: is 2, below minReplicas 3; raise it",
            id="bounds that exclude each other",
        ),
        pytest.param(
            ray_cluster("r", worker_group("w", hosts=0)),
            "spec.workerGroupSpecs[0].numOfHosts: is 0; use a whole number of at least 1",
            id="replicas without hosts",
        ),
        pytest.param(
            ray_cluster("r", worker_group("w"), head={"spec": {}}),
            "spec.headGroupSpec.template.spec.containers: is empty; "
            "a pod needs at least one container",
            id="a head without containers",
        ),
        pytest.param(
            ray_cluster("r", spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
            "spec.managedBy: is 'kueue.x-k8s.io/multikueue': nothing in the member would make "
            "its pods; leave it out, or use ray.io/kuberay-operator",
            id="another controller",
        ),
        pytest.param(
            ray_cluster("r", labels={"volcano.sh/network-topology-mode": "tight"}),
            "metadata.labels[volcano.sh/network-topology-mode]: is 'tight'; use hard or soft",
            id="an unknown topology mode",
        ),
        pytest.param(
            ray_cluster("r", labels={"volcano.sh/network-topology-highest-tier-allowed": "one"}),
            "metadata.labels[volcano.sh/network-topology-highest-tier-allowed]: is 'one'; "
            "use a whole number such as 1",
            id="a tier that is no number",
        ),
    ],
)
def test_refused(obj, want):
    """What cannot be read is refused with object, field, reason and remedy."""
    problem = read(obj).problem

    assert (problem.code, problem.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert problem.detail == f"{obj['kind']}.ray.io team-a/r: {want}"


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param({"jobDeploymentStatus": one}, True, id=f"{one} is an end")
        for one in ("Complete", "Failed", "ValidationFailed")
    ]
    + [
        pytest.param({"jobDeploymentStatus": one}, False, id=f"{one} is none")
        for one in ("Initializing", "Running", "Waiting", "Retrying", "Suspended")
    ],
)
def test_ends_of_a_ray_job(status, want):
    """KubeRay starts nothing more after these."""
    assert JOB.ends(status) is want


@pytest.mark.parametrize(
    ("labels", "annotations", "want"),
    [
        pytest.param({"ray.io/group": "headgroup"}, {}, "headgroup", id="the head"),
        pytest.param({"ray.io/group": "gpu"}, {}, "gpu", id="a worker"),
        pytest.param({"job-name": "r"}, {}, "main", id="a submitter"),
        pytest.param(
            {}, {"volcano.sh/task-spec": "submittergroup"}, "main", id="a submitter under Volcano"
        ),
    ],
)
def test_pods_are_known_by_their_labels(labels, annotations, want):
    """KubeRay labels what it makes itself; a submitter is a pod of a batch Job."""
    assert pod_set_of(Meta(labels=labels, annotations=annotations)) == want
