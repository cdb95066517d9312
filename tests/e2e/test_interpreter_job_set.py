"""Karmada's handling of JobSets once our customization is there."""

import pytest

from tests.e2e.interpreting import Interpreter
from tests.wire_templates import job_set, pod_template, replicated_job, stripped


@pytest.fixture
def interpret(karmadactl, tmp_path):
    return Interpreter(karmadactl, tmp_path, "job-set.yaml")


def told(**status):
    """One copy's item."""
    return {"applied": True, "clusterName": "m", "health": "Healthy", "status": status}


def plain(*parts):
    """A JobSet as its user wrote it."""
    return stripped(job_set("steps", *(parts or (replicated_job("a"),))))


def test_what_is_defined(interpret):
    """No replicas: a gang goes whole to one cluster."""
    found = interpret.check()

    assert {name for name, verdict in found.items() if verdict == "PASS"} == {
        "AggregateStatus",
        "InterpretHealth",
        "InterpretDependency",
    }


@pytest.mark.parametrize(
    ("items", "want"),
    [
        pytest.param([told(restarts=2)], {"restarts": 2}, id="the copy's status"),
        pytest.param(
            [told(terminalState="Failed"), told(restarts=1)],
            {"restarts": 1},
            id="of two that of the one that has not ended",
        ),
    ],
)
def test_the_status_of_the_template(interpret, items, want):
    """It is the copy's."""
    assert interpret("AggregateStatus", desired=plain(), status=items)["status"] == want


@pytest.mark.parametrize(("kind", "want"), [("Failed", False), ("Completed", True)])
def test_health(interpret, kind, want):
    """Only a set that failed is ill."""
    status = {"conditions": [{"type": kind, "status": "True"}]}

    assert interpret("InterpretHealth", observed=plain() | {"status": status}) is want


def test_what_the_pods_of_every_part_refer_to(interpret):
    """Each once."""
    pod = pod_template(volumes=[{"name": "v", "configMap": {"name": "settings"}}])
    parts = [replicated_job(name, template=pod) for name in ("a", "b")]

    assert interpret("InterpretDependency", desired=plain(*parts)) == [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "namespace": "team-a"}
    ]
