"""A PyTorchJob's status over all members."""

from typing import Any

from global_sched.embedded.karmada.interpreter.volcano import without_empty
from global_sched.propagation.fields import Obj, get


def aggregate_training_job(template: Obj, items: list[Obj], now: str) -> Obj:
    """Replica counts add up; Succeeded when every member's is, Failed when any is.

    A condition that was true already keeps its times.
    """
    parts = [item["status"] for item in items if item.get("status") is not None]
    old: Obj = dict(get(template, "status") or {})
    failed = [item["clusterName"] for item in items if _true(item.get("status"), "Failed")]
    succeeded = sum(_true(part, "Succeeded") and not _true(part, "Failed") for part in parts)
    conditions: list[Obj] = []
    if failed:
        message = f"PyTorchJob executed failed in member clusters: {', '.join(failed)}"
        conditions.append(_condition(old, "Failed", "PyTorchJobFailed", message, now))
    status: Obj = {
        "replicaStatuses": _replica_statuses(parts),
        "startTime": _first(parts, "startTime"),
        "lastReconcileTime": _last(parts, "lastReconcileTime"),
        "completionTime": old.get("completionTime"),
    }
    if succeeded and succeeded == len(items):
        text = "PyTorchJob completed successfully"
        conditions.append(_condition(old, "Succeeded", "Completed", text, now))
        status["completionTime"] = _last(parts, "completionTime")
    done: Obj = without_empty(old | status | {"conditions": conditions})
    return done


def _replica_statuses(parts: list[Obj]) -> Obj:
    return {
        kind: {
            name: sum(int(get(part, "replicaStatuses", kind, name) or 0) for part in parts)
            for name in ("active", "failed", "succeeded")
        }
        for kind in ("Master", "Worker")
    }


def _first(parts: list[Obj], name: str) -> str | None:
    return min((str(part[name]) for part in parts if part.get(name)), default=None)


def _last(parts: list[Obj], name: str) -> str | None:
    return max((str(part[name]) for part in parts if part.get(name)), default=None)


def _true(status: Any, kind: str) -> bool:
    conditions: list[Obj] = get(status, "conditions") or []
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions)


def _condition(old: Obj, kind: str, reason: str, message: str, now: str) -> Obj:
    new = {"type": kind, "status": "True", "reason": reason, "message": message}
    for one in old.get("conditions") or []:
        if all(one.get(name) == value for name, value in new.items()):
            return dict(one)
    return new | {"lastProbeTime": now, "lastTransitionTime": now}
