"""The whole state read once, for `explain` and `whatif`: the same watches, ended when in step."""

import asyncio

from global_sched.cache import State
from global_sched.controllers.preflight import check_server
from global_sched.controllers.wake import Wake
from global_sched.controllers.watching import Watches
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ConfigError, Forbidden


async def read_state(client: Client, clock: Clock, *, scheduler_names: frozenset[str]) -> State:
    """Everything that decisions look at, listed once.

    Raises:  Forbidden when the caller may not read all of it (nothing is shown in part: what is
             missing would change the verdicts); ConfigError when the server is not there or lacks
             a kind.
    """
    try:
        served = await check_server(client)
    except ConfigError as error:
        if isinstance(error.__cause__, Forbidden):
            raise error.__cause__ from error
        raise
    for resource in sorted(served, key=lambda one: one.group_kind):
        await client.raw("GET", resource.path(), params={"limit": "1"})
    state = State(scheduler_names)
    watches = Watches(
        client, state, clock=clock, wake=Wake(clock), directives=_Unread(), served=served
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(informer.run()) for informer in watches.all()]
        await watches.synced()
        for task in tasks:
            task.cancel()
    return state


class _Unread:
    """Receives Directives that nobody looks at: they follow from the decisions."""

    def upsert(self, obj: object) -> None:
        """Nothing follows."""

    def delete(self, key: object, uid: str) -> None:
        """Nothing follows."""

    def malformed(self, bad: object) -> None:
        """Nothing follows."""

    def synced(self) -> None:
        """Nothing follows."""
