"""Raw objects as dicts: read and write a field by its path, labels and annotations."""

from typing import Any, Final

from global_sched.shared.kube.objects import ObjectKey

Obj = dict[str, Any]

LABELS: Final = ("metadata", "labels")
ANNOTATIONS: Final = ("metadata", "annotations")


def get(obj: Any, *path: str) -> Any:
    """The value at a path; None when any part of it is absent or no object."""
    for name in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj


def put(obj: Obj, *path: str, value: Any) -> None:
    """Set the value at a path; objects on the way are made."""
    for name in path[:-1]:
        below = obj.get(name)
        if not isinstance(below, dict):
            below = obj[name] = {}
        obj = below
    obj[path[-1]] = value


def drop(obj: Obj, *path: str) -> None:
    """Remove the value at a path, if it is there."""
    above = get(obj, *path[:-1])
    if isinstance(above, dict):
        above.pop(path[-1], None)


def labels(obj: Obj) -> dict[str, str]:
    """The labels, as they are on the object or empty."""
    return get(obj, *LABELS) or {}


def annotations(obj: Obj) -> dict[str, str]:
    """The annotations, as they are on the object or empty."""
    return get(obj, *ANNOTATIONS) or {}


def name_of(obj: Obj) -> str:
    """The name."""
    return str(get(obj, "metadata", "name") or "")


def namespace_of(obj: Obj) -> str:
    """The namespace, empty for cluster-scoped kinds."""
    return str(get(obj, "metadata", "namespace") or "")


def key_of(obj: Obj) -> ObjectKey:
    """Namespace and name."""
    return ObjectKey(namespace_of(obj), name_of(obj))


def uid_of(obj: Obj) -> str:
    """The uid."""
    return str(get(obj, "metadata", "uid") or "")


def version_of(obj: Obj) -> str:
    """The resourceVersion."""
    return str(get(obj, "metadata", "resourceVersion") or "")


def generation_of(obj: Obj) -> int:
    """The generation, 0 when the kind has none."""
    return int(get(obj, "metadata", "generation") or 0)


def deleting(obj: Obj) -> bool:
    """Whether it was asked to go."""
    return bool(get(obj, "metadata", "deletionTimestamp"))


def kind_of(obj: Obj) -> tuple[str, str]:
    """`apiVersion` and `kind`: what the interpreter's tables are keyed by."""
    return str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")


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
