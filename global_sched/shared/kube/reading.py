"""The reading half of the client: get, list, watch."""
# ruff: noqa: A002 - `type` and `list` are the words that callers of a client expect

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final, Generic

import msgspec
from typing_extensions import TypeVar

from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.channel import Channel, Observer, decoded, target_of
from global_sched.shared.kube.decode import Codec, Page, WatchEvent, codec
from global_sched.shared.kube.errors import DecodeError, RequestTarget, TooLarge
from global_sched.shared.kube.objects import Malformed
from global_sched.shared.kube.salvage import SalvageError
from global_sched.shared.kube.transport import Request, Transport
from global_sched.shared.kube.watch import batches

T = TypeVar("T", default=dict[str, Any])

TIMEOUT: Final = 30.0
"""Seconds that a plain request may take."""
WATCH: Final = 60
"""Seconds after which the server is to end a watch; an informer adds at most a fifth.

Bookmarks come once a minute at best, and a collection that is unchanged since its server
started gets none, nor does one that the server does not cache. So the end of the watch is the sign
of life that every server gives."""
INACTIVITY: Final = 90.0
"""Seconds of silence after which a watch counts as dead: it should have ended by then."""


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A whole list: one consistent state of a collection."""

    items: list[T]
    malformed: list[Malformed]
    """Objects that exist but cannot be read as T."""
    resource_version: str
    """Where a watch that continues this list starts."""


class Reader:
    """Reads from one API server; `client.Client` adds the writes."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        user_agent: str = "global-sched",
        timeout: float = TIMEOUT,
        inactivity: float = INACTIVITY,
        observer: Observer | None = None,
    ) -> None:
        self.transport = transport
        self._inactivity = inactivity
        self._channel = Channel(
            transport, clock=clock, user_agent=user_agent, timeout=timeout, observer=observer
        )

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
    ) -> T:
        """One object.

        Raises:  NotFound; DecodeError when it cannot be read as T.
        """
        target = target_of("get", resource, namespace, name, subresource)
        body = await self._channel.send("GET", resource.path(namespace, name, subresource), target)
        return _asked_for(decoded(body, codec(type), target), name, target)

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> Listing[T]:
        """A whole collection, all namespaces when none is given; its pages are followed.

        Raises:  Gone when the server compacted the state between two pages: list again.
        """
        items: list[T] = []
        malformed: list[Malformed] = []
        version = ""
        pages = self.pages(
            resource,
            namespace=namespace,
            type=type,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
        )
        async with aclosing(pages):
            async for page in pages:
                items.extend(page.items)
                malformed.extend(page.malformed)
                version = page.resource_version
        return Listing(items=items, malformed=malformed, resource_version=version)

    async def pages(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> AsyncGenerator[Page[T], None]:
        """The pages of a collection, all of one state; at most `limit` objects each.

        Pages shrink when their bytes exceed what one answer may hold.
        """
        target = target_of("list", resource, namespace)
        path = resource.path(namespace)
        decoders: Codec[T] = codec(type)
        params = _selectors(label_selector, field_selector)
        while True:
            params["limit"] = str(limit)
            try:
                body = await self._channel.send("GET", path, target, params=params)
            except TooLarge:
                if limit <= 1:
                    raise
                limit = max(1, limit // 4)
                continue
            try:
                page = decoders.page(body)
            except SalvageError as error:
                raise DecodeError(str(error), target=target) from error
            yield page
            if not page.next:
                return
            params["continue"] = page.next

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = WATCH,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Every change after `resource_version`, one by one, until the server ends the stream.

        Close it (`contextlib.aclosing`) when leaving early. An ERROR event is raised.

        Raises:  Gone when the version is too old; Unreachable when the stream breaks or is
                 silent for too long; DecodeError when it carries something else than events.
        """
        return _one_by_one(
            self.watch_batches(
                resource,
                resource_version=resource_version,
                namespace=namespace,
                type=type,
                label_selector=label_selector,
                field_selector=field_selector,
                timeout_seconds=timeout_seconds,
            )
        )

    def watch_batches(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = WATCH,
    ) -> AsyncGenerator[Sequence[WatchEvent[T]], None]:
        """The same as `watch`, in the portions in which the events arrived.

        The first portion is empty and means that the server accepted the watch.
        """
        params = _selectors(label_selector, field_selector) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        request = Request(
            method="GET",
            path=resource.path(namespace),
            target=target_of("watch", resource, namespace),
            params=params,
            headers=self._channel.headers,
            timeout=self._inactivity,
        )
        return batches(self.transport, request, codec(type))


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    both = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in both.items() if value}


async def _one_by_one(
    source: AsyncGenerator[Sequence[WatchEvent[T]], None],
) -> AsyncGenerator[WatchEvent[T], None]:
    async with aclosing(source):
        async for batch in source:
            for event in batch:
                yield event


def _asked_for(found: T, name: str, target: RequestTarget) -> T:
    """The answer to a read. Raises DecodeError for a list in place of the object.

    An object without its fields would be believed to have none of them.
    """
    if isinstance(found, dict) and "items" in found and "name" not in (found.get("metadata") or {}):
        raise DecodeError(f"the answer cannot be read: a list, and not {name!r}", target=target)
    return found
