"""The whole state, read once for a command or followed for a page: the leader's own watches."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

from global_sched.cache import State
from global_sched.controllers.preflight import check_server
from global_sched.controllers.scheduling_timer import Wake
from global_sched.controllers.watching import Watches
from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, ConfigError, Forbidden

READ_PATIENCE: Final = 60.0
"""Seconds in which all kinds must have been listed."""
FAILING_PATIENCE: Final = 10.0
"""Seconds after which the start waits no longer for a kind whose last request failed."""


class Followed(NamedTuple):
    """A state that is in step with the control plane as long as it is followed."""

    state: State
    watches: Watches
    wake: Wake
    """Rings when something changed."""


async def read_state(
    client: Client,
    clock: Clock,
    *,
    scheduler_names: Callable[[], Awaitable[frozenset[str]]],
) -> State:
    """Everything that decisions look at, listed once. Raises as `following` does."""
    async with following(client, clock, scheduler_names=scheduler_names) as followed:
        return followed.state


@asynccontextmanager
async def following(
    client: Client,
    clock: Clock,
    *,
    scheduler_names: Callable[[], Awaitable[frozenset[str]]],
) -> AsyncIterator[Followed]:
    """Everything that decisions look at, in step with the control plane inside of the block.

    `scheduler_names` is asked when the server was found to be one of ours: that check says best
    what is wrong with a server.

    Raises:  Forbidden when the caller may not read all of it (nothing is shown in part: what is
             missing would change the verdicts); ConfigError when the server is not there or lacks
             a kind.
    """
    served = await _served(client)
    state, wake = State(await scheduler_names()), Wake(clock)
    watches = Watches(client, state, clock=clock, wake=wake, directives=_Unread(), served=served)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(informer.run()) for informer in watches.all()]
        try:
            await _listed(watches)
            if not (missing := watches.missing()):
                yield Followed(state, watches, wake)
        finally:
            for task in tasks:
                task.cancel()
    if missing:
        failed = next((str(error) for error in _failures(watches)), "")
        raise ConfigError(
            f"the control plane did not list {', '.join(missing)} in time"
            + (f" ({failed})" if failed else "")
            + ": check that it is well, and try again"
        )


async def _served(client: Client) -> frozenset[Resource]:
    """The optional kinds of the server, all of which may be listed; raises as `following`."""
    try:
        served = await check_server(client)
    except ConfigError as error:
        if isinstance(error.__cause__, Forbidden):
            raise error.__cause__ from error
        raise
    for resource in sorted(served, key=lambda one: one.group_kind):
        await client.raw("GET", resource.path(), params={"limit": "1"})
    return served


async def _listed(watches: Watches) -> None:
    """Wait for every first list; informers never give up, who waits for an answer does."""
    for patience in (FAILING_PATIENCE, READ_PATIENCE - FAILING_PATIENCE):
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await watches.synced()
        if any(_failures(watches)):
            return


def _failures(watches: Watches) -> Iterator[ApiError]:
    """The last failures of kinds that are not listed yet."""
    for informer in watches.all():
        if not informer.synced.is_set() and informer.stats.failure is not None:
            yield informer.stats.failure


class _Unread:
    """Receives Directives and drops them: they follow from the decisions."""

    def upsert(self, obj: object) -> None:
        """Nothing follows."""

    def delete(self, key: object, uid: str) -> None:
        """Nothing follows."""

    def malformed(self, bad: object) -> None:
        """Nothing follows."""

    def synced(self) -> None:
        """Nothing follows."""
