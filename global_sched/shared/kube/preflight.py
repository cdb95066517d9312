"""Does an API server answer, and does it serve what a program needs? Asked once, at the start."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec

from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.decode import UNDECODABLE
from global_sched.shared.kube.errors import (
    ApiError,
    ConfigError,
    Forbidden,
    NotFound,
    Unauthorized,
)
from global_sched.shared.kube.ready import when_ready
from global_sched.shared.kube.retry import retry
from global_sched.shared.telemetry.logs import get_logger

log = get_logger(__name__)
T = TypeVar("T")

_PAUSE = 5.0
"""Seconds between two tries, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupWait:
    """For how many seconds a program that starts waits for a server that is not ready."""

    clock: Clock
    seconds: float

    async def ask(self, call: Callable[[], Awaitable[T]], *, client: Client, server: str) -> T:
        """The answer of `call`, a request of `client`.

        Transient failures (no answer, 429, 5xx) are waited out, and so is a refusal by a server
        that is not ready.

        Raises:  the ApiError of the last try; any that is not transient at once.
        """

        def tell(error: ApiError) -> None:
            log.warning("server_not_ready", server=server, error=str(error))

        return await retry(
            partial(when_ready, client, call),
            clock=self.clock,
            cap=_PAUSE,
            patience=self.seconds,
            failed=tell,
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
    client: Client,
    resources: Iterable[Resource],
    *,
    server: str,
    remedy: str,
    patience: StartupWait | None = None,
) -> None:
    """Return when `server` (its role, in words) answers and serves all of these.

    Without `patience` it is asked once.

    Raises:  ConfigError with one line: what is wrong, and the `remedy` for missing resources.
    """
    wanted = tuple(resources)

    async def ask() -> list[Resource]:
        return await missing_resources(client, wanted)

    try:
        missing = await (
            ask() if patience is None else patience.ask(ask, client=client, server=server)
        )
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
        tried = "" if patience is None else f" (tried for {patience.seconds:g} s)"
        raise ConfigError(
            f"the {server} cannot be used: {error.message}{tried}; check the server address of "
            "the kubeconfig's context, and that it runs"
        ) from error
    except UNDECODABLE as error:
        raise ConfigError(
            f"what answers as {server} is not a Kubernetes API server: {error}; "
            "check the server address of the kubeconfig's context"
        ) from error
    if missing:
        names = ", ".join(f"{r.plural}.{r.group}/{r.version}" for r in missing)
        raise ConfigError(f"the {server} does not serve {names}: {remedy}")
