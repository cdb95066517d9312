"""Keeps a handler in step with one collection: list once, then watch, for ever.

The informer owns nothing but the identity of every object (key → uid, resourceVersion), so that
100,000 objects cost little here; the state belongs to the handler. What the handler may rely on:

- `upsert` for an object that is new or changed, `delete` for one that is gone, in order per key;
- after a gap (410, restart of the server) the list is compared with what was known, so deletes
  that were not seen are delivered too;
- a key that comes back with another uid is deleted first, then upserted;
- the same version of an object is delivered once, whatever the server repeats;
- an unreadable object is counted as `malformed` once per version, and never hides others.

A list that shows an object at an earlier version than before comes from a server that was restored
to an older state. It ends the informer (`WentBack`), and with it the program.
"""

import asyncio
import math
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.backoff import JitteredBackoff
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.decode import EventType, Page, WatchEvent, codec
from global_sched.shared.kube.errors import ApiError, DecodeError, Gone, WentBack
from global_sched.shared.kube.informer_stats import InformerStatistics, ListReason
from global_sched.shared.kube.objects import Identity, Malformed, ObjectKey
from global_sched.shared.kube.reading import WATCH
from global_sched.shared.telemetry.logs import get_logger

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

log = get_logger(__name__)


class Handler(Protocol[T_contra]):
    """Receives the changes of one collection; called synchronously, must not block or raise."""

    def upsert(self, obj: T_contra) -> None:
        """The object is new, or this is its newest version."""
        ...

    def delete(self, key: ObjectKey, uid: str) -> None:
        """The object is gone; `uid` is the last one known under this key."""
        ...

    def malformed(self, bad: Malformed) -> None:
        """The object exists, but this version of it cannot be read; the last good one is stale."""
        ...

    def synced(self) -> None:
        """Every object of the first list was delivered. Called once."""
        ...


class _Known(NamedTuple):
    uid: str
    version: str


class Informer(Generic[T]):
    """Watches one collection for one handler until it is cancelled.

    `last_contact` is when the server last proved that we are up to date (monotonic seconds):
    staleness is the clock minus that. It stands still while the server is away and during a
    re-list, so decisions can stop on it.
    """

    def __init__(  # noqa: PLR0913 - two selectors, two intervals, and who to tell
        self,
        client: Client,
        resource: Resource,
        type_: type[T],
        *,
        handler: Handler[T],
        clock: Clock,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
        resync: float | None = None,
        backoff: JitteredBackoff | None = None,
        relist_interval: float = 10.0,
        watch_seconds: float = WATCH,
        may_go_back: bool = False,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.last_contact = clock.monotonic()
        self._client = client
        self._type = type_
        self._handler = handler
        self._clock = clock
        self._select: dict[str, Any] = {
            "namespace": namespace,
            "label_selector": label_selector,
            "field_selector": field_selector,
        }
        self._page_size = page_size
        self._resync = resync
        self._backoff = backoff or JitteredBackoff()
        self._relist_interval = relist_interval
        self._watch_seconds = watch_seconds
        self._may_go_back = may_go_back
        """The handler keeps nothing that a restored server could contradict."""
        self._identity_of = codec(type_).identity_of
        self._known: dict[ObjectKey, _Known] = {}
        self._unreadable: set[ObjectKey] = set()
        self._version = ""
        self._listed_at: float | None = None
        self.stats = InformerStatistics(resource=resource.group_kind, namespace=namespace or "")

    def statistics(self) -> InformerStatistics:
        """Counts since the start, for metrics and messages."""
        return self.stats.at(
            objects=len(self._known),
            malformed=len(self._unreadable),
            resource_version=self._version,
            staleness=self._clock.monotonic() - self.last_contact,
            synced=self.synced.is_set(),
        )

    async def run(self) -> None:
        """List and watch until cancelled; every failure is waited out.

        Raises:  WentBack.
        """
        reason = ListReason.FIRST
        while True:
            await self._list_until_done(reason)
            reason = await self._watch_until_lost()

    # --- list -----------------------------------------------------------------------------

    async def _list_until_done(self, reason: ListReason) -> None:
        while True:
            await self._pause_between_lists()
            self._listed_at = self._clock.monotonic()
            self.stats.count_list(reason)
            try:
                await self._list()
            except ApiError as error:
                await self._wait_out(error)
            else:
                self._backoff.reset()
                self.stats.failure = None
                return

    async def _pause_between_lists(self) -> None:
        """A server that forgets at once must not be listed in a tight loop."""
        if self._listed_at is None or not self.synced.is_set():
            return
        due = self._listed_at + self._backoff.jitter(self._relist_interval)
        if (wait := due - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait)

    async def _list(self) -> None:
        seen: set[ObjectKey] = set()
        started = self._clock.monotonic()
        version = ""
        pages = self._client.pages(
            self.resource, type=self._type, limit=self._page_size, **self._select
        )
        async with aclosing(pages):
            async for page in pages:
                self._apply_page(page, seen)
                version = page.resource_version
        for key in [key for key in self._known if key not in seen]:
            self._forget(key)
        self._version = version
        self.last_contact = started
        if not self.synced.is_set():
            self._handler.synced()
            self.synced.set()

    def _apply_page(self, page: Page[T], seen: set[ObjectKey]) -> None:
        for item in page.items:
            identity = self._identity_of(item)
            seen.add(identity.key)
            self._compare(identity)
            self._keep(identity, item)
        for bad in page.malformed:
            seen.add(bad.key)
            self._keep(Identity(bad.key, bad.uid, bad.resource_version), bad)

    def _compare(self, listed: Identity) -> None:
        """Raises WentBack for an object that is older than it was."""
        known = self._known.get(listed.key)
        if known is None or known.uid != listed.uid or self._may_go_back:
            return
        old, new = known.version, listed.resource_version
        if old.isdigit() and new.isdigit() and int(new) < int(old):
            raise WentBack(
                f"{self.resource.group_kind} {listed.key} is at version {new} and was at {old}: "
                "the server was restored to an older state; started anew, the program reads all"
            )

    # --- watch ----------------------------------------------------------------------------

    async def _watch_until_lost(self) -> ListReason:
        """Watch again and again from where the last watch ended; why a new list is needed."""
        while True:
            if self._resync_due() <= 0:
                return ListReason.RESYNC
            started = self._clock.monotonic()
            events_before = self.stats.events + self.stats.bookmarks
            try:
                await self._watch()
            except Gone:
                return ListReason.GONE
            except DecodeError as error:
                # The stream itself is garbage: going on from the same place would meet it again.
                await self._wait_out(error)
                return ListReason.UNREADABLE
            except ApiError as error:
                self._reset_backoff_if_healthy(started, events_before)
                await self._wait_out(error)
            else:
                self._reset_backoff_if_healthy(started, events_before)
                await self._pause_between_watches(started)

    def _reset_backoff_if_healthy(self, started: float, events_before: int) -> None:
        lived = self._clock.monotonic() - started
        if lived >= 10 or self.stats.events + self.stats.bookmarks > events_before:
            self._backoff.reset()

    async def _pause_between_watches(self, started: float) -> None:
        """A server that ends every stream at once must not be asked in a tight loop."""
        if self._clock.monotonic() - started < 1:
            await self._clock.sleep(self._backoff.next())

    def _resync_due(self) -> float:
        if self._resync is None or self._listed_at is None:
            return math.inf
        return self._listed_at + self._resync - self._clock.monotonic()

    async def _watch(self) -> None:
        seconds = min(self._backoff.jitter(self._watch_seconds), max(1.0, self._resync_due()))
        self.stats.watches += 1
        stream = self._client.watch_batches(
            self.resource,
            resource_version=self._version,
            type=self._type,
            timeout_seconds=max(1, round(seconds)),
            **self._select,
        )
        async with aclosing(stream):
            async for batch in stream:
                self.last_contact = self._clock.monotonic()
                self.stats.failure = None
                self._apply_batch(batch)

    def _apply_batch(self, batch: Sequence[WatchEvent[T]]) -> None:
        for event in batch:
            if event.type is EventType.BOOKMARK:
                self.stats.bookmarks += 1
            elif event.type is EventType.DELETED:
                self.stats.events += 1
                self._forget(event.identity.key)
            elif event.object is not None:
                self.stats.events += 1
                self._keep(event.identity, event.object)
            if event.identity.resource_version:
                self._version = event.identity.resource_version

    # --- what is known --------------------------------------------------------------------

    def _keep(self, identity: Identity, obj: T | Malformed) -> None:
        key, uid, version = identity
        known = self._known.get(key)
        if known is not None:
            if known.version == version and known.uid == uid:
                return
            if known.uid != uid:
                self._forget(key)
        self._known[key] = _Known(uid, version)
        if isinstance(obj, Malformed):
            self._unreadable.add(key)
            self._handler.malformed(obj)
        else:
            self._unreadable.discard(key)
            self._handler.upsert(obj)

    def _forget(self, key: ObjectKey) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._unreadable.discard(key)
            self._handler.delete(key, known.uid)

    async def _wait_out(self, error: ApiError) -> None:
        delay = self._backoff.next(at_least=error.retry_after)
        self.stats.count_failure(error)
        log.warning(
            "watch_failed",
            resource=self.stats.resource,
            reason=error.reason or type(error).__name__,
            error=str(error),
            retry_seconds=round(delay, 1),
        )
        await self._clock.sleep(delay)
