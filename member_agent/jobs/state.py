"""One step of a Job: from what is there to what to do. Pure.

`step` is called again after every change and at `Outcome.wake`; it must not matter how often.
The caller writes the status first (on the version of the Job that was read), and acts after it:
a crash in between repeats the deletes, but never counts a retry twice.

A restart keeps the PodGroup, unlike Volcano's, because it carries what the agent remembers of the
gang: that its minimum was once reached, and where.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, assert_never

import msgspec

from global_sched.shared.api.core import Pod
from global_sched.shared.api.names import MANAGED
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.printable import is_label_value
from global_sched.shared.model.recovery_spec import RecoverySpec
from member_agent.jobs import policies
from member_agent.jobs.groups import WAITING, group_minimum, group_spec, make_group
from member_agent.jobs.ladder import Climb, absorbed, spend, spent
from member_agent.jobs.memory import Memory, Occurrence
from member_agent.jobs.outcome import JobOutcome, JobView, Note
from member_agent.jobs.phases import (
    ENDED,
    ENDED_BY,
    ENDING,
    FINISHED,
    PAUSED,
    Counts,
    Phase,
    next_phase,
    startable,
)
from member_agent.jobs.plugins import pod_name
from member_agent.jobs.pods import make_pod, place_of, version_of
from member_agent.jobs.record import JobRecord, read_record
from member_agent.jobs.recovering import (
    climbed,
    due_of,
    healed,
    recovering_condition,
    rules_of,
)
from member_agent.jobs.spec import Action, JobRefusedError, JobSpec, PolicyEvent, read_spec
from member_agent.jobs.status import CurrentJob, Draft, finish, group_status, merge, refuse
from member_agent.jobs.wire import RunJob

CREATES: Final = 500
"""Pods created in one step; the next step goes on."""
EVICTION: Final = PolicyEvent.POD_EVICTED
LIVE: Final = ("", "Pending", "Running", "Unknown")

Json = dict[str, Any]


def step(view: JobView, now: Instant, *, default_scheduler: str = "member-agent") -> JobOutcome:
    """What to do about a Job now. The same view and instant give the same outcome."""
    job = view.job
    if job.metadata.deletion_timestamp is not None:
        return JobOutcome(memory=view.memory)  # its objects go with it: they name it as their owner
    try:
        phase = Phase(job.status.state.phase or Phase.PENDING)
    except ValueError:
        phase = Phase.PENDING
    try:
        spec = read_spec(job)
        record = _record(view, phase)
        rules, refused = rules_of(view)
        record = replace(record, carried=_carried(job, rules, record))
        memory = replace(_remember(view, record, now), refused_recovery=refused)
        world = CurrentJob(
            view=view,
            spec=spec,
            now=now,
            default_scheduler=default_scheduler,
            phase=phase,
            memory=memory,
            record=record,
            rules=rules,
        )
        outcome = _dispatch(world)
    except JobRefusedError as error:
        return refuse(view, phase, str(error), now)
    if refused and refused != view.memory.refused_recovery:
        text = f"{refused}; until then the defaults count"
        note = Note(reason="RecoveryRefused", message=text, warning=True)
        return replace(outcome, notes=(note, *outcome.notes))
    return outcome


def _dispatch(world: CurrentJob) -> JobOutcome:
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


def _record(view: JobView, phase: Phase) -> JobRecord:
    """What is remembered, with the ends that pods of this attempt show now.

    A pod that was seen to end and then went did end. Once the Job has ended nothing is added.
    """
    memory, version = view.memory, view.job.status.version
    record = memory.record if memory.record is not None else read_record(view.job.status)
    if phase in ENDED:
        return record
    return record.with_ends(
        (place_of(pod), end)
        for pod in (*view.pods, *memory.lost)
        if (end := policies.end_of(pod))
        and pod.metadata.uid not in memory.settled
        and (phase in ENDING or version_of(pod) >= version)
    )


def _carried(job: RunJob, rules: RecoverySpec, record: JobRecord) -> dict[str, str]:
    """Labels that travelled with the Job: as they stand on it, else as they once did.

    Karmada puts them on the object once, and takes them off with its next change.
    """
    here = job.metadata.labels or {}
    asked = (one.label for one in rules.carry)
    known = {label: here.get(label) or record.carried.get(label) for label in asked}
    return {label: value for label, value in known.items() if value and is_label_value(value)}


def _remember(view: JobView, record: JobRecord, now: Instant) -> Memory:
    """The memory brought up to date with what is there."""
    memory = view.memory
    here = {pod.metadata.uid: pod for pod in view.pods}
    if not memory.started:
        # We do not know who deletes what goes already, so no policy may answer it.
        going = (u for u, p in here.items() if p.metadata.deletion_timestamp is not None)
        memory = memory.settle(going)
    seen = dict(memory.failed_at)
    marks = [uid for uid, pod in here.items() if pod.status.phase == "Failed"]
    marks += [policies.mark_of(place) for place, end in record.ends.items() if end == "Failed"]
    failed = {mark: seen.get(mark, now) for mark in marks}
    return replace(
        memory,
        started=True,
        settled=memory.settled & here.keys(),
        failed_at=tuple(sorted(failed.items())),
    )


# --- phases -------------------------------------------------------------------------------


def _active(world: CurrentJob) -> JobOutcome:
    """Pending or Running: obey the policies, else bring pods and counts in line."""
    status, memory = world.status, world.memory
    current = [pod for pod in world.pods() if version_of(pod) >= status.version]
    generation = world.view.job.metadata.generation
    laddered = bool(world.rules.scopes)
    answer = policies.answer(
        policies.beside_ladder(world.spec) if laddered else world.spec,
        current,
        group=world.view.group,
        memory=memory,
        ends=world.ends(),
        updated=memory.generation not in (0, generation),
        now=world.now,
    )
    memory = replace(
        memory.settle(answer.settled), generation=generation, lost=(), delays=answer.delays
    )
    record = world.record.evicted(world.now) if answer.lost else world.record
    found = climbed(world, current, answer.lost) if laddered else None
    if found is None:
        return _answered(replace(world, memory=memory, record=record), answer, None, current)
    record = replace(record, ladder=found.state)
    memory = replace(memory, waits_at=found.waits_at)
    world = replace(world, memory=memory, record=record)
    outcome = _answered(world, answer, found, current)
    return replace(outcome, healed=healed(world, found))


def _answered(
    world: CurrentJob, answer: policies.PolicyAnswer, found: Climb | None, current: Sequence[Pod]
) -> JobOutcome:
    """Carry out what policies and ladder ask for, or bring pods and counts in line."""
    if found is not None and found.failed:
        return _fail(world, "RecoveryBudget", found.failed)
    if answer.due:
        return _act(world, answer.due, current)
    if found is not None and found.acts:
        return _step(world, found, current)
    if found is not None:
        world = replace(world, memory=replace(world.memory, recovery_waits=found.waits))
        wakes = [at for at in (answer.wake, found.wake) if at is not None]
        answer = replace(answer, wake=min(wakes, default=None))
    return _sync(world, answer)


def _step(world: CurrentJob, found: Climb, current: Sequence[Pod]) -> JobOutcome:
    """Take the steps of the ladder that are due; they burn no retry, the budget bounds them."""
    due = sorted(
        (due_of(act, world.spec) for act in found.acts),
        key=lambda one: -list(Action).index(one.action),
    )
    places = {place_of(pod) for pod in current} | world.ends().keys()
    chosen = set(places)
    if due[0].action in policies.PARTIAL:
        chosen = set(policies.targets(due, world.spec, places))
    ladder = absorbed(world.record.ladder, found.acts, chosen)
    world = replace(world, record=replace(world.record, ladder=ladder))
    outcome = _act(world, due, current, retries=False)
    running = [pod for pod in outcome.deletes if pod.status.phase == "Running"]
    return replace(outcome, disturbed=len(running))


def _fail(world: CurrentJob, reason: str, message: str) -> JobOutcome:
    """The Job ends: its rules of recovery allow no more."""
    draft = Draft(phase=Phase.FAILED, bump=True, reason=reason, message=message)
    draft.delete(pod for pod in world.pods() if pod.status.phase in LIVE)
    draft.notes.append(Note(reason="JobFailed", message=message, warning=True))
    return finish(world, draft)


def _act(
    world: CurrentJob,
    due: Sequence[policies.Due],
    current: Sequence[Pod],
    *,
    retries: bool = True,
) -> JobOutcome:
    """Carry out the widest action, or all partial ones together.

    A restart burns a retry unless evictions alone ask for it: then the program did not fail.
    """
    partial = due[0].action in policies.PARTIAL and bool(due[0].occurrence.task)
    acting = [one for one in due if partial or one.action is due[0].action]
    first = next((one for one in acting if one.occurrence.event is not EVICTION), due[0])
    draft = Draft(phase=ENDED_BY.get(first.action, Phase.RESTARTING))
    restart = draft.phase is Phase.RESTARTING
    draft.retry = retries and restart and first.occurrence.event is not EVICTION
    if draft.retry and world.rules.budget is not None and not world.rules.scopes:
        world = _spent_one(world)
    if partial:
        places = {place_of(pod) for pod in current} | world.ends().keys()
        chosen = policies.targets(acting, world.spec, places)
        draft.delete(pod for pod in current if place_of(pod) in chosen)
        world = replace(
            world,
            memory=world.memory.settle(
                pod.metadata.uid for pod in current if place_of(pod) in chosen
            ),
            record=world.record.without(chosen),
        )
    else:
        draft.bump = True
        world = replace(world, memory=replace(world.memory, delays=()))
        last = draft.retry and _exhausted(world, world.status.retry_count + 1)
        keep_ended = not restart or last
        draft.delete(pod for pod in world.pods() if not keep_ended or pod.status.phase in LIVE)
        if not keep_ended:
            world = replace(world, record=replace(world.record, ends={}))
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


def _sync(world: CurrentJob, answer: policies.PolicyAnswer) -> JobOutcome:
    """Create what is missing, delete what is too much, and see whether the phase changes."""
    spec, pods = world.spec, world.pods()
    draft = Draft(phase=world.phase)
    settled = world.memory.settled
    draft.delete(
        pod
        for pod in pods
        if _superfluous(world, pod) or policies.refused_by_node(pod) or pod.metadata.uid in settled
    )
    counts = world.count(draft.going)
    draft.phase, problem = next_phase(world.phase, spec, counts)
    if _recovers(world) and draft.phase in ENDED and not _succeeded(spec, counts):
        draft.phase, problem = world.phase, ""
    if answer.lost:
        draft.notes.append(_made_again(world, answer.lost))
    if (waits := world.memory.recovery_waits) not in ("", world.view.memory.recovery_waits):
        draft.notes.append(Note(reason="RecoveryWaits", message=waits, warning=True))
    if problem == PAUSED:
        draft.reason, draft.message = "Paused", problem
    elif problem:
        draft.reason, draft.message = "MinimumNotReached", problem
        draft.notes.append(Note(reason="JobFailed", message=problem, warning=True))
    if draft.phase in ENDED:
        draft.bump = True
        draft.delete(pod for pod in pods if pod.status.phase in LIVE)
        return finish(world, draft)
    outcome = finish(world, draft, counts=counts)
    tasks, gone = startable(spec, pods, world.ends()), _gone(world)
    group = world.view.group
    wanted = group_spec(spec, tasks, gone)
    changes = None if group is None else merge(msgspec.to_builtins(group.spec), wanted)
    least = group_minimum(spec, tasks)
    shown = group_status(
        group or PodGroup(), spec, least, counts, recovering=recovering_condition(world)
    )
    creates, wake = _missing(world, tasks), answer.wake
    until = world.record.hold_until()
    if creates and world.now < until:
        creates, wake = (), min(wake or until, until)
    return replace(
        outcome,
        companions=True,
        create_group=make_group(world.view.job, wanted) if group is None else None,
        group_spec=changes or None,
        group_status=shown,
        creates=creates,
        wake=world.now if len(creates) == CREATES else wake,
    )


def _spent_one(world: CurrentJob) -> CurrentJob:
    """The world with one more restart in the budget's window."""
    assert world.rules.budget is not None
    ladder = spend(world.record.ladder, world.rules.budget, world.now)
    return replace(world, record=replace(world.record, ladder=ladder))


def _exhausted(world: CurrentJob, retries: int) -> bool:
    """Whether no further restart is allowed, after so many: a budget counts within its window."""
    budget = world.rules.budget
    if budget is None:
        return retries >= world.spec.max_retry
    return spent(world.record.ladder, budget, world.now) > budget.losses


def _recovers(world: CurrentJob) -> bool:
    """Whether a pod that failed is still to be restarted by the Job's ladder."""
    return any(fault.again for fault in world.record.ladder.faults)


def _succeeded(spec: JobSpec, counts: Counts) -> bool:
    return spec.min_success is not None and counts.succeeded >= spec.min_success


def _restarting(world: CurrentJob) -> JobOutcome:
    """Wait until the pods that were restarted are gone; too many retries end the Job."""
    status, spec = world.status, world.spec
    draft = Draft(phase=Phase.RESTARTING)
    if not world.rules.scopes and _exhausted(world, status.retry_count):
        draft.phase, draft.bump = Phase.FAILED, True
        draft.reason = "MaxRetry"
        draft.message = f"{status.state.message or 'it restarted'}; maxRetry is {spec.max_retry}"
        if (budget := world.rules.budget) is not None:
            draft.message += (
                f", and recovery.budget counts {budget.losses} within {budget.window} s instead"
            )
        draft.delete(pod for pod in world.pods() if pod.status.phase in LIVE)
        draft.notes.append(Note(reason="JobFailed", message=draft.message, warning=True))
        return finish(world, draft)
    draft.delete(
        pod
        for pod in world.pods()
        if _superfluous(world, pod) or pod.metadata.uid in world.memory.settled
    )
    counts = world.count(draft.going)
    if spec.pods() - counts.terminating >= spec.minimum:
        draft.phase = Phase.PENDING
    # What goes in this phase goes because of the restart.
    world = replace(world, memory=replace(world.memory, lost=()))
    return finish(world, draft, counts=counts)


def _ending(world: CurrentJob) -> JobOutcome:
    """Aborting, Completing, Terminating: kill what runs; the phase ends when nothing does."""
    draft = Draft(phase=world.phase)
    draft.delete(pod for pod in world.pods() if pod.status.phase in LIVE)
    counts = world.count(draft.going)
    if counts.alive() == 0:
        draft.phase = ENDING[world.phase]
    return finish(world, draft, counts=counts)


def _ended(world: CurrentJob) -> JobOutcome:
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


def _superfluous(world: CurrentJob, pod: Pod) -> bool:
    """An older version's pod, one beyond its task's replicas, or one of no task."""
    if version_of(pod) < world.status.version:
        return True
    task_name, index = place_of(pod)
    task = world.spec.task(task_name)
    return task is None or not 0 <= index < task.replicas


def _gone(world: CurrentJob) -> dict[str, int]:
    """Pods by task that succeeded, and whose objects are gone."""
    there = {place_of(pod) for pod in world.pods()}
    ends = world.ends().items()
    return Counter(at[0] for at, end in ends if end == "Succeeded" and at not in there)


def _made_again(world: CurrentJob, lost: Sequence[Occurrence]) -> Note:
    """Evicted pods that no policy answers are made again; from the second time on after a while."""
    about = lost[0].about + (f", and {len(lost) - 1} more" if len(lost) > 1 else "")
    wait = (world.record.hold_until() - world.now) // SECOND
    when = f"in {wait} s" if wait > 0 else "at once"
    return Note(reason="PodEvicted", message=f"{about}: made again {when}", warning=True)


def _missing(world: CurrentJob, tasks: Sequence[str]) -> tuple[Json, ...]:
    """Pods to create: those of startable tasks that did not end and whose name is free."""
    job, ends = world.view.job, world.ends()
    taken = {pod.metadata.name for pod in world.pods()}
    found: list[Json] = []
    for task in world.spec.tasks:
        if task.name not in tasks:
            continue
        for index in range(task.replicas):
            if len(found) == CREATES:
                return tuple(found)
            if (task.name, index) in ends:
                continue
            if pod_name(job.metadata.name, task.name, index) not in taken:
                found.append(
                    make_pod(
                        job,
                        world.spec,
                        task,
                        index,
                        default_scheduler=world.default_scheduler,
                        carried=world.record.carried,
                    )
                )
    return tuple(found)
