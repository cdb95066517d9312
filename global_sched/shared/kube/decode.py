"""Bytes to typed objects: lists, watch events, single objects.

The fast path decodes a whole page or event straight into the wanted type. When that fails,
the slow path decodes object by object, and whatever cannot be read becomes a `Malformed`
instead of an exception: one bad object must never hide the others.
"""

from enum import StrEnum
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec

from global_sched.shared.kube.errors import Status
from global_sched.shared.kube.objects import Identity, Malformed, ObjectKey, identifier
from global_sched.shared.kube.salvage import SalvageError, elements, members, metadata_of

T = TypeVar("T")

UNDECODABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
"""What a decoder raises for text that is not JSON, not of the type, or nested absurdly deep."""


class EventType(StrEnum):
    """What a watch event says about its object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"
    """Never seen by callers: it is raised."""


class WatchEvent(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One event of a watch."""

    type: EventType
    object: T | Malformed | None
    """The object after the change (before it, for DELETED); None for a BOOKMARK."""
    identity: Identity
    """Key, uid and resourceVersion; a BOOKMARK has only the last."""

    @property
    def resource_version(self) -> str:
        """Where a watch that starts after this event continues."""
        return self.identity.resource_version


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "next": "continue"}):
    """`metadata` of a list."""

    resource_version: str = ""
    next: str = ""


NO_KIND: Final = "it does not say of which kind it is"
"""Every answer of an API server does: an empty list without it is no sign that there is nothing."""


class _List(msgspec.Struct, Generic[T]):
    kind: str = ""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] | None = None


class _Wire(msgspec.Struct, Generic[T], gc=False):
    type: EventType
    object: T


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list."""

    items: list[T]
    malformed: list[Malformed]
    resource_version: str
    next: str
    """Continue token, empty on the last page."""


class Codec(Generic[T]):
    """Decoders of one type, made once; get one from `codec`."""

    def __init__(self, type_: type[T]) -> None:
        self.identity_of = identifier(type_)
        self._one = msgspec.json.Decoder(type_)
        self._list = msgspec.json.Decoder(_List[type_])  # type: ignore[valid-type]
        self._event = msgspec.json.Decoder(_Wire[type_])  # type: ignore[valid-type]

    def one(self, body: bytes) -> T:
        """One object.

        Raises:  one of UNDECODABLE.
        """
        return self._one.decode(body)

    def page(self, body: bytes) -> Page[T]:
        """One page; unreadable objects are set aside.

        Raises:  SalvageError when the body is not a list at all.
        """
        try:
            whole = self._list.decode(body)
        except UNDECODABLE:
            return self._salvage_page(body)
        if not whole.kind:
            raise SalvageError(NO_KIND)
        return Page(
            items=whole.items or [],
            malformed=[],
            resource_version=whole.metadata.resource_version,
            next=whole.metadata.next,
        )

    def _salvage_page(self, body: bytes) -> Page[T]:
        parts = dict(members(body))
        if b"kind" not in parts:
            raise SalvageError(NO_KIND)
        try:
            meta = msgspec.json.decode(parts.get(b"metadata", b"{}"), type=ListMeta)
        except UNDECODABLE as error:
            raise SalvageError(f"the list's metadata: {error}") from error
        items: list[T] = []
        malformed: list[Malformed] = []
        raw_items = parts.get(b"items", b"[]")
        for raw in elements(raw_items) if raw_items != b"null" else ():
            try:
                items.append(self._one.decode(raw))
            except UNDECODABLE as error:
                malformed.append(describe(raw, error))
        return Page(
            items=items,
            malformed=malformed,
            resource_version=meta.resource_version,
            next=meta.next,
        )

    def event(self, line: bytes) -> WatchEvent[T] | Status:
        """One event of a watch; the Status that an ERROR event carries.

        Raises:  SalvageError when the line is not an event at all.
        """
        try:
            wire = self._event.decode(line)
        except UNDECODABLE:
            return self._salvage_event(line)
        if wire.type is EventType.BOOKMARK or wire.type is EventType.ERROR:
            return self._salvage_event(line)
        return WatchEvent(wire.type, wire.object, self.identity_of(wire.object))

    def _salvage_event(self, line: bytes) -> WatchEvent[T] | Status:
        parts = dict(members(line))
        raw = parts.get(b"object", b"")
        try:
            kind = EventType(parts.get(b"type", b"").strip(b'"').decode())
        except ValueError as error:
            raise SalvageError(f"unknown type of event: {error}") from error
        if kind is EventType.ERROR:
            try:
                return msgspec.json.decode(raw, type=Status)
            except UNDECODABLE:
                return Status(code=500, message="an ERROR event whose Status cannot be read")
        if kind is EventType.BOOKMARK:
            version = metadata_of(raw).resource_version
            return WatchEvent(kind, None, Identity(ObjectKey("", ""), "", version))
        try:
            typed = self._one.decode(raw)
        except UNDECODABLE as error:
            bad = describe(raw, error)
            return WatchEvent(kind, bad, Identity(bad.key, bad.uid, bad.resource_version))
        return WatchEvent(kind, typed, self.identity_of(typed))


def describe(raw: bytes, error: BaseException) -> Malformed:
    """Say what is wrong with one object that could not be decoded, and whose it is."""
    meta = metadata_of(raw)
    text = str(error)
    if isinstance(error, RecursionError):
        text = "nested too deep"
    return Malformed(
        key=ObjectKey(meta.namespace or "", meta.name),
        uid=meta.uid,
        resource_version=meta.resource_version,
        error=text[:1024],
    )


def codec(type_: type[T]) -> Codec[T]:
    """The decoders of one type, made once."""
    return _codec(type_)  # type: ignore[arg-type]  # classes are hashable


@cache
def _codec(type_: Any) -> Codec[Any]:
    return Codec(type_)


class Lines:
    """Cuts a stream of chunks into lines; a line may span any number of chunks."""

    def __init__(self, *, limit: int = 64 * 1024 * 1024) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._limit = limit

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes.

        Raises:  SalvageError when a line grows beyond the limit.
        """
        *whole, rest = chunk.split(b"\n")
        if whole and self._parts:
            whole[0] = b"".join((*self._parts, whole[0]))
            self._parts.clear()
            self._size = 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise SalvageError(f"one event is larger than {self._limit} bytes")
        return whole

    @property
    def pending(self) -> int:
        """Bytes of a line that has not ended yet."""
        return self._size
