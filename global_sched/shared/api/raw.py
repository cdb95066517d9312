"""Raw objects as dicts: read and write a field by its path, labels and annotations."""

from typing import Any, Final

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


def generation_of(obj: Obj) -> int:
    """The generation, 0 when the kind has none."""
    return int(get(obj, "metadata", "generation") or 0)


def kind_of(obj: Obj) -> tuple[str, str]:
    """`apiVersion` and `kind`: what tables of kinds are keyed by."""
    return str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
