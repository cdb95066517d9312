"""The whole state read once, for `explain` and `whatif`: the same watches, ended when in step."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from global_sched.cache import State
from global_sched.controllers.preflight import check_server
from global_sched.controllers.wake import Wake
from global_sched.controllers.watching import Watches
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ConfigError, Forbidden

READ_PATIENCE: Final = 60.0
"""Seconds in which all kinds must have been listed."""


async def read_state(
    client: Client,
    clock: Clock,
    *,
    scheduler_names: Callable[[], Awaitable[frozenset[str]]],
) -> State:
    """Everything that decisions look at, listed once.

    `scheduler_names` is asked when the server was found to be one of ours: that check says best
    what is wrong with a server.

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
    state = State(await scheduler_names())
    watches = Watches(
        client, state, clock=clock, wake=Wake(clock), directives=_Unread(), served=served
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(informer.run()) for informer in watches.all()]
        with suppress(TimeoutError):  # informers never give up; who waits for an answer does
            async with asyncio.timeout(READ_PATIENCE):
                await watches.synced()
        for task in tasks:
            task.cancel()
    if missing := watches.missing():
        raise ConfigError(
            f"the control plane did not list {', '.join(missing)} within {READ_PATIENCE:g} s: "
            "check that it is well, and try again"
        )
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
