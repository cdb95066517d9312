"""From what a step decided to the status that says so."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from global_sched.shared.api.base import JsonMap
from global_sched.shared.api.core import Pod
from global_sched.shared.api.volcano import JobState, PodGroup, VolcanoJobStatus
from global_sched.shared.model.instant import Instant, format_instant
from global_sched.shared.model.recovery_spec import RecoverySpec
from member_agent.jobs.groups import WAITING, group_phase
from member_agent.jobs.ladder import Place
from member_agent.jobs.memory import Memory
from member_agent.jobs.outcome import JobOutcome, JobView, Note
from member_agent.jobs.phases import ENDED, ENDING, Counts, Phase, count
from member_agent.jobs.pods import place_of
from member_agent.jobs.policies import instant_of
from member_agent.jobs.record import JobRecord, write_record
from member_agent.jobs.spec import JobSpec, format_duration

Json = dict[str, Any]

CONDITIONS: Final = 50
"""Entries of the status's history that are kept."""
_COUNTS: Final = (
    "pending",
    "running",
    "succeeded",
    "failed",
    "terminating",
    "unknown",
    "task_status_count",
    "controlled_resources",
)
_PLUGIN: Final = "plugin-"
COUNTS: Final = 1.0
"""Seconds that a status waits when it says nothing but new counts."""
FIRST_PHASE: Final = 5.0
"""Seconds that a new PodGroup may be without a phase: most run by then."""
RECOVERING: Final = "Recovering"
"""Condition of a PodGroup whose Job has a ladder of recovery and lost a pod."""
INVALID: Final = "InvalidSpec"
"""Reason of a Job that cannot run as it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentJob:
    """A view with its spec read and its memory brought up to date."""

    view: JobView
    spec: JobSpec
    now: Instant
    default_scheduler: str
    phase: Phase
    memory: Memory
    record: JobRecord
    """What the status remembers, with what the pods show now."""
    rules: RecoverySpec = RecoverySpec()
    """The Job's own rules of recovery; without scopes its policies restart it."""

    @property
    def status(self) -> VolcanoJobStatus:
        """The Job's status as it was read."""
        return self.view.job.status

    def pods(self) -> Sequence[Pod]:
        """The Job's pods."""
        return self.view.pods

    def ends(self) -> dict[Place, str]:
        """How the pods that ended did so, by place; their objects may be gone."""
        return self.record.ends_of(self.spec)

    def count(self, going: Collection[str] = ()) -> Counts:
        """The pods by what they do."""
        return count(self.pods(), going, self.ends())


@dataclass(slots=True, kw_only=True)
class Draft:
    """An outcome in the making."""

    phase: Phase
    going: dict[str, Pod] = field(default_factory=dict)
    reason: str = ""
    message: str = ""
    retry: bool = False
    bump: bool = False
    notes: list[Note] = field(default_factory=list)

    def delete(self, pods: Iterable[Pod]) -> None:
        """Delete these pods, once each; those that go already are left alone."""
        for pod in pods:
            if pod.metadata.deletion_timestamp is None:
                self.going[pod.metadata.uid] = pod


def finish(world: CurrentJob, draft: Draft, *, counts: Counts | None = None) -> JobOutcome:
    """The outcome of a draft: its deletes, and the status that says so."""
    counts = counts if counts is not None else world.count(draft.going)
    status = _status(world, draft, counts)
    over = draft.phase in ENDED or draft.phase in ENDING
    return JobOutcome(
        memory=replace(world.memory.settle(draft.going), record=world.record),
        status=None if status == world.status else status,
        deletes=tuple(sorted(draft.going.values(), key=_highest_first)),
        companions=False if over and _has_companions(world.status) else None,
        delete_group=over and world.view.group is not None,
        notes=tuple(draft.notes),
    )


def _has_companions(status: VolcanoJobStatus) -> bool:
    return any(key.startswith(_PLUGIN) for key in status.controlled_resources or ())


def _status(world: CurrentJob, draft: Draft, counts: Counts) -> VolcanoJobStatus:
    old, now = world.status, format_instant(world.now)
    changed = draft.phase.value != old.state.phase
    conditions = list(old.conditions or ())
    state = old.state
    if changed:
        state = JobState(
            phase=draft.phase.value,
            reason=draft.reason,
            message=draft.message,
            last_transition_time=now,
        )
        conditions.append({"status": draft.phase.value, "lastTransitionTime": now})
    elif state.reason == INVALID:
        state = msgspec.structs.replace(state, reason="", message="")
    over = draft.phase in ENDED or draft.phase in ENDING
    duration = old.running_duration
    if draft.phase in ENDED and duration is None:
        duration = _duration(world)
    by_task: dict[str, JsonMap] = {
        name: {"phase": dict(phases)} for name, phases in sorted(counts.by_task.items()) if name
    }
    plugins = {} if over else {f"{_PLUGIN}{name}": name for name, _ in world.spec.plugins}
    return VolcanoJobStatus(
        state=state,
        min_available=world.spec.minimum,
        pending=counts.pending,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        terminating=counts.terminating,
        unknown=counts.unknown,
        version=old.version + draft.bump,
        retry_count=old.retry_count + draft.retry,
        running_duration=duration,
        task_status_count=by_task or None,
        controlled_resources=plugins | write_record(world.record) or None,
        conditions=conditions[-CONDITIONS:],
    )


def may_wait(view: JobView, outcome: JobOutcome) -> float | None:
    """Seconds that an outcome's statuses may wait; None when it has none, or one that tells more.

    How many pods are in which phase may wait for more of them, and a new PodGroup's first phase for
    the one that follows.
    """
    new, of_group = outcome.status, outcome.group_status
    if new is None and of_group is None:
        return None
    old = view.job.status
    if new is not None:
        counts = {name: getattr(old, name) for name in _COUNTS}
        if msgspec.structs.replace(new, **counts) != old:
            return None
    if of_group is None or "phase" not in of_group:
        return COUNTS
    waits = of_group["phase"] == WAITING and view.group is not None and not view.group.status.phase
    if not waits:
        return None
    return FIRST_PHASE if new is None else COUNTS


def _duration(world: CurrentJob) -> str | None:
    """From the Job's creation to its end."""
    created = instant_of(world.view.job.metadata.creation_timestamp)
    return None if created is None else format_duration(max(0, world.now - created))


def refuse(view: JobView, phase: Phase, message: str, now: Instant) -> JobOutcome:
    """A Job that cannot run as it is written says so, and nothing is made for it."""
    old = view.job.status
    if phase in ENDED or old.state.message == message:
        return JobOutcome(memory=view.memory)
    stamp = format_instant(now)
    state = JobState(
        phase=old.state.phase or Phase.PENDING.value,
        reason=INVALID,
        message=message,
        last_transition_time=stamp,
    )
    conditions = list(old.conditions or ())
    if not old.state.phase:
        conditions.append({"status": Phase.PENDING.value, "lastTransitionTime": stamp})
    return JobOutcome(
        memory=view.memory,
        status=msgspec.structs.replace(old, state=state, conditions=conditions),
        notes=(Note(reason=INVALID, message=message, warning=True),),
    )


def group_status(
    group: PodGroup,
    spec: JobSpec,
    minimum: int,
    counts: Counts,
    *,
    recovering: Json | None = None,
) -> Json | None:
    """The merge patch of a PodGroup's status; None when it says all that already.

    `recovering` is its condition of that name, None for a Job that never recovered.
    """
    phase = group_phase(
        group,
        minimum=minimum,
        running=counts.running,
        succeeded=counts.succeeded,
        pods=spec.pods(),
    )
    wanted: Json = {
        "phase": phase,
        "running": counts.running,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
    }
    shown = group.status
    if recovering is not None:
        others = [one for one in shown.conditions or () if one.get("type") != RECOVERING]
        wanted["conditions"] = [*others, recovering]
    observed: Json = {
        "phase": shown.phase,
        "running": shown.running,
        "succeeded": shown.succeeded,
        "failed": shown.failed,
        "conditions": shown.conditions,
    }
    return merge(observed, wanted) or None


def merge(observed: JsonMap, wanted: Json) -> Json:
    """The merge patch that makes `observed` say what `wanted` says; other fields stay.

    In maps of amounts, which we own whole, what is not wanted goes.
    """
    patch: Json = {}
    for key, value in wanted.items():
        there = observed.get(key)
        if there == value:
            continue
        if key in ("minTaskMember", "minResources") and isinstance(there, dict):
            patch[key] = value | dict.fromkeys(there.keys() - value.keys())
        elif isinstance(value, dict) and isinstance(there, dict):
            if inner := merge(there, value):
                patch[key] = inner
        else:
            patch[key] = value
    return patch


def _highest_first(pod: Pod) -> tuple[str, int]:
    task, index = place_of(pod)
    return task, -index
