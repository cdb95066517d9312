"""Objects that Karmada installs, read from its module and never copied from there."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from global_sched.shared.kinds.crds import WORKLOADS
from tools.local_karmada import objects
from tools.local_karmada.errors import LocalError
from tools.local_karmada.options import ROOT
from tools.local_karmada.servers import CONTROL_PLANE, Site

Obj = dict[str, Any]
_HERE: Final = Path(__file__).parent / "manifests"
_WEBHOOK: Final = "https://karmada-webhook.karmada-system.svc:443"
_NAMESPACES: Final = ("karmada-system", "karmada-cluster")
_GROUPS: Final = (
    "federation.global-sched.io",
    "scheduling.volcano.sh",
    "topology.volcano.sh",
    *sorted({one.resource.group for one in WORKLOADS}),
)


def karmada_definitions(module: Path) -> list[Obj]:
    """Karmada's own kinds, as its chart lists them.

    The chart also patches two of them for conversion to a version that is never stored; that
    needs a webhook host of its own and is left out.
    """
    folder = module / "charts" / "karmada" / "_crds"
    try:
        listed = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
        return [obj for name in listed["resources"] for obj in objects.read(folder / name)]
    except (OSError, KeyError, yaml.YAMLError) as error:
        raise LocalError(f"Karmada's module has no kinds in {folder}: {error}") from error


def our_definitions(*, member: bool) -> list[Obj]:
    """Our kinds and those of others from `crds/`; a member has none of the federation's."""
    found = [
        obj
        for path in sorted((ROOT / "crds").glob("*.yaml"))
        if path.name.startswith(_GROUPS)
        for obj in objects.read(path)
    ]
    if not member:
        return found
    return [one for one in found if not one["spec"]["group"].startswith("federation.")]


def webhooks(site: Site, module: Path) -> list[Obj]:
    """Karmada's webhook configuration, with the address where the webhook listens here."""
    port = site.ledger.port("karmada-webhook")
    path = module / "artifacts" / "deploy" / "webhook-configuration.yaml"
    bundle = base64.b64encode(site.authority.ca.cert.read_bytes()).decode()
    local = {_WEBHOOK: f"https://127.0.0.1:{port}", "{{caBundle}}": bundle}
    found = objects.read(path, local)
    if any(_WEBHOOK in str(one) for one in found) or not found:
        raise LocalError(f"{path} names another webhook host than {_WEBHOOK}")
    return found


def namespaces() -> list[Obj]:
    """Where Karmada keeps its things."""
    return [_named("v1", "Namespace", name) for name in _NAMESPACES]


def access(module: Path) -> list[Obj]:
    """Karmada's roles for people, and what its programs may do here."""
    deploy = module / "artifacts" / "deploy"
    found: list[Obj] = []
    for name in ("admin-clusterrole-aggregation.yaml", "cluster-proxy-admin-rbac.yaml"):
        path = deploy / name
        found += objects.read(path) if path.is_file() else []
    return [*found, *objects.read(_HERE / "karmada-users.yaml")]


def aggregated_api(site: Site) -> list[Obj]:
    """The group `cluster.karmada.io`, served by a process of this machine."""
    port = site.ledger.port("karmada-aggregated-apiserver")
    name, space = "karmada-aggregated-apiserver", "karmada-system"
    service = _named("v1", "Service", name, space)
    service["spec"] = {"type": "ExternalName", "externalName": "localhost"}
    api = _named("apiregistration.k8s.io/v1", "APIService", "v1alpha1.cluster.karmada.io")
    api["spec"] = {
        "caBundle": base64.b64encode(site.authority.ca.cert.read_bytes()).decode(),
        "group": "cluster.karmada.io",
        "groupPriorityMinimum": 2000,
        "service": {"name": name, "namespace": space, "port": port},
        "version": "v1alpha1",
        "versionPriority": 10,
    }
    return [service, api]


def estimators(site: Site, members: Sequence[str]) -> list[Obj]:
    """Where the descheduler finds the estimator of each member."""
    found = []
    for name in members:
        service = _named("v1", "Service", f"karmada-scheduler-estimator-{name}", "karmada-system")
        port = site.ledger.port(f"{name}/karmada-scheduler-estimator")
        service["spec"] = {
            "type": "ExternalName",
            "externalName": "localhost",
            "ports": [{"port": 10352, "targetPort": port}],
        }
        found.append(service)
    return found


async def install(site: Site, module: Path) -> None:
    """Everything that the control plane needs before its controllers start."""
    await objects.apply(site, CONTROL_PLANE, namespaces())
    kinds = [*karmada_definitions(module), *our_definitions(member=False)]
    await objects.define(site, CONTROL_PLANE, kinds)
    await objects.apply(site, CONTROL_PLANE, [*access(module), *aggregated_api(site)])


def _named(version: str, kind: str, name: str, namespace: str = "") -> Obj:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": meta}
