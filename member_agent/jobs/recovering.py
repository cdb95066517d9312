"""A Job and its ladder: its rules, its losses, and steps as actions of policies. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from global_sched.shared.api.base import condition
from global_sched.shared.api.core import Pod
from global_sched.shared.api.names import RECOVERY
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.instant import Instant, format_instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import (
    RecoverySpec,
    Scope,
    rules_in,
)
from member_agent.jobs.ladder import Act, Climb, Loss, Place, climb, step_of
from member_agent.jobs.memory import Occurrence
from member_agent.jobs.outcome import Healed, JobView
from member_agent.jobs.pods import place_of
from member_agent.jobs.policies import Due, failed_by_itself
from member_agent.jobs.spec import Action, JobSpec, PolicyEvent
from member_agent.jobs.status import RECOVERING, CurrentJob

ACTIONS: Final = {
    Scope.POD: Action.RESTART_POD,
    Scope.PARTITION: Action.RESTART_PARTITION,
    Scope.TASK: Action.RESTART_TASK,
    Scope.JOB: Action.RESTART_JOB,
}
_BY: Final = {
    "PreemptionByScheduler": Cause.PREEMPTED,
    "DeletionByPodGC": Cause.NODE_GONE,
    "DeletionByTaintManager": Cause.NODE_TAINTED,
}
"""Causes by the reason of the condition DisruptionTarget; any other one is an eviction."""


def rules_of(view: JobView) -> tuple[RecoverySpec, str]:
    """The Job's rules of recovery, or the defaults and why its own are refused."""
    return rules_in(view.job.metadata.annotation(RECOVERY), view.recovery)


def climbed(world: CurrentJob, current: Sequence[Pod], lost: Iterable[Occurrence]) -> Climb:
    """What the ladder asks for; `lost` are pods that went without the Job's doing."""
    pods = {pod.metadata.uid: pod for pod in (*world.view.memory.lost, *current)}
    losses = [_failure(pod, world) for pod in current if _stands_failed(pod, world)]
    losses += [_loss(one, pods.get(one.uid), world.view.troubled) for one in lost if one.index >= 0]
    shown = {place_of(pod) for pod in current}
    losses += [
        Loss(
            place=place,
            uid="",
            cause=Cause.EXIT_CODE,
            about=f"pod {place[1]} of task {place[0]} failed",
        )
        for place, end in world.ends().items()
        if end == "Failed" and place not in shown
    ]
    return climb(
        world.rules,
        world.view.recovery,
        world.record.ladder,
        losses=losses,
        whole=_whole(world, current),
        now=world.now,
    )


def _stands_failed(pod: Pod, world: CurrentJob) -> bool:
    return (
        failed_by_itself(pod)
        and pod.metadata.deletion_timestamp is None
        and pod.metadata.uid not in world.memory.settled
    )


def _whole(world: CurrentJob, current: Sequence[Pod]) -> dict[Place, bool]:
    """Every place of the Job, and whether a pod is Ready there or has succeeded.

    A task of which all admitted pods are has no place that lacks one: the others are surplus that
    it was not given, or gave back.
    """
    found = {(task.name, at): False for task in world.spec.tasks for at in range(task.replicas)}
    ready = {place_of(pod) for pod in current if _ready(pod)}
    ready |= {place for place, end in world.ends().items() if end == "Succeeded"}
    admitted = world.view.admitted
    enough = {
        task.name
        for task in world.spec.tasks
        if admitted is not None
        and admitted.get(PodSetName(task.name)) <= sum(place[0] == task.name for place in ready)
    }
    return {place: place in ready or place[0] in enough for place in found}


def _ready(pod: Pod) -> bool:
    ready = condition(pod.status.conditions, "Ready")
    return (
        pod.status.phase == "Running"
        and pod.metadata.deletion_timestamp is None
        and ready is not None
        and ready.status == "True"
    )


def _failure(pod: Pod, world: CurrentJob) -> Loss:
    """A pod whose own program failed."""
    ends = [
        one.state.terminated
        for one in pod.status.container_statuses or ()
        if one.state.terminated is not None and one.state.terminated.exit_code
    ]
    # The code that ends the Job counts, whichever container it comes from.
    fatal = [end for end in ends if end.exit_code in world.rules.fail_codes]
    end = next(iter([*fatal, *ends]), None)
    oom = any(one.reason == "OOMKilled" for one in ends)
    about = f"pod {pod.metadata.name} failed"
    if oom:
        about = f"pod {pod.metadata.name} used more memory than it may"
    elif end is not None:
        about += f" with exit code {end.exit_code}"
    return Loss(
        place=place_of(pod),
        uid=pod.metadata.uid,
        cause=Cause.OOM_KILLED if oom else Cause.EXIT_CODE,
        about=about,
        node=pod.spec.node_name,
        code=end.exit_code if end is not None else 0,
    )


def _loss(one: Occurrence, pod: Pod | None, troubled: Mapping[str, Cause]) -> Loss:
    """A pod that Kubernetes or its node took."""
    node = pod.spec.node_name if pod is not None else ""
    target = None if pod is None else condition(pod.status.conditions, "DisruptionTarget")
    cause = Cause.UNKNOWN
    if node in troubled:
        cause = troubled[node]
    elif target is not None and target.status == "True":
        cause = _BY.get(target.reason, Cause.EVICTED)
    return Loss(place=(one.task, one.index), uid=one.uid, cause=cause, about=one.about, node=node)


def healed(world: CurrentJob, found: Climb) -> tuple[Healed, ...]:
    """The faults that are over now."""
    scopes = world.rules.scopes
    return tuple(
        Healed(
            scope=scopes[one.level].value if 0 <= one.level < len(scopes) else "none",
            cause=one.cause,
            took=world.now - one.since,
        )
        for one in found.healed
    )


def recovering_condition(world: CurrentJob) -> dict[str, Any] | None:
    """The condition Recovering of the Job's PodGroup: the fault that is open for longest.

    None for a Job without a ladder, and for one that has lost no pod yet.
    """
    group = world.view.group
    known = [
        one
        for one in (group.status.conditions if group is not None else None) or ()
        if one.get("type") == RECOVERING
    ]
    faults = sorted(world.record.ladder.faults, key=lambda one: (one.since, one.place))
    if not world.rules.scopes or not (faults or known):
        return None
    if not faults:
        if known[0].get("status") == "False":
            return dict(known[0])
        return _condition("False", "Whole", "every pod is Ready again", world.now)
    first = faults[0]
    scopes = world.rules.scopes
    level = min(first.level, len(scopes) - 1)
    done = f"scope {scopes[level]}, step {level + 1} of {len(scopes)}" if level >= 0 else "no step"
    following = step_of(world.rules, world.view.recovery, first)
    then = "no further step"
    if following is not None:
        then = f"next {following[0]} at {format_instant(following[1])}"
    node = f" on node {first.node}" if first.node else ""
    more = f"; {len(faults) - 1} more" if len(faults) > 1 else ""
    text = f"{first.about}{node}: {done}, since {format_instant(first.since)}, {then}{more}"
    return _condition("True", first.cause.value, text, first.since)


def _condition(status: str, reason: str, message: str, since: Instant) -> dict[str, Any]:
    return {
        "type": RECOVERING,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_instant(since),
    }


def due_of(act: Act, spec: JobSpec) -> Due:
    """A step as the action of a policy; a task without partitions restarts its pod for one."""
    fault = act.fault
    action = ACTIONS[act.scope]
    if action is Action.RESTART_PARTITION:
        task = spec.task(fault.place[0])
        if task is None or task.partition is None:
            action = Action.RESTART_POD
    return Due(
        action=action,
        occurrence=Occurrence(
            event=PolicyEvent.POD_FAILED,
            at=fault.since,
            about=fault.about,
            task=fault.place[0],
            index=fault.place[1],
            uid=fault.uid,
        ),
    )
