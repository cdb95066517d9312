"""The restart of a whole gang whose pods another controller makes, opted in. Pure.

Its controller makes lost pods again by itself; where the programs of the others cannot go on with
a new peer, the gang has to start anew as a whole. The ladder is that of Volcano Jobs with two
scopes: `pod` leaves a loss to the gang's controller, `job` deletes every pod that stood there when
the loss was seen. It comes after the controller had its turn, and not at all when other pods of the
gang have gone meanwhile: then the controller restarts the gang, and two restarts would be one too
many. A deletion that was decided is carried on by the next agent.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from global_sched.shared.model.instant import Instant
from global_sched.shared.model.recovery_spec import (
    RecoveryPolicy,
    RecoverySpec,
    Scope,
    rules_in,
)
from member_agent.cache import PodRecord
from member_agent.jobs.ladder import (
    LadderState,
    Loss,
    PlaceFault,
    climb,
    parse_ladder,
    render_ladder,
)

TURN: Final = 10
"""Seconds that the gang's controller has to answer a loss by itself."""
GANGS: Final = 500
"""Gangs that are written down; a gang beyond has its fault opened anew by the next agent."""
_GANG: Final = ("", 0)
"""The gang as one place."""
_SCOPES: Final = frozenset({Scope.POD, Scope.JOB, Scope.SHRINK, Scope.CLUSTER})


@dataclass(frozen=True, slots=True, kw_only=True)
class GangRestart:
    """What is remembered of a gang. `others` and `latest` say which pods stood there at its loss.

    `others` is a digest of their uids, `latest` the creation of the youngest: by the API server's
    clock alone, whatever ours says. `going`: all pods up to `latest` are to be deleted.
    """

    ladder: LadderState = field(default_factory=LadderState)
    others: str = ""
    latest: Instant = Instant(0)
    going: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GangStep:
    """What a look at a gang leads to. The state is written down before anything is deleted."""

    state: GangRestart
    deletes: tuple[PodRecord, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    """Events: reason and text."""
    waits: str = ""
    waits_at: Scope | None = None
    wake: Instant | None = None
    healed: tuple[PlaceFault, ...] = ()


def gang_rules(text: str, policy: RecoveryPolicy, kind: str) -> tuple[RecoverySpec, str]:
    """The rules of a gang of another controller; without scopes nothing is done for it.

    The second value says why the annotation is refused.
    """
    rules, refused = rules_in(text, policy)
    wrong = [scope for scope in rules.scopes if scope not in _SCOPES]
    own = f"pods of a {kind} are restarted by its own controller"
    if wrong:
        refused = f"recovery.scopes: has {wrong[0]}, and {own}; use pod, job, shrink and cluster"
    elif rules.scopes and rules.fail_codes:
        refused = f"recovery.exitCodes.fail: {own}; use the rules of the {kind} for that"
    if refused or Scope.JOB not in rules.scopes:
        return replace(rules, scopes=()), refused
    return replace(rules, backoff=replace(rules.backoff, least=TURN)), ""


def look_at_gang(
    rules: RecoverySpec,
    policy: RecoveryPolicy,
    state: GangRestart,
    *,
    pods: Sequence[PodRecord],
    lost: Sequence[PodRecord],
    wanted: int,
    now: Instant,
) -> GangStep:
    """What is due for one gang now. A second look at the same world changes nothing.

    pods:    all that are there and have not succeeded, failed ones too.
    lost:    those that were seen to be lost since the last look, with their causes.
    wanted:  how many Ready pods make the gang whole.
    """
    state = replace(state, going=state.going and _left(state, pods))
    running = [pod for pod in pods if not pod.ended and not pod.deleting]
    loss = _news(state, running, lost)
    if loss is not None:
        others = _beside(loss, running)
        state = replace(
            state,
            others=_digest(others),
            latest=max((pod.created for pod in others), default=Instant(0)),
            going=False,
        )
    # A gang that is to go as a whole is not whole, however ready its pods are.
    whole = {_GANG: not state.going and sum(pod.ready for pod in running) >= wanted}
    losses = () if loss is None else (_loss(loss),)
    found = climb(rules, policy, state.ladder, losses=losses, whole=whole, now=now)
    state = replace(state, ladder=found.state)
    notes: list[tuple[str, str]] = []
    if any(act.scope is Scope.JOB for act in found.acts):
        about = found.acts[0].fault.about
        stood = _digest(pod for pod in running if pod.created <= state.latest)
        if stood == state.others:
            state = replace(state, going=True)
            notes.append(("RestartsGang", f"{about}: all its pods are deleted, to start anew"))
        else:
            notes.append(("LeftToController", f"{about}: its own controller restarts other pods"))
            found = climb(rules, policy, state.ladder, losses=(), whole=whole, now=now)
            state = replace(state, ladder=found.state)
    deletes: tuple[PodRecord, ...] = ()
    if state.going:
        deletes = tuple(pod for pod in pods if pod.created <= state.latest and not pod.deleting)
    state = replace(state, going=state.going and _left(state, pods))
    return GangStep(
        state=state if state.ladder != LadderState() or state.going else GangRestart(),
        deletes=deletes,
        notes=tuple(notes),
        waits=found.failed or found.waits,
        waits_at=found.waits_at,
        wake=found.wake,
        healed=found.healed,
    )


def _left(state: GangRestart, pods: Sequence[PodRecord]) -> bool:
    """Whether a pod is there that stood there at the loss."""
    return any(pod.created <= state.latest for pod in pods)


def _news(
    state: GangRestart, running: Sequence[PodRecord], lost: Sequence[PodRecord]
) -> PodRecord | None:
    """The loss that opens a fault, None where it belongs to one that is known.

    One failure takes the others along: while a restart is due, and of pods that were to go, further
    losses are no news. Nor is a loss after which every other pod was made: all were restarted.
    """
    [fault] = state.ladder.faults or [None]
    if fault is not None and (fault.again or state.going):
        return None
    news = [pod for pod in lost if fault is None or pod.created > state.latest]
    if not news:
        return None
    last = max(news, key=lambda pod: (pod.ended_at, pod.uid))
    others = _beside(last, running)
    if last.ended_at and others and all(pod.created > last.ended_at for pod in others):
        return None
    return last


def _beside(lost: PodRecord, running: Sequence[PodRecord]) -> list[PodRecord]:
    """The pods beside a lost one, without the pod that has its place by now."""
    place = [pod for pod in running if (pod.pod_set, pod.index) == (lost.pod_set, lost.index)]
    again = {pod.uid for pod in running if pod.name == lost.name}
    again |= {pod.uid for pod in place} if len(place) == 1 else set()
    return [pod for pod in running if pod.uid not in again]


def _loss(pod: PodRecord) -> Loss:
    cause = pod.cause
    assert cause is not None
    detail = f" {pod.detail}" if pod.detail else ""
    about = f"pod {pod.name} was lost ({cause}{detail})"
    return Loss(place=_GANG, uid=pod.uid, cause=cause, about=about, node=pod.node)


def _digest(pods: Iterable[PodRecord]) -> str:
    uids = " ".join(sorted(pod.uid for pod in pods))
    return hashlib.sha256(uids.encode()).hexdigest()[:16]


# --- text ------------------------------------------------------------------------------------


class _Gang(msgspec.Struct, omit_defaults=True):
    ladder: str = ""
    others: str = ""
    latest: int = 0
    going: bool = False


def render_gangs(states: Mapping[str, GangRestart]) -> str:
    """The states by the uid of their root owners as text, empty for none; at most GANGS of them.

    Those that delete come first, then those whose fault is the latest.
    """
    kept = sorted(states, key=lambda uid: (not states[uid].going, -_since(states[uid]), uid))
    found = {
        uid: _Gang(
            ladder=render_ladder(states[uid].ladder),
            others=states[uid].others,
            latest=int(states[uid].latest),
            going=states[uid].going,
        )
        for uid in sorted(kept[:GANGS])
    }
    return msgspec.json.encode(found).decode() if found else ""


def parse_gangs(text: str) -> dict[str, GangRestart]:
    """The states that a text says; what cannot be read says nothing."""
    if not text:
        return {}
    try:
        found = msgspec.json.decode(text.encode(), type=dict[str, _Gang])
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return {
        uid: GangRestart(
            ladder=parse_ladder(one.ladder),
            others=one.others,
            latest=Instant(one.latest),
            going=one.going,
        )
        for uid, one in found.items()
    }


def _since(state: GangRestart) -> int:
    return max((int(fault.since) for fault in state.ladder.faults), default=0)
