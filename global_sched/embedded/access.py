"""The rights that the manifests of `deploy/` give, applied to embedded servers."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from global_sched.shared.api import yaml_text
from global_sched.shared.api.resource import NAMESPACES, SERVICE_ACCOUNTS, Resource
from global_sched.shared.assets import asset
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists

Obj = dict[str, Any]
DEPLOY: Final = asset("deploy")
_RBAC: Final = "rbac.authorization.k8s.io"
_ROLES: Final = Resource(_RBAC, "v1", "roles", "Role")
_ROLE_BINDINGS: Final = Resource(_RBAC, "v1", "rolebindings", "RoleBinding")
_CLUSTER_ROLES: Final = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
_CLUSTER_ROLE_BINDINGS: Final = Resource(
    _RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
_ACCESS: Final = (
    NAMESPACES,
    SERVICE_ACCOUNTS,
    _CLUSTER_ROLES,
    _CLUSTER_ROLE_BINDINGS,
    _ROLES,
    _ROLE_BINDINGS,
)
"""What is taken of the manifests in `deploy/`: who may do what; programs are started otherwise."""


def manifests(path: Path, replace: Mapping[str, str]) -> Iterable[Obj]:
    """The objects of a manifest, its placeholders replaced."""
    text = path.read_text(encoding="utf-8")
    for placeholder, value in replace.items():
        text = text.replace(placeholder, value)
    return [obj for obj in yaml_text.read_all(text) if obj]


async def grant(client: Client, objects: Iterable[Obj]) -> None:
    """Create the accounts and rights of some manifests, namespaces first."""
    by_kind = list(objects)
    for resource in _ACCESS:
        for obj in by_kind:
            if (obj.get("apiVersion"), obj.get("kind")) == (resource.api_version, resource.kind):
                await ensure(client, resource, obj)


async def ensure(client: Client, resource: Resource, obj: Obj) -> None:
    """Create an object; one that is there already stays as it is."""
    with suppress(AlreadyExists):
        await client.create(resource, obj, namespace=obj["metadata"].get("namespace"))
