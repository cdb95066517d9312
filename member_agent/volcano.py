"""Detection of Volcano's scheduler in the member, and of its topology plugin."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.core import ConfigMap, Lease
from global_sched.shared.api.resource import CONFIGMAPS, DEPLOYMENTS, LEASES, Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import DecodeError, Forbidden, NotFound
from global_sched.shared.kube.ready import when_ready
from global_sched.shared.kube.retry import retry
from global_sched.shared.model.instant import SECOND, InstantError, parse_instant
from global_sched.shared.telemetry.logs import get_logger

SCHEDULER_LEASES: Final = ("vc-scheduler", "volcano-scheduler")
SCHEDULER_DEPLOYMENT: Final = "volcano-scheduler"
CONFIG_MAP: Final = "volcano-scheduler-configmap"
TOPOLOGY_PLUGIN: Final = "network-topology-aware"
_STALE: Final = 120 * SECOND
"""A Lease that was not renewed for so long has expired (clocks may differ by a minute)."""

T = TypeVar("T")

log = get_logger(__name__)


class DeployedStatus(Wire, frozen=True):
    """How many pods of a Deployment are ready."""

    ready_replicas: int = 0


class Deployed(Wire, frozen=True):
    """A Deployment's status."""

    metadata: Meta = Meta()
    status: DeployedStatus = DeployedStatus()


@dataclass(frozen=True, slots=True, kw_only=True)
class Volcano:
    """What of Volcano runs here."""

    scheduler: bool = False
    topology: bool = False


async def find_volcano(client: Client, namespaces: Sequence[str], *, clock: Clock) -> Volcano:
    """Look for Volcano's Leases, Deployment and configuration; what may not be read is not there.

    The scheduler counts as running when its Lease is held or its Deployment has a ready pod (its
    chart turns leader election off by default). The plugin counts as enabled when the scheduler's
    configuration lists it.
    """
    scheduler = await _held(client, SCHEDULER_LEASES, namespaces, clock=clock)
    running = scheduler or await _deployed(client, namespaces, clock=clock)
    return Volcano(
        scheduler=running,
        topology=running and await _plugin_enabled(client, namespaces, clock=clock),
    )


async def _held(
    client: Client, leases: Sequence[str], namespaces: Sequence[str], *, clock: Clock
) -> bool:
    """Whether one of these Leases is being renewed."""
    for namespace in namespaces:
        for name in leases:
            lease = await _read(client, clock, (LEASES, namespace, name), Lease)
            if lease is None or not lease.spec.holder_identity:
                continue
            try:
                renewed = parse_instant(lease.spec.renew_time or "")
            except InstantError:
                continue
            if clock.now() - renewed <= _STALE:
                return True
    return False


async def _deployed(client: Client, namespaces: Sequence[str], *, clock: Clock) -> bool:
    for namespace in namespaces:
        found = await _read(client, clock, (DEPLOYMENTS, namespace, SCHEDULER_DEPLOYMENT), Deployed)
        if found is not None and found.status.ready_replicas > 0:
            return True
    return False


async def _plugin_enabled(client: Client, namespaces: Sequence[str], *, clock: Clock) -> bool:
    for namespace in namespaces:
        found = await _read(client, clock, (CONFIGMAPS, namespace, CONFIG_MAP), ConfigMap)
        for text in (found.data or {}).values() if found else ():
            lines = (line.split("#", 1)[0] for line in text.splitlines())
            if any(TOPOLOGY_PLUGIN in line for line in lines):
                return True
    return False


async def _read(
    client: Client, clock: Clock, place: tuple[Resource, str, str], kind: type[T]
) -> T | None:
    """One object; None when it does not exist or may not be read.

    Raises:  ApiError when the server does not answer: then nothing is known.
    """
    resource, namespace, name = place

    async def read() -> T:
        return await client.get(resource, name, namespace=namespace, type=kind)

    try:
        return await retry(partial(when_ready, client, read), clock=clock)
    except (NotFound, DecodeError):
        return None
    except Forbidden as error:
        log.info("volcano_not_read", object=f"{namespace}/{name}", error=error.message)
        return None
