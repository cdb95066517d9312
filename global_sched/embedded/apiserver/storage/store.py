"""Objects in memory: one counter of versions, sorted keys, a bounded history per resource.

A `Record` is one state of one object and never changes; its bytes are encoded once and shared
by every reader and watcher. Everything here is synchronous: a handler that has read the state
commits against exactly that state.
"""

import asyncio
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

Obj = dict[str, Any]

encode: Final = msgspec.json.Encoder().encode
decode: Final = msgspec.json.Decoder().decode

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"

_NO_LABELS: Final[Mapping[str, str]] = {}


class Record:
    """One state of one object, as stored."""

    __slots__ = (
        "fields",
        "key",
        "labels",
        "name",
        "namespace",
        "owners",
        "raw",
        "terminating",
        "uid",
        "version",
    )

    def __init__(self, key: str, obj: Obj, version: int, fields: Mapping[str, str]) -> None:
        meta = obj["metadata"]
        self.key = key
        self.name: str = meta["name"]
        self.namespace: str = meta.get("namespace") or ""
        self.uid: str = meta.get("uid", "")
        self.version = version
        self.labels: Mapping[str, str] = meta.get("labels") or _NO_LABELS
        self.fields = fields
        self.terminating = "deletionTimestamp" in meta
        self.owners: tuple[str, ...] = tuple(
            owner.get("uid", "") for owner in meta.get("ownerReferences") or ()
        )
        self.raw: bytes = encode(obj)

    def load(self) -> Obj:
        """A fresh copy of the object, free to change."""
        return decode(self.raw)  # type: ignore[no-any-return]


class Event:
    """One change: the record after it (before it, for DELETED) and the one it replaced."""

    __slots__ = ("_line", "kind", "prev", "record", "version")

    def __init__(self, kind: str, record: Record, prev: Record | None, version: int) -> None:
        self.kind = kind
        self.record = record
        self.prev = prev
        self.version = version
        self._line: bytes | None = None

    def line(self) -> bytes:
        """The watch frame for watchers without a filter, encoded once."""
        if self._line is None:
            self._line = frame(self.kind, self.record.raw)
        return self._line


def frame(kind: str, raw: bytes) -> bytes:
    """A watch frame around an object's bytes."""
    return b'{"type":"' + kind.encode() + b'","object":' + raw + b"}\n"


class Collection:
    """All objects of one resource, with the history that watches resume from."""

    def __init__(self, store: "Store", name: str) -> None:
        self.store = store
        self.name = name
        self.records: dict[str, Record] = {}
        self.keys: list[str] = []
        self.events: list[Event] = []
        self.offset = 0
        self.floor = store.start
        self.bytes = 0
        self.visible = 0
        self._waiting: list[asyncio.Future[None]] = []

    def range(self, namespace: str) -> tuple[int, int]:
        """The slice of `keys` which belongs to a namespace; all of them for an empty one."""
        if not namespace:
            return 0, len(self.keys)
        return bisect_left(self.keys, namespace + "/"), bisect_left(self.keys, namespace + "0")

    def select(self, namespace: str = "") -> Iterator[Record]:
        """The records of a namespace (all for an empty one) in key order."""
        low, high = self.range(namespace)
        records = self.records
        return (records[key] for key in self.keys[low:high])

    def put(self, record: Record) -> None:
        """Store a new state; its version is already taken from the counter."""
        prev = self.records.get(record.key)
        self.records[record.key] = record
        if prev is None:
            insort(self.keys, record.key)
            self._append(Event(ADDED, record, None, record.version))
        else:
            self._append(Event(MODIFIED, record, prev, record.version))

    def drop(self, key: str, last: Record) -> None:
        """Remove an object; `last` is its final state with the version of the removal."""
        prev = self.records.pop(key)
        del self.keys[bisect_left(self.keys, key)]
        self._append(Event(DELETED, last, prev, last.version))

    def _append(self, event: Event) -> None:
        self.events.append(event)
        self.bytes += len(event.record.raw)
        if self.bytes > self.store.history_bytes:
            self._trim()
        self.store.changed(self, event)

    def _trim(self) -> None:
        """Forget the older half, so that the cost of trimming is spread."""
        target = self.store.history_bytes // 2
        cut = 0
        last = len(self.events) - 1
        while cut < last and self.bytes > target:
            self.bytes -= len(self.events[cut].record.raw)
            cut += 1
        self.floor = self.events[cut - 1].version if cut else self.floor
        del self.events[:cut]
        self.offset += cut

    def position(self, version: int) -> int | None:
        """The absolute index of the first event after a version; None when it is forgotten."""
        if version < self.floor:
            return None
        low, high = 0, len(self.events)
        events = self.events
        while low < high:
            mid = (low + high) // 2
            if events[mid].version <= version:
                low = mid + 1
            else:
                high = mid
        return self.offset + low

    def at(self, version: int) -> dict[str, Record] | None:
        """The records as they were at a version; None when that is forgotten."""
        start = self.position(version)
        if start is None:
            return None
        if start == self.offset + len(self.events):
            return self.records
        records = dict(self.records)
        for event in reversed(self.events[start - self.offset :]):
            if event.prev is None:
                records.pop(event.record.key, None)
            else:
                records[event.prev.key] = event.prev
        return records

    def wait(self) -> asyncio.Future[None]:
        """A future that is done at the next visible change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def publish(self) -> None:
        """Let watchers see everything appended so far."""
        self.visible = self.offset + len(self.events)
        self.wake()

    def wake(self) -> None:
        """Make every waiting watcher look again."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class Store:
    """Every collection of one server, and the one counter of versions."""

    def __init__(self, history_bytes: int) -> None:
        self.version = 0
        self.start = 0
        self.history_bytes = history_bytes
        self.collections: dict[str, Collection] = {}
        self.listeners: list[Callable[[Collection, Event], None]] = []
        self.durable: Callable[[Collection, Event], None] | None = None

    def next_version(self) -> int:
        """Take the next version."""
        self.version += 1
        return self.version

    def collection(self, name: str) -> Collection:
        """The collection of a resource, made when first asked for."""
        found = self.collections.get(name)
        if found is None:
            found = self.collections[name] = Collection(self, name)
        return found

    def changed(self, collection: Collection, event: Event) -> None:
        """Hand a change to the followers of all changes, then to the watchers."""
        for listener in self.listeners:
            listener(collection, event)
        if self.durable is None:
            collection.publish()
        else:
            self.durable(collection, event)

    def load(self, name: str, records: Iterable[Record]) -> None:
        """Fill a collection at start, without history."""
        collection = self.collection(name)
        for record in records:
            collection.records[record.key] = record
        collection.keys = sorted(collection.records)
        collection.floor = self.start
