"""Whether a member's object is healthy, as Karmada sees it."""

from collections.abc import Callable
from typing import Any, Final

from global_sched.propagation.fields import Obj, generation_of, get, kind_of

HEALTHY: Final = "Healthy"
UNHEALTHY: Final = "Unhealthy"
UNKNOWN: Final = "Unknown"
_VOLCANO_HEALTHY: Final = frozenset(
    {
        "Running",
        "Completed",
        "Pending",
        "Aborting",
        "Aborted",
        "Restarting",
        "Completing",
        "Terminating",
        "Terminated",
    }
)


def health_of(obj: Obj) -> str:
    """Healthy or Unhealthy; kinds without a rule are healthy once they exist.

    A Volcano Job that waits or was aborted counts as healthy: healthy is not running.
    """
    rule = _RULES.get(kind_of(obj))
    return HEALTHY if rule is None or rule(obj) else UNHEALTHY


def _status(obj: Obj, name: str) -> int:
    return int(get(obj, "status", name) or 0)


def _observed(obj: Obj) -> bool:
    return _status(obj, "observedGeneration") == generation_of(obj)


def _rollout(obj: Obj) -> bool:
    """Every pod is of the newest template, and the updated ones are available."""
    replicas = get(obj, "spec", "replicas")
    updated = _status(obj, "updatedReplicas")
    if not _observed(obj) or (replicas is not None and updated < replicas):
        return False
    return _status(obj, "availableReplicas") >= updated


def _replica_set(obj: Obj) -> bool:
    replicas = get(obj, "spec", "replicas")
    enough = replicas is None or _status(obj, "availableReplicas") >= replicas
    return _observed(obj) and enough


def _daemon_set(obj: Obj) -> bool:
    updated = _status(obj, "updatedNumberScheduled")
    if not _observed(obj) or updated < _status(obj, "desiredNumberScheduled"):
        return False
    return _status(obj, "numberAvailable") >= updated


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


def _volcano_job(obj: Obj) -> bool:
    return get(obj, "status", "state", "phase") in _VOLCANO_HEALTHY


def _training_job(obj: Obj) -> bool:
    conditions: list[dict[str, Any]] | None = get(obj, "status", "conditions")
    if conditions is None:
        return False
    return not any(
        one.get("type") == "Failed" and one.get("status") == "True" for one in conditions
    )


_RULES: Final[dict[tuple[str, str], Callable[[Obj], bool]]] = {
    ("apps/v1", "Deployment"): _rollout,
    ("apps/v1", "StatefulSet"): _rollout,
    ("apps/v1", "ReplicaSet"): _replica_set,
    ("apps/v1", "DaemonSet"): _daemon_set,
    ("v1", "Pod"): _pod,
    ("v1", "PersistentVolumeClaim"): _volume_claim,
    ("v1", "Service"): _service,
    ("batch.volcano.sh/v1alpha1", "Job"): _volcano_job,
    ("kubeflow.org/v1", "PyTorchJob"): _training_job,
}
