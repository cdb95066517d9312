"""Viewers: for each identity one client with its own rights, one watch, and the last look.

The watch of a viewer is begun by its first request and ends five minutes after its last one. With
50 viewers a further one is refused until another one's watch ends. A viewer without the right to
read the federation has no watch: what is theirs is read for each page.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from global_sched.controllers.reading import Followed, following
from global_sched.core import queue_views, run_cycle
from global_sched.shared.api.names import SYSTEM_NAMESPACE
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, ConfigError, Forbidden, Unauthorized
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue_view import QueueView
from global_sched.shared.telemetry.logs import get_logger
from global_sched.view.job_query import shown
from global_sched.view.jobs import rows_of
from global_sched.view.look import View, policy_in_force, scheduler_names
from global_sched.view.queues import missing_rows, tenant_rows, tree_rows
from global_sched.view.text import Row
from global_sched.web.leader import LeaderWatch

KEPT: Final = 300.0
"""Seconds that a watch is kept after the last request of its viewer."""
MOST: Final = 50
"""Viewers at a time."""
AGE: Final = 30.0
"""Seconds after which a look is taken though nothing changed: time alone ends claims and waits."""
REST: Final = 1.0
"""Seconds between two looks at least; a look that takes longer rests as long as it took."""
SIDE: Final = 5.0
"""Seconds between two readings of what is not watched: the Lease and the Policy in force."""
STALE: Final = 90.0
"""Seconds without a word of the control plane after which pages say so."""

log = get_logger(__name__)


class TooManyError(Exception):
    """All places are taken."""


class ExpiredError(Exception):
    """The control plane does not accept the credentials of the viewer any more."""


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues of a look as values and as rows, those without an object, and the tenants."""

    views: Sequence[QueueView]
    rows: Sequence[Row]
    missing: Sequence[Row]
    tenants: Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a page is made of: one look at the federation, numbered."""

    number: int
    view: View
    rows: list[Row]
    """The jobs, as `gsched jobs` lists them, each with its workload's key."""
    queues: Queues
    problem: str = ""
    """Why nothing is decided now; empty while a leader does."""

    @classmethod
    def at(
        cls, view: View, views: Sequence[QueueView], *, number: int = 1, problem: str = ""
    ) -> "Look":
        """The look that a view gives; `views` are the queues of its snapshot."""
        tree = tree_rows(view, views)
        return cls(
            number=number,
            view=view,
            rows=shown(rows_of(view), "table"),
            queues=Queues(views, tree, missing_rows(view, tree), tenant_rows(view)),
            problem=problem,
        )


class Viewer:
    """One identity's watch."""

    def __init__(self, client: Client, clock: Clock, *, leader_namespace: str) -> None:
        self.client = client
        self.clock = clock
        self.leader_namespace = leader_namespace
        self.used = clock.monotonic()
        self.number = 0
        """Of the last look."""
        self.denied: Forbidden | None = None
        """Why the whole federation may not be read; then only what is the viewer's own is shown."""
        self.failed: Exception | None = None
        self._look: Look | None = None
        self._answered = 0.0
        self._news = asyncio.Event()
        self._leader = LeaderWatch(client, clock, leader_namespace)
        self._policy = Policy(), ""

    async def run(self) -> None:
        """Watch until cancelled, or until it is known why that cannot be."""
        names = partial(scheduler_names, self.client, self.leader_namespace)
        try:
            async with following(self.client, self.clock, scheduler_names=names) as followed:
                await self._follow(followed)
        except Forbidden as error:
            self.denied = error
        except (ConfigError, ApiError) as error:
            self.failed = error
        finally:
            self._tell()

    async def look(self) -> Look | None:
        """The last look, the first one awaited; None where the federation may not be read.

        Raises:  ExpiredError; ConfigError and ApiError for a control plane that does not answer.
        """
        while self._look is None and self.denied is None and self.failed is None:
            await self.changed(self.number)
        if self.failed is not None:
            raise refusal(self.failed)
        return None if self.denied is not None else self._look

    async def changed(self, number: int) -> None:
        """Return when there is a later look than this one, or none will come."""
        while self.number == number and self.denied is None and self.failed is None:
            await self._news.wait()

    def stale(self) -> float:
        """Seconds since the control plane last answered, where that is long; else 0."""
        seconds = self.clock.monotonic() - self._answered if self._look is not None else 0.0
        return seconds if seconds > STALE else 0.0

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _follow(self, followed: Followed) -> None:
        """A look after each change, at a pace that leaves room for others."""
        state, clock = followed.state, self.clock
        seen, problem, side_at, looked = -1, "", 0.0, 0.0
        while self.denied is None:
            began = clock.monotonic()
            side = began >= side_at
            if side:
                before = (self._policy, problem)
                try:
                    problem = await self._read_side(problem)
                except Unauthorized as error:
                    self.failed = error
                    return
                side_at = began + SIDE
                side = before != (self._policy, problem)
            state.settle()
            if side or state.revision != seen or began - looked > AGE or self._look is None:
                looked = began
                seen = state.revision
                await self._take(followed, problem)
            took = clock.monotonic() - began
            await clock.sleep(max(REST, took))
            await followed.wake.wait(side_at)
            failures = (one.stats.failure for one in followed.watches.all())
            self.denied = next((one for one in failures if isinstance(one, Forbidden)), None)

    async def _read_side(self, problem: str) -> str:
        """Read the Policy in force and the Lease; what cannot be asked now stays as it was."""
        try:
            self._policy = await policy_in_force(self.client, self.leader_namespace)
            problem = await self._leader.problem()
            self._answered = self.clock.monotonic()
        except Unauthorized:
            raise
        except ApiError:
            return problem
        return problem

    async def _take(self, followed: Followed, problem: str) -> None:
        """Decide as the leader would, in a thread: the snapshot is frozen."""
        state = followed.state
        snapshot, now = state.snapshot(), self.clock.now()
        policy, note = self._policy
        plan = await asyncio.to_thread(run_cycle, snapshot, policy, now)
        queues = await asyncio.to_thread(queue_views, snapshot)
        view = View(
            state=state, snapshot=snapshot, policy=policy, policy_note=note, now=now, plan=plan
        )
        self._look = Look.at(view, queues, number=self.number + 1, problem=problem)
        self.number += 1
        self._tell()


def refusal(error: Exception) -> Exception:
    """Credentials that ran out are a case of their own, however deep the cause stands."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Unauthorized):
            return ExpiredError(str(cause))
        cause = cause.__cause__
    return error


Opener = Callable[[str], Awaitable[Client]]
"""From the Authorization header of a request (empty: the caller's own kubeconfig) to a client."""


@dataclass(slots=True)
class _Place:
    viewer: Viewer
    task: asyncio.Task[None]


class Viewers:
    """All viewers by identity; `run` ends the watches that nothing asks for any more."""

    def __init__(
        self, opener: Opener, clock: Clock, *, leader_namespace: str = SYSTEM_NAMESPACE
    ) -> None:
        self._opener = opener
        self._clock = clock
        self._leader_namespace = leader_namespace
        self._places: dict[str, _Place] = {}
        self._group: asyncio.TaskGroup | None = None
        self._opening = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Their watches run inside of the block."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            sweep = group.create_task(self._sweep())
            try:
                yield
            finally:
                sweep.cancel()
                for key in list(self._places):
                    await self._end(key)

    async def of(self, identity: str, authorization: str) -> Viewer:
        """The viewer of an identity, begun where it is new.

        Raises:  TooManyError; ConfigError where there is no way to the control plane.
        """
        place = self._places.get(identity)
        if place is not None and place.viewer.failed is not None:
            await self._end(identity)
            place = None
        if place is None:
            place = await self._begin(identity, authorization)
        place.viewer.used = self._clock.monotonic()
        return place.viewer

    async def _begin(self, identity: str, authorization: str) -> _Place:
        if len(self._places) + self._opening >= MOST:
            raise TooManyError
        assert self._group is not None, "requests come inside of running()"
        self._opening += 1
        try:
            client = await self._opener(authorization)
        finally:
            self._opening -= 1
        if (other := self._places.get(identity)) is not None:
            await client.close()
            return other
        viewer = Viewer(client, self._clock, leader_namespace=self._leader_namespace)
        place = _Place(viewer, self._group.create_task(viewer.run()))
        self._places[identity] = place
        return place

    async def refused(self, identity: str) -> None:
        """A viewer whose credentials are not accepted holds no place."""
        if identity in self._places:
            await self._end(identity)

    async def _end(self, identity: str) -> None:
        place = self._places.pop(identity)
        place.task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([place.task])
        await place.viewer.client.close()

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(KEPT / 20)
            now = self._clock.monotonic()
            for key, place in list(self._places.items()):
                if now - place.viewer.used > KEPT:
                    await self._end(key)
