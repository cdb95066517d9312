"""The client of one API server: every verb, typed or not.

Nothing here retries. Reads may be wrapped in `retry.retry`; a write that carries a decision is
decided again instead. Typed objects are decoded partially (unknown fields are dropped), so they
are never written back whole: patch, or replace what was read as a dict.
"""
# ruff: noqa: A002, A003 - `type` and `list` are the words that callers of a client expect

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from enum import StrEnum
from typing import Any, Final, Generic

import msgspec
from typing_extensions import TypeVar

from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.decode import UNDECODABLE, Codec, Page, WatchEvent, codec
from global_sched.shared.kube.errors import (
    ApiError,
    DecodeError,
    Target,
    TooLarge,
    error_from_answer,
)
from global_sched.shared.kube.objects import Malformed
from global_sched.shared.kube.salvage import SalvageError
from global_sched.shared.kube.transport import Request, Transport
from global_sched.shared.kube.watch import batches

T = TypeVar("T", default=dict[str, Any])
Body = Mapping[str, Any] | msgspec.Struct | list[Any] | bytes
"""What may be sent: a dict, a Struct, a JSON patch's list of steps, or encoded JSON."""

TIMEOUT: Final = 30.0
"""Seconds that a plain request may take."""
INACTIVITY: Final = 90.0
"""Seconds of silence after which a watch counts as dead; bookmarks come about once a minute."""

Observer = Callable[[Target, int, float], None]
"""Told of every answered or failed request: what, HTTP status (0 = no answer), seconds."""


class PatchKind(StrEnum):
    """How a patch body is to be read; the value is its content type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """What happens to the objects that a deleted one owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A whole list: one consistent state of a collection."""

    items: list[T]
    malformed: list[Malformed]
    """Objects that exist but cannot be read as T."""
    resource_version: str
    """Where a watch that continues this list starts."""


class Client:
    """Speaks to one API server through one transport.

    Every method raises the `ApiError` that says what happened; none of them retries.
    `observer` is for metrics; `inactivity` is how long a watch may be silent.
    """

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
        self._clock = clock
        self._observer = observer
        self._timeout = timeout
        self._inactivity = inactivity
        self._headers = {"User-Agent": user_agent, "Accept": "application/json"}

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
        target = _target("get", resource, namespace, name, subresource)
        body = await self._send("GET", resource.path(namespace, name, subresource), target)
        return _decode(body, codec(type), target)

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
        target = _target("list", resource, namespace)
        path = resource.path(namespace)
        decoders: Codec[T] = codec(type)
        params = _selectors(label_selector, field_selector)
        while True:
            params["limit"] = str(limit)
            try:
                body = await self._send("GET", path, target, params=params)
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

    async def create(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> T:
        """The object as the server stored it.

        Raises:  AlreadyExists, Invalid, Forbidden.
        """
        target = _target("create", resource, namespace)
        params = _write_params(dry_run=dry_run, field_manager=field_manager)
        path = resource.path(namespace)
        answer = await self._send("POST", path, target, params=params, body=body)
        return _decode(answer, codec(type), target)

    async def replace(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        dry_run: bool = False,
    ) -> T:
        """PUT a whole object; never one that was decoded into a Struct (fields would be lost).

        Raises:  Conflict when the body's resourceVersion is not the current one.
        """
        target = _target("update", resource, namespace, name, subresource)
        path = resource.path(namespace, name, subresource)
        params = _write_params(dry_run=dry_run)
        answer = await self._send("PUT", path, target, params=params, body=body)
        return _decode(answer, codec(type), target)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        kind: PatchKind = PatchKind.MERGE,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        type: type[T] = dict,  # type: ignore[assignment]
    ) -> T:
        """The object after the patch.

        A `metadata.resourceVersion` in a merge patch makes it conditional. APPLY needs a
        `field_manager`; `force` takes fields over from other managers.

        Raises:  Conflict, NotFound, Invalid, UnsupportedMedia.
        """
        target = _target("patch", resource, namespace, name, subresource)
        params = _write_params(dry_run=dry_run, field_manager=field_manager)
        if force:
            params["force"] = "true"
        path = resource.path(namespace, name, subresource)
        answer = await self._send(
            "PATCH", path, target, params=params, body=body, content_type=kind.value
        )
        return _decode(answer, codec(type), target)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
    ) -> None:
        """Ask for deletion; finalizers and grace periods may keep the object for a while.

        Raises:  NotFound; Conflict when `uid` or `resource_version` is not the current one.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {key: value for key, value in preconditions.items() if value is not None}
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if propagation is not None:
            options["propagationPolicy"] = propagation.value
        target = _target("delete", resource, namespace, name)
        await self._send("DELETE", resource.path(namespace, name), target, body=options)

    async def post_subresource(
        self,
        resource: Resource,
        name: str,
        subresource: str,
        body: Body,
        *,
        namespace: str | None = None,
    ) -> dict[str, Any]:
        """POST to a subresource that is an action: `binding`, `eviction`."""
        target = _target("create", resource, namespace, name, subresource)
        path = resource.path(namespace, name, subresource)
        return _decode(await self._send("POST", path, target, body=body), codec(dict), target)

    async def raw(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        params: Mapping[str, str] | None = None,
    ) -> bytes:
        """Any request, its answer undecoded: `/version`, `/readyz`, discovery."""
        target = Target(verb=method.lower(), resource=path)
        return await self._send(method, path, target, params=params, body=body)

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 300,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Every change after `resource_version`, one by one, until the server ends the stream.

        Close it (`contextlib.aclosing`) when leaving early. An ERROR event is raised.

        Raises:  Gone when the version is too old; Unreachable when the stream breaks or is
                 silent for too long; DecodeError when it carries something else than events.
        """
        return self._watch_one_by_one(
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

    @staticmethod
    async def _watch_one_by_one(
        source: "AsyncGenerator[list_of[WatchEvent[T]], None]",
    ) -> AsyncGenerator[WatchEvent[T], None]:
        async with aclosing(source):
            async for batch in source:
                for event in batch:
                    yield event

    def watch_batches(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        type: type[T] = dict,  # type: ignore[assignment]
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 300,
    ) -> "AsyncGenerator[list_of[WatchEvent[T]], None]":
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
            target=_target("watch", resource, namespace),
            params=params,
            headers=self._headers,
            timeout=self._inactivity,
        )
        return batches(self.transport, request, codec(type))

    async def close(self) -> None:
        """Close the transport."""
        await self.transport.close()

    async def _send(
        self,
        method: str,
        path: str,
        target: Target,
        *,
        params: Mapping[str, str] | None = None,
        body: Body | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        headers = self._headers
        data: bytes | None = None
        if body is not None:
            data = body if isinstance(body, bytes) else msgspec.json.encode(body)
            headers = {**headers, "Content-Type": content_type}
        request = Request(
            method=method,
            path=path,
            target=target,
            params=params or {},
            headers=headers,
            body=data,
            timeout=self._timeout,
        )
        started = self._clock.monotonic()
        status = 0
        try:
            response = await self.transport.send(request)
            status = response.status
        finally:
            if self._observer is not None:
                self._observer(target, status, self._clock.monotonic() - started)
        if status >= 300:
            raise error_from_answer(status, response.headers, response.body, target=target)
        return response.body


def _target(
    verb: str,
    resource: Resource,
    namespace: str | None,
    name: str = "",
    subresource: str | None = None,
) -> Target:
    plural = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    if subresource:
        plural = f"{plural}/{subresource}"
    return Target(
        verb=verb,
        resource=plural,
        namespace=(namespace or "") if resource.namespaced else "",
        name=name,
    )


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    both = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in both.items() if value}


def _write_params(*, dry_run: bool, field_manager: str | None = None) -> dict[str, str]:
    params = {"dryRun": "All"} if dry_run else {}
    if field_manager is not None:
        params["fieldManager"] = field_manager
    return params


def _decode(body: bytes, decoders: Codec[T], target: Target) -> T:
    try:
        return decoders.one(body)
    except UNDECODABLE as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise DecodeError(f"the answer cannot be read: {reason}", target=target) from error
