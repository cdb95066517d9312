"""WATCH: from a version, from now, or with the initial state; bookmarks; 410 when too late.

A watcher is a cursor into its collection's history. It holds no copies: it joins the frames
that the events carry, and wakes when the collection has more.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Self

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.http.request_info import RequestInfo, version_of
from global_sched.embedded.apiserver.registry.listing import selector_of
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.conversion import converts, present
from global_sched.embedded.apiserver.storage.selectors import RecordTest
from global_sched.embedded.apiserver.storage.store import (
    ADDED,
    DELETED,
    Collection,
    Event,
    Record,
    encode,
    frame,
)

BATCH_BYTES: Final = 256 * 1024
BOOKMARK_SECONDS: Final = 60.0
DEFAULT_TIMEOUT: Final = 1800.0

Render = Callable[[ResourceInfo, Record], bytes]


@dataclass(slots=True, kw_only=True)
class Watch:
    """One watch request, checked and ready to stream."""

    call: RequestInfo
    collection: Collection
    test: RecordTest | None
    cursor: int
    initial: list[Record] | None
    version: int
    bookmarks: bool
    initial_end: bool
    render: Render | None


def expired_event(version: int, oldest: int) -> bytes:
    """The ERROR frame of a watch whose version is forgotten."""
    failure = status_error.expired(f"too old resource version: {version} ({oldest})")
    return frame("ERROR", encode(failure.status()))


class Watcher:
    """All watches of one server."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.closing = asyncio.Event()
        self.broken = 0
        """How often the server hung up."""

    def open(self, call: RequestInfo, render: Render | None) -> Watch:
        """Check a request and find where it starts.

        Raises:  StatusError for a bad version, selector or combination of options.
        """
        asked = call.query.get("resourceVersion", "")
        send_initial = call.query.get("sendInitialEvents")
        match = call.query.get("resourceVersionMatch", "")
        _check_options(call, send_initial, match)
        collection = self.backend.collection(call.served)
        version = version_of(asked) if asked else 0
        test = selector_of(call)
        initial: list[Record] | None = None
        current = self.backend.store.version
        with_initial = call.flag("sendInitialEvents") if send_initial else version == 0
        if with_initial:
            if version > current:
                raise status_error.too_large_version(version, current)
            initial = list(collection.select(call.namespace))
            cursor = collection.offset + len(collection.events)
            version = current
        elif version == 0:
            cursor = collection.offset + len(collection.events)
            version = current
        else:
            # A forgotten version is answered by an ERROR event, since the request itself is right.
            found = collection.position(version)
            cursor = -1 if found is None else found
        return Watch(
            call=call,
            collection=collection,
            test=self._in_namespace(call, test),
            cursor=cursor,
            initial=initial,
            version=version,
            bookmarks=call.flag("allowWatchBookmarks"),
            initial_end=bool(send_initial) and with_initial,
            render=render,
        )

    @staticmethod
    def _in_namespace(call: RequestInfo, test: RecordTest | None) -> RecordTest | None:
        namespace = call.namespace
        if not namespace:
            return test
        if test is None:
            return lambda record: record.namespace == namespace
        inner = test
        return lambda record: record.namespace == namespace and inner(record)

    async def stream(self, watch: Watch) -> AsyncGenerator[bytes]:
        """The frames of a watch, in batches, until it times out or the server stops."""
        clock = self.backend.clock
        seconds = watch.call.integer("timeoutSeconds")
        end = clock.monotonic() + (seconds or DEFAULT_TIMEOUT)
        if watch.initial is not None:
            marked = watch.initial_end and watch.bookmarks
            last = self._bookmark(watch, initial=True) if marked else b""
            for part in _initial_batches(watch, last):
                yield part
            watch.initial = None
        mark = clock.monotonic() + BOOKMARK_SECONDS
        with _Alarm() as alarm:
            async for batch in self._live(watch, alarm, end, mark):
                yield batch

    async def _live(
        self, watch: Watch, alarm: "_Alarm", end: float, mark: float
    ) -> AsyncIterator[bytes]:
        """What happens from now on. Raises ConnectionResetError when the server hangs up."""
        clock = self.backend.clock
        broken = self.broken
        while True:
            if self.broken != broken:
                raise ConnectionResetError("the server is gone")
            batch = self._batch(watch)
            if batch is None:
                yield expired_event(watch.version, watch.collection.floor)
                return
            if batch:
                yield batch
                continue
            now = clock.monotonic()
            if now >= end or self.closing.is_set():
                return
            if watch.bookmarks and now >= mark:
                yield self._bookmark(watch, initial=False)
                mark = now + BOOKMARK_SECONDS
                continue
            await alarm.more(watch.collection, min(end, mark) if watch.bookmarks else end, now)

    def hang_up(self) -> None:
        """Break every watch, as a server that is gone does; new ones may come."""
        self.broken += 1
        self._wake()

    def stop(self) -> None:
        """End every watch."""
        self.closing.set()
        self._wake()

    def _wake(self) -> None:
        for collection in self.backend.store.collections.values():
            collection.wake()

    def _batch(self, watch: Watch) -> bytes | None:
        """The next frames, joined; empty when there are none yet, None when they are lost."""
        collection = watch.collection
        if watch.cursor < collection.offset:
            return None
        index = watch.cursor - collection.offset
        stop = collection.visible - collection.offset
        parts: list[bytes] = []
        size = 0
        plain = watch.test is None and watch.render is None and not converts(watch.call.served)
        events = collection.events
        while index < stop and size < BATCH_BYTES:
            event = events[index]
            index += 1
            if event.version <= watch.version:
                continue
            part = event.line() if plain else self._filtered(watch, event)
            if part:
                parts.append(part)
                size += len(part)
            watch.version = event.version
        watch.cursor = collection.offset + index
        if not parts and index < stop:
            return self._batch(watch)
        return b"".join(parts)

    def _filtered(self, watch: Watch, event: Event) -> bytes:
        """The frame of an event as this watcher's selector sees it."""
        test = watch.test
        record = event.record
        if test is None:
            return _frame(watch, event.kind, record)
        before = event.prev is not None and test(event.prev)
        after = event.kind != DELETED and test(record)
        if event.kind == DELETED:
            return _frame(watch, DELETED, record) if before else b""
        if after and before:
            if watch.render is None and not converts(watch.call.served):
                return event.line()
            return _frame(watch, event.kind, record)
        if after:
            return _frame(watch, ADDED, record)
        return _frame(watch, DELETED, record) if before else b""

    def _bookmark(self, watch: Watch, *, initial: bool) -> bytes:
        # Everything up to the server's version has been sent when the history is drained.
        version = max(watch.version, self.backend.store.version)
        served = watch.call.served
        meta: dict[str, object] = {"resourceVersion": str(version)}
        if initial:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj = {"kind": served.kind, "apiVersion": served.api_version, "metadata": meta}
        if watch.render is not None:
            obj = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
            }
        return frame("BOOKMARK", encode(obj))


def _initial_batches(watch: Watch, end: bytes) -> Iterator[bytes]:
    """The initial state in frames, built as they are sent; `end` closes it."""
    parts: list[bytes] = []
    size = 0
    for record in watch.initial or ():
        if watch.test is not None and not watch.test(record):
            continue
        part = _frame(watch, ADDED, record)
        parts.append(part)
        size += len(part)
        if size >= BATCH_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    parts.append(end)
    yield b"".join(parts)


def _frame(watch: Watch, kind: str, record: Record) -> bytes:
    served = watch.call.served
    raw = watch.render(served, record) if watch.render else present(served, record)
    return frame(kind, raw)


class _Alarm:
    """Wakes one watcher at its next deadline; one timer serves many waits."""

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def more(self, collection: Collection, due: float, now: float) -> None:
        """Return when the collection has changed, or at the deadline."""
        self._future = collection.wait()
        if self._timer is None or due < self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._due = due
            self._timer = asyncio.get_running_loop().call_later(due - now, self._ring)
        await self._future

    def _ring(self) -> None:
        self._timer = None
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


def _check_options(call: RequestInfo, send_initial: str | None, match: str) -> None:
    """Refuse parameters of a watch that exclude each other."""
    field = "resourceVersionMatch"
    causes = []
    if send_initial is not None and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(field_errors.forbidden(field, why))
    if match:
        if send_initial is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(field_errors.forbidden(field, why))
        if match != "NotOlderThan":
            causes.append(field_errors.not_supported(field, match, ["NotOlderThan"]))
        if call.query.get("continue"):
            why = "resourceVersionMatch is forbidden when continue is provided"
            causes.append(field_errors.forbidden(field, why))
    if causes:
        raise status_error.invalid("ListOptions", "meta.k8s.io", "", causes)
