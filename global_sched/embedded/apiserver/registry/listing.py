"""LIST: selectors, pages on one consistent version, and the body built from shared bytes."""

import base64
import binascii
import string
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.http.request_info import RequestInfo, version_of
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.conversion import present
from global_sched.embedded.apiserver.storage.selectors import (
    RecordTest,
    field_test,
    label_test,
    record_test,
)
from global_sched.embedded.apiserver.storage.store import Collection, Record

_NAMES: Final = frozenset({"metadata.name", "metadata.namespace"})
_OLD_VERSION: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of records."""

    records: list[Record]
    version: int
    next: str = ""
    remaining: int | None = None


def selector_of(call: RequestInfo) -> RecordTest | None:
    """The predicate of a request's selectors; None when everything matches.

    Raises:  StatusError (400) for selectors that are none.
    """
    served = call.served
    labels = label_test(call.query.get("labelSelector", ""))
    text = call.query.get("fieldSelector", "")
    if not text:
        return record_test(labels, None)
    known = _NAMES | served.selectable.keys()

    def unsupported(path: str) -> StatusError:
        if served.custom or served.selectable:
            return status_error.bad_request(f"field label not supported: {path}")
        return status_error.bad_request(
            f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )

    return record_test(labels, field_test(text, frozenset(known), unsupported))


def _token(version: int, start: str) -> str:
    body = {"v": "meta.k8s.io/v1", "rv": version, "start": start}
    return base64.urlsafe_b64encode(msgspec.json.encode(body)).decode().rstrip("=")


def _parse_token(text: str) -> tuple[int, str]:
    bad = "invalid continue token: continue key is not valid"
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        message = f"{bad}: illegal base64 data at input byte {_first_bad(text)}"
        raise status_error.bad_request(message) from error
    try:
        body = msgspec.json.decode(raw)
        version, start, form = int(body["rv"]), str(body["start"]), body["v"]
    except (ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise status_error.bad_request(bad) from error
    if form != "meta.k8s.io/v1":
        raise status_error.bad_request(
            f"{bad}: server does not recognize this encoded version {form}"
        )
    if version == 0:
        why = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        raise status_error.bad_request(f"{bad}: {why}")
    if not start or "/../" in start + "/" or "/./" in start + "/":
        raise status_error.bad_request(f"{bad}: {start}")
    return version, start


def _first_bad(text: str) -> int:
    known = string.ascii_letters + string.digits + "-_"
    return next((i for i, letter in enumerate(text) if letter not in known), len(text))


class Lister:
    """All lists of one server."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def page(self, call: RequestInfo) -> Page:
        """The page that a request asks for.

        Raises:  StatusError for a version that is gone or not there yet, and for bad parameters.
        """
        limit = call.integer("limit") or 0
        token = call.query.get("continue", "")
        asked = call.query.get("resourceVersion", "")
        match = call.query.get("resourceVersionMatch", "")
        _check_options(call, asked, match, token)
        test = selector_of(call)
        collection = self.backend.collection(call.served)
        if token:
            if asked and asked != "0":
                raise status_error.bad_request(
                    "specifying resource version is not allowed when using continue"
                )
            version, start = _parse_token(token)
            return self._continue(call, collection, test, limit, version, start)
        version = self.backend.store.version
        if asked == "0" and match != "Exact":
            limit = 0
        elif asked:
            number = version_of(asked)
            if number > version:
                raise status_error.too_large_version(number, version)
            if match == "Exact" or (limit and not match):
                version = number
        records = collection.at(version)
        if records is None:
            raise status_error.expired("The resourceVersion for the provided list is too old.")
        return self._cut(call, records, collection, test, limit, version, "")

    def _continue(
        self,
        call: RequestInfo,
        collection: Collection,
        test: RecordTest | None,
        limit: int,
        version: int,
        start: str,
    ) -> Page:
        if version < 0:
            version = self.backend.store.version
        records = collection.at(version)
        prefix = f"{call.namespace}/" if call.namespace else ""
        key = prefix + start.removeprefix("/").rstrip("\0")
        if records is None:
            failure = status_error.expired(_OLD_VERSION)
            failure.metadata = {"continue": _token(-1, start)}
            raise failure
        return self._cut(call, records, collection, test, limit, version, key)

    def _cut(
        self,
        call: RequestInfo,
        records: dict[str, Record],
        collection: Collection,
        test: RecordTest | None,
        limit: int,
        version: int,
        after: str,
    ) -> Page:
        """The records after a key, up to the limit."""
        keys = collection.keys if records is collection.records else sorted(records)
        prefix = f"{call.namespace}/" if call.namespace else ""
        low = bisect_left(keys, after + "\0" if after else prefix)
        high = bisect_left(keys, call.namespace + "0") if prefix else len(keys)
        if not limit:
            chosen = [records[key] for key in keys[low:high]]
            if test is not None:
                chosen = [record for record in chosen if test(record)]
            return Page(records=chosen, version=version)
        chosen = []
        for index in range(low, high):
            record = records[keys[index]]
            if test is not None and not test(record):
                continue
            if len(chosen) == limit:
                last = chosen[-1].key.removeprefix(prefix)
                left = high - index if test is None else None
                token = _token(version, f"/{last}\0")
                return Page(records=chosen, version=version, next=token, remaining=left)
            chosen.append(record)
        return Page(records=chosen, version=version)


def _check_options(call: RequestInfo, asked: str, match: str, token: str) -> None:
    """Refuse parameters of a list that exclude each other."""
    field = "resourceVersionMatch"
    causes = []
    if match:
        if not asked:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            causes.append(field_errors.forbidden(field, why))
        if token:
            why = "resourceVersionMatch is forbidden when continue is provided"
            causes.append(field_errors.forbidden(field, why))
        if match not in {"Exact", "NotOlderThan"}:
            known = ["Exact", "NotOlderThan", ""]
            causes.append(field_errors.not_supported(field, match, known))
        if match == "Exact" and asked == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(field_errors.forbidden(field, why))
    if "sendInitialEvents" in call.query:
        why = "sendInitialEvents is forbidden for list"
        causes.append(field_errors.forbidden("sendInitialEvents", why))
    if causes:
        raise status_error.invalid("ListOptions", "meta.k8s.io", "", causes)


def list_meta(page: Page, *, custom: bool) -> dict[str, Any]:
    """The metadata of a list."""
    meta: dict[str, Any] = {}
    if custom or page.next:
        meta["continue"] = page.next
    if page.remaining is not None:
        meta["remainingItemCount"] = page.remaining
    meta["resourceVersion"] = str(page.version)
    return meta


def items_of(served: ResourceInfo) -> Callable[[Record], bytes]:
    """How the items of a list are written: built-in ones without kind and apiVersion."""
    if served.custom:
        return lambda record: present(served, record)
    cut = len(served.head)
    if served.stored_as:
        return lambda record: b"{" + present(served, record)[cut:]
    return lambda record: b"{" + record.raw[cut:]


def list_body(served: ResourceInfo, page: Page) -> bytes:
    """The list as JSON, joined from the records' bytes."""
    item = items_of(served)
    return join_list(
        served.list_kind,
        served.api_version,
        list_meta(page, custom=served.custom),
        (item(record) for record in page.records),
    )


def join_list(kind: str, api_version: str, meta: dict[str, Any], items: Iterable[bytes]) -> bytes:
    """A list's JSON from its items' JSON."""
    head = f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":'.encode()
    return b"".join((head, msgspec.json.encode(meta), b',"items":[', b",".join(items), b"]}\n"))
