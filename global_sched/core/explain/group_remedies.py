"""Changes that would let a group of bindings run, each tried with all its members together.

The first member that has no place says what is lacking. What helps it alone is said as not enough
where other members come after it.
"""

from collections.abc import Iterator

from global_sched.core.cycle import Cycle
from global_sched.core.explain.endings import endings
from global_sched.core.explain.remedy_text import ending_text, open_text
from global_sched.core.explain.trials import advice
from global_sched.core.explain.variants import OWN, QUOTA, Question
from global_sched.core.explain.worlds import ended, lent, only_these, opened, raised
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.trial_room import vacate
from global_sched.core.offer import Refusal
from global_sched.core.place.admission import offer_for
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Change, Remedy
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload

_LATER = "; then still: the later members of its group need room, too"


class GroupRemedies:
    """Trials for one member of a group that waits. `cycle` stands at its turn."""

    def __init__(self, workload: Workload, cycle: Cycle) -> None:
        self._workload, self._cycle = workload, cycle
        self._statement = cycle.statement
        self._snapshot: Snapshot = cycle.statement.snapshot
        self._members = cycle.groups.members(workload)

    def find(self) -> Iterator[Remedy]:
        """All that were found, those that need least of others first."""
        mark = self._statement.mark()
        failed = self._try()
        own = [] if failed is None else list(self._of_member(*failed))
        self._statement.rollback(mark)
        missing = self._workload.group_size - len(self._members)
        if missing > 0:
            yield self._incomplete(missing, failed)
            return
        if self._verdict(only_these(self._snapshot, self._members), self._statement.policy) is None:
            first = "no other job is ahead of its group in the queue order: there is room"
            yield Remedy(change=Change.TURN, text=first)
        yield from self._ending()
        yield from own

    def _incomplete(self, missing: int, failed: tuple[Workload, Refusal] | None) -> Remedy:
        bindings = counted(missing, "more binding")
        verb = "is" if missing == 1 else "are"
        text = f"{bindings} of group {self._workload.group} {verb} there"
        if failed is not None:
            text += f"; then still: {failed[0].key}: {failed[1].verdict.detail}"
        return Remedy(change=Change.GROUP, text=text, enough=False)

    def _try(self) -> tuple[Workload, Refusal] | None:
        """Take room for one member after the other; the first that finds none, and why."""
        for member in self._members:
            found = offer_for(member, self._statement)
            if isinstance(found, Refusal):
                return member, found
            self._statement.admit(member, found)
        return None

    # --- the member that has no place -----------------------------------------------------

    def _of_member(self, member: Workload, refusal: Refusal) -> Iterator[Remedy]:
        """What helps it, with the members before it in their places."""
        reason, gang = refusal.verdict.reason, member.demand.gang
        if gang is None:
            return
        if reason == Reason.QUEUE_CLOSED:
            path = self._statement.ledger.node(member.queue).path
            names = [node.queue.name for node in path if not node.queue.open]
            changed = opened(self._snapshot, frozenset(names))
            yield self._judged(Change.QUEUE_OPEN, changed, open_text(names))
        elif reason in QUOTA:
            asked = gang.requests(gang.minimum_amounts())
            changed, lacks = raised(member, asked, self._statement)
            if lacks:
                yield self._judged(Change.QUOTA, changed, "; ".join(lacks))
        elif reason == Reason.GUARANTEE_RESERVED:
            text = "guarantees that other queues do not use are lent (policy.lend_guarantees)"
            yield self._judged(Change.LENDING, self._snapshot, text, lent(self._statement.policy))
        last = member is self._members[-1]
        for _, one in advice(Question(member, self._cycle, refusal, None, ()), OWN):
            text = f"of {member.key}: {one.text}" + ("" if last else _LATER)
            yield Remedy(
                change=one.change,
                text=text,
                enough=last,
                cluster=one.cluster,
                domain=one.domain,
                field=one.field,
                value=one.value,
            )

    # --- others ---------------------------------------------------------------------------

    def _ending(self) -> Iterator[Remedy]:
        """The gangs whose ending gives every member its place."""
        _, gone = self._cycle.claims.whole()
        before, mark = gone.copy(), self._statement.mark()
        units = self._ended()
        self._statement.rollback(mark)
        gone[:] = before
        if units:
            text = ending_text(units, self._workload)
            vacant = ended(self._snapshot, [one.holder.workload for one in units])
            if self._verdict(vacant, self._statement.policy) is None:
                yield Remedy(change=Change.ENDING, text=text, cluster=units[0].cluster)

    def _ended(self) -> list[EvictionUnit]:
        """Member by member in the statement; empty where one still has no place."""
        gone: list[EvictionUnit] = []
        for member in self._members:
            found = offer_for(member, self._statement)
            if isinstance(found, Refusal):
                gone += self._end(member)
                found = offer_for(member, self._statement)
            if isinstance(found, Refusal):
                return []
            self._statement.admit(member, found)
        return gone

    def _end(self, member: Workload) -> tuple[EvictionUnit, ...]:
        """The jobs whose end gives one member its place, gone from the statement."""
        gang, claims = member.demand.gang, self._cycle.claims
        if gang is None:
            return ()
        units = endings(member, claims, self._statement, gang.minimum_amounts())
        field, gone = claims.whole()
        for unit in units:
            self._statement.release(unit.holder.workload, unit.cluster, unit.amount)
            gone[unit.at] = True
        vacate(units, field, self._statement)
        return units

    # --- trials ---------------------------------------------------------------------------

    def _verdict(self, snapshot: Snapshot, policy: Policy) -> str | None:
        """Why it is not admitted in another world; None when it is."""
        cycle, key = Cycle(snapshot, policy, self._statement.now), self._workload.key
        turn = cycle.run(until=key)
        if turn is not None:
            cycle.resume(*turn)
        if any(one.workload == key for one in cycle.statement.admissions):
            return None
        told = (one.verdict.detail for one in cycle.statement.outcomes if one.workload == key)
        return next(told, "nothing is decided about it")

    def _judged(
        self, change: Change, snapshot: Snapshot, text: str, policy: Policy | None = None
    ) -> Remedy:
        """The change, and what still stands against the group with it."""
        rest = self._verdict(snapshot, policy or self._statement.policy)
        if rest is None:
            return Remedy(change=change, text=text)
        return Remedy(change=change, text=f"{text}; then still: {rest}", enough=False)
