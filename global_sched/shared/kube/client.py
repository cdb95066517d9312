"""The client of one API server: every verb, typed or not.

Nothing here retries. Reads may be wrapped in `retry.retry`; a write that carries a decision is
decided again instead. Typed objects are decoded partially (unknown fields are dropped), so they
are never written back whole: patch, or replace what was read as a dict.
"""
# ruff: noqa: A002 - `type` and `list` are the words that callers of a client expect

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from typing_extensions import TypeVar

from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.channel import Body, decoded, target_of, with_kind
from global_sched.shared.kube.decode import NO_KIND, codec
from global_sched.shared.kube.errors import DecodeError, RequestTarget
from global_sched.shared.kube.reading import Listing, Reader

__all__ = ["Body", "Client", "Listing", "PatchKind", "Propagation"]

T = TypeVar("T", default=dict[str, Any])


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


class Client(Reader):
    """Speaks to one API server through one transport.

    Every method raises the `ApiError` that says what happened; none of them retries.
    `observer` is for metrics; `inactivity` is how long a watch may be silent.
    """

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
        target = target_of("create", resource, namespace)
        params = _write_params(dry_run=dry_run, field_manager=field_manager)
        path = resource.path(namespace)
        whole = with_kind(body, resource)
        answer = await self._channel.send("POST", path, target, params=params, body=whole)
        return _stored(decoded(answer, codec(type), target), target, dry_run=dry_run)

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
        target = target_of("update", resource, namespace, name, subresource)
        path = resource.path(namespace, name, subresource)
        params = _write_params(dry_run=dry_run)
        whole = with_kind(body, resource)
        answer = await self._channel.send("PUT", path, target, params=params, body=whole)
        return _stored(decoded(answer, codec(type), target), target, name, dry_run=dry_run)

    async def patch(  # noqa: PLR0913 - the parameters are those of the API
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
        target = target_of("patch", resource, namespace, name, subresource)
        params = _write_params(dry_run=dry_run, field_manager=field_manager)
        if force:
            params["force"] = "true"
        path = resource.path(namespace, name, subresource)
        if kind is PatchKind.APPLY:
            body = with_kind(body, resource)
        answer = await self._channel.send(
            "PATCH", path, target, params=params, body=body, content_type=kind.value
        )
        return _stored(decoded(answer, codec(type), target), target, name, dry_run=dry_run)

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
        dry_run: bool = False,
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
        target = target_of("delete", resource, namespace, name)
        path = resource.path(namespace, name)
        params = _write_params(dry_run=dry_run)
        answer = await self._channel.send("DELETE", path, target, params=params, body=options)
        _answered(answer, target)

    async def post_subresource(
        self,
        resource: Resource,
        name: str,
        subresource: str,
        body: Body,
        *,
        namespace: str | None = None,
    ) -> dict[str, Any]:
        """POST to a subresource that is an action: `binding`, `eviction`. It answers a Status."""
        target = target_of("create", resource, namespace, name, subresource)
        path = resource.path(namespace, name, subresource)
        found = _answered(await self._channel.send("POST", path, target, body=body), target)
        if found["kind"] != "Status":
            said = f"a {found['kind']}, and no Status"
            raise DecodeError(f"the answer cannot be read: {said}", target=target)
        return found

    async def raw(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = "",
    ) -> bytes:
        """Any request, its answer undecoded: `/version`, `/readyz`, discovery."""
        target = RequestTarget(verb=method.lower(), resource=path)
        return await self._channel.send(
            method, path, target, params=params, body=body, accept=accept
        )

    async def close(self) -> None:
        """Close the transport."""
        await self.transport.close()


def _stored(found: T, target: RequestTarget, name: str = "", *, dry_run: bool = False) -> T:
    """The answer to a write. Raises DecodeError for anything but the object that was written.

    Its version is what the next write builds on: an empty one would be refused for ever.
    """
    identity = codec(type(found)).identity_of(found)
    if not identity.key.name or (name and identity.key.name != name):
        said = f"it is {identity.key.name!r}" if identity.key.name else "it names no object"
        raise DecodeError(f"the answer cannot be read: {said}", target=target)
    if not identity.resource_version and not dry_run:
        raise DecodeError("the answer cannot be read: it has no resourceVersion", target=target)
    return found


def _answered(answer: bytes, target: RequestTarget) -> dict[str, Any]:
    """The answer to an action or a deletion: a Status or an object. Raises DecodeError."""
    found = decoded(answer, codec(dict), target)
    if not found.get("kind"):
        raise DecodeError(f"the answer cannot be read: {NO_KIND}", target=target)
    return found


def _write_params(*, dry_run: bool, field_manager: str | None = None) -> dict[str, str]:
    params = {"dryRun": "All"} if dry_run else {}
    if field_manager is not None:
        params["fieldManager"] = field_manager
    return params
