"""Manifests that the supervisor applies: rights of users, and stages that play kubelets."""

from pathlib import Path

import pytest
import yaml

from global_sched.shared.api.names import EXIT_CODE, FAIL_ONCE, RUN_SECONDS
from tools.local_karmada import access, identities, kwok, objects
from tools.local_karmada.karmada import USER
from tools.local_karmada.karmada_objects import our_definitions
from tools.local_karmada.servers import CONTROL_PLANE

MANIFESTS = Path(access.__file__).parent / "manifests"


def test_nobody_is_an_administrator():
    """No rule that the supervisor adds on the control plane may bind, escalate or impersonate."""
    folder = MANIFESTS
    verbs = {
        verb
        for obj in objects.read(folder / "karmada-users.yaml")
        for rule in obj.get("rules") or ()
        for verb in rule["verbs"]
    }
    assert verbs.isdisjoint({"*", "bind", "escalate", "impersonate", "approve", "sign"})


def test_every_user_of_karmada_has_rules():
    """Each program's user is bound, and each binding is for a user that exists."""
    found = objects.read(MANIFESTS / "karmada-users.yaml")
    bound = {one["name"] for obj in found for one in obj.get("subjects") or ()}
    users = {one for one in identities._CONTROL_PLANE_USERS if one.startswith(USER)}
    assert bound == users


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        pytest.param(access.GLOBAL_SCHED, {"ServiceAccount", "ClusterRole"}, id="global-sched"),
        pytest.param(access.AGENT_CONTROL_PLANE, {"ServiceAccount", "Role"}, id="agent, here"),
        pytest.param(access.AGENT_MEMBER, {"ServiceAccount", "ClusterRole"}, id="agent, there"),
        pytest.param(access.AGENT_JOBS, {"ClusterRole", "ClusterRoleBinding"}, id="its jobs"),
    ],
)
def test_rights_come_from_the_shipped_manifests(path, kinds):
    """Accounts and rules are taken, Deployments are not: programs are processes here."""
    found = [one["kind"] for one in access.rights(path, "m1")]
    assert kinds <= set(found)
    assert set(found) <= set(access._KINDS)
    assert found == sorted(found, key=access._KINDS.index)


def test_members_get_no_kinds_of_the_federation():
    """Tenants, reports and Directives are the control plane's."""
    groups = {one["spec"]["group"] for one in our_definitions(member=True)}
    assert "federation.global-sched.io" not in groups
    kinds = {"batch.volcano.sh", "topology.volcano.sh", "kubeflow.org", "leaderworkerset.x-k8s.io"}
    assert kinds <= groups


def test_stages_know_the_annotations_of_the_embedded_members():
    """A job asks for run times and failures in the same words in both worlds."""
    text = yaml.safe_dump_all(kwok.stages())
    for name in (RUN_SECONDS, EXIT_CODE, FAIL_ONCE):
        assert name in text
    names = [one["metadata"]["name"] for one in kwok.stages()]
    assert len(set(names)) == len(names)


def test_karmada_is_no_shared_user():
    """The control plane's users are one per program."""
    assert len(set(identities._CONTROL_PLANE_USERS)) == len(identities._CONTROL_PLANE_USERS)
    assert CONTROL_PLANE not in identities._CONTROL_PLANE_USERS
