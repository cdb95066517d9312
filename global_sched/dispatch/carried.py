"""Labels that travel with a gang that moves: fields of its status in the member that it leaves.

Karmada puts them on the object in the new member, where its gate StatefulFailoverInjection is on.
Pure, on the raw binding.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.printable import is_label_value, printable
from global_sched.shared.model.recovery_spec import Carry

_STEP: Final = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d{1,6})\]")
_SHOWN: Final = 40

Body = dict[str, Any]


def carried(
    carry: Iterable[Carry], binding: Body, cluster: ClusterName
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The labels, and why each other one is dropped: the field is missing, or no label's value."""
    items = (binding.get("status") or {}).get("aggregatedStatus") or ()
    status = next((one.get("status") for one in items if one.get("clusterName") == cluster), None)
    labels: dict[str, str] = {}
    dropped: list[str] = []
    for one in carry:
        value = _at(one.json_path, {"status": status})
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not isinstance(value, str | int):
            dropped.append(f"{one.label}: {one.json_path} is no text or whole number there")
        elif not text or not is_label_value(text):
            dropped.append(f"{one.label}: {printable(text[:_SHOWN])!r} is no value of a label")
        else:
            labels[one.label] = text
    return labels, tuple(dropped)


def _at(path: str, value: object) -> object:
    """What a path such as `{.status.conditions[0].type}` names; None where nothing is there."""
    steps, end = path.strip()[1:-1].strip(), 0
    for step in _STEP.finditer(steps):
        if step.start() != end:
            return None
        end = step.end()
        key, index = step.groups()
        if key is not None:
            value = value.get(key) if isinstance(value, dict) else None
        else:
            at = int(index)
            value = value[at] if isinstance(value, list) and at < len(value) else None
    return value if end == len(steps) else None
