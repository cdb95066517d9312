"""The bodies of all writes to a binding, exactly as Karmada's own parts expect them.

Merge patches: `spec.clusters`, `gracefulEvictionTasks` and `status.conditions` are atomic lists, so
each is sent whole. Every body carries the resourceVersion that it was decided on.
"""

from collections.abc import Iterable
from typing import Any

from global_sched.shared.api.base import Condition
from global_sched.shared.api.names import APPLIED_PLACEMENT, DECISION, GLOBAL_SCHEDULER
from global_sched.shared.api.reasons import ConditionType, KarmadaReason
from global_sched.shared.model.decision_text import render_decision
from global_sched.shared.model.instant import Instant, format_instant
from global_sched.shared.model.plan import Admission, Withdrawal
from global_sched.shared.model.scheduled_text import SUCCESS
from global_sched.shared.model.workload import Target

Body = dict[str, Any]
_MESSAGE_LIMIT = 1024
_REASON_LIMIT = 32


def admission_patch(admission: Admission, placement_json: str) -> Body:
    """Step one of a placement: clusters, the placement it was made under, and the decision."""
    return {
        "metadata": {
            "resourceVersion": admission.resource_version,
            "annotations": {
                APPLIED_PLACEMENT: placement_json,
                DECISION: render_decision(admission.decision),
            },
        },
        "spec": {"clusters": _targets(admission.targets)},
    }


def withdrawal_patch(withdrawal: Withdrawal, tasks: list[Body]) -> Body:
    """Out of `spec.clusters` and into the eviction tasks, in one step; `tasks` are those there."""
    task: Body = {
        "fromCluster": withdrawal.cluster,
        "purgeMode": "Directly",
        "reason": withdrawal.reason[:_REASON_LIMIT],
        "message": withdrawal.message[:_MESSAGE_LIMIT],
        "producer": GLOBAL_SCHEDULER,
    }
    if withdrawal.replicas:
        task["replicas"] = withdrawal.replicas
    others = [one for one in tasks if one.get("fromCluster") != withdrawal.cluster]
    return {
        "metadata": {
            "resourceVersion": withdrawal.resource_version,
            "annotations": {DECISION: render_decision(withdrawal.decision)},
        },
        "spec": {
            "clusters": _targets(withdrawal.targets),
            "gracefulEvictionTasks": [*others, task],
        },
    }


def _targets(targets: Iterable[Target]) -> list[Body] | None:
    """The whole list; none is a null, which removes the field as Karmada does."""
    found: list[Body] = []
    for target in targets:
        entry: Body = {"name": target.cluster}
        if target.replicas is not None:
            entry["replicas"] = target.replicas
        found.append(entry)
    return found or None


def success_status(
    version: str,
    conditions: Iterable[Condition],
    *,
    generation: int,
    now: Instant,
    affinity: str | None,
) -> Body:
    """Step two: Scheduled=True, the generation that step one returned, and when.

    `affinity` None leaves the observed group as it is.
    """
    status: Body = {
        "schedulerObservedGeneration": generation,
        "lastScheduledTime": format_instant(now),
        "conditions": with_scheduled(
            conditions,
            Condition(
                type=ConditionType.SCHEDULED,
                status="True",
                reason=KarmadaReason.SUCCESS,
                message=SUCCESS,
            ),
            now,
        ),
    }
    if affinity is not None:
        status["schedulerObservingAffinityName"] = affinity
    return {"metadata": {"resourceVersion": version}, "status": status}


def generation_status(version: str, generation: int) -> Body:
    """Only the observed generation is behind."""
    return {
        "metadata": {"resourceVersion": version},
        "status": {"schedulerObservedGeneration": generation},
    }


def failure_status(
    version: str, conditions: Iterable[Condition], *, reason: str, message: str, now: Instant
) -> Body:
    """Scheduled=False; neither the observed generation nor lastScheduledTime moves."""
    failed = Condition(type=ConditionType.SCHEDULED, status="False", reason=reason, message=message)
    return {
        "metadata": {"resourceVersion": version},
        "status": {"conditions": with_scheduled(conditions, failed, now)},
    }


def with_scheduled(conditions: Iterable[Condition], new: Condition, now: Instant) -> list[Body]:
    """All conditions, with ours in its place; its time moves only when its status does."""
    found: list[Body] = []
    placed = False
    for one in conditions:
        if one.type == new.type:
            kept = one.last_transition_time if one.status == new.status else None
            found.append(_render(new, kept or format_instant(now)))
            placed = True
        else:
            found.append(_render(one, one.last_transition_time))
    if not placed:
        found.append(_render(new, format_instant(now)))
    return found


def _render(condition: Condition, since: str | None) -> Body:
    body: Body = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }
    if since:
        body["lastTransitionTime"] = since
    if condition.observed_generation is not None:
        body["observedGeneration"] = condition.observed_generation
    return body
