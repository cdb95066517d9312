"""One step of a Job: from what is there to what to do. Pure.

`step` is called again after every change and at `Outcome.wake`; it must not matter how often.
The caller writes the status first (on the version of the Job that was read), and acts after it:
a crash in between repeats the deletes, but never counts a retry twice.

A restart keeps the PodGroup, unlike Volcano's, because it carries what the agent remembers of the
gang: that its minimum was once reached, and where.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, assert_never

import msgspec

from global_sched.shared.api.core import Pod
from global_sched.shared.api.names import MANAGED
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.model.instant import SECOND, Instant
from member_agent.jobs import policies
from member_agent.jobs.groups import WAITING, group_spec, make_group
from member_agent.jobs.memory import Memory
from member_agent.jobs.outcome import JobView, Note, Outcome
from member_agent.jobs.phases import (
    ENDED,
    ENDED_BY,
    ENDING,
    FINISHED,
    Phase,
    count,
    next_phase,
    startable,
)
from member_agent.jobs.plugins import pod_name
from member_agent.jobs.pods import make_pod, place_of, version_of
from member_agent.jobs.spec import JobRefusedError, read_spec
from member_agent.jobs.status import Draft, World, finish, group_status, merge, refuse
from member_agent.jobs.wire import RunJob

CREATES: Final = 500
"""Pods created in one step; the next step goes on."""
LIVE: Final = ("", "Pending", "Running", "Unknown")

Json = dict[str, Any]


def step(view: JobView, now: Instant, *, default_scheduler: str = "member-agent") -> Outcome:
    """What to do about a Job now. The same view and instant give the same outcome."""
    job = view.job
    if job.metadata.deletion_timestamp is not None:
        return Outcome(memory=view.memory)  # its objects go with it: they name it as their owner
    try:
        phase = Phase(job.status.state.phase or Phase.PENDING)
    except ValueError:
        phase = Phase.PENDING
    try:
        spec = read_spec(job)
        world = World(
            view=view,
            spec=spec,
            now=now,
            default_scheduler=default_scheduler,
            phase=phase,
            memory=_remember(view, now),
        )
        return _dispatch(world)
    except JobRefusedError as error:
        return refuse(view, phase, str(error), now)


def _dispatch(world: World) -> Outcome:
    match world.phase:
        case Phase.PENDING | Phase.RUNNING:
            return _active(world)
        case Phase.RESTARTING:
            return _restarting(world)
        case Phase.ABORTING | Phase.COMPLETING | Phase.TERMINATING:
            return _ending(world)
        case Phase.ABORTED | Phase.COMPLETED | Phase.TERMINATED | Phase.FAILED:
            return _ended(world)
        case _:
            assert_never(world.phase)


def _remember(view: JobView, now: Instant) -> Memory:
    """The memory brought up to date with what is there."""
    memory = view.memory
    here = {pod.metadata.uid: pod for pod in view.pods}
    if not memory.started:
        # We do not know who deletes what goes already, so no policy may answer it.
        going = (u for u, p in here.items() if p.metadata.deletion_timestamp is not None)
        memory = memory.settle(going)
    seen = dict(memory.failed_at)
    failed = {u: seen.get(u, now) for u, p in here.items() if p.status.phase == "Failed"}
    return replace(
        memory,
        started=True,
        settled=memory.settled & here.keys(),
        failed_at=tuple(sorted(failed.items())),
    )


# --- phases -------------------------------------------------------------------------------


def _active(world: World) -> Outcome:
    """Pending or Running: obey the policies, else bring pods and counts in line."""
    status, memory = world.status, world.memory
    current = [pod for pod in world.pods() if version_of(pod) >= status.version]
    generation = world.view.job.metadata.generation
    answer = policies.answer(
        world.spec,
        current,
        group=world.view.group,
        memory=memory,
        updated=memory.generation not in (0, generation),
        now=world.now,
    )
    memory = replace(
        memory.settle(answer.settled), generation=generation, lost=(), delays=answer.delays
    )
    world = replace(world, memory=memory)
    if answer.due:
        return _act(world, answer.due, current)
    return _sync(world, answer.wake)


def _act(world: World, due: Sequence[policies.Due], current: Sequence[Pod]) -> Outcome:
    """Carry out the widest action, or all partial ones together."""
    first = due[0]
    draft = Draft(phase=ENDED_BY.get(first.action, Phase.RESTARTING))
    draft.retry = draft.phase is Phase.RESTARTING
    if first.action in policies.PARTIAL and first.occurrence.task:
        chosen = policies.targets(due, world.spec, current)
        draft.delete(pod for pod in current if pod.metadata.uid in chosen)
        world = replace(world, memory=world.memory.settle(chosen))
    else:
        draft.bump = True
        world = replace(world, memory=replace(world.memory, delays=()))
        last = draft.retry and world.status.retry_count + 1 >= world.spec.max_retry
        keep_ended = not draft.retry or last
        draft.delete(pod for pod in world.pods() if not keep_ended or pod.status.phase in LIVE)
    occurrence = first.occurrence
    draft.reason = occurrence.event.value
    draft.message = f"{occurrence.about}: {first.action.value}"
    if draft.retry:
        draft.message += f", retry {world.status.retry_count + 1} of {world.spec.max_retry}"
    draft.notes.append(Note(reason="ExecuteAction", message=draft.message, warning=True))
    outcome = finish(world, draft)
    if world.view.group is None or outcome.delete_group or not draft.bump:
        return outcome
    # The group goes on; what a scheduler said of the pods that go is over.
    return replace(outcome, group_status={"phase": WAITING, "running": 0})


def _sync(world: World, wake: Instant | None) -> Outcome:
    """Create what is missing, delete what is too much, and see whether the phase changes."""
    spec, pods = world.spec, world.pods()
    draft = Draft(phase=world.phase)
    settled = world.memory.settled
    draft.delete(
        pod
        for pod in pods
        if _superfluous(world, pod) or policies.refused_by_node(pod) or pod.metadata.uid in settled
    )
    counts = count(pods, draft.going)
    draft.phase, problem = next_phase(world.phase, spec, counts)
    if problem:
        draft.reason, draft.message = "MinimumNotReached", problem
        draft.notes.append(Note(reason="JobFailed", message=problem, warning=True))
    if draft.phase in ENDED:
        draft.bump = True
        draft.delete(pod for pod in pods if pod.status.phase in LIVE)
        return finish(world, draft)
    outcome = finish(world, draft, counts=counts)
    tasks = startable(spec, pods)
    group = world.view.group
    wanted = group_spec(spec, tasks)
    changes = None if group is None else merge(msgspec.to_builtins(group.spec), wanted)
    shown = group_status(group or PodGroup(), spec, wanted["minMember"], counts)
    creates = _missing(world, tasks)
    return replace(
        outcome,
        companions=True,
        create_group=make_group(world.view.job, wanted) if group is None else None,
        group_spec=changes or None,
        group_status=shown,
        creates=creates,
        wake=world.now if len(creates) == CREATES else wake,
    )


def _restarting(world: World) -> Outcome:
    """Wait until the pods that were restarted are gone; too many retries end the Job."""
    status, spec = world.status, world.spec
    draft = Draft(phase=Phase.RESTARTING)
    if status.retry_count >= spec.max_retry:
        draft.phase, draft.bump = Phase.FAILED, True
        draft.reason = "MaxRetry"
        draft.message = f"{status.state.message or 'it restarted'}; maxRetry is {spec.max_retry}"
        draft.delete(pod for pod in world.pods() if pod.status.phase in LIVE)
        draft.notes.append(Note(reason="JobFailed", message=draft.message, warning=True))
        return finish(world, draft)
    draft.delete(
        pod
        for pod in world.pods()
        if _superfluous(world, pod) or pod.metadata.uid in world.memory.settled
    )
    counts = count(world.pods(), draft.going)
    if spec.pods() - counts.terminating >= spec.minimum:
        draft.phase = Phase.PENDING
    # What goes in this phase goes because of the restart.
    world = replace(world, memory=replace(world.memory, lost=()))
    return finish(world, draft, counts=counts)


def _ending(world: World) -> Outcome:
    """Aborting, Completing, Terminating: kill what runs; the phase ends when nothing does."""
    draft = Draft(phase=world.phase)
    draft.delete(pod for pod in world.pods() if pod.status.phase in LIVE)
    counts = count(world.pods(), draft.going)
    if counts.alive() == 0:
        draft.phase = ENDING[world.phase]
    return finish(world, draft, counts=counts)


def _ended(world: World) -> Outcome:
    """Nothing runs any more; the TTL may remove the Job."""
    draft = Draft(phase=world.phase)
    draft.delete(pod for pod in world.pods() if pod.status.phase in LIVE)
    outcome = finish(world, draft)
    ttl = world.spec.ttl
    if ttl is None or world.phase not in FINISHED or _propagated(world.view.job):
        return outcome
    since = policies.instant_of(world.status.state.last_transition_time)
    due = Instant((world.now if since is None else since) + ttl * SECOND)
    if due <= world.now:
        return replace(outcome, delete_job=True)
    return replace(outcome, wake=due)


def _propagated(job: RunJob) -> bool:
    """Whether Karmada brought it: it would bring a deleted one again, and run it once more."""
    return job.metadata.label(MANAGED) == "true"


# --- pods ---------------------------------------------------------------------------------


def _superfluous(world: World, pod: Pod) -> bool:
    """An older version's pod, one beyond its task's replicas, or one of no task."""
    if version_of(pod) < world.status.version:
        return True
    task_name, index = place_of(pod)
    task = world.spec.task(task_name)
    return task is None or not 0 <= index < task.replicas


def _missing(world: World, tasks: Sequence[str]) -> tuple[Json, ...]:
    """Pods to create: those of startable tasks whose name nobody holds."""
    job = world.view.job
    taken = {pod.metadata.name for pod in world.pods()}
    found: list[Json] = []
    for task in world.spec.tasks:
        if task.name not in tasks:
            continue
        for index in range(task.replicas):
            if len(found) == CREATES:
                return tuple(found)
            if pod_name(job.metadata.name, task.name, index) not in taken:
                found.append(
                    make_pod(
                        job, world.spec, task, index, default_scheduler=world.default_scheduler
                    )
                )
    return tuple(found)
