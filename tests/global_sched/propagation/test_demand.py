"""Replicas and requests of a template, as the binding shows them."""

import pytest

from global_sched.propagation.demand import demand_of, format_amount
from tests.global_sched.embedded.karmada.shapes import batch_job, deployment


def requests(**amounts):
    """A container with requests."""
    return {"name": "c", "resources": {"requests": amounts}}


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param({"containers": [{"name": "c"}]}, None, id="nothing asked for"),
        pytest.param(
            {"containers": [requests(cpu="100m", memory="128Mi"), requests(cpu="900m")]},
            {"resourceRequest": {"cpu": "1", "memory": "128Mi"}},
            id="containers add up, in canonical quantities",
        ),
        pytest.param(
            {
                "containers": [
                    {
                        "name": "c",
                        "resources": {
                            "requests": {"cpu": "500m"},
                            "limits": {"cpu": 4, "nvidia.com/gpu": "1"},
                        },
                    }
                ]
            },
            {"resourceRequest": {"cpu": "500m", "nvidia.com/gpu": "1"}},
            id="a limit stands in for a missing request",
        ),
        pytest.param(
            {"initContainers": [requests(cpu="3")], "containers": [requests(cpu="1")]},
            {"resourceRequest": {"cpu": "3"}},
            id="the largest init step counts",
        ),
        pytest.param(
            {
                "initContainers": [
                    requests(cpu="1") | {"restartPolicy": "Always"},
                    requests(cpu="2"),
                ],
                "containers": [requests(cpu="1")],
            },
            {"resourceRequest": {"cpu": "3"}},
            id="a sidecar adds to the steps after it",
        ),
        pytest.param(
            {"containers": [requests(cpu="1")], "overhead": {"cpu": "250m"}},
            {"resourceRequest": {"cpu": "1250m"}},
            id="overhead adds",
        ),
        pytest.param(
            {"containers": [requests(cpu="NaN", memory="1Gi")]},
            {"resourceRequest": {"memory": "1Gi"}},
            id="what is no quantity is left out",
        ),
        pytest.param(
            {
                "nodeSelector": {"type": "gpu"},
                "tolerations": [{"operator": "Exists"}],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
                    }
                },
                "priorityClassName": "high",
            },
            {
                "nodeClaim": {
                    "hardNodeAffinity": {"nodeSelectorTerms": []},
                    "nodeSelector": {"type": "gpu"},
                    "tolerations": [{"operator": "Exists"}],
                }
            },
            id="the node claim; the priority class only with a gate that is off",
        ),
    ],
)
def test_requirements(pod, want):
    """What one replica asks for."""
    assert demand_of(deployment(replicas=2, pod=pod)) == (2, want)


@pytest.mark.parametrize(
    ("template", "want"),
    [
        pytest.param(batch_job(parallelism=3, completions=5), (3, None), id="a batch Job"),
        pytest.param(
            batch_job(parallelism=8, completions=5), (5, None), id="no more than it needs"
        ),
        pytest.param(batch_job(parallelism=8, completions=None), (8, None), id="a work queue"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "spec": {}}, (1, None), id="a Pod"),
        pytest.param(
            {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {"tasks": []}},
            None,
            id="a Volcano Job says nothing",
        ),
        pytest.param(
            {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {}},
            None,
            id="nor does a PyTorchJob",
        ),
        pytest.param({"apiVersion": "v1", "kind": "ConfigMap"}, None, id="a ConfigMap"),
    ],
)
def test_replicas(template, want):
    """Replicas per kind; None where no hook is."""
    assert demand_of(template) == want


@pytest.mark.parametrize(
    ("value", "resource", "want"),
    [
        pytest.param(1500, "cpu", "1500m", id="parts of a CPU"),
        pytest.param(64000, "cpu", "64", id="whole CPUs"),
        pytest.param(4 * 2**40, "memory", "4Ti", id="memory in binary units"),
        pytest.param(1_500_000_000, "memory", "1500000000", id="memory that is no binary multiple"),
        pytest.param(64, "nvidia.com/gpu", "64", id="devices"),
        pytest.param(2000, "pods", "2k", id="counts in decimal units"),
        pytest.param(0, "cpu", "0", id="nothing"),
    ],
)
def test_format_amount(value, resource, want):
    """Amounts are spelled as the API spells them."""
    assert format_amount(value, resource) == want
