"""Health, collected status and the template's status, per kind."""

import pytest

from global_sched.embedded.karmada.interpreter.aggregate import aggregate
from global_sched.embedded.karmada.interpreter.health import health_of
from global_sched.embedded.karmada.interpreter.reflect import reflect

NOW = "2026-01-01T00:00:00Z"
VCJOB = ("batch.volcano.sh/v1alpha1", "Job")
PYTORCH = ("kubeflow.org/v1", "PyTorchJob")


def obj(kind, status=None, *, generation=1, **spec):
    """A raw object of some kind."""
    meta = {
        "name": "x",
        "namespace": "n",
        "generation": generation,
        "annotations": {"resourcetemplate.karmada.io/generation": "3"},
    }
    made = {"apiVersion": kind[0], "kind": kind[1], "metadata": meta, "spec": spec}
    return made if status is None else made | {"status": status}


def item(cluster, status, health="Healthy"):
    """An aggregatedStatus entry."""
    return {"clusterName": cluster, "applied": True, "health": health, "status": status}


def true(kind):
    """A condition that is true."""
    return {"type": kind, "status": "True"}


def told(kind, reason, message):
    """A condition that says why and since when."""
    times = {"lastUpdateTime": NOW, "lastTransitionTime": NOW}
    return true(kind) | {"reason": reason, "message": message} | times


DEPLOYMENT = ("apps/v1", "Deployment")
ROLLED_OUT = {"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2}


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(obj(DEPLOYMENT, ROLLED_OUT, replicas=2), "Healthy", id="rolled out"),
        pytest.param(obj(DEPLOYMENT, ROLLED_OUT, replicas=3), "Unhealthy", id="one too few"),
        pytest.param(obj(DEPLOYMENT, ROLLED_OUT, generation=2), "Unhealthy", id="not observed"),
        pytest.param(
            obj(VCJOB, {"state": {"phase": "Pending"}}),
            "Healthy",
            id="a Volcano Job that waits is healthy",
        ),
        pytest.param(obj(VCJOB, {"state": {"phase": "Failed"}}), "Unhealthy", id="one that failed"),
        pytest.param(obj(VCJOB), "Unhealthy", id="one without a status"),
        pytest.param(obj(PYTORCH, {"conditions": [true("Running")]}), "Healthy", id="training"),
        pytest.param(obj(PYTORCH, {"conditions": [true("Failed")]}), "Unhealthy", id="failed"),
        pytest.param(obj(PYTORCH), "Unhealthy", id="not started"),
        pytest.param(obj(("batch/v1", "Job"), {"failed": 1}), "Healthy", id="no rule for a Job"),
        pytest.param(obj(("v1", "Pod"), {"phase": "Succeeded"}), "Healthy", id="a Pod that ended"),
        pytest.param(obj(("v1", "Pod"), {"phase": "Running"}), "Unhealthy", id="one not ready"),
        pytest.param(
            obj(("v1", "PersistentVolumeClaim"), {"phase": "Pending"}),
            "Unhealthy",
            id="an unbound claim",
        ),
        pytest.param(
            obj(("v1", "Service"), {}, type="LoadBalancer"),
            "Unhealthy",
            id="a load balancer without an address",
        ),
    ],
)
def test_health(given, want):
    """Healthy as Karmada's interpreter says, which is not the same as running."""
    assert health_of(given) == want


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            obj(DEPLOYMENT, {"replicas": 2, "readyReplicas": 0, "conditions": [true("x")]}),
            {"generation": 1, "resourceTemplateGeneration": 3, "replicas": 2},
            id="a Deployment: counts and generations, no conditions",
        ),
        pytest.param(
            obj(("apps/v1", "StatefulSet"), {"observedGeneration": 1, "currentReplicas": 1}),
            {
                "generation": 1,
                "resourceTemplateGeneration": 3,
                "availableReplicas": 0,
                "replicas": 0,
                "currentReplicas": 1,
            },
            id="a StatefulSet: two counts always, never what it observed",
        ),
        pytest.param(
            obj(("batch/v1", "Job"), {"active": 1, "ready": 1, "uncountedTerminatedPods": {}}),
            {"active": 1},
            id="a Job: not what only its controller needs",
        ),
        pytest.param(
            obj(
                VCJOB, {"pending": 0, "running": 3, "taskStatusCount": {}, "state": {"phase": "R"}}
            ),
            {"running": 3, "state": {"phase": "R"}},
            id="a Volcano Job: nothing empty",
        ),
        pytest.param(
            obj(PYTORCH, {"startTime": NOW}),
            {"startTime": NOW},
            id="kinds without a hook: everything",
        ),
        pytest.param(obj(DEPLOYMENT), None, id="nothing to say"),
    ],
)
def test_reflect(given, want):
    """What goes back to the control plane."""
    assert reflect(given) == want


@pytest.mark.parametrize(
    ("kind", "old", "items", "want"),
    [
        pytest.param(
            DEPLOYMENT,
            {"observedGeneration": 1, "replicas": 9},
            [
                item(
                    "a",
                    {
                        "replicas": 3,
                        "generation": 2,
                        "observedGeneration": 2,
                        "resourceTemplateGeneration": 2,
                    },
                ),
                item(
                    "b",
                    {
                        "replicas": 1,
                        "unavailableReplicas": 1,
                        "generation": 1,
                        "observedGeneration": 1,
                        "resourceTemplateGeneration": 2,
                    },
                ),
            ],
            {"observedGeneration": 2, "replicas": 4, "unavailableReplicas": 1},
            id="a Deployment that every member has observed",
        ),
        pytest.param(
            DEPLOYMENT,
            {"observedGeneration": 1},
            [
                item(
                    "a",
                    {
                        "replicas": 3,
                        "generation": 2,
                        "observedGeneration": 1,
                        "resourceTemplateGeneration": 2,
                    },
                )
            ],
            {"observedGeneration": 1, "replicas": 3},
            id="one that a member has not observed yet",
        ),
        pytest.param(
            ("apps/v1", "StatefulSet"),
            {},
            [
                item(
                    "a",
                    {
                        "replicas": 2,
                        "availableReplicas": 0,
                        "resourceTemplateGeneration": 2,
                        "generation": 1,
                    },
                )
            ],
            {"availableReplicas": 0, "replicas": 2},
            id="a StatefulSet's observed generation never moves",
        ),
        pytest.param(
            VCJOB,
            {},
            [
                item(
                    "a",
                    {
                        "running": 2,
                        "minAvailable": 2,
                        "version": 3,
                        "runningDuration": "59s",
                        "taskStatusCount": {"w": {"phase": {"Running": 2}}},
                    },
                ),
                item(
                    "b",
                    {
                        "running": 1,
                        "minAvailable": 1,
                        "version": 1,
                        "runningDuration": "1m1s",
                        "state": {"phase": "Running"},
                        "taskStatusCount": {"w": {"phase": {"Running": 1}}},
                    },
                ),
            ],
            {
                "running": 3,
                "minAvailable": 3,
                "version": 3,
                "runningDuration": "1m1s",
                "state": {"phase": "Running"},
                "taskStatusCount": {"w": {"phase": {"Running": 3}}},
            },
            id="Volcano Jobs add up",
        ),
        pytest.param(
            PYTORCH,
            {},
            [
                item(
                    "a",
                    {
                        "startTime": NOW,
                        "completionTime": NOW,
                        "conditions": [true("Succeeded")],
                        "replicaStatuses": {"Worker": {"succeeded": 2}},
                    },
                )
            ],
            {
                "startTime": NOW,
                "completionTime": NOW,
                "replicaStatuses": {"Worker": {"succeeded": 2}},
                "conditions": [
                    true("Succeeded")
                    | {
                        "reason": "PyTorchJobSucceeded",
                        "message": "PyTorchJob is successfully completed.",
                        "lastUpdateTime": NOW,
                        "lastTransitionTime": NOW,
                    }
                ],
            },
            id="a PyTorchJob that ended everywhere",
        ),
        pytest.param(
            PYTORCH,
            {},
            [
                item(
                    "a",
                    {
                        "startTime": NOW,
                        "conditions": [
                            true("Created"),
                            true("Running") | {"lastUpdateTime": NOW, "lastTransitionTime": NOW},
                        ],
                        "replicaStatuses": {"Worker": {"active": 2}},
                    },
                )
            ],
            {
                "startTime": NOW,
                "replicaStatuses": {"Worker": {"active": 2}},
                "conditions": [
                    told("Created", "PyTorchJobCreated", "PyTorchJob is created."),
                    told("Running", "PyTorchJobRunning", "PyTorchJob is running."),
                ],
            },
            id="a PyTorchJob that runs says so on the control plane",
        ),
        pytest.param(
            PYTORCH,
            {},
            [
                item(
                    "a",
                    {
                        "completionTime": NOW,
                        "conditions": [
                            true("Running") | {"lastUpdateTime": NOW, "lastTransitionTime": NOW},
                            true("Failed"),
                        ],
                    },
                )
            ],
            {
                "conditions": [
                    told("Running", "PyTorchJobRunning", "PyTorchJob is running.")
                    | {"status": "False"},
                    told(
                        "Failed",
                        "PyTorchJobFailed",
                        "PyTorchJob executed failed in member clusters: a",
                    ),
                ],
            },
            id="a PyTorchJob that failed no longer runs",
        ),
        pytest.param(("v1", "ConfigMap"), {}, [], None, id="kinds without a status"),
    ],
)
def test_aggregate(kind, old, items, want):
    """Statuses of all members become the template's."""
    assert aggregate(obj(kind, old, generation=2), items, NOW) == want


@pytest.mark.parametrize(
    ("items", "want"),
    [
        pytest.param(
            [item("a", {"active": 1}), item("b", {"conditions": [true("Complete")]})],
            [],
            id="one still runs",
        ),
        pytest.param(
            [item("a", {"conditions": [true("Failed")]}), item("b", {"active": 1})],
            ["Failed"],
            id="one failure fails the whole",
        ),
        pytest.param(
            [item("a", {"conditions": [true("FailureTarget"), true("Failed")]})],
            ["FailureTarget", "Failed"],
            id="the target comes before the failure",
        ),
        pytest.param(
            [item("a", {"conditions": [true("SuccessCriteriaMet"), true("Complete")]})],
            ["Complete", "SuccessCriteriaMet"],
            id="complete everywhere",
        ),
    ],
)
def test_batch_jobs_end_together(items, want):
    """A Job is complete when all its parts are, and failed when one is."""
    status = aggregate(obj(("batch/v1", "Job"), {}), items, NOW)

    assert [one["type"] for one in status.get("conditions", [])] == want


def test_a_finished_job_stays_finished():
    """Once finished, a template's status is never written again."""
    done = {"conditions": [true("Complete")], "succeeded": 3}

    assert aggregate(obj(("batch/v1", "Job"), done), [item("a", {"active": 1})], NOW) == done
