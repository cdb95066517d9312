"""Statuses of all members to the status of the template."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from global_sched.embedded.karmada.interpreter.training import aggregate_training_job
from global_sched.embedded.karmada.interpreter.volcano import aggregate_volcano_job
from global_sched.propagation.fields import Obj, generation_of, get, kind_of

Items = list[Obj]
"""Entries of `status.aggregatedStatus`: clusterName, status, applied, health."""
_REPLICAS: Final = (
    "replicas",
    "readyReplicas",
    "updatedReplicas",
    "availableReplicas",
    "unavailableReplicas",
)
_SET_REPLICAS: Final = ("currentReplicas", "readyReplicas", "updatedReplicas")
_SET_ALWAYS: Final = ("availableReplicas", "replicas")


def aggregate(template: Obj, items: Items, now: str) -> Obj | None:
    """The template's new status; None for kinds whose status nobody aggregates.

    now: RFC 3339, for conditions that become true.
    """
    hook = _AGGREGATORS.get(kind_of(template))
    return None if hook is None else hook(template, items, now)


def statuses(items: Items) -> list[Obj]:
    """The statuses that members have reported."""
    return [item["status"] for item in items if item.get("status") is not None]


def total(parts: Iterable[Obj], name: str) -> int:
    """A count over all of them."""
    return sum(int(part.get(name) or 0) for part in parts)


def _deployment(template: Obj, items: Items, _now: str) -> Obj:
    parts = statuses(items)
    status = {name: count for name in _REPLICAS if (count := total(parts, name))}
    observed = _observed_generation(template, parts)
    rest = {key: value for key, value in _old(template).items() if key not in _REPLICAS}
    rest.pop("observedGeneration", None)
    return rest | ({"observedGeneration": observed} if observed else {}) | status


def _stateful_set(template: Obj, items: Items, _now: str) -> Obj:
    parts = statuses(items)
    status: Obj = {name: total(parts, name) for name in _SET_ALWAYS}
    status |= {name: count for name in _SET_REPLICAS if (count := total(parts, name))}
    rest = {
        key: value
        for key, value in _old(template).items()
        if key not in (*_SET_ALWAYS, *_SET_REPLICAS)
    }
    observed = _observed_generation(template, parts)
    return rest | ({"observedGeneration": observed} if observed else {}) | status


def _observed_generation(template: Obj, parts: list[Obj]) -> int:
    """The template's generation once every member has observed its copy of it.

    A StatefulSet's status carries no observed generation, so its number never moves.
    """
    generation = generation_of(template)
    current = all(
        part.get("resourceTemplateGeneration") == generation
        and part.get("observedGeneration", 0) >= part.get("generation", 0)
        for part in parts
    )
    return generation if parts and current else int(_old(template).get("observedGeneration") or 0)


def _old(template: Obj) -> Obj:
    return get(template, "status") or {}


def _batch_job(template: Obj, items: Items, now: str) -> Obj:
    """Complete when every member's is; failed when any is; once finished it stays."""
    old = _old(template)
    if _finished(old):
        return old
    parts = statuses(items)
    status: Obj = {
        name: count for name in ("active", "succeeded", "failed") if (count := total(parts, name))
    }
    if conditions := _job_conditions(items, parts, now):
        status["conditions"] = conditions
    starts = [part["startTime"] for part in parts if part.get("startTime")]
    if old.get("startTime"):
        status["startTime"] = old["startTime"]
    elif starts and len(starts) == len(items):
        status["startTime"] = min(starts)
    ends = [part["completionTime"] for part in parts if part.get("completionTime")]
    if ends and len(ends) == len(items):
        status["completionTime"] = max(ends)
    return status


def _finished(status: Obj) -> str:
    """`Complete` or `Failed` when that condition is true, else empty."""
    for one in status.get("conditions") or []:
        if one.get("type") in ("Complete", "Failed") and one.get("status") == "True":
            return str(one["type"])
    return ""


def _has(status: Obj, kind: str) -> bool:
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions)


def _job_conditions(items: Items, parts: list[Obj], now: str) -> list[Obj]:
    conditions: list[Obj] = []
    failed = [
        item["clusterName"] for item in items if _finished(item.get("status") or {}) == "Failed"
    ]
    if failed:
        message = f"Job executed failed in member clusters {','.join(failed)}"
        if any(_has(part, "FailureTarget") for part in parts):
            conditions.append(_condition("FailureTarget", "JobFailed", message, now))
        conditions.append(_condition("Failed", "JobFailed", message, now))
    complete = sum(_finished(part) == "Complete" for part in parts)
    if complete and complete == len(items):
        conditions.append(_condition("Complete", "Completed", "Job completed", now))
        if all(_has(part, "SuccessCriteriaMet") for part in parts):
            text = "All member clusters have met success criteria"
            conditions.append(_condition("SuccessCriteriaMet", "CompletionsReached", text, now))
    return conditions


def _condition(kind: str, reason: str, message: str, now: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _pod(template: Obj, items: Items, _now: str) -> Obj:
    """The phase that needs most attention, and the containers of all members."""
    parts = statuses(items)
    phases = {part.get("phase") for part in parts}
    order = ("Failed", "Pending", "Running", "Succeeded")
    phase = next((one for one in order if one in phases), get(template, "status", "phase"))
    containers = [one for part in parts for one in part.get("containerStatuses") or []]
    status: Obj = {"phase": phase or "Pending"}
    return status | ({"containerStatuses": containers} if containers else {})


_AGGREGATORS: Final[dict[tuple[str, str], Callable[[Obj, Items, str], Obj]]] = {
    ("apps/v1", "Deployment"): _deployment,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("batch/v1", "Job"): _batch_job,
    ("v1", "Pod"): _pod,
    ("batch.volcano.sh/v1alpha1", "Job"): aggregate_volcano_job,
    ("kubeflow.org/v1", "PyTorchJob"): aggregate_training_job,
}
