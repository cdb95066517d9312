"""Demand of an MPIJob: the launcher and all workers."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS, pod_set_of
from global_sched.shared.kinds.mpi_job import OwnedJob, facts
from global_sched.shared.model.gang import Mode, TopologyConstraint
from global_sched.shared.model.verdict import Code
from tests.wire_templates import decode, mpi_job, pod_template

KIND = KINDS["kubeflow.org/v2beta1", "MPIJob"]
HARD_1 = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "1",
}


def read(obj):
    """What it asks for."""
    return KIND.reading(decode(obj, KIND.wire))


@pytest.mark.parametrize(
    ("workers", "want"),
    [
        pytest.param(3, [("launcher", 1, 1), ("worker", 3, 3)], id="the launcher comes first"),
        pytest.param(None, [("launcher", 1, 1), ("worker", 0, 0)], id="no number: no worker"),
    ],
)
def test_pod_sets(workers, want):
    """All pods are the minimum."""
    found = read(mpi_job("m", workers))

    assert found.problem is None
    assert [(p.name, p.count, p.minimum) for p in found.pod_sets] == want


def test_queue_and_priority_of_the_scheduling_policy():
    """They count where no pod template names one."""
    policy = {"schedulingPolicy": {"queue": "gold", "priorityClass": "high"}}
    found = read(mpi_job("m", run=policy))

    assert (found.queue, found.priority_class) == ("gold", "high")


def test_topology_and_deadline():
    """Annotations of the pod templates, and the deadline of the run policy."""
    pod = pod_template(annotations=HARD_1)
    found = read(mpi_job("m", template=pod, launcher=pod, run={"activeDeadlineSeconds": 60}))

    assert found.constraint == TopologyConstraint(mode=Mode.HARD, highest_tier=1)
    assert found.run_limit == 60


@pytest.mark.parametrize(
    ("policy", "want"),
    [("Running", False), ("All", False), ("None", True), ("", True)],
)
def test_workers_that_stay_hold_what_they_have(policy, want):
    """The operator leaves workers alone after the end unless the policy takes them away."""
    assert read(mpi_job("m", run={"cleanPodPolicy": policy})).stays is want


@pytest.mark.parametrize(
    ("policy", "want"), [("", False), ("AtStartup", False), ("WaitForWorkersReady", True)]
)
def test_a_launcher_that_waits_for_the_workers_comes_late(policy, want):
    """The agent does not wait for a launcher that is made once the workers run."""
    found = facts(decode(mpi_job("m", spec={"launcherCreationPolicy": policy}), OwnedJob))

    assert {task.name: task.depends for task in found.tasks} == {"launcher": want, "worker": False}


def test_suspended():
    """What its owner holds back waits without penalty."""
    problem = read(mpi_job("m", run={"suspend": True})).problem

    assert (problem.code, problem.reason) == (Code.WAIT, Reason.SUSPENDED)
    assert "spec.runPolicy.suspend is true; set it to false to start the job" in problem.detail


@pytest.mark.parametrize(
    ("obj", "want"),
    [
        pytest.param(
            mpi_job("m", spec={"mpiReplicaSpecs": {}}),
            "spec.mpiReplicaSpecs.Launcher: is missing; an MPIJob needs a launcher",
            id="no launcher",
        ),
        pytest.param(
            mpi_job(
                "m",
                spec={
                    "mpiReplicaSpecs": {
                        "Launcher": {"template": pod_template()},
                        "Ps": {"template": pod_template()},
                    }
                },
            ),
            "spec.mpiReplicaSpecs.Ps: is no replica type; use Launcher and Worker",
            id="an unknown replica type",
        ),
        pytest.param(
            mpi_job(
                "m",
                spec={"mpiReplicaSpecs": {"Launcher": {"replicas": 2, "template": pod_template()}}},
            ),
            "spec.mpiReplicaSpecs.Launcher.replicas: is 2; an MPIJob has one launcher",
            id="two launchers",
        ),
        pytest.param(
            mpi_job("m", -1),
            "spec.mpiReplicaSpecs.Worker.replicas: is -1; use a whole number of at least 0",
            id="a negative number of workers",
        ),
        pytest.param(
            mpi_job("m", run={"managedBy": "kueue.x-k8s.io/multikueue"}),
            "spec.runPolicy.managedBy: is 'kueue.x-k8s.io/multikueue': nothing in the member "
            "would make its pods; leave it out, or use kubeflow.org/mpi-operator",
            id="another controller",
        ),
    ],
)
def test_refused(obj, want):
    """What cannot be read is refused with object, field, reason and remedy."""
    problem = read(obj).problem

    assert (problem.code, problem.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert problem.detail == f"MPIJob.kubeflow.org team-a/m: {want}"


@pytest.mark.parametrize("role", ["launcher", "worker"])
def test_pods_are_known_by_their_role(role):
    """The operator's name and the role stand in labels."""
    labels = {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-role": role,
        "training.kubeflow.org/replica-index": "2",
    }
    pod = decode({"metadata": {"name": "x", "labels": labels}}, OwnedJob).metadata

    assert pod_set_of(pod) == role
    assert KIND.index(pod) == 2
