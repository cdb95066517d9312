"""One stored form, several served versions: conversion at the edge.

Versions of a custom resource differ in `apiVersion` only (conversion strategy None). Events are
stored in their core form and converted for `events.k8s.io`.
"""

from typing import Any, Final

from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.storage.store import Record, encode

Obj = dict[str, Any]

_EVENTS: Final = "events.k8s.io"
# (core name, events.k8s.io name) of the fields that differ.
_EVENT_NAMES: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_TO_EVENTS: Final = dict(_EVENT_NAMES)
_TO_CORE: Final = {new: old for old, new in _EVENT_NAMES}
_CORE_ALWAYS: Final[Obj] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def _event_to_core(obj: Obj) -> Obj:
    out: Obj = {"kind": "Event", "apiVersion": "v1"}
    for key, value in obj.items():
        if key not in {"kind", "apiVersion"}:
            out[_TO_CORE.get(key, key)] = value
    for key, empty in _CORE_ALWAYS.items():
        out.setdefault(key, empty)
    return out


def _event_from_core(obj: Obj) -> Obj:
    out: Obj = {"kind": "Event", "apiVersion": "events.k8s.io/v1"}
    for key, value in obj.items():
        if key not in {"kind", "apiVersion"}:
            out[_TO_EVENTS.get(key, key)] = value
    for key in ("reportingController", "reportingInstance"):
        if out.get(key) == "":
            del out[key]
    if out.get("regarding") == {}:
        out["regarding"] = {}
    return out


def to_storage(served: ResourceInfo, obj: Obj) -> Obj:
    """The object as it is stored, its leading fields first."""
    if served.group == _EVENTS:
        return _event_to_core(obj)
    if served.custom:
        return {"apiVersion": served.stored_version, "kind": served.kind, **_rest(obj)}
    return {"kind": served.kind, "apiVersion": served.api_version, **_rest(obj)}


def _rest(obj: Obj) -> Obj:
    rest: Obj = {"metadata": obj["metadata"]}
    for key, value in obj.items():
        if key not in {"kind", "apiVersion", "metadata"}:
            rest[key] = value
    return rest


def from_storage(served: ResourceInfo, obj: Obj) -> Obj:
    """A stored object in the served version."""
    if served.group == _EVENTS:
        return _event_from_core(obj)
    if served.custom:
        obj["apiVersion"] = served.api_version
    return obj


def present(served: ResourceInfo, record: Record) -> bytes:
    """The bytes of a stored object in the served version."""
    if served.group == _EVENTS:
        return encode(_event_from_core(record.load()))
    if served.custom and served.stored_version != served.api_version:
        cut = len(served.stored_head)
        return served.head + record.raw[cut:]
    return record.raw


def converts(served: ResourceInfo) -> bool:
    """Whether the served bytes differ from the stored ones."""
    return served.group == _EVENTS or (
        served.custom and served.stored_version != served.api_version
    )
