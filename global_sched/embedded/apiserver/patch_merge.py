"""RFC 7396 merge patch."""

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
