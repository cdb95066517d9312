"""Does an API server answer, and does it serve what a program needs? Asked once, at the start."""

from collections.abc import Iterable

import msgspec

from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.decode import UNDECODABLE
from global_sched.shared.kube.errors import (
    ApiError,
    ConfigError,
    Forbidden,
    NotFound,
    Unauthorized,
)


class _ResourceName(msgspec.Struct):
    name: str = ""


class _ResourceList(msgspec.Struct):
    resources: list[_ResourceName] | None = None


async def missing_resources(client: Client, resources: Iterable[Resource]) -> list[Resource]:
    """Those that the server does not serve, in the given order.

    Raises:  ApiError when the server cannot be asked.
    """
    served: dict[str, frozenset[str]] = {}
    missing = []
    for resource in resources:
        if resource.prefix not in served:
            served[resource.prefix] = await _served(client, resource.prefix)
        if resource.plural not in served[resource.prefix]:
            missing.append(resource)
    return missing


async def _served(client: Client, prefix: str) -> frozenset[str]:
    try:
        body = await client.raw("GET", prefix)
    except NotFound:
        return frozenset()
    found = msgspec.json.decode(body, type=_ResourceList)
    return frozenset(entry.name for entry in found.resources or ())


async def require(
    client: Client, resources: Iterable[Resource], *, server: str, remedy: str
) -> None:
    """Return when `server` (its role, in words) answers and serves all of these.

    Raises:  ConfigError with one line: what is wrong, and the `remedy` for missing resources.
    """
    try:
        missing = await missing_resources(client, resources)
    except Unauthorized as error:
        raise ConfigError(
            f"the {server} does not accept our credentials: {error.message}; "
            "check the user of the kubeconfig's context"
        ) from error
    except Forbidden as error:
        raise ConfigError(
            f"the {server} does not let us ask what it serves: {error.message}; "
            "bind the ClusterRole system:discovery to our user"
        ) from error
    except ApiError as error:
        raise ConfigError(
            f"the {server} cannot be used: {error.message}; check the server address of the "
            "kubeconfig's context, and that it runs"
        ) from error
    except UNDECODABLE as error:
        raise ConfigError(
            f"what answers as {server} is not a Kubernetes API server: {error}; "
            "check the server address of the kubeconfig's context"
        ) from error
    if missing:
        names = ", ".join(f"{r.plural}.{r.group}/{r.version}" for r in missing)
        raise ConfigError(f"the {server} does not serve {names}: {remedy}")
