"""The ladder of recovery: what a loss leads to, step by step wider. Pure.

A *loss* is a pod that ran and is gone or has failed. It opens a *fault* at its place, which is over
when a pod is Ready there again. What Kubernetes or a node took is made again at once, and if it is
Ready within `heal` nothing else happens; a pod that failed by itself is restarted by the first
scope after its back-off. When a step has not made the place whole within `step`, the next wider
scope follows. At the end of the ladder, and at `cluster`, which is a step of the leader, the job
waits and says so. `shrink` is a step of the leader, too, and not the end: where it does not make
the rest whole within `step`, the next wider scope follows.

Failures of the job's own programs count in the budget; what others took does not. The state holds
all times, so that it does not matter when and how often `climb` is called, or by which agent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import (
    NOT_HERE,
    Budget,
    RecoveryPolicy,
    RecoverySpec,
    Scope,
)

Place = tuple[str, int]
"""Task and index of a pod."""

FAULTS: Final = 64
"""Faults that are followed at a time; further pods that failed wait for their turn."""
BUCKETS: Final = 64
"""Parts of a budget's window: a loss leaves the window with its part."""

OWN: Final = frozenset({Cause.EXIT_CODE, Cause.OOM_KILLED})
"""Causes that count as failures of the job itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A pod that ran and was lost. `uid` tells a new loss at a place from one that is known."""

    place: Place
    uid: str
    cause: Cause
    about: str
    """In words: `pod train-worker-0 failed with exit code 3`."""
    node: str = ""
    code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFault:
    """A place that is not whole. `level` is the scope that was carried out last, -1 for none."""

    place: Place
    uid: str
    cause: Cause
    since: Instant
    about: str = ""
    node: str = ""
    level: int = -1
    acted: Instant = Instant(0)
    """When the step at `level` was taken first."""
    again: Instant = Instant(0)
    """When the present pod's restart is due, 0 for none: it failed by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashes:
    """Failures of one place in a row, and the last one's time."""

    count: int
    last: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderState:
    """All that a ladder needs beside the pods."""

    faults: tuple[PlaceFault, ...] = ()
    """By place."""
    losses: Mapping[int, int] = field(default_factory=dict)
    """Failures of the job's own by part of the window."""
    crashes: Mapping[Place, Crashes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One step that is due: a scope around a place."""

    scope: Scope
    fault: PlaceFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """The outcome: the state, steps to take now, and how long nothing else is due."""

    state: LadderState
    acts: tuple[Act, ...] = ()
    failed: str = ""
    """Why the job ends now, empty when it goes on."""
    waits: str = ""
    """Why a fault stays as it is."""
    waits_at: Scope | None = None
    """The widest step of the leader at which a fault waits."""
    wake: Instant | None = None
    healed: tuple[PlaceFault, ...] = ()
    new: tuple[Loss, ...] = ()


def climb(
    spec: RecoverySpec,
    policy: RecoveryPolicy,
    state: LadderState,
    *,
    losses: Sequence[Loss],
    whole: Mapping[Place, bool],
    now: Instant,
) -> Climb:
    """What a job's ladder asks for now.

    losses:  pods that stand there as failed, and those that went without the job's doing; none
             whose deletion was asked for.
    whole:   every place that the job should have, and whether a pod is Ready there.
    """
    faults = {one.place: _cut(one, spec, now) for one in state.faults if one.place in whole}
    crashes = {
        place: replace(one, last=min(one.last, now))
        for place, one in state.crashes.items()
        if place in whole and now - one.last < spec.backoff.reset * SECOND
    }
    counts = _window(state.losses, spec.budget, now)
    new: list[Loss] = []
    for loss in losses:
        known = faults.get(loss.place)
        if loss.place not in whole:
            continue
        if known is not None and known.uid == loss.uid:
            if known.level >= 0 and not known.again and loss.cause in OWN:
                # Its step was written down, and the pod still stands there: its end was lost.
                faults[loss.place] = replace(known, again=now)
            continue
        if known is None and len(faults) >= FAULTS:
            continue
        new.append(loss)
        faults[loss.place] = _opened(spec, known, loss, crashes, now)
        if loss.cause in OWN and spec.budget is not None:
            part = _part(spec.budget, now)
            counts[part] = counts.get(part, 0) + 1
    opened = LadderState(faults=_sorted(faults), losses=counts, crashes=crashes)
    if (why := _ends(spec, opened, new)) is not None:
        return Climb(state=opened, failed=why, new=tuple(new))
    healed = tuple(one for one in opened.faults if whole[one.place] and not one.again)
    left = [one for one in opened.faults if one not in healed]
    return _due(spec, policy, replace(opened, faults=tuple(left)), healed, new, now)


def _cut(fault: PlaceFault, spec: RecoverySpec, now: Instant) -> PlaceFault:
    """A fault without times that lie further ahead than they could by this agent's clock."""
    longest = max(spec.backoff.limit, spec.backoff.least)
    return replace(
        fault,
        since=min(fault.since, now),
        acted=min(fault.acted, now),
        again=min(fault.again, Instant(now + longest * SECOND)),
    )


def _opened(
    spec: RecoverySpec,
    known: PlaceFault | None,
    loss: Loss,
    crashes: dict[Place, Crashes],
    now: Instant,
) -> PlaceFault:
    """The fault of a new loss. One at a place that is not whole yet keeps its step."""
    again = Instant(0)
    if loss.cause in OWN:
        before = crashes.get(loss.place)
        crashes[loss.place] = Crashes(count=1 + (before.count if before else 0), last=now)
        again = Instant(now + spec.backoff.before(crashes[loss.place].count) * SECOND)
    if known is not None:
        return replace(
            known, uid=loss.uid, cause=loss.cause, about=loss.about, node=loss.node, again=again
        )
    # A pod that others took is made again without a step: that is the scope `pod`.
    free = not again and bool(spec.scopes) and spec.scopes[0] is Scope.POD
    return PlaceFault(
        place=loss.place,
        uid=loss.uid,
        cause=loss.cause,
        since=now,
        about=loss.about,
        node=loss.node,
        level=0 if free else -1,
        acted=now if free else Instant(0),
        again=again,
    )


def _ends(spec: RecoverySpec, state: LadderState, new: Sequence[Loss]) -> str | None:
    """Why the job ends, None when it goes on."""
    for loss in new:
        if loss.code in spec.fail_codes and loss.cause in OWN:
            return f"{loss.about}, which ends the job (recovery.exitCodes.fail)"
    if spec.budget is None:
        return None
    count = sum(state.losses.values())
    if count <= spec.budget.losses:
        return None
    about = f"{new[-1].about}; " if new else ""
    return (
        f"{about}that is failure {count} within {spec.budget.window} s, and recovery.budget "
        f"allows {spec.budget.losses}"
    )


def _due(
    spec: RecoverySpec,
    policy: RecoveryPolicy,
    state: LadderState,
    healed: tuple[PlaceFault, ...],
    new: Sequence[Loss],
    now: Instant,
) -> Climb:
    """Steps whose time has come, and when the next one comes."""
    acts: list[Act] = []
    wakes: list[Instant] = []
    waits = ""
    waits_at: Scope | None = None
    faults: list[PlaceFault] = []
    for fault in state.faults:
        step = step_of(spec, policy, fault)
        if step is not None and step[0] is Scope.SHRINK and step[1] <= now:
            fault = replace(fault, level=step[2], acted=now)
            step = step_of(spec, policy, fault)
        if fault.level >= 0 and spec.scopes[fault.level] is Scope.SHRINK:
            waits = waits or _of_leader(fault, Scope.SHRINK)
            waits_at = waits_at or Scope.SHRINK
        if step is None:
            ended = Instant(fault.acted + policy.step_seconds * SECOND)
            if ended <= now:
                waits = waits or f"{fault.about}: the ladder has no wider scope"
            else:
                wakes.append(ended)
            faults.append(fault)
            continue
        scope, at, level = step
        if scope in NOT_HERE:
            if at <= now:
                waits = waits or _of_leader(fault, scope)
                waits_at = max(filter(None, (waits_at, scope)), key=list(Scope).index)
            else:
                wakes.append(at)
            faults.append(fault)
        elif at > now:
            wakes.append(at)
            faults.append(fault)
        else:
            acted = fault.acted if level == fault.level else now
            after = replace(fault, level=level, acted=acted, again=Instant(0))
            acts.append(Act(scope=scope, fault=after))
            faults.append(after)
    return Climb(
        state=replace(state, faults=tuple(faults)),
        acts=tuple(acts),
        waits=waits,
        waits_at=waits_at,
        wake=min(wakes, default=None),
        healed=healed,
        new=tuple(new),
    )


def _of_leader(fault: PlaceFault, scope: Scope) -> str:
    return f"{fault.about}: scope {scope} is a step of the leader"


def step_of(
    spec: RecoverySpec, policy: RecoveryPolicy, fault: PlaceFault
) -> tuple[Scope, Instant, int] | None:
    """The next step of a fault: scope, time and level; None at the end of the ladder."""
    wider = fault.level + 1
    at = Instant(fault.acted + policy.step_seconds * SECOND)
    if fault.level < 0:
        at = fault.again or Instant(fault.since + policy.heal_seconds * SECOND)
        return spec.scopes[0], at, 0
    if fault.again and (wider >= len(spec.scopes) or fault.again < at):
        # It failed once more before its place was whole: the same step again.
        scope = spec.scopes[fault.level]
        narrower = spec.scopes[fault.level - 1] if scope is Scope.SHRINK else scope
        return narrower, fault.again, fault.level
    if wider >= len(spec.scopes):
        return None
    return spec.scopes[wider], at, wider


def absorbed(state: LadderState, acts: Sequence[Act], places: set[Place]) -> LadderState:
    """The state when these steps restart these places: other faults there take part in them."""
    if not acts:
        return state
    widest = max(acts, key=lambda act: act.fault.level)
    faults = [
        replace(one, level=widest.fault.level, acted=widest.fault.acted, again=Instant(0))
        if one.place in places and one.level < widest.fault.level
        else one
        for one in state.faults
    ]
    return replace(state, faults=tuple(faults))


# --- the budget's window -------------------------------------------------------------------


def spend(state: LadderState, budget: Budget, now: Instant) -> LadderState:
    """The state with one more failure in the budget's window."""
    counts = _window(state.losses, budget, now)
    part = _part(budget, now)
    return replace(state, losses=counts | {part: counts.get(part, 0) + 1})


def spent(state: LadderState, budget: Budget, now: Instant) -> int:
    """Failures within the budget's window."""
    return sum(_window(state.losses, budget, now).values())


def _part(budget: Budget, now: Instant) -> int:
    return int(now // max(1, budget.window * SECOND // BUCKETS))


def _window(losses: Mapping[int, int], budget: Budget | None, now: Instant) -> dict[int, int]:
    """The parts that still lie in the window; none ahead of the present one."""
    if budget is None:
        return {}
    present = _part(budget, now)
    found: dict[int, int] = {}
    for part, count in losses.items():
        if present - part <= BUCKETS:
            at = min(part, present)
            found[at] = found.get(at, 0) + count
    return found


def _sorted(faults: Mapping[Place, PlaceFault]) -> tuple[PlaceFault, ...]:
    return tuple(faults[place] for place in sorted(faults))


# --- text ------------------------------------------------------------------------------------


class _Fault(msgspec.Struct, array_like=True):
    task: str
    index: int
    uid: str
    cause: Cause
    since: int
    about: str
    node: str
    level: int
    acted: int
    again: int


class _State(msgspec.Struct, omit_defaults=True):
    faults: list[_Fault] = []
    losses: list[tuple[int, int]] = []
    crashes: list[tuple[str, int, int, int]] = []


def render_ladder(state: LadderState) -> str:
    """The state as text, empty for an empty one."""
    if state == LadderState():
        return ""
    text = _State(
        faults=[
            _Fault(
                task=one.place[0],
                index=one.place[1],
                uid=one.uid,
                cause=one.cause,
                since=int(one.since),
                about=one.about,
                node=one.node,
                level=one.level,
                acted=int(one.acted),
                again=int(one.again),
            )
            for one in state.faults
        ],
        losses=sorted(state.losses.items()),
        crashes=[
            (task, index, one.count, int(one.last))
            for (task, index), one in sorted(state.crashes.items())
        ],
    )
    return msgspec.json.encode(text).decode()


def parse_ladder(text: str) -> LadderState:
    """The state that a text says; what cannot be read says nothing."""
    if not text:
        return LadderState()
    try:
        found = msgspec.json.decode(text.encode(), type=_State)
    except (msgspec.MsgspecError, RecursionError):
        return LadderState()
    return LadderState(
        faults=tuple(
            PlaceFault(
                place=(one.task, one.index),
                uid=one.uid,
                cause=one.cause,
                since=Instant(one.since),
                about=one.about,
                node=one.node,
                level=max(-1, one.level),
                acted=Instant(one.acted),
                again=Instant(one.again),
            )
            for one in found.faults[:FAULTS]
        ),
        losses=dict(found.losses[: BUCKETS + 1]),
        crashes={
            (task, index): Crashes(count=count, last=Instant(last))
            for task, index, count, last in found.crashes
        },
    )
