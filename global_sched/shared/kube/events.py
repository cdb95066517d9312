"""Events (events.k8s.io/v1) that never delay a decision.

`record` only remembers; `run` writes, as fast as a token bucket allows. The same event again
(same object, type, reason, action) becomes a series: one Event object whose count grows, written
at most every few seconds. A note cannot be changed: with another one a new Event begins.

What does not fit into the bounded memory is dropped and counted, and so is what a server does not
take after some tries. A refusal is such a try, too: a server that has just been started refuses
every request.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from global_sched.shared.api.resource import EVENTS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.backoff import JitteredBackoff
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Forbidden, NotFound
from global_sched.shared.kube.ratelimit import TokenBucket
from global_sched.shared.model.instant import Instant, format_micro
from global_sched.shared.model.printable import printable
from global_sched.shared.telemetry.logs import get_logger

NOTE_LIMIT: Final = 1024
"""Bytes of a note that the API accepts."""
SERIES_END: Final = 360.0
"""Seconds without a repetition after which the next one is a new Event (as in Kubernetes)."""
ATTEMPTS: Final = 5
"""Writes of one Event before it is dropped."""

log = get_logger(__name__)


class EventKind(StrEnum):
    """How serious it is; the API knows these two."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Regarding(NamedTuple):
    """The object that an event is about (a core/v1 ObjectReference)."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class _Key(NamedTuple):
    regarding: Regarding
    kind: EventKind
    reason: str
    action: str


@dataclass(slots=True)
class _Series:
    """One Event object, written or to be written."""

    note: str
    first: Instant
    last: Instant
    last_at: float
    count: int = 1
    name: str = ""
    """Empty until the Event object exists."""
    shown: str = ""
    """The note that the object has."""
    written: int = 0
    """The count that the object shows."""
    due: float = 0.0
    attempts: int = 0
    related: Regarding | None = None


@dataclass(slots=True, kw_only=True)
class EventStatistics:
    """Counts since the start."""

    recorded: int = 0
    written: int = 0
    dropped: int = 0
    failed: int = 0
    pending: int = field(default=0)


class EventRecorder:
    """Collects events from anywhere in the process and writes them from one task.

    `rate` and `burst` bound the writes per second, `interval` the seconds between two writes of
    one series, `capacity` the series that are remembered. Every write first awaits `give_way`.
    """

    def __init__(  # noqa: PLR0913 - who writes, how much, and to whom it gives way
        self,
        client: Client,
        *,
        component: str,
        instance: str,
        clock: Clock,
        rate: float = 10.0,
        burst: float = 50.0,
        interval: float = 10.0,
        capacity: int = 4096,
        give_way: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._client = client
        self._component = component
        self._instance = instance
        self._clock = clock
        self._bucket = TokenBucket(rate=rate, burst=burst, clock=clock)
        self._interval = interval
        self._capacity = capacity
        self._give_way = give_way
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._pending: OrderedDict[_Key, None] = OrderedDict()
        self._wake = asyncio.Event()
        self._backoff = JitteredBackoff(floor=1.0, cap=60.0)
        self._serial = 0
        self.stats = EventStatistics()

    def record(
        self,
        regarding: Regarding,
        *,
        reason: str,
        note: str,
        action: str,
        kind: EventKind = EventKind.NORMAL,
        related: Regarding | None = None,
    ) -> None:
        """Remember an event; returns at once.

        `reason` and `action` are CamelCase words, `note` a sentence with the numbers.
        """
        self.stats.recorded += 1
        note = printable(note)
        key = _Key(regarding, kind, reason, action)
        now, at = self._clock.now(), self._clock.monotonic()
        series = self._series.get(key)
        if series is None or at - series.last_at > SERIES_END:
            if series is None and not self._make_room():
                self.stats.dropped += 1
                return
            series = _Series(note=note, first=now, last=now, last_at=at, related=related)
            self._series[key] = series
        else:
            series.count += 1
            series.note, series.last, series.last_at = note, now, at
        self._series.move_to_end(key)
        self._pending.setdefault(key)
        self._wake.set()

    def _make_room(self) -> bool:
        """Forget the oldest series that is written; False when all wait to be."""
        if len(self._series) < self._capacity:
            return True
        for key in self._series:
            if key not in self._pending:
                del self._series[key]
                return True
        return False

    def statistics(self) -> EventStatistics:
        """Counts since the start; `pending` now."""
        self.stats.pending = len(self._pending)
        return self.stats

    async def run(self) -> None:
        """Write what was recorded, until cancelled."""
        while True:
            wait = self._until_due()
            self._wake.clear()
            if wait is None or wait > 0:
                try:
                    async with asyncio.timeout(wait):
                        await self._wake.wait()
                except TimeoutError:
                    pass
                continue
            if self._give_way is not None:
                await self._give_way()
            await self._bucket.take()
            await self._write_first_due()

    def _until_due(self) -> float | None:
        if not self._pending:
            return None
        now = self._clock.monotonic()
        return max(0.0, min(self._series[key].due for key in self._pending) - now)

    async def _write_first_due(self) -> None:
        now = self._clock.monotonic()
        key = next((key for key in self._pending if self._series[key].due <= now), None)
        if key is None:
            return
        series = self._series[key]
        if series.name and series.note != series.shown:
            series.name, series.first, series.count = "", series.last, 1
        count = series.count
        try:
            if series.name:
                await self._update(key, series, count)
            else:
                await self._create(key, series)
        except NotFound:
            series.name = ""  # the Event outlived its hour; or its namespace is going away
            self._failed(key, series, None)
        except ApiError as error:
            self._failed(key, series, error)
        else:
            self._backoff.reset()
            self.stats.written += 1
            series.written, series.attempts = count, 0
            series.due = now + self._interval
            if series.count == count:
                self._pending.pop(key, None)

    def _failed(self, key: _Key, series: _Series, error: ApiError | None) -> None:
        """Try again later, or give up: an event is not worth more."""
        self.stats.failed += 1
        series.attempts += 1
        again = error is None or error.transient or isinstance(error, Forbidden)
        if again and series.attempts < ATTEMPTS:
            pause = self._backoff.next(at_least=error.retry_after if error else None)
            series.due = self._clock.monotonic() + pause
            return
        self._pending.pop(key, None)
        self._series.pop(key, None)
        self.stats.dropped += 1
        log.info("event_dropped", object=str(key.regarding.name), reason=key.reason, error=error)

    async def _create(self, key: _Key, series: _Series) -> None:
        self._serial += 1
        name = f"{key.regarding.name[:220]}.{series.first:x}{self._serial:x}"
        note = series.note
        event: dict[str, Any] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": _namespace(key.regarding)},
            "eventTime": format_micro(series.first),
            "reportingController": self._component,
            "reportingInstance": self._instance[:128],
            "action": key.action[:128],
            "reason": key.reason[:128],
            "regarding": _reference(key.regarding),
            "note": _note(note),
            "type": key.kind.value,
        }
        if series.related is not None:
            event["related"] = _reference(series.related)
        if series.count > 1:
            event["series"] = _series_body(series, series.count)
        await self._client.create(EVENTS, event, namespace=_namespace(key.regarding))
        series.name, series.shown = name, note

    async def _update(self, key: _Key, series: _Series, count: int) -> None:
        patch = {"series": _series_body(series, count)}
        namespace = _namespace(key.regarding)
        await self._client.patch(EVENTS, series.name, patch, namespace=namespace)


def _namespace(regarding: Regarding) -> str:
    """Events about cluster-scoped objects live in `default`, as everywhere."""
    return regarding.namespace or "default"


def _series_body(series: _Series, count: int) -> dict[str, Any]:
    return {"count": count, "lastObservedTime": format_micro(series.last)}


def _reference(regarding: Regarding) -> dict[str, str]:
    full = {
        "apiVersion": regarding.api_version,
        "kind": regarding.kind,
        "namespace": regarding.namespace,
        "name": regarding.name,
        "uid": regarding.uid,
    }
    return {key: value for key, value in full.items() if value}


def _note(text: str) -> str:
    data = text.encode()
    return text if len(data) <= NOTE_LIMIT else data[: NOTE_LIMIT - 3].decode(errors="ignore") + "…"
