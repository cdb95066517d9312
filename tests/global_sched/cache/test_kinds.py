"""Demands of batch Jobs, Deployments, StatefulSets, PyTorchJobs and other kinds."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS
from global_sched.shared.model.gang import Mode, TopologyConstraint
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division
from tests.global_sched.cache.worlds import state_of, workload_in
from tests.wire import (
    batch_job,
    binding,
    decode,
    deployment,
    placement,
    pod_template,
    pytorch_job,
    task,
    vcjob,
)

MIN = "federation.global-sched.io/min-parallelism"
HARD_2 = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "2",
}


def read(obj):
    reader = KINDS[(obj["apiVersion"], obj["kind"])]
    return reader.reading(decode(obj, reader.wire))


def sets(reading):
    return [(p.name, p.count, p.minimum) for p in reading.pod_sets]


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(batch_job("j"), [("main", 1, 1)], id="one pod when nothing is said"),
        pytest.param(
            batch_job("j", spec={"parallelism": 5}), [("main", 5, 5)], id="all parallel pods"
        ),
        pytest.param(
            batch_job("j", spec={"parallelism": 5, "completions": 3}),
            [("main", 3, 3)],
            id="no more pods than completions",
        ),
        pytest.param(
            batch_job("j", spec={"parallelism": 5}, annotations={MIN: "2"}),
            [("main", 5, 2)],
            id="the annotation lowers the minimum",
        ),
    ],
)
def test_batch_job(job, want):
    """A batch Job is a gang of min(parallelism, completions) pods."""
    reading = read(job)

    assert reading.problem is None
    assert sets(reading) == want


@pytest.mark.parametrize("value", ["0", "6", "-1", "two", "1.5", "9" * 30])
def test_batch_job_minimum_out_of_range(value):
    """The annotation must be a whole number from 1 to the pods."""
    problem = read(batch_job("j", spec={"parallelism": 5}, annotations={MIN: value})).problem

    assert problem is not None
    assert problem.reason == Reason.INVALID_SPEC
    assert f"metadata.annotations[{MIN}]" in problem.detail
    assert "use a whole number from 1 to 5" in problem.detail


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(batch_job("j", spec={"suspend": True}), id="a suspended Job"),
        pytest.param(batch_job("j", spec={"parallelism": 0}), id="a Job with parallelism 0"),
        pytest.param(
            pytorch_job("j", {"Worker": 1}, spec={"runPolicy": {"suspend": True}}),
            id="a suspended PyTorchJob",
        ),
        pytest.param(vcjob("j", task("a", 0)), id="a Volcano Job without replicas"),
        pytest.param(
            vcjob("j", task("a", 0, minAvailable=4), spec={"minAvailable": 4}),
            id="a Volcano Job that was scaled to zero and kept its minimum",
        ),
        pytest.param(
            vcjob(
                "j",
                task("a", 0, partitionPolicy={"totalPartitions": 2, "partitionSize": 2}),
                task("b", 0),
            ),
            id="a Volcano Job of partitions that was scaled to zero",
        ),
    ],
)
def test_held_templates_wait(job):
    """What its owner holds back waits without penalty and says how to start it."""
    problem = read(job).problem

    assert problem is not None
    assert (problem.code, problem.reason) == (Code.WAIT, Reason.SUSPENDED)
    assert "to start the" in problem.detail.lower()


@pytest.mark.parametrize(
    ("where", "want_division", "want_minimum"),
    [
        pytest.param(placement(), Division.DUPLICATED, 4, id="nothing said means Duplicated"),
        pytest.param(placement(divided=False), Division.DUPLICATED, 4, id="Duplicated: all"),
        pytest.param(placement(divided=True), Division.DIVIDED, 1, id="Divided: one in all"),
    ],
)
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_replicated_kinds(kind, where, want_division, want_minimum):
    """The minimum of a Deployment or StatefulSet depends on how the policy divides."""
    app = deployment("web", kind=kind, replicas=4)
    one = workload_in(
        state_of(app, binding(app, where=where, replicas=4)), f"team-a/web-{kind.lower()}"
    )

    assert one.demand.division == want_division
    assert one.demand.gang is not None
    assert (one.demand.gang.minimum, one.demand.gang.pods()) == (want_minimum, 4)
    assert one.demand.carries_replicas


def test_gangs_are_whole_whatever_the_policy_divides():
    """ReplicaScheduling does not split a batch Job; its one entry carries replicas."""
    job = batch_job("sweep", spec={"parallelism": 3})
    state = state_of(job, binding(job, where=placement(divided=True), replicas=3))
    demand = workload_in(state, "team-a/sweep-job").demand

    assert (demand.division, demand.carries_replicas) == (Division.WHOLE, True)


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(
            pytorch_job("j", {"Worker": 3, "Master": 1}),
            [("master", 1, 1), ("worker", 3, 3)],
            id="master first, names in lower case, all are the minimum",
        ),
        pytest.param(
            pytorch_job("j", {"Master": None, "Worker": 2}),
            [("master", 1, 1), ("worker", 2, 2)],
            id="a replica type without a number has one pod",
        ),
        pytest.param(
            pytorch_job("j", {"Worker": 4}, spec={"elasticPolicy": {"minReplicas": 2}}),
            [("worker", 4, 2)],
            id="elasticPolicy lowers the workers' minimum",
        ),
    ],
)
def test_pytorch_job(job, want):
    """A PyTorchJob is a gang with a pod set per replica type."""
    reading = read(job)

    assert reading.problem is None
    assert sets(reading) == want


def test_a_pytorch_job_that_its_operator_would_delete_is_refused():
    """Karmada would bring it back, and it would run again."""
    run = {"runPolicy": {"ttlSecondsAfterFinished": 0}}
    problem = read(pytorch_job("j", {"Worker": 1}, spec=run)).problem

    assert (problem.code, problem.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert "spec.runPolicy.ttlSecondsAfterFinished: is 0: Karmada brings back" in problem.detail
    assert "leave it out" in problem.detail


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(batch_job("j", template=pod_template(annotations=HARD_2)), id="batch Job"),
        pytest.param(deployment("d", template=pod_template(annotations=HARD_2)), id="Deployment"),
        pytest.param(
            pytorch_job("p", {"Worker": 1}, template=pod_template(annotations=HARD_2)),
            id="PyTorchJob",
        ),
    ],
)
def test_constraint_from_annotations(obj):
    """Kinds without a field for it carry the constraint in the pod template's annotations."""
    assert read(obj).constraint == TopologyConstraint(mode=Mode.HARD, highest_tier=2)


@pytest.mark.parametrize(
    ("template", "annotations", "want"),
    [
        pytest.param({}, {}, "", id="none: the default queue"),
        pytest.param({"labels": {"volcano.sh/queue-name": "a"}}, {}, "a", id="the label"),
        pytest.param({"annotations": {"volcano.sh/queue-name": "b"}}, {}, "b", id="the annotation"),
        pytest.param(
            {
                "labels": {"volcano.sh/queue-name": "a"},
                "annotations": {"volcano.sh/queue-name": "b"},
            },
            {"scheduling.volcano.sh/queue-name": "c"},
            "a",
            id="the label wins",
        ),
        pytest.param(
            {}, {"scheduling.volcano.sh/queue-name": "c"}, "c", id="the object's annotation"
        ),
    ],
)
def test_queue_resolver(template, annotations, want):
    """Template label, then template annotation, then the object's annotation."""
    for obj in (
        batch_job("j", template=pod_template(**template), annotations=annotations),
        deployment("d", template=pod_template(**template), annotations=annotations),
        pytorch_job("p", {"Worker": 1}, template=pod_template(**template), annotations=annotations),
    ):
        assert read(obj).queue == want


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(batch_job("j"), id="a batch Job"),
        pytest.param(deployment("j"), id="a Deployment"),
        pytest.param(pytorch_job("j", {"Worker": 1}), id="a PyTorchJob"),
    ],
)
def test_without_a_queue_it_is_the_default_one(obj):
    """Kinds that name none anywhere stand in the queue `default`."""
    one = workload_in(state_of(obj, binding(obj)), f"team-a/j-{obj['kind'].lower()}")

    assert one.queue == "default"


def other(**spec):
    template = {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "namespace": "team-a", "uid": "u", "resourceVersion": "1"},
    }
    where = spec.pop("where", placement())
    return state_of(binding(template, where=where, spec=spec))


def test_other_kinds_go_by_replicas_and_requirements():
    """What the interpreter put on the binding is the demand of a kind without a reader."""
    one = workload_in(
        other(
            replicas=3,
            replicaRequirements={
                "resourceRequest": {"cpu": "2"},
                "nodeClaim": {"nodeSelector": {"zone": "a"}},
            },
        ),
        "team-a/t-thing",
    )

    assert one.demand.gang is not None
    [pod_set] = one.demand.gang.pod_sets
    assert (pod_set.name, pod_set.count) == ("main", 3)
    assert pod_set.shape.requests.get("cpu") == 2000
    assert pod_set.shape.selector == (("zone", "a"),)
    assert one.demand.division == Division.DUPLICATED


def test_other_kinds_go_by_components():
    """Components are the pod sets of a gang that stays whole."""
    requirements = {"resourceRequest": {"cpu": "1"}}
    one = workload_in(
        other(
            components=[
                {"name": "head", "replicas": 1, "replicaRequirements": requirements},
                {"name": "worker", "replicas": 4, "replicaRequirements": requirements},
            ]
        ),
        "team-a/t-thing",
    )

    assert one.demand.division == Division.WHOLE
    assert one.demand.gang is not None
    assert [(p.name, p.count) for p in one.demand.gang.pod_sets] == [("head", 1), ("worker", 4)]
    assert not one.demand.carries_replicas


def test_no_demand_is_a_copy():
    """A binding without reader, replicas, requirements or components is copied."""
    one = workload_in(other(), "team-a/t-thing")

    assert (one.demand.division, one.demand.gang, one.demand.carries_replicas) == (
        Division.COPIED,
        None,
        False,
    )
    assert one.problem is None


@pytest.mark.parametrize(
    ("spec", "want_text"),
    [
        pytest.param({"replicas": -1}, "spec.replicas: is -1", id="negative replicas"),
        pytest.param({"replicas": 10**9}, "at most 1000000", id="a billion replicas"),
        pytest.param(
            {"replicas": 1, "replicaRequirements": {"resourceRequest": {"cpu": "Infinity"}}},
            "spec.replicaRequirements",
            id="an infinite request",
        ),
    ],
)
def test_refusals_of_the_binding_itself(spec, want_text):
    """What the interpreter says is bounded like everything else."""
    problem = workload_in(other(**spec), "team-a/t-thing").problem

    assert problem is not None
    assert problem.reason == Reason.INVALID_SPEC
    assert want_text in problem.detail


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({"replicas": 2}, False, id="replicas"),
        pytest.param(
            {"replicaRequirements": {"resourceRequest": {"cpu": "1"}}}, False, id="requirements"
        ),
        pytest.param({"components": [{"name": "head", "replicas": 1}]}, False, id="components"),
    ],
)
@pytest.mark.parametrize("annotations", [{}, {"federation.global-sched.io/copied-kinds": "Thing"}])
def test_pods_that_karmada_counts(spec, want, annotations):
    """What the binding carries makes the pods of a kind count; no annotation does."""
    template = {
        "apiVersion": "kubernetes.dask.org/v1",
        "kind": "DaskJob",
        "metadata": {
            "name": "t",
            "namespace": "team-a",
            "uid": "u",
            "resourceVersion": "1",
            "annotations": annotations,
        },
    }
    one = workload_in(state_of(binding(template, spec=spec)), "team-a/t-daskjob")

    assert one.demand.uncounted(Policy()) is want
