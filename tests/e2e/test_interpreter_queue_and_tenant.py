"""Karmada's handling of Queues and Tenants once our customizations are there."""

import pytest

from tests.e2e.interpreting import Interpreter


def queue(state=None, **spec):
    """A Queue."""
    status = {} if state is None else {"status": {"state": state, "running": 2, "pending": 1}}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "research"},
        "spec": spec,
        **status,
    }


def tenant(**status):
    """A Tenant."""
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "Tenant",
        "metadata": {"name": "vision"},
        "spec": {"weight": 2},
        **({"status": status} if status else {}),
    }


@pytest.fixture
def of_queue(karmadactl, tmp_path):
    return Interpreter(karmadactl, tmp_path, "volcano-queue.yaml")


@pytest.fixture
def of_tenant(karmadactl, tmp_path):
    return Interpreter(karmadactl, tmp_path, "tenant.yaml")


@pytest.mark.parametrize(
    ("file", "want"),
    [
        ("volcano-queue.yaml", {"Retain", "InterpretStatus", "InterpretHealth"}),
        ("tenant.yaml", {"InterpretStatus", "InterpretHealth"}),
    ],
)
def test_the_status_on_the_control_plane_is_not_karmadas(karmadactl, tmp_path, file, want):
    """global-sched writes it for the whole federation: no operation aggregates."""
    found = Interpreter(karmadactl, tmp_path, file).check()

    assert {name for name, verdict in found.items() if verdict == "PASS"} == want
    assert found["AggregateStatus"] == "UNSET"


def test_a_queue_keeps_what_volcano_filled_in(of_queue):
    """Volcano refuses a Queue without a weight."""
    observed = queue(weight=1, reclaimable=True, parent="root", capability={"cpu": "9"})

    retained = of_queue("Retain", desired=queue(capability={"cpu": "4"}), observed=observed)

    assert retained["spec"] == {
        "weight": 1,
        "reclaimable": True,
        "parent": "root",
        "capability": {"cpu": "4"},
    }


def test_what_a_queue_says_wins(of_queue):
    """A limit that the template takes back goes in the member, too."""
    desired = queue(weight=5, reclaimable=False)
    observed = queue(weight=1, reclaimable=True, guarantee={"resource": {"cpu": "1"}})

    assert of_queue("Retain", desired=desired, observed=observed)["spec"] == {
        "weight": 5,
        "reclaimable": False,
    }


def test_a_binding_shows_what_each_member_says_of_a_queue(of_queue):
    """State and counts."""
    assert of_queue("InterpretStatus", observed=queue("Open", weight=1)) == {
        "state": "Open",
        "running": 2,
        "pending": 1,
    }
    assert of_queue("InterpretStatus", observed=queue(weight=1)) == {}


@pytest.mark.parametrize(
    ("state", "want"),
    [
        pytest.param(None, True, id="no Volcano there writes a state"),
        pytest.param("Open", True, id="it takes work"),
        pytest.param("Closing", False, id="it takes none any more"),
        pytest.param("Closed", False, id="it takes none"),
        pytest.param("Unknown", False, id="nobody knows"),
    ],
)
def test_a_queue_is_healthy_while_it_takes_work(of_queue, state, want):
    """Healthy in a member means that jobs can be admitted there."""
    assert of_queue("InterpretHealth", observed=queue(state, weight=1)) is want


def test_a_binding_shows_what_a_federation_below_says_of_a_tenant(of_tenant):
    """Counts, share and conditions."""
    ready = {"type": "Ready", "status": "True"}
    status = {"admitted": 3, "pending": 1, "dominantShare": "0.25", "conditions": [ready]}

    assert of_tenant("InterpretStatus", observed=tenant(**status)) == status
    assert of_tenant("InterpretStatus", observed=tenant()) == {}


@pytest.mark.parametrize(
    ("conditions", "want"),
    [
        pytest.param([], True, id="the leader there has not said anything"),
        pytest.param([{"type": "Ready", "status": "True"}], True, id="it is ready"),
        pytest.param([{"type": "Ready", "status": "False"}], False, id="it is not"),
        pytest.param([{"type": "Other", "status": "False"}], True, id="something else is not"),
    ],
)
def test_a_tenant_is_healthy_unless_it_is_not_ready(of_tenant, conditions, want):
    """Only the condition Ready counts."""
    observed = tenant(admitted=0, conditions=conditions)

    assert of_tenant("InterpretHealth", observed=observed) is want
