"""A Cluster's status from its member: sums over nodes and pods, grades, taints; pure."""

from collections.abc import Iterable
from typing import Any, Final

from global_sched.propagation.demand import (
    amounts,
    format_amount,
    pod_amounts,
)
from global_sched.propagation.fields import Obj, get
from global_sched.shared.model.quantity import parse_quantity

NOT_READY: Final = "cluster.karmada.io/not-ready"
UNREACHABLE: Final = "cluster.karmada.io/unreachable"
_MAX: Final = "9223372036854775807"
_CPU_GRADES: Final = ("0", "1", "2", "4", "8", "16", "32", "64", "128", _MAX)
_MEMORY_GRADES: Final = (
    "0",
    "4Gi",
    "16Gi",
    "32Gi",
    "64Gi",
    "128Gi",
    "256Gi",
    "512Gi",
    "1Ti",
    _MAX,
)


def default_resource_models() -> list[Obj]:
    """The nine grades that a Cluster gets when it is registered: cpu and memory only."""
    return [
        {
            "grade": grade,
            "ranges": [
                {"name": "cpu", "min": _CPU_GRADES[grade], "max": _CPU_GRADES[grade + 1]},
                {"name": "memory", "min": _MEMORY_GRADES[grade], "max": _MEMORY_GRADES[grade + 1]},
            ],
        }
        for grade in range(len(_CPU_GRADES) - 1)
    ]


def node_summary(nodes: Iterable[Obj]) -> Obj:
    """How many nodes there are, and how many are ready."""
    ready = [_is_ready(node) for node in nodes]
    return {"totalNum": len(ready), "readyNum": sum(ready)}


def _is_ready(node: Obj) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in get(node, "status", "conditions") or []
    )


def resource_summary(nodes: Iterable[Obj], pods: Iterable[Obj], models: list[Obj]) -> Obj:
    """Sums over all nodes, ready or not; pods that wait; pods that have a node and have not ended.

    It knows nothing about where on the nodes the room is.
    """
    free: dict[str, dict[str, int]] = {}
    allocatable: dict[str, int] = {}
    for node in nodes:
        free[node["metadata"]["name"]] = having = amounts(get(node, "status", "allocatable") or {})
        _add(allocatable, having)
    allocating: dict[str, int] = {}
    allocated: dict[str, int] = {}
    for pod in pods:
        if get(pod, "status", "phase") in ("Succeeded", "Failed"):
            continue
        asked = pod_amounts(get(pod, "spec") or {}) | {"pods": 1}
        name = get(pod, "spec", "nodeName")
        _add(allocated if name else allocating, asked)
        if name in free:
            _add(free[name], {key: -value for key, value in asked.items()})
    sums = {"allocatable": allocatable, "allocating": allocating, "allocated": allocated}
    summary: Obj = {name: _texts(values) for name, values in sums.items() if any(values.values())}
    if models:
        summary["allocatableModelings"] = _modelings(free.values(), models)
    return summary


def _add(total: dict[str, int], part: dict[str, int]) -> None:
    for name, value in part.items():
        total[name] = total.get(name, 0) + value


def _texts(values: dict[str, int]) -> dict[str, str]:
    return {name: format_amount(value, name) for name, value in sorted(values.items()) if value}


def _modelings(nodes: Iterable[dict[str, int]], models: list[Obj]) -> list[Obj]:
    """How many nodes are of each grade: the highest whose minimum the free amounts reach."""
    counts = dict.fromkeys((int(model["grade"]) for model in models), 0)
    for free in nodes:
        fitting = [int(model["grade"]) for model in models if _reaches(free, model["ranges"])]
        if fitting:
            counts[max(fitting)] += 1
    return [{"grade": grade, "count": count} for grade, count in sorted(counts.items())]


def _reaches(free: dict[str, int], ranges: list[dict[str, Any]]) -> bool:
    return all(
        free.get(one["name"], 0) >= parse_quantity(str(one["min"]), one["name"]) for one in ranges
    )


def with_health_taints(taints: list[Obj], ready: str, now: str) -> list[Obj]:
    """The taints with the controller's own ones as the Ready condition says."""
    wanted = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready)
    kept = [
        one
        for one in taints
        if one.get("effect") != "NoSchedule"
        or one.get("key") not in (NOT_READY, UNREACHABLE)
        or one.get("key") == wanted
    ]
    if wanted and not any(
        one.get("key") == wanted and one.get("effect") == "NoSchedule" for one in kept
    ):
        kept.append({"key": wanted, "effect": "NoSchedule", "timeAdded": now})
    return kept
