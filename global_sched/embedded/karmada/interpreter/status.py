"""Statuses: health of a member's object, what the Work collects of it, what the template gets."""

from collections.abc import Callable
from typing import Any, Final

from global_sched.propagation.fields import Obj, get, kind_of
from global_sched.shared.kinds import KINDS
from global_sched.shared.kinds.parts.interpretation import Items
from global_sched.shared.kinds.parts.statuses import is_observed, status_count, statuses

HEALTHY: Final = "Healthy"
UNHEALTHY: Final = "Unhealthy"
UNKNOWN: Final = "Unknown"


def health_of(obj: Obj) -> str:
    """Healthy or Unhealthy; kinds without a rule are healthy once they exist."""
    kind = KINDS.get(kind_of(obj))
    rule = _HEALTH.get(kind_of(obj)) if kind is None else kind.karmada.health
    return HEALTHY if rule is None or rule(obj) else UNHEALTHY


def _replica_set_is_healthy(obj: Obj) -> bool:
    replicas = get(obj, "spec", "replicas")
    enough = replicas is None or status_count(obj, "availableReplicas") >= replicas
    return is_observed(obj) and enough


def _daemon_set_is_healthy(obj: Obj) -> bool:
    updated = status_count(obj, "updatedNumberScheduled")
    if not is_observed(obj) or updated < status_count(obj, "desiredNumberScheduled"):
        return False
    return status_count(obj, "numberAvailable") >= updated


def _pod_is_healthy(obj: Obj) -> bool:
    phase = get(obj, "status", "phase")
    if phase == "Succeeded":
        return True
    conditions: list[dict[str, Any]] = get(obj, "status", "conditions") or []
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    return bool(phase == "Running" and ready)


def _volume_claim_is_healthy(obj: Obj) -> bool:
    return bool(get(obj, "status", "phase") == "Bound")


def _service_is_healthy(obj: Obj) -> bool:
    if get(obj, "spec", "type") != "LoadBalancer":
        return True
    points = get(obj, "status", "loadBalancer", "ingress") or []
    return any(one.get("hostname") or one.get("ip") for one in points)


_HEALTH: Final[dict[tuple[str, str], Callable[[Obj], bool]]] = {
    ("apps/v1", "ReplicaSet"): _replica_set_is_healthy,
    ("apps/v1", "DaemonSet"): _daemon_set_is_healthy,
    ("v1", "Pod"): _pod_is_healthy,
    ("v1", "PersistentVolumeClaim"): _volume_claim_is_healthy,
    ("v1", "Service"): _service_is_healthy,
}


def reflect(obj: Obj) -> Obj | None:
    """The part of the status that goes back to the control plane; None when there is none."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return None
    kind = KINDS.get(kind_of(obj))
    hook = _REFLECTED.get(kind_of(obj)) if kind is None else kind.karmada.reflect
    return dict(status) if hook is None else hook(obj, status)


def _service_status(_obj: Obj, status: Obj) -> Obj:
    return {"loadBalancer": get(status, "loadBalancer") or {}}


_REFLECTED: Final[dict[tuple[str, str], Callable[[Obj, Obj], Obj]]] = {
    ("v1", "Service"): _service_status,
}


def aggregate(template: Obj, items: Items, now: str) -> Obj | None:
    """The template's new status; None for kinds whose status is not aggregated.

    now: RFC 3339, for conditions that become true.
    """
    kind = KINDS.get(kind_of(template))
    hook = _AGGREGATED.get(kind_of(template)) if kind is None else kind.karmada.aggregate
    return None if hook is None else hook(template, items, now)


def _pod_status(template: Obj, items: Items, _now: str) -> Obj:
    """The phase that needs most attention, and the containers of all members."""
    parts = statuses(items)
    phases = {part.get("phase") for part in parts}
    order = ("Failed", "Pending", "Running", "Succeeded")
    phase = next((one for one in order if one in phases), get(template, "status", "phase"))
    containers = [one for part in parts for one in part.get("containerStatuses") or []]
    status: Obj = {"phase": phase or "Pending"}
    return status | ({"containerStatuses": containers} if containers else {})


_AGGREGATED: Final[dict[tuple[str, str], Callable[[Obj, Items, str], Obj]]] = {
    ("v1", "Pod"): _pod_status,
}
