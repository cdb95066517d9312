"""One cycle: from a snapshot to a plan."""

from math import inf

from global_sched.core.make_room.checkpoint_calls import take_back
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.growing import consider_growing, end_claim
from global_sched.core.make_room.reservation import is_patient
from global_sched.core.offer import Refusal
from global_sched.core.order.queue_order import QueueOrder
from global_sched.core.place.admission import consider, refuse
from global_sched.core.place.alike import EarlierTurns, Stamp, refuse_alike
from global_sched.core.place.groups import Groups, consider_group
from global_sched.core.place.left_over import give_left_over
from global_sched.core.place.rehearsal import rehearse
from global_sched.core.quota.entitlement import WITHIN
from global_sched.core.recover.moves import move_or_stay
from global_sched.core.recover.shrinking import go_on_with_fewer
from global_sched.core.statement import Statement
from global_sched.core.upkeep.running import Keeping, conclude, consider_growth, look_after
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Workload

LIMIT_REACHED = Refusal(
    Verdict(
        code=Code.WAIT,
        reason=Reason.CYCLE_LIMIT,
        detail="the cycle has admitted as many as one may; the next cycle follows at once",
        missing=1,
    )
)


def run_cycle(snapshot: Snapshot, policy: Policy, now: Instant) -> Plan:
    """Decide everything that can be decided now: what to admit, take back and confirm.

    Every pending workload and every admitted one that the snapshot lists ends in one outcome.
    1. Admitted workloads: what must go goes, and frees its quota at once. What its member cannot
       hold moves to where it fits now (`moves`).
    2. Copies of objects without demand go out, past all queues.
    3. Everything else in the order of turns: first what queues are owed, then what they borrow.
       Admitted where there is room, else refused with reasons. A refusal never blocks those behind
       it, and may make others leave for it (`claims`).
    4. What is still unsaid about admitted workloads is written, and surplus that is left over goes
       to those that were admitted with less than they want.

    Order:  the plan does not depend on the order of the input, nor on the hash seed.
    """
    cycle = Cycle(snapshot, policy, now)
    cycle.run()
    return cycle.statement.plan()


class Cycle:
    """A cycle in progress; `explain` stops it before the workload that it is asked about."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now: Instant) -> None:
        self.statement = Statement(snapshot, policy, now)
        kept = go_on_with_fewer(look_after(self.statement), self.statement)
        pending = _pending(snapshot)
        self.copies = sorted(
            (one for one in pending if one.demand.division == Division.COPIED),
            key=lambda one: one.key,
        )
        waiting = [one for one in pending if one.demand.division != Division.COPIED]
        growing = [
            one.now
            for one in kept
            if one.wants_more() and one.now.demand.division != Division.COPIED
        ]
        self.claims = Claims(self.statement)
        self.claims.open([*waiting, *growing])
        kept = move_or_stay(kept, self.claims, self.statement)
        for one in kept:
            take_back(one, self.statement)
        self.keeping = {one.now.key: one for one in kept}
        shares = rehearse(waiting, growing, self.statement)
        self.statement.ledger.surplus.shares = shares
        self.groups = Groups(waiting)
        self.line = QueueOrder([*waiting, *growing], self.statement)
        self._earlier = EarlierTurns(self.statement)
        self._behind: dict[QueueName, tuple[int, float]] = {}
        """Queues of which one was put off in this pass: to which level, and what does not pass it:
        lower priorities than this."""

    def run(self, until: WorkloadKey | None = None) -> tuple[int, Workload] | None:
        """Run to the end, or to the workload's turn: its position and itself."""
        statement = self.statement
        for copy in self.copies:
            if copy.key == until:
                return 0, copy
            self.resume(0, copy)
        for keeping in self._copied():
            consider_growth(keeping, 0, statement)
        line: QueueOrder | None = self.line
        level, positions = WITHIN, dict[WorkloadKey, int]()
        while line is not None:
            put_off: list[tuple[int, Workload]] = []
            self._behind.clear()
            for at, workload in line:
                position = positions.setdefault(workload.key, at)
                if workload.key == until and not self._is_put_off(workload, level):
                    return position, workload
                repeats = until is None and level == WITHIN and line.repeats()
                tries = self.claims.tries() if repeats else None
                own = self._turn(position, workload, level)
                if own < level:
                    put_off.append((own, workload))
                elif repeats and self.claims.tries() == tries:
                    refuse_alike(workload, line, statement)
            statement.ledger.surplus.all_had_turns = True
            level = max((own for own, _ in put_off), default=0)
            line = QueueOrder([one for _, one in put_off], statement) if put_off else None
        for key, keeping in self.keeping.items():
            if key not in statement.decided:
                conclude(keeping, statement, None)
                end_claim(keeping.now, statement)
        if until is None:
            give_left_over(statement)
        return None

    def _turn(self, position: int, workload: Workload, level: int) -> int:
        """The same as `resume`, with the answer of an equal workload where nothing has changed."""
        if self._behind_others(workload, level) < level:
            return self.resume(position, workload, level)
        stamp = self._stamp(level)
        own = self._earlier.again(workload, position, stamp)
        if own is None:
            own = self.resume(position, workload, level)
            if self._stamp(level) == stamp:
                self._earlier.note(workload, own, stamp, put_off=own < level)
        elif own < level:
            self._put_before(workload, own, level)
        return own

    def _stamp(self, level: int) -> Stamp:
        statement = self.statement
        return (
            level,
            *self.claims.tries(),
            len(statement.admissions),
            len(statement.withdrawals),
            len(statement.claims),
        )

    def _is_put_off(self, workload: Workload, level: int) -> bool:
        """Whether its turn comes in a later pass."""
        if workload.key in self.statement.decided or level == 0:
            return False
        if workload.key in self.keeping:
            return self._growth_level(workload) < level
        if self._behind_others(workload, level) < level:
            return True
        if workload.group:
            return self.groups.borrow_at(workload, self.statement) < level
        return self.claims.put_off(workload, level)

    def _growth_level(self, workload: Workload) -> int:
        """0 for surplus that siblings may take back; else where a queue borrows with the least.

        That is all of what its minimum lacks, or one replica. Room that others left for waits not.
        """
        ledger, gang = self.statement.ledger, workload.demand.gang
        if ledger.surplus.leaves_nothing(workload):
            return 0
        least, held = needs_more(workload), self.claims.kept_for(workload.key)
        if gang is None or (held is not None and held.waves):
            return WITHIN
        if workload.demand.division == Division.DIVIDED:
            least = gang.first_of(workload.lacking())
        return ledger.entitlements.crosses_at(workload.queue, gang.requests(least))

    def resume(self, position: int, workload: Workload, level: int = 0) -> int:
        """Decide about the workload whose turn it is.

        Where it borrows above the `level` (`Entitlements.crosses_at`), nothing is decided, and its
        own level is returned.
        """
        statement = self.statement
        keeping = self.keeping.get(workload.key)
        if workload.key in statement.decided:
            return level
        if workload.demand.division == Division.COPIED:
            consider(workload, position, statement)
        elif statement.limit_reached():
            if keeping is None:
                refuse(workload, position, LIMIT_REACHED, statement)
        elif keeping is not None:
            if (own := self._growth_level(keeping.now)) < level:
                self._put_before(workload, own, level)
                return own
            consider_growing(self.keeping.pop(workload.key), position, self.claims, statement)
        else:
            return self._resume_waiting(position, workload, level)
        return level

    def _resume_waiting(self, position: int, workload: Workload, level: int) -> int:
        """The same of one that is pending."""
        if (own := self._behind_others(workload, level)) < level:
            return own
        if not workload.group:
            own = self.claims.consider(workload, position, level)
        elif (own := self.groups.borrow_at(workload, self.statement)) >= level:
            consider_group(workload, self.groups, position, self.statement)
        if own < level:
            self._put_before(workload, own, level)
        return own

    def _put_before(self, workload: Workload, own: int, level: int) -> None:
        """It was put off: what of its queue would have to leave for it at once does not pass it.

        A gang that waits and is patient nothing passes.
        """
        waits = not workload.targets
        least = workload.priority if waits or needs_more(workload).entries else -inf
        if waits and is_patient(workload, self.statement):
            least = inf
        _, before = self._behind.get(workload.queue, (level, -inf))
        self._behind[workload.queue] = (own, max(before, least))

    def _behind_others(self, workload: Workload, level: int) -> int:
        """The level of one of its queue that was put off and that it may not pass; else its own.

        Of lower priority it would have to leave for that at once; a patient one nothing passes.
        """
        own, least = self._behind.get(workload.queue, (level, -inf))
        return own if workload.priority < least else level

    def _copied(self) -> list[Keeping]:
        """The admitted copies, out of the line."""
        found = [
            one
            for one in self.keeping.values()
            if one.now.demand.division == Division.COPIED and one.wants_more()
        ]
        for one in found:
            del self.keeping[one.now.key]
        return found


def _pending(snapshot: Snapshot) -> list[Workload]:
    """Every workload that waits for a place; finished ones and admitted ones do not."""
    return [
        one
        for bucket in snapshot.pending
        for one in bucket.workloads
        if not one.targets and not one.finished
    ]
