"""A label selector as one string."""

from typing import Any


def selector_text(selector: Any) -> str:
    """What the scale subresource and the selector column show: `app=web,tier in (a,b)`."""
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        matched = selector
    else:
        matched = selector.get("matchLabels") or {}
    parts = [f"{key}={value}" for key, value in sorted(matched.items())]
    for item in selector.get("matchExpressions") or ():
        key, values = item["key"], ",".join(item.get("values") or ())
        match item["operator"]:
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(key)
            case _:
                parts.append(f"!{key}")
    return ",".join(parts)
