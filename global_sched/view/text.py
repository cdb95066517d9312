"""Amounts, shares, ages and names of objects as people read them."""

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]


def object_name(api_version: str, kind: str, name: str) -> str:
    """As `kubectl -o name` spells it: `job.batch.volcano.sh/train`."""
    group = api_version.rpartition("/")[0]
    return f"{kind.lower()}{'.' * bool(group)}{group}/{name}"


def amounts(quantities: Mapping[str, str]) -> str:
    """Quantities by resource in one cell: `cpu 382, nvidia.com/gpu 0`."""
    return ", ".join(f"{name} {quantity}" for name, quantity in quantities.items())


def percent(share: float) -> str:
    """A share for people."""
    return f"{share * 100:.2f}%"


def duration(seconds: float) -> str:
    """As kubectl spells ages: 45s, 12m, 3h5m, 4d."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 48:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours // 24}d"
