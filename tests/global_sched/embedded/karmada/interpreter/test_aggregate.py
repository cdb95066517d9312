"""The template's status, made of the statuses of all members, per kind."""

import pytest

from global_sched.embedded.karmada.interpreter.status import aggregate
from tests.global_sched.embedded.karmada.interpreter.objects import (
    DEPLOYMENT,
    NOW,
    PYTORCH,
    VCJOB,
    item,
    obj,
    told,
    true,
)


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
