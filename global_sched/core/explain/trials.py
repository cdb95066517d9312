"""What becomes of a workload in a world that differs in one thing: its turn there, in full.

A cycle of its own runs up to the workload's turn. What is free then is offered as in that cycle; a
refusal is decided there like any other, so that others may leave for the workload, or what is kept
for others gives way to it. A search for victims that the Policy puts off to a later cycle is made.
"""

from dataclasses import dataclass

from global_sched.core.cycle import Cycle
from global_sched.core.explain.remedy_text import remedy_of
from global_sched.core.explain.shown_victims import victims_of
from global_sched.core.make_room.holds import give_back
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import growth_for, offer_for
from global_sched.core.statement import Statement
from global_sched.shared.model.explanation import Change, Remedy, Victim
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Tried:
    """Why it still waits, None when it runs; `victims` leave for it first."""

    refusal: Refusal | None = None
    victims: tuple[Victim, ...] = ()


class Trials:
    """Trials for one workload that waits in the statement."""

    def __init__(self, workload: Workload, statement: Statement) -> None:
        self._workload, self._statement = workload, statement

    def has_room(self, snapshot: Snapshot) -> bool:
        """Whether it is admitted there with nobody leaving for it."""
        cycle = Cycle(snapshot, self._statement.policy, self._statement.now)
        turn = cycle.run(until=self._workload.key)
        return turn is not None and isinstance(self._offered(turn[1], cycle), Offer)

    def tried(self, snapshot: Snapshot, policy: Policy | None = None) -> Tried:
        """What becomes of it there."""
        cycle = Cycle(snapshot, policy or self._statement.policy, self._statement.now)
        turn = cycle.run(until=self._workload.key)
        if turn is None:
            return Tried()
        position, workload = turn
        mark = cycle.statement.mark()
        found = self._offered(workload, cycle)
        cycle.statement.rollback(mark)
        if isinstance(found, Offer):
            return Tried()
        cycle.resume(position, workload)
        if any(one.workload == workload.key for one in cycle.statement.admissions):
            return Tried()
        victims, why = victims_of(workload, cycle)
        return Tried(victims=victims) if victims and not why else Tried(found)

    def judged(
        self,
        change: Change,
        snapshot: Snapshot,
        text: str,
        *,
        policy: Policy | None = None,
        cluster: ClusterName | None = None,
    ) -> Remedy:
        """The change, who leaves with it, or what still stands against the workload."""
        found = self.tried(snapshot, policy)
        return remedy_of(change, text, found.refusal, found.victims, cluster=cluster)

    def _offered(self, workload: Workload, cycle: Cycle) -> Offer | Refusal:
        """What is free for it in its turn, and what is kept for it."""
        held = cycle.claims.kept_for(workload.key)
        if held is not None:
            give_back(held, cycle.statement)
        offered = growth_for if workload.targets else offer_for
        return offered(workload, cycle.statement)
