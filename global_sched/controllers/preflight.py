"""Is this a control plane that we can work on? Asked once, at the start; failures are one line."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.resource import Resource
from global_sched.shared.kinds import KINDS, RUNTIMES
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, ConfigError, Forbidden
from global_sched.shared.kube.preflight import StartupWait, missing_resources, require

T = TypeVar("T")

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
    *(reader.resource for reader in KINDS.values()),
    *(crd.resource for _, crd in RUNTIMES.values()),
)
"""Kinds that may come later: they are watched from then on."""


SERVER: Final = "control plane"


async def check_server(client: Client, patience: StartupWait | None = None) -> frozenset[Resource]:
    """The optional kinds that the server has now; all others must be there and be readable.

    Without `patience` every question is asked once.

    Raises:  ConfigError in one line with the way out.
    """
    server = SERVER
    remedy = "install Karmada there, or choose its kubeconfig with --kubeconfig"
    await require(client, KARMADA, server=server, remedy=remedy, patience=patience)
    remedy = "apply crds/ of this project to it"
    await require(client, OURS, server=server, remedy=remedy, patience=patience)
    try:
        for resource in (*KARMADA, *OURS):
            call = partial(client.raw, "GET", resource.path(), params={"limit": "1"})
            try:
                await _asked(call, client, patience)
            except Forbidden as error:
                raise ConfigError(
                    f"the {server} does not let us list {resource.plural}.{resource.group}: "
                    f"{error.message}; apply the RBAC of deploy/, or use other credentials"
                ) from error
        return await _asked(partial(served_now, client), client, patience)
    except ApiError as error:
        raise ConfigError(f"the {server} cannot be used: {error}; check that it runs") from error


async def _asked(
    call: Callable[[], Awaitable[T]], client: Client, patience: StartupWait | None
) -> T:
    if patience is None:
        return await call()
    return await patience.ask(call, client=client, server=SERVER)


async def served_now(client: Client) -> frozenset[Resource]:
    """Which of the optional kinds the server has. Raises ApiError."""
    return frozenset(OPTIONAL) - frozenset(await missing_resources(client, OPTIONAL))
