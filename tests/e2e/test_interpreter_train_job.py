"""Karmada's handling of TrainJobs once our customization is there."""

import pytest

from tests.e2e.interpreting import Interpreter
from tests.wire_templates import stripped, train_job


@pytest.fixture
def interpret(karmadactl, tmp_path):
    return Interpreter(karmadactl, tmp_path, "train-job.yaml")


def ended(kind):
    """A status with that condition."""
    return {"conditions": [{"type": kind, "status": "True"}]}


def item(status):
    """One copy's item."""
    return {"applied": True, "clusterName": "m", "health": "Healthy", "status": status}


def plain(**fields):
    """A TrainJob as its user wrote it."""
    return stripped(train_job("align", **fields))


def test_what_is_defined(interpret):
    """No replicas: a gang goes whole to one cluster."""
    found = interpret.check()

    assert {name for name, verdict in found.items() if verdict == "PASS"} == {
        "AggregateStatus",
        "InterpretHealth",
        "InterpretDependency",
    }


@pytest.mark.parametrize(
    ("statuses", "want"),
    [
        pytest.param([ended("Complete")], ended("Complete"), id="the copy's status"),
        pytest.param(
            [ended("Failed"), ended("Suspended")],
            ended("Suspended"),
            id="of two that of the one that has not ended",
        ),
    ],
)
def test_the_status_of_the_template(interpret, statuses, want):
    """It is the copy's."""
    items = [item(one) for one in statuses]

    assert interpret("AggregateStatus", desired=plain(), status=items)["status"] == want


@pytest.mark.parametrize(("kind", "want"), [("Failed", False), ("Complete", True)])
def test_health(interpret, kind, want):
    """Only a job that failed is ill."""
    assert interpret("InterpretHealth", observed=plain() | {"status": ended(kind)}) is want


API = {"apiVersion": "trainer.kubeflow.org/v1alpha1"}
CORE = {"apiVersion": "v1", "namespace": "team-a"}


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(
            plain(),
            [API | {"kind": "ClusterTrainingRuntime", "name": "torch"}],
            id="a runtime for all namespaces",
        ),
        pytest.param(
            plain(
                kind="TrainingRuntime",
                spec={
                    "initializer": {"model": {"secretRef": {"name": "token"}}},
                    "podTemplateOverrides": [
                        {
                            "targetJobs": [{"name": "node"}],
                            "spec": {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]},
                        }
                    ],
                },
            ),
            [
                API | {"kind": "TrainingRuntime", "name": "torch", "namespace": "team-a"},
                CORE | {"kind": "Secret", "name": "token"},
                CORE | {"kind": "ConfigMap", "name": "settings"},
            ],
            id="one of the namespace, and what the job names itself",
        ),
    ],
)
def test_what_travels_with_it(interpret, job, want):
    """Trainer in the member needs the runtime before the job."""
    found = interpret("InterpretDependency", desired=job)

    assert sorted(found, key=lambda one: one["name"]) == sorted(want, key=lambda one: one["name"])
