"""A pod's status at each stage of its life, as its kubelet writes it. Pure."""

from typing import Any, Final

from global_sched.propagation.fields import get
from global_sched.shared.api.names import EXIT_CODE, RUN_SECONDS

Obj = dict[str, Any]

_CONDITIONS: Final = ("Initialized", "Ready", "ContainersReady", "PodScheduled")


def creating(pod: Obj, now: str) -> Obj:
    """The node took the pod; its containers are being made."""
    status = _base(pod, now)
    reason = "ContainersNotReady"
    names = " ".join(one["name"] for one in _containers(pod))
    message = f"containers with unready status: [{names}]"
    status["conditions"] = [
        _condition(kind, now, ready=kind in ("Initialized", "PodScheduled"), why=(reason, message))
        for kind in _CONDITIONS
    ]
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    status["containerStatuses"] = [_container(one, waiting) for one in _containers(pod)]
    return status


def running(
    pod: Obj,
    now: str,
    *,
    address: str,
    restarts: int = 0,
    failed: int | None = None,
    reason: str = "Error",
) -> Obj:
    """All containers run; after a restart, `failed` and `reason` say how they ended before."""
    status = _base(pod, now)
    status["phase"] = "Running"
    status |= _address(address)
    status["conditions"] = _conditions(pod, now, ready=True, why=None)
    state = {"running": {"startedAt": now}}
    statuses = [_container(one, state, ready=True, restarts=restarts) for one in _containers(pod)]
    if failed is not None:
        for one in statuses:
            one["lastState"] = {"terminated": _terminated(pod, now, failed, reason)}
    status["containerStatuses"] = statuses
    return status


def ended(pod: Obj, now: str, code: int, reason: str = "Error") -> Obj:
    """All containers ended for good, with that exit code; `reason` counts where it is not 0."""
    status = dict(pod.get("status") or {}) | _base(pod, now)
    status["phase"] = "Failed" if code else "Succeeded"
    why = ("PodFailed" if code else "PodCompleted", "")
    status["conditions"] = _conditions(pod, now, ready=False, why=why)
    state = {"terminated": _terminated(pod, now, code, reason)}
    restarts = restarts_of(pod)
    status["containerStatuses"] = [
        _container(one, state, restarts=restarts) | {"started": False} for one in _containers(pod)
    ]
    return status


def refused(pod: Obj, now: str, *, resource: str, requested: int, used: int, capacity: int) -> Obj:
    """The node did not take the pod: its containers were never made."""
    return {
        "phase": "Failed",
        "reason": f"OutOf{resource}",
        "message": (
            f"Pod was rejected: Node didn't have enough resource: {resource}, requested: "
            f"{requested}, used: {used}, capacity: {capacity}"
        ),
        "qosClass": get(pod, "status", "qosClass") or "BestEffort",
        "startTime": now,
    }


# --- what a pod's annotations ask for -----------------------------------------------------


def run_seconds(pod: Obj, default: float) -> float | None:
    """How long the pod runs; None for ever."""
    text = str((get(pod, "metadata", "annotations") or {}).get(RUN_SECONDS, ""))
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 <= seconds < 1e9:
        return seconds
    return None if restart_policy(pod) == "Always" else default


def exit_code(pod: Obj) -> int:
    """With which code the pod's containers end."""
    text = str((get(pod, "metadata", "annotations") or {}).get(EXIT_CODE, ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


def restart_policy(pod: Obj) -> str:
    """The pod's restart policy."""
    return str(get(pod, "spec", "restartPolicy") or "Always")


def restarts_of(pod: Obj) -> int:
    """How often the pod's containers were restarted."""
    counts = [one.get("restartCount", 0) for one in get(pod, "status", "containerStatuses") or ()]
    return max(counts, default=0)


def started_at(pod: Obj) -> str | None:
    """When the containers that run now were started."""
    for one in get(pod, "status", "containerStatuses") or ():
        started = get(one, "state", "running", "startedAt")
        if started:
            return str(started)
    return None


# --- parts --------------------------------------------------------------------------------


def _base(pod: Obj, now: str) -> Obj:
    old = pod.get("status") or {}
    return {
        "phase": "Pending",
        "qosClass": old.get("qosClass") or "BestEffort",
        "startTime": old.get("startTime") or now,
    }


def _containers(pod: Obj) -> list[Obj]:
    return [one for one in get(pod, "spec", "containers") or () if isinstance(one, dict)]


def _container(container: Obj, state: Obj, *, ready: bool = False, restarts: int = 0) -> Obj:
    return {
        "image": container.get("image", ""),
        "imageID": "",
        "lastState": {},
        "name": container["name"],
        "ready": ready,
        "restartCount": restarts,
        "state": state,
    }


def _terminated(pod: Obj, now: str, code: int, reason: str) -> Obj:
    return {
        "exitCode": code,
        "finishedAt": now,
        "reason": reason if code else "Completed",
        "startedAt": started_at(pod) or now,
    }


def _conditions(pod: Obj, now: str, *, ready: bool, why: tuple[str, str] | None) -> list[Obj]:
    """Conditions after the start; those that do not change keep their time."""
    old = {one.get("type"): one for one in get(pod, "status", "conditions") or ()}
    made = []
    for kind in _CONDITIONS:
        holds = ready or kind in ("Initialized", "PodScheduled")
        one = _condition(kind, now, ready=holds, why=why)
        before = old.get(kind)
        if before is not None and before.get("status") == one["status"]:
            one["lastTransitionTime"] = before.get("lastTransitionTime", now)
        made.append(one)
    return made


def _condition(kind: str, now: str, *, ready: bool, why: tuple[str, str] | None) -> Obj:
    one: Obj = {
        "type": kind,
        "status": "True" if ready else "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    if not ready and why is not None:
        one |= {key: text for key, text in zip(("reason", "message"), why, strict=True) if text}
    return one


def _address(address: str) -> Obj:
    return {"podIP": address, "podIPs": [{"ip": address}]}
