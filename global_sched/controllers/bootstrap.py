"""Objects that a leader ensures: the published Policy, and the queue `default`."""

from functools import partial
from typing import Final

from global_sched.cache import State
from global_sched.dispatch import publish_policy
from global_sched.dispatch.bodies import new_object
from global_sched.dispatch.source import LeaderTerm
from global_sched.shared.api.names import DEFAULT_QUEUE
from global_sched.shared.api.resource import NAMESPACES, QUEUES
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists, ApiError, NotFound
from global_sched.shared.kube.retry import retry
from global_sched.shared.model.policy import Policy
from global_sched.shared.telemetry.logs import get_logger

LOOK: Final = 5.0
"""Seconds between two looks whether the queue `default` is still there."""
REFUSED: Final = 60.0
"""Seconds after which it is tried again where it could not be made."""

log = get_logger(__name__)


async def prepare(
    client: Client,
    *,
    namespace: str,
    policy: Policy,
    scheduler_names: tuple[str, ...],
    clock: Clock,
) -> None:
    """Publish and create; a failure is logged, because scheduling can go on without either."""
    for what, call in (
        ("policy", partial(publish_policy, client, namespace, policy, scheduler_names)),
        ("default_queue", partial(ensure_default_queue, client)),
    ):
        try:
            await retry(call, clock=clock)
        except ApiError as error:
            log.warning("not_prepared", what=what, error=str(error))


async def ensure_default_queue(client: Client) -> bool:
    """Create the queue of workloads that name none, unless it exists."""
    try:
        await client.get(QUEUES, DEFAULT_QUEUE)
    except NotFound:
        body = new_object(QUEUES, DEFAULT_QUEUE, spec={"weight": 1, "reclaimable": True})
        try:
            await client.create(QUEUES, body)
        except AlreadyExists:
            return False
        return True
    return False


async def keep_default_queue(
    client: Client, state: State, *, clock: Clock, term: LeaderTerm
) -> None:
    """Make the queue again whenever it is deleted, until cancelled."""
    pause = LOOK
    while True:
        await clock.sleep(pause)
        pause = LOOK
        if state.has_queue(DEFAULT_QUEUE) or not term.valid():
            continue
        try:
            made = await ensure_default_queue(client)
        except ApiError as error:
            log.warning("default_queue_not_made", error=str(error))
            pause = REFUSED
        else:
            log.info("default_queue_missed", made=made)


async def ensure_namespace(client: Client, namespace: str) -> None:
    """Create the namespace of the Lease and the ConfigMap, unless it exists."""
    try:
        await client.get(NAMESPACES, namespace)
    except NotFound:
        try:
            await client.create(NAMESPACES, new_object(NAMESPACES, namespace))
        except AlreadyExists:
            return
