"""From what happened to what to do: events of pods and tasks, matched with a Job's policies.

Events are levels, not edges, wherever an object shows them: a failed pod is an event for as long
as it stands there, so a restart of the agent loses none. Only the loss of a pod is remembered.

Deliberately unlike Volcano: `*` means anything that went wrong, so a task that completes does not
restart its Job; a pod that never started is replaced and is no event, because it was its
scheduler that took it back or its node that refused it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from global_sched.shared.api.core import Pod
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from member_agent.jobs.memory import Delay, Memory, Occurrence
from member_agent.jobs.pods import place_of
from member_agent.jobs.spec import Action, Event, JobSpec, Rule, TaskSpec

WRONG: Final = frozenset({Event.POD_FAILED, Event.POD_EVICTED, Event.UNKNOWN, Event.TASK_FAILED})
"""Events that `*` stands for."""
PARTIAL: Final = (Action.RESTART_POD, Action.RESTART_PARTITION, Action.RESTART_TASK)
"""Actions that leave the rest of the Job alone."""
_REFUSALS: Final = frozenset(
    {
        "InvalidNodeInfo",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeUnschedulable",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
"""Reasons of a pod's status with which a kubelet turns it away, beside OutOf…"""
_WIDTH: Final = {action: width for width, action in enumerate(Action)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A policy's action whose time has come, and why."""

    action: Action
    occurrence: Occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the policies say now, what they will say later, and what is settled by that."""

    due: tuple[Due, ...]
    """Widest first; all of one width act together."""
    delays: tuple[Delay, ...]
    wake: Instant | None
    settled: frozenset[str]


def refused_by_node(pod: Pod) -> bool:
    """Whether its node did not take the pod (OutOfcpu, and other refusals before it started)."""
    reason = pod.status.reason
    return pod.status.phase == "Failed" and (reason.startswith("OutOf") or reason in _REFUSALS)


def failed_by_itself(pod: Pod) -> bool:
    """Whether a pod failed after its node had taken it."""
    return pod.status.phase == "Failed" and not refused_by_node(pod)


def started(pod: Pod) -> bool:
    """Whether the pod ran, or runs."""
    return pod.status.phase == "Running" or failed_by_itself(pod)


def answer(
    spec: JobSpec,
    pods: Sequence[Pod],
    *,
    group: PodGroup | None,
    memory: Memory,
    updated: bool,
    now: Instant,
) -> Answer:
    """What a Job's policies ask for. `pods` are those of its current version."""
    live = [pod for pod in pods if pod.metadata.uid not in memory.settled]
    due: list[Due] = []
    delays: list[Delay] = []
    wakes: list[Instant] = []
    for occurrence in _standing(spec, live, group=group, memory=memory, updated=updated, now=now):
        rule = match(spec, occurrence)
        if rule is None:
            continue
        at = Instant(occurrence.at + (rule.timeout or 0))
        if at <= now:
            due.append(Due(action=rule.action, occurrence=occurrence))
        else:
            wakes.append(at)
    going = [pod for pod in live if pod.metadata.deletion_timestamp is not None]
    losses = [_loss(pod, now) for pod in (*going, *memory.lost) if started(pod)]
    for loss in losses:
        rule = match(spec, loss)
        if rule is not None and rule.timeout:
            delays.append(
                Delay(action=rule.action, due=Instant(now + rule.timeout), occurrence=loss)
            )
        elif rule is not None:
            due.append(Due(action=rule.action, occurrence=loss))
    running = {place_of(pod) for pod in pods if pod.status.phase == "Running"}
    for delay in memory.delays:
        if (delay.occurrence.task, delay.occurrence.index) in running:
            continue
        if delay.due <= now:
            due.append(Due(action=delay.action, occurrence=delay.occurrence))
        else:
            delays.append(delay)
    wakes.extend(delay.due for delay in delays)
    due = [one for one in due if one.action is not Action.RESUME_JOB]
    due.sort(key=lambda one: -_WIDTH[one.action])
    return Answer(
        due=tuple(due),
        delays=tuple(delays),
        wake=min(wakes, default=None),
        settled=frozenset(loss.uid for loss in losses),
    )


def match(spec: JobSpec, occurrence: Occurrence) -> Rule | None:
    """The policy that answers; a task's own policies come before the Job's."""
    task = spec.task(occurrence.task)
    for rule in (*(task.rules if task is not None else ()), *spec.rules):
        if occurrence.event in rule.events:
            return rule
        if Event.ANY in rule.events and occurrence.event in WRONG:
            return rule
        if rule.exit_code is not None and rule.exit_code in occurrence.exit_codes:
            return rule
    return None


def targets(due: Iterable[Due], spec: JobSpec, pods: Sequence[Pod]) -> frozenset[str]:
    """The uids of the pods that partial actions restart."""
    chosen: set[str] = set()
    for one in due:
        if one.action not in PARTIAL:
            continue
        chosen.update(pod.metadata.uid for pod in pods if _in_scope(one, spec, pod))
    return frozenset(chosen)


def _in_scope(due: Due, spec: JobSpec, pod: Pod) -> bool:
    task_name, index = place_of(pod)
    occurrence = due.occurrence
    if task_name != occurrence.task:
        return False
    task = spec.task(task_name)
    if due.action is Action.RESTART_TASK or occurrence.index < 0 or task is None:
        return True
    if due.action is Action.RESTART_PARTITION and task.partition is not None:
        return task.partition_of(index) == task.partition_of(occurrence.index)
    return index == occurrence.index


def _standing(
    spec: JobSpec,
    pods: Sequence[Pod],
    *,
    group: PodGroup | None,
    memory: Memory,
    updated: bool,
    now: Instant,
) -> list[Occurrence]:
    """Events that objects show by themselves."""
    found: list[Occurrence] = []
    if updated:
        found.append(Occurrence(event=Event.JOB_UPDATED, at=now, about="the Job changed"))
    if group is not None and group.status.phase == "Unknown":
        about = "some of the gang's pods run and the others cannot be scheduled"
        found.append(Occurrence(event=Event.UNKNOWN, at=now, about=about))
    first_seen = dict(memory.failed_at)
    standing = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    for pod in standing:
        task, index = place_of(pod)
        if failed_by_itself(pod):
            found.append(_failure(pod, task, index, first_seen.get(pod.metadata.uid, now)))
        elif pod.status.phase == "Pending":
            found.append(
                Occurrence(
                    event=Event.POD_PENDING,
                    at=instant_of(pod.metadata.creation_timestamp) or now,
                    about=f"pod {pod.metadata.name} is still pending",
                    task=task,
                    index=index,
                    uid=pod.metadata.uid,
                )
            )
    for task_spec in spec.tasks:
        found.extend(_task_events(task_spec, standing, now))
    return found


def _failure(pod: Pod, task: str, index: int, first_seen: Instant) -> Occurrence:
    ends = [
        one.state.terminated
        for one in pod.status.container_statuses or ()
        if one.state.terminated is not None
    ]
    codes = tuple(end.exit_code for end in ends if end.exit_code)
    times = [at for end in ends if (at := instant_of(end.finished_at)) is not None]
    return Occurrence(
        event=Event.POD_FAILED,
        at=max(times, default=first_seen),
        about=f"pod {pod.metadata.name} failed" + (f" with exit code {codes[0]}" if codes else ""),
        task=task,
        index=index,
        uid=pod.metadata.uid,
        exit_codes=codes,
    )


def _task_events(task: TaskSpec, pods: Sequence[Pod], now: Instant) -> list[Occurrence]:
    """TaskCompleted: all its pods succeeded. TaskFailed: too many restarts, or too few are left."""
    mine = [pod for pod in pods if place_of(pod)[0] == task.name]
    succeeded = sum(pod.status.phase == "Succeeded" for pod in mine)
    if mine and succeeded >= task.replicas:
        about = f"all {succeeded} pods of task {task.name} succeeded"
        return [Occurrence(event=Event.TASK_COMPLETED, at=now, about=about, task=task.name)]
    restarts = sum(
        one.restart_count
        for pod in mine
        if pod.status.phase in ("Running", "Pending")
        for one in pod.status.container_statuses or ()
    )
    failed = sum(failed_by_itself(pod) for pod in mine)
    if task.max_retry >= 0 and restarts > task.max_retry:
        about = f"containers of task {task.name} restarted {restarts} times"
    elif failed and task.replicas - failed < task.minimum:
        about = f"{failed} pods of task {task.name} failed, it needs {task.minimum}"
    else:
        return []
    return [Occurrence(event=Event.TASK_FAILED, at=now, about=about, task=task.name)]


def _loss(pod: Pod, now: Instant) -> Occurrence:
    """The eviction of a pod that ran and is going or gone without our doing."""
    task, index = place_of(pod)
    return Occurrence(
        event=Event.POD_EVICTED,
        at=now,
        about=f"pod {pod.metadata.name} was evicted",
        task=task,
        index=index,
        uid=pod.metadata.uid,
    )


def instant_of(text: str | None) -> Instant | None:
    """The instant of a time that may be absent or unreadable."""
    try:
        return None if text is None else parse_instant(text)
    except InstantError:
        return None
