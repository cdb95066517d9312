"""Statuses of members' objects: their health, and the status that goes back."""

import pytest

from global_sched.embedded.karmada.interpreter.status import health_of, reflect
from tests.global_sched.embedded.karmada.interpreter.objects import (
    DEPLOYMENT,
    NOW,
    PYTORCH,
    VCJOB,
    obj,
    true,
)

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
