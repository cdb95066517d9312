"""The local control plane itself: what is up, who may speak, and a second `up`."""

import json

from deploy.local.options import Options
from tests.e2e.conftest import VERSION


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
