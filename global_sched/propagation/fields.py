"""Raw objects as dicts: versions, keys, merging and conditions, and the paths of `api.raw`."""

from global_sched.shared.api.raw import (
    ANNOTATIONS,
    LABELS,
    Obj,
    annotations,
    drop,
    generation_of,
    get,
    kind_of,
    labels,
    name_of,
    namespace_of,
    put,
)
from global_sched.shared.kube.objects import ObjectKey

__all__ = [
    "ANNOTATIONS",
    "LABELS",
    "Obj",
    "annotations",
    "deleting",
    "drop",
    "generation_of",
    "get",
    "key_of",
    "kind_of",
    "labels",
    "merge_difference",
    "name_of",
    "namespace_of",
    "put",
    "set_condition",
    "uid_of",
    "version_of",
]


def key_of(obj: Obj) -> ObjectKey:
    """Namespace and name."""
    return ObjectKey(namespace_of(obj), name_of(obj))


def uid_of(obj: Obj) -> str:
    """The uid."""
    return str(get(obj, "metadata", "uid") or "")


def version_of(obj: Obj) -> str:
    """The resourceVersion."""
    return str(get(obj, "metadata", "resourceVersion") or "")


def deleting(obj: Obj) -> bool:
    """Whether it was asked to go."""
    return bool(get(obj, "metadata", "deletionTimestamp"))


def merge_difference(old: Obj, new: Obj) -> Obj:
    """The merge patch that turns one into the other: null for what is gone, lists whole."""
    patch: Obj = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            if below := merge_difference(before, value):
                patch[name] = below
        elif name not in old or before != value:
            patch[name] = value
    return patch


def set_condition(conditions: list[Obj] | None, new: Obj) -> list[Obj]:
    """The list with one condition of its type replaced in place, or appended.

    The transition time of the old one stays while the status stays.
    """
    kept: list[Obj] = []
    found = False
    for old in conditions or []:
        if old.get("type") != new["type"]:
            kept.append(old)
            continue
        found = True
        same = old.get("status") == new["status"] and "lastTransitionTime" in old
        kept.append(new | {"lastTransitionTime": old["lastTransitionTime"]} if same else new)
    return kept if found else [*kept, new]
