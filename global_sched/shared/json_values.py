"""JSON values: merge patch (RFC 7396), copies and equality."""

from typing import Any

Json = Any


def merge_patch(target: Json, patch: Json) -> Json:
    """The target after the patch; the target stays as it is, and shares what did not change."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict):
            out[key] = merge_patch(out.get(key), value)
        else:
            out[key] = value
    return out


def copied(value: Json) -> Json:
    """A copy that shares no container with the original."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def equal(one: Json, two: Json) -> bool:
    """JSON equality: true is not 1, 1 is 1.0."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(equal, one, two))
    return bool(one == two)
