"""Objects without what differs between two runs: ids by role, times and versions as marks."""

import re
from collections.abc import Iterable
from typing import Any

Obj = dict[str, Any]

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ROLES = (
    "propagationpolicy.karmada.io/permanent-id",
    "clusterpropagationpolicy.karmada.io/permanent-id",
    "resourcebinding.karmada.io/permanent-id",
    "clusterresourcebinding.karmada.io/permanent-id",
    "work.karmada.io/permanent-id",
)
_OWNERS = (
    "PropagationPolicy",
    "ClusterPropagationPolicy",
    "ResourceBinding",
    "ClusterResourceBinding",
    "Work",
)
_DROPPED = ("managedFields", "resourceVersion", "generateName", "selfLink")


def roles(objects: Iterable[Obj]) -> dict[str, str]:
    """What every id stands for: an object's uid, or the permanent id of the one that bears it."""
    found: dict[str, str] = {}
    for obj in objects:
        meta = obj["metadata"]
        where = f"{obj['kind']} {meta.get('namespace', '')}/{meta['name']}"
        found[meta["uid"]] = f"uid of {where}"
        for label, owner in zip(_ROLES, _OWNERS, strict=True):
            if obj["kind"] == owner and label in (meta.get("labels") or {}):
                found[meta["labels"][label]] = f"id of {where}"
    return found


def normal(obj: Obj, names: dict[str, str]) -> Obj:
    """One object, comparable; an id that nothing bears is an error in the comparison."""
    done = _value(obj, names)
    meta = done["metadata"]
    for field in _DROPPED:
        meta.pop(field, None)
    # A policy's defaults come from a webhook there and from a controller's write here.
    if obj["kind"] in ("PropagationPolicy", "ClusterPropagationPolicy", "Work"):
        meta.pop("generation", None)
    (done.get("spec") or {}).get("resource", {}).pop("resourceVersion", None)
    (meta.get("annotations") or {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
    return done


def _value(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _value(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_value(one, names) for one in value]
    if isinstance(value, str):
        value = _UUID.sub(lambda match: names.get(match.group(), match.group()), value)
        return _TIME.sub("<time>", value)
    return value


def by_name(objects: Iterable[Obj], names: dict[str, str]) -> dict[str, Obj]:
    """Comparable objects by kind, namespace and name."""
    done: dict[str, Obj] = {}
    for obj in objects:
        meta = obj["metadata"]
        key = f"{obj['apiVersion']} {obj['kind']} {meta.get('namespace', '')}/{meta['name']}"
        done[key] = normal(obj, names)
    return done


def differences(here: Any, want: Any, path: str = "") -> list[str]:
    """Where two values differ, one line each: path, what is here, what should be."""
    if isinstance(here, dict) and isinstance(want, dict):
        found: list[str] = []
        for key in sorted(here.keys() | want.keys()):
            below = f"{path}.{key}"
            if key not in here:
                found.append(f"{below} is missing, want {want[key]!r}")
            elif key not in want:
                found.append(f"{below} is {here[key]!r}, want nothing")
            else:
                found += differences(here[key], want[key], below)
        return found
    if isinstance(here, list) and isinstance(want, list) and len(here) == len(want):
        pairs = enumerate(zip(here, want, strict=True))
        return [
            line for index, pair in pairs for line in differences(*pair, path=f"{path}[{index}]")
        ]
    return [] if here == want else [f"{path} is {here!r}, want {want!r}"]
