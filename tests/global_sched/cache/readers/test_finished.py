"""The end of a workload, as far as Karmada collected it from its clusters."""

import pytest

from global_sched.cache.readers.bindings import is_finished
from global_sched.shared.api.karmada import AggregatedStatusItem

VOLCANO = ("batch.volcano.sh/v1alpha1", "Job")
BATCH = ("batch/v1", "Job")
PYTORCH = ("kubeflow.org/v1", "PyTorchJob")


def phase(name):
    """A Volcano Job's status."""
    return {"state": {"phase": name}}


def condition(kind, status="True"):
    """A status with one condition."""
    return {"conditions": [{"type": kind, "status": status}]}


@pytest.mark.parametrize(
    ("kind", "status", "want"),
    [
        *(
            pytest.param(VOLCANO, phase(one), True, id=f"Volcano Job {one}")
            for one in ("Completed", "Failed", "Terminated", "Aborted")
        ),
        *(
            pytest.param(VOLCANO, phase(one), False, id=f"Volcano Job {one}")
            for one in ("Pending", "Running", "Restarting", "Completing", "Terminating", "Aborting")
        ),
        pytest.param(BATCH, condition("Complete"), True, id="a complete Job"),
        pytest.param(BATCH, condition("Failed"), True, id="a failed Job"),
        pytest.param(BATCH, condition("Complete", "False"), False, id="a Job that is not complete"),
        pytest.param(BATCH, condition("Suspended"), False, id="a suspended Job"),
        pytest.param(BATCH, condition("FailureTarget"), False, id="a Job whose pods still end"),
        pytest.param(BATCH, condition("SuccessCriteriaMet"), False, id="a Job that will complete"),
        pytest.param(PYTORCH, condition("Succeeded"), True, id="a PyTorchJob that succeeded"),
        pytest.param(PYTORCH, condition("Failed"), True, id="a PyTorchJob that failed"),
        pytest.param(PYTORCH, condition("Running"), False, id="a PyTorchJob that runs"),
        pytest.param(("apps/v1", "Deployment"), condition("Failed"), False, id="a service"),
        pytest.param(VOLCANO, {"state": "Completed"}, False, id="a state of another type"),
        pytest.param(BATCH, {"conditions": ["Complete"]}, False, id="conditions of another type"),
        pytest.param(BATCH, {"conditions": 5}, False, id="no list of conditions"),
    ],
)
def test_ends_by_kind(kind, status, want):
    """Only what a kind's own controller says at the very end is an end."""
    item = AggregatedStatusItem(cluster_name="m1", status=status)

    assert is_finished(*kind, [item], ["m1"]) is want


@pytest.mark.parametrize(
    ("items", "want"),
    [
        pytest.param(None, False, id="nothing collected"),
        pytest.param([("m1", None)], False, id="no status yet"),
        pytest.param([("m2", phase("Failed"))], False, id="a copy that was withdrawn"),
        pytest.param([("m2", phase("Failed")), ("m1", phase("Running"))], False, id="and one runs"),
        pytest.param([("m2", phase("Running")), ("m1", phase("Completed"))], True, id="ended here"),
    ],
)
def test_only_the_bindings_clusters_count(items, want):
    """The copy in a cluster that is being left says nothing."""
    found = items and [AggregatedStatusItem(cluster_name=c, status=s) for c, s in items]

    assert is_finished(*VOLCANO, found, ["m1"]) is want
