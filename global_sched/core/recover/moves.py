"""Moves: a gang that its member cannot hold leaves for a cluster that has room for it now.

A move is a claim of which the only victim is the gang's own copy in the old cluster: room and quota
in the new one are kept until nothing of the old copy is left, and nothing else leaves for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from global_sched.core.fit.filters import trust_micros
from global_sched.core.make_room.checkpoint_calls import CALLED, called, waited_for
from global_sched.core.make_room.claim_text import claim_place
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.evictions import parts_of
from global_sched.core.offer import Offer, Refusal
from global_sched.core.outcomes import outcome_of
from global_sched.core.place.admission import offer_for
from global_sched.core.statement import Statement
from global_sched.core.upkeep.running import Keeping, backed_off, waits
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import (
    MOST_MOVES,
    Backoff,
    Claim,
    Decision,
    Grant,
    Leaver,
    sealed,
)
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.plan import Stays
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Progress, Workload

PERIOD: Final = 3600 * SECOND
"""Within it a gang moves once, and the federation's gangs `Policy.moves_per_hour` times."""
_IN_A_ROW: Final = 24 * 3600 * SECOND
"""A move within so long after the one before is the next attempt; else it is the first again."""
_NAMED: Final = 3
"""So many clusters that do not take it are named."""
FAULT_PERCENT: Final = 30
FAULT_GANGS: Final = 4
"""More than this part of a cluster's gangs, and at least so many, below their minimum at once: the
cluster is at fault, and is not emptied."""


@dataclass(frozen=True, slots=True)
class _Broken:
    """A gang below its minimum that asked for what becomes of it then."""

    keeping: Keeping
    decision: Decision
    grant: Grant
    since: Instant
    hold: int
    reason: str
    """Why, in the member's words."""

    @property
    def workload(self) -> Workload:
        return self.keeping.now

    def said(self) -> str:
        """What is the matter with it."""
        text = f"below its minimum in {self.grant.cluster} since {format_instant(self.since)}"
        return f"{text} ({self.reason})" if self.reason else text


def move_or_stay(kept: Sequence[Keeping], claims: Claims, statement: Statement) -> list[Keeping]:
    """Move what its member cannot hold, within the brakes; return those that stay, with why.

    Order:  the longest below its minimum first.
    """
    broken = {one.workload.key: one for one in _broken(kept, statement)}
    if not broken:
        return list(kept)
    moves = _Moves(claims, statement)
    stay: dict[WorkloadKey, tuple[Stays, str]] = {}
    for one in sorted(broken.values(), key=lambda one: (one.since, one.workload.key)):
        why = moves.consider(one)
        if why is not None:
            stay[one.workload.key] = why
    found = []
    for keeping in kept:
        key = keeping.now.key
        if key in stay:
            brake, text = stay[key]
            statement.stays.append((key, brake))
            stays = f"{broken[key].said()}; {text}"
            if brake == Stays.CHECKPOINT:
                verdict = Verdict(code=Code.FIT, reason=CALLED, detail=f"in place; {stays}")
                statement.outcomes.append(outcome_of(keeping.now, verdict))
            else:
                found.append(replace(keeping, stays=stays))
        elif key not in broken:
            found.append(keeping)
    return found


def _broken(kept: Sequence[Keeping], statement: Statement) -> Iterator[_Broken]:
    for keeping in kept:
        one, decision = keeping.now, keeping.now.decision
        asked = one.below_minimum
        if asked is None or decision is None or len(decision.grants) != 1:
            continue
        if not (asked.moves or asked.releases):
            continue
        if one.key in statement.decided:
            continue  # it leaves for another one
        if one.demand.division != Division.WHOLE or one.group or one.problem is not None:
            continue
        if one.forged or decision.claim is not None or decision != keeping.before.decision:
            continue
        progress = one.progress_in(decision.grants[0].cluster)
        if progress is None or progress.below is None or progress.decision != decision.id:
            continue
        hold = min(asked.hold, statement.policy.recovery_hold_limit_seconds)
        yield _Broken(keeping, decision, decision.grants[0], progress.below, hold, _why(progress))


def _why(progress: Progress) -> str:
    """What the member lost last, and why it has no place for it."""
    lost = [f"{one.pod} was lost: {one.cause}" for one in progress.losses[-1:]]
    return "; ".join([*lost, *([progress.reason] if progress.reason else [])])


class _Moves:
    """The moves of one cycle."""

    def __init__(self, claims: Claims, statement: Statement) -> None:
        self._claims, self._statement = claims, statement
        self._made = 0
        self._faults: dict[ClusterName, str] = {}
        self._lately: int | None = None

    def consider(self, one: _Broken) -> tuple[Stays, str] | None:
        """Why it stays; None: it moves, or gives its place back."""
        statement, asked = self._statement, one.workload.below_minimum
        assert asked is not None
        why = self._early(one) or self._silent(one) or self._at_fault(one)
        if why is not None:
            return why
        refused: tuple[Stays, str] = (Stays.NOT_ASKED, "it did not ask to move")
        if asked.moves:
            why = self._braked(one)
            if why is not None:
                return why
            found = self._elsewhere(one)
            if isinstance(found, Offer):
                if (until := waited_for(one.workload, statement)) is not None:
                    return Stays.CHECKPOINT, f"{called(until)}; then it moves"
                self._move(one, found)
                return None
            refused = (Stays.NO_ROOM, _no_room(found, one.grant.cluster))
        if not asked.releases:
            return refused
        if (until := waited_for(one.workload, statement)) is not None:
            return Stays.CHECKPOINT, f"{called(until)}; then it gives its place back"
        text = f"{one.said()}; {refused[1]}; it gives its place back, as it asked"
        self._leave(one, statement.decide(one.workload, (), self._backoffs(one)), text)
        return None

    # --- brakes ---------------------------------------------------------------------------

    def _early(self, one: _Broken) -> tuple[Stays, str] | None:
        due, asked = Instant(one.since + one.hold * SECOND), one.workload.below_minimum
        if self._statement.now >= due or asked is None:
            return None
        then = "moves then where another cluster has room" if asked.moves else "gives it back then"
        return Stays.HOLD, f"it keeps its place until {format_instant(due)}, and {then}"

    def _silent(self, one: _Broken) -> tuple[Stays, str] | None:
        """An unreachable member keeps its work."""
        statement = self._statement
        room = statement.rooms.rooms[statement.rooms.position[one.grant.cluster]]
        capacity = room.cluster.capacity
        if capacity is not None and (
            statement.now - capacity.observed <= trust_micros(capacity, statement)
        ):
            return None
        cluster = one.grant.cluster
        return Stays.NO_REPORT, (
            f"{cluster} does not report, and keeps its work; it may move when {cluster} reports"
        )

    def _at_fault(self, one: _Broken) -> tuple[Stays, str] | None:
        cluster = one.grant.cluster
        if cluster not in self._faults:
            self._faults[cluster] = self._fault(cluster)
        why = self._faults[cluster]
        return (Stays.CLUSTER_AT_FAULT, why) if why else None

    def _fault(self, cluster: ClusterName) -> str:
        running = self._statement.snapshot.running
        gangs = [
            one
            for part in running
            if part.cluster == cluster
            for one in part.workloads
            if one.demand.division == Division.WHOLE and one.demand.gang is not None
        ]
        reports = (one.progress_in(cluster) for one in gangs)
        below = sum(1 for one in reports if one is not None and one.below is not None)
        if below < FAULT_GANGS or below * 100 <= len(gangs) * FAULT_PERCENT:
            return ""
        return (
            f"{below} of {len(gangs)} gangs in {cluster} are below their minimum: the cluster is "
            "at fault, and no gang leaves it for that; it may move when no more than "
            f"{max(FAULT_GANGS - 1, len(gangs) * FAULT_PERCENT // 100)} are"
        )

    def _braked(self, one: _Broken) -> tuple[Stays, str] | None:
        policy, now = self._statement.policy, self._statement.now
        moved = one.decision.moved
        if moved is not None and now < moved + PERIOD:
            again = format_instant(Instant(moved + PERIOD))
            text = f"it moved at {format_instant(moved)}, and may once an hour: again at {again}"
            return Stays.MOVED_LATELY, text
        if self._made >= policy.moves_per_cycle:
            text = f"the cycle has moved {counted(self._made, 'gang')}, as many as it may"
            return Stays.MOVES_PER_CYCLE, f"{text}; it may move in a later cycle"
        if self._made + self._moved_lately() >= policy.moves_per_hour:
            text = f"{counted(policy.moves_per_hour, 'gang')} moved within an hour, as many as may"
            return Stays.MOVES_PER_HOUR, f"{text}; it may move when the first of them is older"
        return None

    def _moved_lately(self) -> int:
        """How many gangs moved within the last hour, as their decisions say."""
        if self._lately is None:
            after, snapshot = self._statement.now - PERIOD, self._statement.snapshot
            parts = [one.workloads for one in snapshot.running]
            parts += [one.workloads for one in snapshot.pending]
            decisions = ((one.key, one.decision) for part in parts for one in part)
            self._lately = len(
                {
                    key
                    for key, one in decisions
                    if one is not None and one.moved is not None and one.moved > after
                }
            )
        return self._lately

    # --- a move ---------------------------------------------------------------------------

    def _backoffs(self, one: _Broken) -> tuple[Backoff, ...]:
        return backed_off(one.workload, {one.grant.cluster: one.said()}, self._statement)

    def _elsewhere(self, one: _Broken) -> Offer | Refusal:
        """What it would get as a waiting gang, without its cluster and what it holds there."""
        statement, mark = self._statement, self._statement.mark()
        self._release(one)
        decision = replace(one.decision, grants=(), backoffs=self._backoffs(one))
        found = offer_for(replace(one.workload, targets=(), decision=decision), statement)
        statement.rollback(mark)
        return found

    def _release(self, one: _Broken) -> None:
        gang = one.workload.demand.gang
        assert gang is not None
        held = gang.requests(one.workload.held(one.grant))
        self._statement.release(one.workload, one.grant.cluster, held)

    def _move(self, one: _Broken, offer: Offer) -> None:
        """With room for its minimum: surplus it gets with all others, in its turn."""
        statement, workload, grant = self._statement, one.workload, one.grant
        gang = workload.demand.gang
        assert gang is not None
        old = Leaver(
            binding=workload.binding_id, amounts=workload.held(grant), cluster=grant.cluster
        )
        made = statement.decide(workload, (), self._backoffs(one))
        claim = Claim(
            parts=parts_of(offer, gang.minimum_amounts()),
            victims=(old,),
            since=statement.now,
            until=Instant(statement.now + statement.policy.hold_seconds * SECOND),
            order=made.order,
        )
        found = replace(made, claim=claim, moved=statement.now, moves=self._attempt(one))
        decision = sealed(found, workload.binding_id)
        text = f"{one.said()}; it moves to {claim_place(claim)}, where room is kept for it"
        text += f" until {format_instant(claim.until)}; next: {grant.cluster} shows that it is gone"
        self._leave(one, decision, text)
        self._claims.begin(replace(workload, targets=(), decision=decision), claim)
        self._made += 1

    def _attempt(self, one: _Broken) -> int:
        """How many times in a row it has moved with this one."""
        before = one.decision.moved
        if before is None or self._statement.now > before + _IN_A_ROW:
            return 1
        return min(one.decision.moves + 1, MOST_MOVES)

    def _leave(self, one: _Broken, decision: Decision, text: str) -> None:
        """Out of its cluster with one write."""
        self._release(one)
        reason = Reason.CANNOT_BE_WHOLE
        self._statement.withdraw(one.workload, one.grant, decision, reason, text)
        waits(one.workload, one.grant, reason, text, self._statement)


def _no_room(refusal: Refusal, home: ClusterName) -> str:
    """Why no other cluster takes it."""
    others = [one for one in refusal.clusters if one.cluster != home]
    if refusal.clusters and not others:
        return "there is no other cluster; it moves when there is one with room"
    named = [f"{one.cluster}: {one.verdict.detail}" for one in others[:_NAMED]]
    rest = [f"{counted(len(others) - _NAMED, 'other')}"] if len(others) > _NAMED else []
    why = "; ".join([*named, *rest]) or refusal.verdict.detail
    return f"no other cluster takes it now: {why}; it moves when one of them does"
