"""A Volcano Job's status over all members."""

import re
from typing import Any, Final

from global_sched.propagation.fields import Obj, get

_SUMS: Final = (
    "minAvailable",
    "pending",
    "running",
    "succeeded",
    "failed",
    "terminating",
    "unknown",
    "retryCount",
)
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?)(h|m|s)")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}


def aggregate_volcano_job(_template: Obj, items: list[Obj], _now: str) -> Obj:
    """Counts add up; the state is the last member's; empty values are left out."""
    parts = [item["status"] for item in items if item.get("status") is not None]
    status: Obj = {name: sum(int(part.get(name) or 0) for part in parts) for name in _SUMS}
    status["version"] = max((int(part.get("version") or 0) for part in parts), default=0)
    status["state"] = parts[-1].get("state") if parts else None
    durations = [part["runningDuration"] for part in parts if part.get("runningDuration")]
    status["runningDuration"] = max(durations, key=_seconds, default=None)
    status["taskStatusCount"] = _task_counts(parts)
    status["controlledResources"] = {
        key: value
        for part in parts
        for key, value in (part.get("controlledResources") or {}).items()
    }
    status["conditions"] = [one for part in parts for one in part.get("conditions") or []]
    done = without_empty(status)
    return done if isinstance(done, dict) else {}


def _task_counts(parts: list[Obj]) -> Obj:
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for part in parts:
        for task, count in (part.get("taskStatusCount") or {}).items():
            phases = counts.setdefault(task, {"phase": {}})["phase"]
            for phase, number in (get(count, "phase") or {}).items():
                phases[phase] = phases.get(phase, 0) + int(number)
    return counts


def _seconds(text: str) -> float:
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))


def without_empty(value: Any) -> Any:
    """The value without zeros, empty texts, lists and maps, at every level of maps and lists."""
    if isinstance(value, dict):
        inner = {key: without_empty(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in (None, 0, "", "0s", {}, [])}
    if isinstance(value, list):
        return [without_empty(one) for one in value]
    return value
