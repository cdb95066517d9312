"""Answers in another form than the objects themselves: Table and PartialObjectMetadata."""

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from global_sched.embedded.apiserver import status_error
from global_sched.embedded.apiserver.http.answers import JSON_TYPE
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.kubectl.printers.columns import column_definitions, row_cells
from global_sched.embedded.apiserver.registry.listing import Page
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.conversion import from_storage
from global_sched.embedded.apiserver.storage.store import Record, encode
from global_sched.shared.model.instant import Instant

Obj = dict[str, Any]

_META: Final = "meta.k8s.io/v1"
_RANGES: Final = frozenset({JSON_TYPE, "application/*", "*/*"})


def _partial(obj: Obj) -> Obj:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _META,
        "metadata": obj["metadata"],
    }


def _page_meta(page: Page) -> Obj:
    meta: Obj = {"resourceVersion": str(page.version)}
    if page.next:
        meta["continue"] = page.next
    if page.remaining is not None:
        meta["remainingItemCount"] = page.remaining
    return meta


def _row(served: ResourceInfo, obj: Obj, now: Instant, include: str) -> Obj:
    row: Obj = {"cells": row_cells(served, obj, now)}
    conditions = _row_conditions(served, obj)
    if conditions:
        row["conditions"] = conditions
    if include == "Object":
        row["object"] = obj
    elif include != "None":
        row["object"] = _partial(obj)
    else:
        row["object"] = None
    return row


def _row_conditions(served: ResourceInfo, obj: Obj) -> list[Obj]:
    """Pods that ended are marked, so that a client may hide them."""
    if served.collection != "pods":
        return []
    phase = (obj.get("status") or {}).get("phase")
    reason = {"Succeeded": "Succeeded", "Failed": "Failed"}.get(phase or "")
    if reason is None:
        return []
    message = f"The pod has {'completed successfully' if reason == 'Succeeded' else 'failed'}."
    return [{"type": "Completed", "status": "True", "reason": reason, "message": message}]


class Rendering(StrEnum):
    """The form that a request accepts first."""

    JSON = "json"
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"

    def one(self, backend: Backend, call: RequestInfo, obj: Obj) -> bytes:
        """One object."""
        if self is Rendering.PARTIAL:
            return encode(_partial(obj))
        return encode(_table(backend, call, [obj], _object_meta(obj), columns=True))

    def many(self, backend: Backend, call: RequestInfo, page: Page) -> bytes:
        """A page of objects."""
        served = call.served
        objects = [from_storage(served, record.load()) for record in page.records]
        if self is Rendering.PARTIAL:
            return encode(
                {
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": _META,
                    "metadata": _page_meta(page),
                    "items": [_partial(obj) for obj in objects],
                }
            )
        return encode(_table(backend, call, objects, _page_meta(page), columns=True))

    def frame(self, backend: Backend, call: RequestInfo) -> Callable[[ResourceInfo, Record], bytes]:
        """How a watch of this form writes a record; tables name their columns once."""
        first = True

        def render(served: ResourceInfo, record: Record) -> bytes:
            nonlocal first
            obj = from_storage(served, record.load())
            if self is Rendering.PARTIAL:
                return encode(_partial(obj))
            table = _table(backend, call, [obj], _object_meta(obj), columns=first)
            first = False
            return encode(table)

        return render


_FORMS: Final = {
    "Table": Rendering.TABLE,
    "PartialObjectMetadata": Rendering.PARTIAL,
    "PartialObjectMetadataList": Rendering.PARTIAL,
}


def _object_meta(obj: Obj) -> Obj:
    return {"resourceVersion": obj["metadata"].get("resourceVersion", "")}


def _table(
    backend: Backend, call: RequestInfo, objects: list[Obj], meta: Obj, *, columns: bool
) -> Obj:
    now = backend.now()
    include = call.query.get("includeObject") or "Metadata"
    served = call.served
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": meta,
        "columnDefinitions": column_definitions(served) if columns else None,
        "rows": [_row(served, obj, now, include) for obj in objects],
    }


@lru_cache(maxsize=64)
def rendering_of(accept: str) -> Rendering:
    """The first form in an Accept header that is served here; JSON where the header is empty.

    Raises:  StatusError (406) when the header names none.
    """
    if not accept:
        return Rendering.JSON
    for part in accept.split(","):
        form = _form(part)
        if form is not None:
            return form
    raise status_error.not_acceptable([JSON_TYPE])


def _form(part: str) -> Rendering | None:
    """The form of one media range, if it is served here."""
    media_range, *parameters = (one.strip() for one in part.split(";"))
    if media_range not in _RANGES:
        return None
    given = dict(one.split("=", 1) for one in parameters if "=" in one)
    if "as" not in given:
        return Rendering.JSON
    if given.get("g") != "meta.k8s.io" or given.get("v") not in {"v1", "v1beta1"}:
        return None
    return _FORMS.get(given["as"])
