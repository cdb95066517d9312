"""Every manifest of deploy/ is accepted by the real API server that it is for."""

import pytest
import yaml

from global_sched.embedded.access import DEPLOY, manifests

PLACEHOLDERS = {"MEMBER": "east", "NAMESPACE": "default"}


@pytest.fixture
def dry_run(kubectl):
    """Apply on the server's side without keeping anything: what the server says of each object."""

    def run(text, server=None, *more):
        flags = ("--server-side", "--dry-run=server", "--force-conflicts")
        said = kubectl("apply", *flags, *more, "-f", "-", kubeconfig=server, stdin=text)
        return said.splitlines()

    return run


def applied(lines):
    """Objects that the server accepted."""
    return [one for one in lines if one.endswith(("serverside-applied (server dry run)",))]


def test_the_control_plane_takes_the_base(kubectl, dry_run):
    """Kinds, rights, admission policies, customizations (Karmada's webhook reads the scripts)."""
    text = kubectl("kustomize", str(DEPLOY / "control-plane"))

    assert len(applied(dry_run(text))) == len(list(yaml.safe_load_all(text)))


def test_the_control_plane_takes_an_agents_access(kubectl, dry_run, tmp_path):
    """An overlay with the member's namespace is all that is needed."""
    base = (DEPLOY / "member-agent/control-plane").resolve()
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "access.yaml").write_text((base / "access.yaml").read_text(encoding="utf-8"))
    kustomization = {"namespace": "karmada-es-east", "resources": ["access.yaml"]}
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    text = kubectl("kustomize", str(overlay))

    assert "MEMBER" not in text
    assert len(applied(dry_run(text))) == 3


def test_a_host_cluster_takes_the_scheduler(federation, kubectl, dry_run):
    """Deployment and what surrounds it, on an API server with all of Kubernetes' kinds."""
    member = federation.kubeconfigs.members["east"]
    kubectl("create", "namespace", "karmada-system", kubeconfig=member)
    try:
        text = kubectl("kustomize", str(DEPLOY / "global-sched/host"))
        assert len(applied(dry_run(text, member))) == 7
    finally:
        kubectl("delete", "namespace", "karmada-system", kubeconfig=member)


def test_a_member_takes_the_agent(federation, kubectl, dry_run):
    """Rights, Deployment and what surrounds it."""
    text = kubectl("kustomize", str(DEPLOY / "member-agent")).replace("MEMBER", "east")

    lines = dry_run(text, federation.kubeconfigs.members["east"])

    assert len(applied(lines)) == len(list(yaml.safe_load_all(text)))


def test_pods_pass_the_restricted_standard(federation, kubectl, dry_run):
    """The member's namespace enforces it, and the API server warns of nothing."""
    member = federation.kubeconfigs.members["east"]
    text = kubectl("kustomize", str(DEPLOY / "member-agent")).replace("MEMBER", "east")
    found = [one for one in yaml.safe_load_all(text) if one["kind"] == "Deployment"]
    pod = found[0]["spec"]["template"]
    pod |= {"apiVersion": "v1", "kind": "Pod"}
    pod["metadata"] |= {"name": "agent", "namespace": "restricted"}
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "restricted",
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    }
    kubectl("apply", "-f", "-", kubeconfig=member, stdin=yaml.safe_dump(space))
    try:
        # Classes are looked up on admission; this one comes with the manifests.
        pod["spec"].pop("priorityClassName")
        assert applied(dry_run(yaml.safe_dump(pod), member))
        pod["spec"]["securityContext"]["runAsNonRoot"] = False
        with pytest.raises(AssertionError, match='violates PodSecurity "restricted'):
            dry_run(yaml.safe_dump(pod), member)
    finally:
        kubectl("delete", "namespace", "restricted", kubeconfig=member)


@pytest.mark.parametrize(
    "path", sorted((DEPLOY / "policies").glob("[!k]*.yaml")), ids=lambda one: one.stem
)
def test_the_control_plane_takes_policies(dry_run, path):
    """Those that every user wants, and those that are copied and filled in."""
    text = yaml.safe_dump_all(manifests(path, PLACEHOLDERS))

    assert len(applied(dry_run(text))) == 1


def test_the_control_plane_takes_tenants_rights(dry_run):
    """Roles and bindings of one tenant."""
    text = yaml.safe_dump_all(manifests(DEPLOY / "tenants/viewer.yaml", PLACEHOLDERS))

    assert len(applied(dry_run(text))) == 4
