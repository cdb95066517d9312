"""Names are those that a real Karmada gives."""

import pytest

from global_sched.propagation.naming import (
    binding_name,
    is_propagated_namespace,
    is_reserved,
    work_name,
)


@pytest.mark.parametrize(
    ("kind", "name", "want"),
    [
        pytest.param("Deployment", "web", "web-deployment", id="name and kind in lower case"),
        pytest.param("ClusterRole", "system:Admin", "system.admin-clusterrole", id="a colon"),
        pytest.param("Job", "train", "train-job", id="the group is not part of it"),
    ],
)
def test_binding_name(kind, name, want):
    """A binding's name comes from its template's name and kind."""
    assert binding_name(kind, name) == want


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "want"),
    [
        pytest.param("Deployment", "web", "team-a", "web-5478c967bc", id="recorded: web"),
        pytest.param("Job", "sweep", "team-a", "sweep-6bf684dd85", id="recorded: a batch Job"),
        pytest.param("Job", "train", "team-a", "train-5c696874c9", id="recorded: a Volcano Job"),
        pytest.param("Namespace", "team-a", "", "team-a-5cc7c7959b", id="recorded: a namespace"),
    ],
)
def test_work_name(kind, name, namespace, want):
    """A Work's name is the manifest's with a hash; recorded ones come out again."""
    assert work_name(kind, name, namespace) == want


@pytest.mark.parametrize(
    ("namespace", "want_reserved", "want_propagated"),
    [
        pytest.param("team-a", False, True, id="a user's namespace"),
        pytest.param("default", False, False, id="default exists everywhere already"),
        pytest.param("kube-system", True, False, id="Kubernetes' own"),
        pytest.param("karmada-es-member1", True, False, id="Karmada's own"),
    ],
)
def test_namespaces(namespace, want_reserved, want_propagated):
    """What is in a reserved namespace stays on the control plane."""
    assert is_reserved(namespace) is want_reserved
    assert is_propagated_namespace(namespace) is want_propagated
