"""The bodies of all writes to a binding, exactly as Karmada's own parts expect them.

Merge patches: `spec.clusters`, `gracefulEvictionTasks` and `status.conditions` are atomic lists, so
each is sent whole. Every body carries the resourceVersion that it was decided on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from global_sched.shared.api.base import Condition
from global_sched.shared.api.names import APPLIED_PLACEMENT, DECISION, GLOBAL_SCHEDULER
from global_sched.shared.api.reasons import ConditionType, KarmadaReason, Reason
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.decision_text import render_decision
from global_sched.shared.model.instant import Instant, format_instant
from global_sched.shared.model.plan import Admission, Claiming, Withdrawal
from global_sched.shared.model.printable import printable
from global_sched.shared.model.scheduled_text import SUCCESS
from global_sched.shared.model.workload import Target

Body = dict[str, Any]
_MESSAGE_LIMIT = 1024
_REASON_LIMIT = 32
CARRIER: Final = f"{GLOBAL_SCHEDULER}-labels"
"""Producer of tasks that only carry labels."""
_LEFT = (ConditionType.EVICTED, ConditionType.RECOVERING)
"""Conditions of a workload that had to leave a cluster."""


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


def withdrawal_patch(
    withdrawal: Withdrawal, tasks: list[Body], labels: Mapping[str, str] | None = None
) -> Body:
    """Out of `spec.clusters` and into the eviction tasks, in one step; `tasks` are those there.

    `labels` travel with it: Karmada reads them of the last task.
    """
    first = Target(cluster=withdrawal.cluster, replicas=withdrawal.replicas)
    leaving = (first, *withdrawal.others)
    names = {target.cluster for target in leaving}
    others = [one for one in tasks if one.get("fromCluster") not in names and not carries(one)]
    made = [_task(withdrawal, one) for one in leaving]
    if labels:
        made[-1] |= {
            "preservedLabelState": dict(labels),
            "clustersBeforeFailover": sorted(names),
        }
    return {
        "metadata": {
            "resourceVersion": withdrawal.resource_version,
            "annotations": {DECISION: render_decision(withdrawal.decision)},
        },
        "spec": {
            "clusters": _targets(withdrawal.targets),
            "gracefulEvictionTasks": [*others, *made],
        },
    }


def left_patch(
    version: str,
    tasks: list[Body],
    decision: Decision | None,
    gone: Collection[str],
    *,
    epoch: int | None = None,
) -> Body:
    """Nothing is left in these clusters: our eviction tasks end, and nothing is held there.

    A task with labels stays, as one that only carries them (`carries`), until the Work in the new
    cluster has them. `epoch` is that of the leader that writes it; None: another program does.
    """
    kept = []
    for one in tasks:
        if one.get("fromCluster") not in gone or not ours(one):
            kept.append(one)
        elif one.get("preservedLabelState"):
            kept.append(one | {"producer": CARRIER})
    body: Body = {
        "metadata": {"resourceVersion": version},
        "spec": {"gracefulEvictionTasks": kept or None},
    }
    if decision is not None:
        left = tuple(one for one in decision.left if one.cluster not in gone)
        text = render_decision(
            replace(decision, left=left, epoch=decision.epoch if epoch is None else epoch)
        )
        body["metadata"]["annotations"] = {DECISION: text}
    return body


def ours(task: Body) -> bool:
    """Whether an eviction task is one of a withdrawal of ours."""
    return task.get("producer") == GLOBAL_SCHEDULER and task.get("purgeMode") == "Directly"


def carries(task: Body) -> bool:
    """Whether it is a task of ours that nothing leaves a cluster for any more: it has labels."""
    return task.get("producer") == CARRIER and bool(task.get("preservedLabelState"))


def carried_patch(version: str, tasks: list[Body]) -> Body:
    """The labels have arrived: the tasks that carried them end."""
    kept = [one for one in tasks if not carries(one)]
    return {
        "metadata": {"resourceVersion": version},
        "spec": {"gracefulEvictionTasks": kept or None},
    }


def _task(withdrawal: Withdrawal, target: Target) -> Body:
    task: Body = {
        "fromCluster": target.cluster,
        "purgeMode": "Directly",
        "reason": withdrawal.reason[:_REASON_LIMIT],
        "message": printable(withdrawal.message)[:_MESSAGE_LIMIT],
        "producer": GLOBAL_SCHEDULER,
        "suppressDeletion": True,  # ended by us, when the member shows that nothing is left
    }
    if target.replicas:
        task["replicas"] = target.replicas
    return task


def claiming_patch(claiming: Claiming) -> Body:
    """Only the decision annotation: what room is kept for a workload that waits."""
    return {
        "metadata": {
            "resourceVersion": claiming.resource_version,
            "annotations": {DECISION: render_decision(claiming.decision)},
        }
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
    conditions: Sequence[Condition],
    *,
    generation: int,
    now: Instant,
    affinity: str | None,
    unheld: str = "",
    disbelieved: str = "",
    shrunk: str = "",
) -> Body:
    """Step two: Scheduled=True, the generation that step one returned, and when.

    `affinity` None leaves the observed group as it is. `unheld` says what runs though it is not
    admitted, `disbelieved` why the decision before this one was not believed, `shrunk` with how
    many pods it goes on because its member has no seat for more.
    """
    scheduled = Condition(
        type=ConditionType.SCHEDULED, status="True", reason=KarmadaReason.SUCCESS, message=SUCCESS
    )
    growth = Condition(
        type=ConditionType.GROWTH_NOT_HELD_BACK,
        status="True" if unheld else "False",
        reason="BoundByAnotherScheduler" if unheld else "Admitted",
        message=unheld[:_MESSAGE_LIMIT] or "nothing runs that is not admitted",
    )
    doubt = Condition(
        type=ConditionType.DECISION_NOT_BELIEVED,
        status="True" if disbelieved else "False",
        reason="DecidedAnew",
        message=disbelieved[:_MESSAGE_LIMIT] or "the decision is the leader's",
    )
    more = [growth, doubt]
    if shrunk:
        more.append(
            Condition(
                type=ConditionType.RECOVERING,
                status="True",
                reason=Reason.GOES_ON_WITH_FEWER,
                message=f"scope shrink, {shrunk}"[:_MESSAGE_LIMIT],
            )
        )
    ours = {one.type for one in more}
    listed = [
        one if one.type in ours else back
        for one, back in zip(conditions, _back_in_place(conditions, now), strict=True)
    ]
    rest = [one for one in listed if one.type not in ours]
    found = with_scheduled(rest, scheduled, now)
    for new in more:
        said = [one for one in listed if one.type == new.type]
        if said or new.status == "True":
            found += with_scheduled(said, new, now)
    status: Body = {
        "schedulerObservedGeneration": generation,
        "lastScheduledTime": format_instant(now),
        "conditions": found,
    }
    if affinity is not None:
        status["schedulerObservingAffinityName"] = affinity
    return {"metadata": {"resourceVersion": version}, "status": status}


def _back_in_place(conditions: Iterable[Condition], now: Instant) -> list[Condition]:
    """What was evicted, or left a member that could not hold it, is admitted again."""
    return [
        msgspec.structs.replace(
            one,
            status="False",
            reason="Admitted",
            message="admitted again",
            last_transition_time=format_instant(now),
        )
        if one.type in _LEFT and one.status == "True"
        else one
        for one in conditions
    ]


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


def eviction_status(
    version: str, conditions: Iterable[Condition], withdrawal: Withdrawal, *, now: Instant
) -> Body:
    """Evicted=True: who took the place, and why; Scheduled=False where nothing of it is left.

    Recovering=True in its place where its member could not hold it.
    """
    recovers = withdrawal.reason == Reason.CANNOT_BE_WHOLE
    kind = ConditionType.RECOVERING if recovers else ConditionType.EVICTED
    text = withdrawal.message
    if recovers:
        moves = withdrawal.decision.claim is not None
        attempt = f", attempt {withdrawal.decision.moves}" if moves else ""
        text = f"scope cluster{attempt}: {text}"
    text = text[:_MESSAGE_LIMIT]
    waits = f"WAIT {withdrawal.reason}, nearest {withdrawal.cluster}: {withdrawal.message}"
    failed = Condition(
        type=ConditionType.SCHEDULED,
        status="False",
        reason=KarmadaReason.UNSCHEDULABLE,
        message=waits[:_MESSAGE_LIMIT],
    )
    evicted = Condition(type=kind, status="True", reason=withdrawal.reason, message=text)
    listed = list(conditions)
    found = [_render(one, one.last_transition_time) for one in listed]
    if not withdrawal.targets:
        found = with_scheduled(listed, failed, now)
    rest = [one for one in found if one["type"] != kind]
    before = [one for one in listed if one.type == kind]
    return {
        "metadata": {"resourceVersion": version},
        "status": {"conditions": [*rest, *with_scheduled(before, evicted, now)]},
    }


def with_scheduled(conditions: Iterable[Condition], new: Condition, now: Instant) -> list[Body]:
    """All conditions, with ours in its place; its time moves only when its status does."""
    found: list[Body] = []
    placed = False
    for one in conditions:
        if one.type == new.type:
            kept = one.last_transition_time if one.status == new.status else None
            found.append(_render(new, kept or format_instant(now), ours=True))
            placed = True
        else:
            found.append(_render(one, one.last_transition_time))
    if not placed:
        found.append(_render(new, format_instant(now), ours=True))
    return found


def _render(condition: Condition, since: str | None, *, ours: bool = False) -> Body:
    body: Body = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": printable(condition.message) if ours else condition.message,
    }
    if since:
        body["lastTransitionTime"] = since
    if condition.observed_generation is not None:
        body["observedGeneration"] = condition.observed_generation
    return body
