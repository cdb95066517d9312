"""Field ownership: `metadata.managedFields` after an update.

A manager owns what it last changed; what a write changes or removes leaves the sets of all
others. An entry is identified by manager, operation, version and subresource.
"""

from typing import Any, Final

from global_sched.embedded.apiserver.codec.shape import Shape
from global_sched.embedded.apiserver.patch.field_sets import (
    Trie,
    compare,
    covers,
    difference,
    merge,
    overlaps,
)

Obj = dict[str, Any]

_OWNED_META: Final = ("generateName", "labels", "annotations", "ownerReferences", "finalizers")
"""The metadata that a manager owns; the rest is the server's or names the object."""


def owned_view(obj: Obj, drop: frozenset[str]) -> Obj:
    """The object without what no manager owns, and without the parts an endpoint cannot write."""
    view = {
        key: value
        for key, value in obj.items()
        if key not in drop and key not in {"apiVersion", "kind", "metadata"}
    }
    if "metadata" not in drop:
        meta = obj.get("metadata") or {}
        view["metadata"] = {key: meta[key] for key in _OWNED_META if key in meta}
    return view


def _identity(entry: Obj) -> tuple[str, str, str, str]:
    return (
        entry.get("manager", ""),
        entry.get("operation", ""),
        entry.get("apiVersion", ""),
        entry.get("subresource", ""),
    )


def make_entry(
    manager: str, operation: str, api_version: str, time: str, subresource: str, trie: Trie
) -> Obj:
    """One entry of `managedFields`."""
    entry: Obj = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": trie,
    }
    if subresource:
        entry["subresource"] = subresource
    return entry


def order(entries: list[Obj]) -> list[Obj]:
    """The stored order: applies first, then by time and manager."""
    return sorted(
        entries,
        key=lambda entry: (
            entry.get("operation", ""),
            entry.get("time") or "",
            entry.get("manager", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        ),
    )


def changes(shape: Shape, old: Obj, new: Obj, drop: frozenset[str]) -> tuple[Trie, Trie]:
    """What a write changed and removed, without what no manager owns."""
    changed: Trie = {}
    removed: Trie = {}
    compare(shape, owned_view(old, drop), owned_view(new, drop), changed, removed)
    for trie in (changed, removed):
        meta = trie.get("f:metadata")
        if meta is not None:
            meta.pop(".", None)
            if not meta:
                del trie["f:metadata"]
    return changed, removed


def without(entries: list[Obj], gone: Trie) -> list[Obj]:
    """The entries without some paths; those left empty go."""
    if not gone:
        return entries
    left: list[Obj] = []
    for entry in entries:
        trie: Trie = entry.get("fieldsV1") or {}
        if not overlaps(trie, gone):
            left.append(entry)
            continue
        rest = difference(trie, gone)
        if rest:
            left.append({**entry, "fieldsV1": rest})
    return left


def after_update(
    entries: list[Obj],
    changed: Trie,
    removed: Trie,
    *,
    manager: str,
    api_version: str,
    time: str,
    subresource: str = "",
) -> list[Obj]:
    """The entries after an update which changed and removed those paths."""
    identity = (manager, "Update", api_version, subresource)
    mine: Trie = {}
    others: list[Obj] = []
    for entry in entries:
        if _identity(entry) == identity:
            mine = entry.get("fieldsV1") or {}
        else:
            others.append(entry)
    others = without(without(others, changed), removed)
    own = difference(mine, removed) if removed else mine
    if not covers(own, changed):
        own = merge(own, changed)
    if own:
        if not changed and own == mine:
            time = next(e.get("time", time) for e in entries if _identity(e) == identity)
        others.append(make_entry(manager, "Update", api_version, time, subresource, own))
    return order(others) if len(others) > 1 else others
