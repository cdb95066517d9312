"""Is this a control plane that we can work on? Asked once, at the start; failures are one line."""

from typing import Final

from global_sched.cache import READERS
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ConfigError, Forbidden
from global_sched.shared.kube.preflight import missing_resources, require

KARMADA: Final = (
    kinds.RESOURCE_BINDINGS,
    kinds.CLUSTER_RESOURCE_BINDINGS,
    kinds.CLUSTERS,
    kinds.PRIORITY_CLASSES,
)
OURS: Final = (kinds.QUEUES, kinds.TENANTS, kinds.CAPACITY_REPORTS, kinds.DIRECTIVES)
OPTIONAL: Final = (
    kinds.OVERRIDE_POLICIES,
    kinds.CLUSTER_OVERRIDE_POLICIES,
    *(reader.resource for reader in READERS.values()),
)
"""Kinds that may come later: they are watched from then on."""


async def check_server(client: Client) -> frozenset[Resource]:
    """The optional kinds that the server has now; all others must be there and be readable.

    Raises:  ConfigError in one line with the way out.
    """
    server = "control plane"
    remedy = "install Karmada there, or choose its kubeconfig with --kubeconfig"
    await require(client, KARMADA, server=server, remedy=remedy)
    await require(client, OURS, server=server, remedy="apply crds/ of this project to it")
    for resource in (*KARMADA, *OURS):
        try:
            await client.raw("GET", resource.path(), params={"limit": "1"})
        except Forbidden as error:
            raise ConfigError(
                f"the {server} does not let us list {resource.plural}.{resource.group}: "
                f"{error.message}; apply the RBAC of deploy/, or use other credentials"
            ) from error
    return await served_now(client)


async def served_now(client: Client) -> frozenset[Resource]:
    """Which of the optional kinds the server has. Raises ApiError."""
    return frozenset(OPTIONAL) - frozenset(await missing_resources(client, OPTIONAL))
