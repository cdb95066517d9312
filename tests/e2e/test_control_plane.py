"""The local control plane itself: what is up, who may speak, and a second `up`."""

import json

import pytest
import yaml
from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import Forbidden
from tests.e2e.conftest import VERSION
from tools.local_karmada.__main__ import main
from tools.local_karmada.options import Options


async def test_everything_works(federation):
    """Every process has said that it works, and every member is a Ready cluster."""
    rows = await federation.status()
    assert {one.name: one.state for one in rows if one.state != "works"} == {}
    assert federation.members == ("east", "west", "lingjun")


async def test_a_second_call_changes_nothing(federation):
    """What runs is left alone: the same processes afterwards."""
    before = {name: one.pid for name, one in federation.programs.items()}
    await federation.up(Options(karmada=VERSION))
    after = {name: one.pid for name, one in federation.programs.items()}
    assert after == before


def test_the_commands_of_the_page(federation, kubectl, capsys):
    """`make karmada-up` on what is up, `make karmada-status`, and `kubectl get clusters`."""
    state = ("--state", str(federation.state))

    assert main([*state, "up", "--karmada", VERSION]) == 0
    assert f"export KUBECONFIG={federation.kubeconfigs.admin}" in capsys.readouterr().out
    assert main([*state, "status"]) == 0
    assert "kube-apiserver" in capsys.readouterr().out
    assert all(name in kubectl("get", "clusters") for name in federation.members)


def test_nodes_are_those_of_the_examples(kubectl, federation):
    """Nodes and HyperNodes of the demo's topology files, all ready."""
    for name, nodes, domains in (("east", 12, 5), ("west", 4, 2), ("lingjun", 847, None)):
        kubeconfig = federation.kubeconfigs.members[name]
        found = json.loads(kubectl("get", "nodes", "-o", "json", kubeconfig=kubeconfig))["items"]
        assert len(found) == nodes
        for node in found:
            ready = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
            assert ready == ["True"]
            assert not node["spec"].get("taints")
        listed = json.loads(kubectl("get", "hypernodes", "-o", "json", kubeconfig=kubeconfig))
        assert domains is None or len(listed["items"]) == domains


def test_karmada_is_nobodys_administrator(federation):
    """Karmada's programs are users of their own; none is a member of system:masters."""
    certificates = federation.state / "pki"
    names = sorted(one.stem for one in certificates.glob("*.crt"))
    assert [one for one in names if "karmada" in one and "masters" in one] == []
    assert "system_karmada_karmada-controller-manager" in names


def test_a_person_without_rights_gets_none(federation, kubectl):
    """Certificates alone give nothing."""
    nobody = federation.user("nobody", ("nobodies",))
    said = kubectl("get", "resourcebindings", "-A", kubeconfig=nobody, check=False)
    assert 'User "nobody" cannot list resource "resourcebindings"' in said


async def test_a_kubeconfig_that_acts_as_another_user(federation, kubectl, tmp_path):
    """The server sees the same user as from kubectl, and judges by that user's rights."""
    content = yaml.safe_load(federation.kubeconfigs.admin.read_text())
    fields = {
        "as": "ann",
        "as-uid": "u-1",
        "as-groups": ["team-a", "team-b"],
        "as-user-extra": {"example.org/why": ["audit", "test"]},
    }
    for one in content["users"]:
        one["user"] |= fields
    path = tmp_path / "acting"
    path.write_text(yaml.safe_dump(content))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    clock = LoopClock()
    client = Client(await connect(kubeconfig=path, clock=clock), clock=clock)
    try:
        body = await client.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
        with pytest.raises(Forbidden, match='User "ann" cannot list resource "resourcebindings"'):
            await client.list(RESOURCE_BINDINGS)
    finally:
        await client.close()
    said = kubectl("auth", "whoami", "-o", "json", kubeconfig=path)

    seen = json.loads(body)["status"]["userInfo"]
    assert seen == json.loads(said)["status"]["userInfo"]
    assert (seen["username"], seen["uid"]) == ("ann", "u-1")
    assert seen["groups"] == ["team-a", "team-b", "system:authenticated"]
    assert seen["extra"] == {"example.org/why": ["audit", "test"]}


def test_gsched_shows_what_the_user_sees_that_it_acts_as(federation, tmp_path):
    """An administrator's credentials with `as` show no jobs that the named user may not see."""
    content = yaml.safe_load(federation.kubeconfigs.admin.read_text())
    for one in content["users"]:
        one["user"]["as"] = "ann"
    path = tmp_path / "acting"
    path.write_text(yaml.safe_dump(content))

    done = CliRunner().invoke(cli, ["--kubeconfig", str(path), "jobs"])

    assert done.exit_code == 1
    assert 'User "ann" cannot list resource' in done.stderr
    assert done.stdout == ""
