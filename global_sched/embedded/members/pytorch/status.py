"""A PyTorchJob's status: counts by replica type, and the conditions of its life. Pure.

Source:  Kubeflow training operator v1: condition types, reasons and messages.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from global_sched.embedded.members.pytorch.pods import (
    CONTROLLER,
    MASTER,
    WORKER,
    replica_specs,
    replicas_of,
)
from global_sched.propagation.fields import Obj, get, labels, name_of, namespace_of
from global_sched.shared.api.names import KUBEFLOW_OPERATOR, PYTORCH_JOB_NAME, REPLICA_TYPE

RETRYABLE: Final = 128
"""Exit codes from here on are the system's doing: under ExitCode the pod is made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Pods of one replica type by what they do."""

    active: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0


def count(pods: Iterable[Obj], kind: str) -> Counts:
    """The pods of a type; those that are asked to go do not count."""
    phases = [
        get(pod, "status", "phase")
        for pod in pods
        if labels(pod).get(REPLICA_TYPE) == kind.lower()
        and get(pod, "metadata", "deletionTimestamp") is None
    ]
    return Counts(
        active=sum(phase in ("Pending", "Running") for phase in phases),
        running=phases.count("Running"),
        succeeded=phases.count("Succeeded"),
        failed=phases.count("Failed"),
    )


def finished(job: Obj) -> bool:
    """Whether the job succeeded or failed."""
    return holds(job, "Succeeded") or holds(job, "Failed")


def holds(job: Obj, kind: str) -> bool:
    """Whether a condition of the job is True."""
    return any(
        one["type"] == kind and one["status"] == "True"
        for one in get(job, "status", "conditions") or ()
    )


def retryable(pod: Obj) -> bool:
    """Whether a failed pod is to be made anew under the restart policy ExitCode."""
    codes = [
        get(one, "state", "terminated", "exitCode") or 0
        for one in get(pod, "status", "containerStatuses") or ()
    ]
    return max(codes, default=0) >= RETRYABLE


def verdict(job: Obj, counts: dict[str, Counts], *, restarts: int) -> tuple[str, str, str]:
    """(condition type, reason, message) of what the job does now."""
    where = f"{namespace_of(job)}/{name_of(job)}"
    specs = replica_specs(job)
    limit = get(job, "spec", "runPolicy", "backoffLimit")
    if limit is not None and restarts > int(limit):
        text = f"PyTorchJob {where} has failed because it has reached the specified backoff limit"
        return "Failed", "PyTorchJobFailed", text
    for kind in specs:
        if failed := counts[kind].failed:
            text = f"PyTorchJob {where} is failed because {failed} {kind} replica(s) failed."
            return "Failed", "PyTorchJobFailed", text
    leader = MASTER if MASTER in specs else WORKER
    if leader in specs and counts[leader].succeeded >= max(1, replicas_of(specs[leader])):
        text = f"PyTorchJob {where} successfully completed."
        return "Succeeded", "PyTorchJobSucceeded", text
    if leader in specs and counts[leader].running:
        return "Running", "PyTorchJobRunning", f"PyTorchJob {where} is running."
    return "Created", "PyTorchJobCreated", f"PyTorchJob {name_of(job)} is created."


def make_status(
    job: Obj, counts: dict[str, Counts], now: str, *, said: tuple[str, str, str], suspended: bool
) -> Obj:
    """The whole status."""
    old = job.get("status") or {}
    conditions: list[Obj] = list(old.get("conditions") or ())
    if not conditions:
        created = f"PyTorchJob {name_of(job)} is created."
        conditions = [_condition("Created", "PyTorchJobCreated", created, now)]
    if suspended:
        text = f"PyTorchJob {namespace_of(job)}/{name_of(job)} is suspended."
        said = ("Suspended", "PyTorchJobSuspended", text)
    conditions = _with(conditions, said, now)
    status: Obj = {
        "conditions": conditions,
        "replicaStatuses": {kind: _replica_status(job, kind, one) for kind, one in counts.items()},
        "startTime": old.get("startTime") or now,
    }
    if said[0] in ("Succeeded", "Failed"):
        status["completionTime"] = old.get("completionTime") or now
    return status


def _replica_status(job: Obj, kind: str, counts: Counts) -> Obj:
    shown = {"active": counts.active, "succeeded": counts.succeeded, "failed": counts.failed}
    selector = {
        KUBEFLOW_OPERATOR: CONTROLLER,
        PYTORCH_JOB_NAME: name_of(job),
        REPLICA_TYPE: kind.lower(),
    }
    text = ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    return {key: n for key, n in shown.items() if n} | {"selector": text}


def _with(conditions: list[Obj], said: tuple[str, str, str], now: str) -> list[Obj]:
    """The conditions with this one True; what it excludes becomes False."""
    kind, reason, message = said
    old = next((one for one in conditions if one["type"] == kind), None)
    if old is not None and (old["status"], old["reason"]) == ("True", reason):
        return conditions
    excluded = {
        "Running": ("Suspended", "Restarting"),
        "Succeeded": ("Running", "Restarting"),
        "Failed": ("Running", "Restarting"),
        "Suspended": ("Running", "Restarting"),
        "Created": (),
        "Restarting": ("Running",),
    }[kind]
    kept = [
        one | {"status": "False", "lastTransitionTime": now, "lastUpdateTime": now}
        if one["type"] in excluded and one["status"] == "True"
        else one
        for one in conditions
        if one["type"] != kind
    ]
    return [*kept, _condition(kind, reason, message, now)]


def _condition(kind: str, reason: str, message: str, now: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
        "lastUpdateTime": now,
    }
