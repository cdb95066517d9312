"""Health of a member's object, as Karmada sees it."""

from collections.abc import Callable
from typing import Any, Final

from global_sched.propagation.fields import Obj, get, kind_of
from global_sched.shared.kinds import KINDS
from global_sched.shared.kinds.parts.statuses import is_observed, status_count

HEALTHY: Final = "Healthy"
UNHEALTHY: Final = "Unhealthy"
UNKNOWN: Final = "Unknown"


def health_of(obj: Obj) -> str:
    """Healthy or Unhealthy; kinds without a rule are healthy once they exist."""
    kind = KINDS.get(kind_of(obj))
    rule = _OTHERS.get(kind_of(obj)) if kind is None else kind.karmada.health
    return HEALTHY if rule is None or rule(obj) else UNHEALTHY


def _replica_set(obj: Obj) -> bool:
    replicas = get(obj, "spec", "replicas")
    enough = replicas is None or status_count(obj, "availableReplicas") >= replicas
    return is_observed(obj) and enough


def _daemon_set(obj: Obj) -> bool:
    updated = status_count(obj, "updatedNumberScheduled")
    if not is_observed(obj) or updated < status_count(obj, "desiredNumberScheduled"):
        return False
    return status_count(obj, "numberAvailable") >= updated


def _pod(obj: Obj) -> bool:
    phase = get(obj, "status", "phase")
    if phase == "Succeeded":
        return True
    conditions: list[dict[str, Any]] = get(obj, "status", "conditions") or []
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    return bool(phase == "Running" and ready)


def _volume_claim(obj: Obj) -> bool:
    return bool(get(obj, "status", "phase") == "Bound")


def _service(obj: Obj) -> bool:
    if get(obj, "spec", "type") != "LoadBalancer":
        return True
    points = get(obj, "status", "loadBalancer", "ingress") or []
    return any(one.get("hostname") or one.get("ip") for one in points)


_OTHERS: Final[dict[tuple[str, str], Callable[[Obj], bool]]] = {
    ("apps/v1", "ReplicaSet"): _replica_set,
    ("apps/v1", "DaemonSet"): _daemon_set,
    ("v1", "Pod"): _pod,
    ("v1", "PersistentVolumeClaim"): _volume_claim,
    ("v1", "Service"): _service,
}
