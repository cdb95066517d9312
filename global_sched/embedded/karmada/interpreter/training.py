"""A PyTorchJob's status over all members."""

from typing import Any

from global_sched.embedded.karmada.interpreter.volcano import without_empty
from global_sched.propagation.fields import Obj, get


def aggregate_training_job(template: Obj, items: list[Obj], _now: str) -> Obj:
    """Replica counts add up; Succeeded when every member's is, Failed when any is.

    Conditions are in the order of a job's life, with times that the members told: Created and
    Running stay beside the one that ends it, and Running is then False.
    """
    old: Obj = dict(get(template, "status") or {})
    if not items:
        for key in ("startTime", "completionTime", "replicaStatuses", "conditions"):
            old.pop(key, None)
        return old
    parts = [item["status"] for item in items if item.get("status") is not None]
    failed = [item["clusterName"] for item in items if _true(item.get("status"), "Failed")]
    succeeded = sum(_true(part, "Succeeded") and not _true(part, "Failed") for part in parts)
    status: Obj = {
        "replicaStatuses": _replica_statuses(parts),
        "startTime": _first(parts, "startTime"),
        "lastReconcileTime": _last(parts, "lastReconcileTime"),
    }
    ended = _last(parts, "completionTime")
    conditions = _begun(parts, status["startTime"], over=bool(failed) or succeeded == len(items))
    if failed:
        message = f"PyTorchJob executed failed in member clusters: {', '.join(failed)}"
        conditions.append(_condition("Failed", "PyTorchJobFailed", message, ended, ended))
    elif succeeded == len(items):
        text = "PyTorchJob is successfully completed."
        conditions.append(_condition("Succeeded", "PyTorchJobSucceeded", text, ended, ended))
        status["completionTime"] = ended
    done: Obj = without_empty(old | status | {"conditions": conditions})
    return done


def _begun(parts: list[Obj], started: str | None, *, over: bool) -> list[Obj]:
    """The conditions Created and Running, as far as any member told them."""
    found: list[Obj] = []
    if any(_true(part, "Created") for part in parts):
        text = "PyTorchJob is created."
        found.append(_condition("Created", "PyTorchJobCreated", text, started, started))
    told = [
        one
        for part in parts
        for one in get(part, "conditions") or []
        if one.get("type") == "Running"
    ]
    if told:
        text, last = "PyTorchJob is running.", told[-1]
        times = last.get("lastUpdateTime"), last.get("lastTransitionTime")
        running = _condition("Running", "PyTorchJobRunning", text, *times)
        found.append(running | ({"status": "False"} if over else {}))
    return found


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


def _condition(
    kind: str, reason: str, message: str, updated: str | None, changed: str | None
) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastUpdateTime": updated,
        "lastTransitionTime": changed,
    }
