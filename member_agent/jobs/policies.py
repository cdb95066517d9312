"""From what happened to what to do: events of pods and tasks, matched with a Job's policies.

Events are levels, not edges, wherever an object shows them: a failed pod is an event for as long
as it stands there, so a restart of the agent loses none. Only the loss of a pod is remembered.

Deliberately unlike Volcano: `*` means anything that went wrong, so a task that completes does not
restart its Job; a pod that never started is replaced and is no event, because it was its
scheduler that took it back or its node that refused it.

By whom a pod was ended decides which event it is: what Kubernetes ends (a drain, a preemption, a
node that shuts down or lacks memory) was evicted, and its program did not fail.

Source:  the pod condition DisruptionTarget; the kubelet's eviction and shutdown managers for pods
without it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from global_sched.shared.api.base import Condition, condition
from global_sched.shared.api.core import Pod
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from member_agent.jobs.ladder import Place
from member_agent.jobs.memory import Delay, Memory, Occurrence
from member_agent.jobs.pods import place_of
from member_agent.jobs.spec import Action, JobSpec, PolicyEvent, Rule, TaskSpec

WRONG: Final = frozenset(
    {PolicyEvent.POD_FAILED, PolicyEvent.POD_EVICTED, PolicyEvent.UNKNOWN, PolicyEvent.TASK_FAILED}
)
"""Events that `*` stands for."""
PARTIAL: Final = (Action.RESTART_POD, Action.RESTART_PARTITION, Action.RESTART_TASK)
"""Actions that leave the rest of the Job alone."""
_REFUSALS: Final = frozenset(
    {
        "InvalidNodeInfo",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeShutdown",
        "NodeUnschedulable",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
"""Reasons of a pod's status with which a kubelet turns it away, beside OutOf…"""
_ENDED_BY_NODE: Final = frozenset({"NodeLost", "Preempting", "Shutdown", "Terminated"})
"""Reasons with which a kubelet, or the node's controller, ends a pod that ran."""
_NO_LOSS: Final = frozenset({PolicyEvent.TASK_COMPLETED, PolicyEvent.JOB_UPDATED})
_WIDTH: Final = {action: width for width, action in enumerate(Action)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A policy's action whose time has come, and why."""

    action: Action
    occurrence: Occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAnswer:
    """What the policies say now, what they will say later, and what is settled by that."""

    due: tuple[Due, ...]
    """Widest first; all of one width act together."""
    delays: tuple[Delay, ...]
    wake: Instant | None
    settled: frozenset[str]
    lost: tuple[Occurrence, ...]
    """Evictions that are new in this step, answered or not."""


def refused_by_node(pod: Pod) -> bool:
    """Whether its node did not take the pod (OutOfcpu, and other refusals before it started)."""
    status = pod.status
    if status.phase != "Failed":
        return False
    if status.reason == "Evicted":
        return "The node had condition" in status.message
    return status.reason.startswith("OutOf") or status.reason in _REFUSALS


def evicted(pod: Pod) -> bool:
    """Whether Kubernetes ended the pod, and not its own program.

    The condition DisruptionTarget says so. Kubelets that do not write it are known by their
    reasons: a node that shuts down, one that is short of something, room for a critical pod. A pod
    that is `Evicted` for its own storage limit has failed by itself.
    """
    status = pod.status
    if status.phase != "Failed" or refused_by_node(pod):
        return False
    if _disruption(pod) is not None:
        return True
    if status.reason == "Evicted":
        return "The node was low on resource" in status.message
    return status.reason in _ENDED_BY_NODE


def failed_by_itself(pod: Pod) -> bool:
    """Whether a pod's own program failed."""
    return pod.status.phase == "Failed" and not refused_by_node(pod) and not evicted(pod)


def end_of(pod: Pod) -> str:
    """How the pod's program ended by itself: `Succeeded`, `Failed`, or empty.

    A pod that is being deleted was asked to end.
    """
    if pod.metadata.deletion_timestamp is not None:
        return ""
    if pod.status.phase == "Succeeded" or failed_by_itself(pod):
        return pod.status.phase
    return ""


def _ran(pod: Pod) -> bool:
    """Whether the pod got so far that its loss is an eviction."""
    return pod.status.phase in ("Running", "Succeeded", "Failed") and not refused_by_node(pod)


def _disruption(pod: Pod) -> Condition | None:
    """The condition with which Kubernetes says that it ends the pod."""
    found = condition(pod.status.conditions, "DisruptionTarget")
    return found if found is not None and found.status == "True" else None


def answer(
    spec: JobSpec,
    pods: Sequence[Pod],
    *,
    group: PodGroup | None,
    memory: Memory,
    ends: Mapping[Place, str],
    updated: bool,
    now: Instant,
) -> PolicyAnswer:
    """What a Job's policies ask for. `pods` are those of its current version."""
    live = [pod for pod in pods if pod.metadata.uid not in memory.settled]
    due: list[Due] = []
    delays: list[Delay] = []
    wakes: list[Instant] = []
    shown = _standing(spec, live, group=group, memory=memory, ends=ends, updated=updated, now=now)
    for occurrence in shown:
        rule = match(spec, occurrence)
        if rule is None:
            continue
        at = Instant(occurrence.at + (rule.timeout or 0))
        if at <= now:
            due.append(Due(action=rule.action, occurrence=occurrence))
        else:
            wakes.append(at)
    going = [p for p in live if p.metadata.deletion_timestamp is not None or evicted(p)]
    losses = [
        _loss(pod, now) for pod in (*going, *memory.lost) if _ran(pod) and place_of(pod) not in ends
    ]
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
    return PolicyAnswer(
        due=tuple(due),
        delays=tuple(delays),
        wake=min(wakes, default=None),
        settled=frozenset(loss.uid for loss in losses),
        lost=tuple(losses),
    )


def match(spec: JobSpec, occurrence: Occurrence) -> Rule | None:
    """The policy that answers; a task's own policies come before the Job's."""
    task = spec.task(occurrence.task)
    for rule in (*(task.rules if task is not None else ()), *spec.rules):
        if occurrence.event in rule.events:
            return rule
        if PolicyEvent.ANY in rule.events and occurrence.event in WRONG:
            return rule
        if rule.exit_code is not None and rule.exit_code in occurrence.exit_codes:
            return rule
    return None


def beside_ladder(spec: JobSpec) -> JobSpec:
    """The spec with the rules that no ladder of recovery stands for: completed tasks, updates."""

    def kept(rules: Sequence[Rule]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule.events and _NO_LOSS.issuperset(rule.events))

    tasks = tuple(replace(task, rules=kept(task.rules), max_retry=-1) for task in spec.tasks)
    return replace(spec, tasks=tasks, rules=kept(spec.rules))


def targets(due: Iterable[Due], spec: JobSpec, places: Collection[Place]) -> frozenset[Place]:
    """The places whose pods partial actions restart."""
    chosen: set[Place] = set()
    for one in due:
        if one.action in PARTIAL:
            chosen.update(place for place in places if _in_scope(one, spec, place))
    return frozenset(chosen)


def _in_scope(due: Due, spec: JobSpec, place: Place) -> bool:
    task_name, index = place
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
    ends: Mapping[Place, str],
    updated: bool,
    now: Instant,
) -> list[Occurrence]:
    """Events that objects show by themselves."""
    found: list[Occurrence] = []
    if updated:
        found.append(Occurrence(event=PolicyEvent.JOB_UPDATED, at=now, about="the Job changed"))
    if group is not None and group.status.phase == "Unknown":
        about = "some of the gang's pods run and the others cannot be scheduled"
        found.append(Occurrence(event=PolicyEvent.UNKNOWN, at=now, about=about))
    first_seen = dict(memory.failed_at)
    standing = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    for pod in standing:
        task, index = place_of(pod)
        if failed_by_itself(pod):
            found.append(_failure(pod, task, index, first_seen.get(pod.metadata.uid, now)))
        elif pod.status.phase == "Pending":
            found.append(
                Occurrence(
                    event=PolicyEvent.POD_PENDING,
                    at=instant_of(pod.metadata.creation_timestamp) or now,
                    about=f"pod {pod.metadata.name} is still pending",
                    task=task,
                    index=index,
                    uid=pod.metadata.uid,
                )
            )
    shown = {place_of(pod) for pod in standing}
    for place, end in ends.items():
        if end == "Failed" and place not in shown:
            found.append(
                Occurrence(
                    event=PolicyEvent.POD_FAILED,
                    at=first_seen.get(mark_of(place), now),
                    about=f"pod {place[1]} of task {place[0]} failed",
                    task=place[0],
                    index=place[1],
                )
            )
    for task_spec in spec.tasks:
        found.extend(_task_events(task_spec, standing, ends, now))
    return found


def mark_of(place: Place) -> str:
    """Under what the first sight of a failed pod is remembered whose object is gone."""
    return f"{place[0]}/{place[1]}"


def _failure(pod: Pod, task: str, index: int, first_seen: Instant) -> Occurrence:
    ends = [
        one.state.terminated
        for one in pod.status.container_statuses or ()
        if one.state.terminated is not None
    ]
    codes = tuple(end.exit_code for end in ends if end.exit_code)
    times = [at for end in ends if (at := instant_of(end.finished_at)) is not None]
    return Occurrence(
        event=PolicyEvent.POD_FAILED,
        at=max(times, default=first_seen),
        about=f"pod {pod.metadata.name} failed" + (f" with exit code {codes[0]}" if codes else ""),
        task=task,
        index=index,
        uid=pod.metadata.uid,
        exit_codes=codes,
    )


def _task_events(
    task: TaskSpec, pods: Sequence[Pod], ends: Mapping[Place, str], now: Instant
) -> list[Occurrence]:
    """TaskCompleted: all its pods succeeded. TaskFailed: too many restarts, or too few are left."""
    mine = [pod for pod in pods if place_of(pod)[0] == task.name]
    own = [end for (name, _), end in ends.items() if name == task.name]
    succeeded, failed = own.count("Succeeded"), own.count("Failed")
    if succeeded and succeeded >= task.replicas:
        about = f"all {succeeded} pods of task {task.name} succeeded"
        return [Occurrence(event=PolicyEvent.TASK_COMPLETED, at=now, about=about, task=task.name)]
    restarts = sum(
        one.restart_count
        for pod in mine
        if pod.status.phase in ("Running", "Pending")
        for one in pod.status.container_statuses or ()
    )
    if task.max_retry >= 0 and restarts > task.max_retry:
        about = f"containers of task {task.name} restarted {restarts} times"
    elif failed and task.replicas - failed < task.minimum:
        about = f"{failed} pods of task {task.name} failed, it needs {task.minimum}"
    else:
        return []
    return [Occurrence(event=PolicyEvent.TASK_FAILED, at=now, about=about, task=task.name)]


def _loss(pod: Pod, now: Instant) -> Occurrence:
    """The eviction of a pod that ran and is going or gone without our doing."""
    task, index = place_of(pod)
    return Occurrence(
        event=PolicyEvent.POD_EVICTED,
        at=now,
        about=f"pod {pod.metadata.name} was evicted" + _why(pod),
        task=task,
        index=index,
        uid=pod.metadata.uid,
    )


def _why(pod: Pod) -> str:
    """What Kubernetes says of the eviction, in brackets; empty when it says nothing."""
    said = _disruption(pod)
    reason = pod.status.reason if said is None else said.reason
    return f" ({reason})" if reason else ""


def instant_of(text: str | None) -> Instant | None:
    """The instant of a time that may be absent or unreadable."""
    try:
        return None if text is None else parse_instant(text)
    except InstantError:
        return None
