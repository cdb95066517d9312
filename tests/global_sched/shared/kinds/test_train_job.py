"""Demand of a TrainJob: the JobSet of its runtime, with its own nodes and resources."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS
from global_sched.shared.kinds.parts.trainer import job_set_of
from global_sched.shared.kinds.train_job import TrainingRuntime
from global_sched.shared.model.gang import Mode, TopologyConstraint
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code
from tests.wire_templates import (
    GPU,
    decode,
    pod_template,
    train_job,
    trainer_part,
    training_runtime,
)

KIND = KINDS["trainer.kubeflow.org/v1alpha1", "TrainJob"]
CLUSTER = "ClusterTrainingRuntime torch"
HARD_1 = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "1",
}
RACK = TopologyConstraint(mode=Mode.HARD, highest_tier=1)
TIER_2 = {"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": 2}}}
DATA = trainer_part("dataset-initializer", step="dataset-initializer", container="data")
AFTER_DATA = [{"name": "dataset-initializer", "status": "Complete"}]


def read(job, runtime=None):
    """What it asks for."""
    found = training_runtime("torch") if runtime is None else runtime
    return KIND.reading(decode(job, KIND.wire), decode(found, TrainingRuntime))


def without(job):
    """What is said of it while its runtime is not there."""
    return KIND.reading(decode(job, KIND.wire)).problem


def mpi(*, as_node, **policy):
    """A runtime of MPI: a launcher that is the trainer, and nodes."""
    launcher = trainer_part("launcher")
    return training_runtime(
        "torch",
        launcher,
        trainer_part("node", step=""),
        policy={"mpi": {"runLauncherAsNode": as_node}} | policy,
    )


@pytest.mark.parametrize(
    ("job", "runtime", "want"),
    [
        pytest.param(train_job("j", 4), None, [("node", 4)], id="the job's number of nodes"),
        pytest.param(
            train_job("j", None),
            training_runtime("torch", policy={"numNodes": 3, "torch": {}}),
            [("node", 3)],
            id="the runtime's number, where the job says none",
        ),
        pytest.param(
            train_job("j", None),
            training_runtime("torch", trainer_part(pods=5), spec={"mlPolicy": None}),
            [("node", 5)],
            id="the parallelism of a runtime without a policy",
        ),
        pytest.param(
            train_job("j", 2),
            training_runtime("torch", DATA, trainer_part(dependsOn=AFTER_DATA)),
            [("dataset-initializer", 1), ("node", 2)],
            id="what prepares the data has its room, too",
        ),
        pytest.param(
            train_job("j", 4),
            mpi(as_node=False),
            [("launcher", 1), ("node", 4)],
            id="MPI: nodes beside the launcher",
        ),
        pytest.param(
            train_job("j", 4),
            mpi(as_node=True),
            [("launcher", 1), ("node", 3)],
            id="MPI: the launcher is one of the nodes",
        ),
        pytest.param(
            train_job("j", 1),
            mpi(as_node=True),
            [("launcher", 1), ("node", 1)],
            id="MPI: never fewer than one node beside the launcher",
        ),
    ],
)
def test_pod_sets(job, runtime, want):
    """Every replicated job is a pod set, and all pods are the minimum."""
    found = read(job, runtime)

    assert found.problem is None
    assert [(p.name, p.count, p.minimum) for p in found.pod_sets] == [(n, c, c) for n, c in want]
    assert found.minimum == sum(count for _, count in want)
    assert not found.carries_replicas


@pytest.mark.parametrize(
    ("runtime", "want"),
    [
        pytest.param(training_runtime("torch", DATA, trainer_part()), [0, 8], id="the trainer"),
        pytest.param(mpi(as_node=False), [8, 0], id="MPI: the launcher, which is the trainer"),
        pytest.param(mpi(as_node=True), [8, 8], id="MPI: nodes, too, where it is one of them"),
    ],
)
def test_resources_of_a_node(runtime, want):
    """They replace what the runtime asks for, in the container that trains."""
    own = {"resourcesPerNode": {"limits": {GPU: "8"}}}
    found = read(train_job("j", trainer=own), runtime)

    assert [one.shape.requests.get(GPU) for one in found.pod_sets] == want
    alike = [one.shape.requests for one in found.pod_sets if one.shape.requests.get(GPU)]
    assert set(alike) == {Resources.of({GPU: 8, "pods": 1})}


def test_overrides_of_pod_templates():
    """A strategic merge into the templates of the jobs that they name, later ones last."""
    pod = pod_template(
        labels={"volcano.sh/queue-name": "gold"},
        nodeSelector={"zone": "a", "disk": "ssd"},
        tolerations=[{"key": "old", "operator": "Exists"}],
    )
    overrides = [
        {
            "targetJobs": [{"name": "node"}],
            "metadata": {"annotations": HARD_1},
            "spec": {"nodeSelector": {"zone": "b"}, "tolerations": [{"key": "new", "value": "x"}]},
        },
        {"targetJobs": [{"name": "node"}], "metadata": {"labels": {"volcano.sh/queue-name": "q"}}},
    ]
    job = train_job("j", spec={"podTemplateOverrides": overrides})
    found = read(job, training_runtime("torch", trainer_part(template=pod)))

    [one] = found.pod_sets
    assert one.shape.selector == (("disk", "ssd"), ("zone", "b"))
    assert [toleration.key for toleration in one.shape.tolerations] == ["new"]
    assert (found.queue, found.constraint) == ("q", RACK)


def test_lists_with_names_are_merged_by_them():
    """Volumes and containers keep what the override does not name."""
    pod = pod_template(volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}])
    override = {
        "targetJobs": [{"name": "node"}],
        "spec": {
            "volumes": [{"name": "b", "configMap": {"name": "x"}}, {"name": "c"}],
            "containers": [{"name": "node", "env": [{"name": "E", "value": "1"}]}],
        },
    }
    job = train_job("j", spec={"podTemplateOverrides": [override]})
    made = job_set_of(job, training_runtime("torch", trainer_part(template=pod)))
    [part] = made["spec"]["replicatedJobs"]
    spec = part["template"]["spec"]["template"]["spec"]

    assert [one["name"] for one in spec["volumes"]] == ["a", "b", "c"]
    assert spec["volumes"][1] == {"name": "b", "emptyDir": {}, "configMap": {"name": "x"}}
    [container] = spec["containers"]
    assert container["env"] == [{"name": "E", "value": "1"}]
    assert container["image"] == pod["spec"]["containers"][0]["image"]


def test_labels_and_annotations_of_the_job_set():
    """The job's `labels` and `annotations` count before the runtime's template."""
    runtime = training_runtime("torch", template={"labels": {"a": "1", "b": "1"}})
    job = train_job("j", spec={"labels": {"b": "2"}, "annotations": {"c": "3"}})
    made = job_set_of(job, runtime)

    assert made["metadata"] == {
        "name": "j",
        "namespace": "team-a",
        "labels": {"a": "1", "b": "2"},
        "annotations": {"c": "3"},
    }


QUEUE = "scheduling.volcano.sh/queue-name"


@pytest.mark.parametrize(
    ("spec", "own", "template", "want"),
    [
        pytest.param({"annotations": {QUEUE: "a"}}, {QUEUE: "b"}, {QUEUE: "c"}, "a", id="spec"),
        pytest.param({}, {QUEUE: "b"}, {QUEUE: "c"}, "b", id="the object"),
        pytest.param({}, {}, {QUEUE: "c"}, "c", id="the runtime's JobSet"),
    ],
)
def test_where_the_queue_stands(spec, own, template, want):
    """The nearest to the job counts."""
    runtime = training_runtime("torch", template={"annotations": template})

    assert read(train_job("j", spec=spec, annotations=own), runtime).queue == want


@pytest.mark.parametrize(
    ("notes", "policy", "want"),
    [
        pytest.param(HARD_1, None, RACK, id="annotations of the pod templates"),
        pytest.param(
            {},
            TIER_2,
            TopologyConstraint(mode=Mode.HARD, highest_tier=2),
            id="the runtime's PodGroup",
        ),
    ],
)
def test_topology(notes, policy, want):
    """It stands in the pod templates, or where Trainer's own integration of Volcano has it."""
    part = trainer_part(template=pod_template(annotations=notes))

    found = read(train_job("j"), training_runtime("torch", part, spec={"podGroupPolicy": policy}))
    assert found.constraint == want


def test_the_scheduler_is_the_runtimes():
    """An override policy of a TrainJob cannot change it, but for another runtime."""
    part = trainer_part(template=pod_template(schedulerName="volcano"))

    assert read(train_job("j"), training_runtime("torch", part)).scheduler_name() == "volcano"


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(
            train_job("j"),
            f"spec.runtimeRef: {CLUSTER} is not on the control plane, so what the job asks for is "
            "not known; create it there",
            id="one for all namespaces",
        ),
        pytest.param(
            train_job("j", kind="TrainingRuntime"),
            "spec.runtimeRef: TrainingRuntime team-a/torch is not on the control plane, so what "
            "the job asks for is not known; create it there",
            id="one of the namespace",
        ),
    ],
)
def test_without_its_runtime_it_waits(job, want):
    """Its number of pods is unknown."""
    found = without(job)

    assert (found.code, found.reason) == (Code.WAIT, Reason.RUNTIME_MISSING)
    assert found.detail == f"TrainJob.trainer.kubeflow.org team-a/j: {want}"


@pytest.mark.parametrize(
    ("job", "runtime", "want"),
    [
        pytest.param(
            train_job("j", spec={"suspend": True}),
            None,
            "spec.suspend is true; set it to false to start the job",
            id="suspended",
        ),
        pytest.param(
            train_job("j", 0),
            None,
            f"{CLUSTER}: spec.template.spec.replicatedJobs add up to 0 pods; raise replicas to "
            "start the JobSet",
            id="no nodes",
        ),
    ],
)
def test_held(job, runtime, want):
    """What its owner holds back costs nothing."""
    found = read(job, runtime).problem

    assert (found.code, found.reason) == (Code.WAIT, Reason.SUSPENDED)
    assert found.detail == f"TrainJob.trainer.kubeflow.org team-a/j: {want}"


def test_a_suspended_one_is_held_whether_its_runtime_is_there_or_not():
    """What it waits for first is its owner."""
    assert without(train_job("j", spec={"suspend": True})).reason == Reason.SUSPENDED


def targets(name):
    """An override for a replicated job."""
    return {"podTemplateOverrides": [{"targetJobs": [{"name": name}]}]}


REFUSED = [
    pytest.param(
        train_job("j", spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
        None,
        "spec.managedBy: is 'kueue.x-k8s.io/multikueue': nothing in the member would make its "
        "pods; leave it out, or use trainer.kubeflow.org/trainjob-controller",
        id="managed by others",
    ),
    pytest.param(
        train_job("j", kind="Recipe"),
        None,
        "spec.runtimeRef.kind: is 'Recipe'; use ClusterTrainingRuntime or TrainingRuntime",
        id="another kind of runtime",
    ),
    pytest.param(
        train_job("j", runtime=""),
        None,
        "spec.runtimeRef.name: is missing; name the runtime of the job",
        id="no runtime",
    ),
    pytest.param(
        train_job("j", spec={"runtimeRef": {"name": "torch", "apiGroup": "x.y"}}),
        None,
        "spec.runtimeRef.apiGroup: is 'x.y'; use trainer.kubeflow.org",
        id="a runtime of another group",
    ),
    pytest.param(
        train_job("j", -1),
        None,
        "spec.trainer.numNodes: is -1; use a whole number of at least 0",
        id="a negative number of nodes",
    ),
    pytest.param(
        train_job("j", trainer={"resourcesPerNode": {"limits": {"cpu": "many"}}}),
        None,
        "spec.trainer.resourcesPerNode: limits.cpu: 'many' is not a quantity such as 500m, 2 or "
        "4Gi; correct the quantity",
        id="resources that are no quantity",
    ),
    pytest.param(
        train_job("j", spec=targets("nodes")),
        None,
        "spec.podTemplateOverrides[0].targetJobs: names 'nodes', which is no replicated job of "
        f"{CLUSTER}; use node",
        id="an override of a job that the runtime does not have",
    ),
    pytest.param(
        train_job("j"),
        training_runtime("torch", policy={"torch": {"elasticPolicy": {"minNodes": 1}}}),
        f"{CLUSTER}: spec.mlPolicy.torch.elasticPolicy: is set: nodes that come and go while it "
        "runs cannot be admitted yet; remove it and set numNodes",
        id="elastic training",
    ),
    pytest.param(
        train_job("j"),
        training_runtime("torch", spec={"template": {"spec": {"ttlSecondsAfterFinished": 5}}}),
        f"{CLUSTER}: spec.template.spec.ttlSecondsAfterFinished: is 5: Karmada brings back what "
        "is deleted in a member, and it would run again; leave it out, and delete the object on "
        "the control plane",
        id="a runtime whose JobSets are deleted",
    ),
    pytest.param(
        train_job("j"),
        training_runtime("torch", spec={"template": {"spec": {}}}),
        f"{CLUSTER}: spec.template.spec.replicatedJobs: is empty; a JobSet needs at least one "
        "replicated job",
        id="a runtime without jobs",
    ),
    pytest.param(
        train_job("j"),
        training_runtime(
            "torch",
            trainer_part(template=pod_template(annotations=HARD_1)),
            spec={"podGroupPolicy": TIER_2},
        ),
        f"{CLUSTER}: spec.podGroupPolicy.volcano.networkTopology: differs from the annotations of "
        "the pod templates; set one of the two",
        id="two topologies",
    ),
    pytest.param(
        train_job(
            "j", spec={"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone"}}
        ),
        None,
        f"{CLUSTER}: spec.template.metadata.annotations"
        "[alpha.jobset.sigs.k8s.io/exclusive-topology]: is 'zone': domains are not given to one "
        "Job alone; use volcano.sh/network-topology-mode and -highest-tier on the pod templates",
        id="exclusive topology",
    ),
]


@pytest.mark.parametrize(("job", "runtime", "want"), REFUSED)
def test_refused(job, runtime, want):
    """Object, field, reason and remedy."""
    found = read(job, runtime).problem

    assert (found.code, found.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert found.detail == f"TrainJob.trainer.kubeflow.org team-a/j: {want}"


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        ("ClusterTrainingRuntime", ""),
        ("TrainingRuntime", "team-a"),
        (None, ""),
        ("Recipe", None),
    ],
)
def test_which_runtime(kind, want):
    """Without a kind it is the one for all namespaces; one of no such kind is none."""
    job = train_job("j", kind=kind) if kind else train_job("j", spec={"runtimeRef": {"name": "r"}})
    found = KIND.runtimes.ref(decode(job, KIND.wire))

    assert (None if found is None else found.namespace) == want
