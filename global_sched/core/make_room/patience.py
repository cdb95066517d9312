"""Room and quota kept for gangs that waited longer than their patience, and what passes them.

Where room is lacking, a domain drains for such a gang (a reservation); where a limit is in the way,
what comes free of that is set aside. Smaller workloads go into a domain that drains only when they
end before it is needed. Both give way to a workload that could take the room or the quota from the
gang as soon as it ran: of another queue with a right to it, or of higher priority in its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from global_sched.core.make_room.all_rows import AllRows
from global_sched.core.make_room.claim_text import told, with_why
from global_sched.core.make_room.holds import Held, give_back, hold
from global_sched.core.make_room.reservation import NEVER, is_patient, reserve, start_of
from global_sched.core.make_room.set_aside import Aside, SetAside, is_kept_out
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import offer_for
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload

HEALED = frozenset(
    {
        Reason.CAPACITY_DOES_NOT_FIT,
        Reason.TOPOLOGY_DOES_NOT_FIT,
        Reason.QUEUE_CAPABILITY,
        Reason.GUARANTEE_RESERVED,
    }
)
"""Refusals that end when others leave."""
_ENDS = HEALED | {Reason.TENANT_LIMIT}
"""Those that end when others end, too."""

MOST_TRIED = 32
"""So many demands are tried in a cycle, of those that waited longer than their patience."""
Kept = Held | Aside
_Passing = tuple[int, QueueName, tuple[WorkloadKey, ...]]
"""A demand of a queue, and for whom it is kept what gave way to it."""


class Patience:
    """What is kept in one cycle. `held` is the room of all claims, reservations among them."""

    def __init__(
        self, statement: Statement, held: dict[WorkloadKey, Held], whole: Callable[[], AllRows]
    ) -> None:
        self._statement, self._held, self._whole = statement, held, whole
        self._set_aside = SetAside(statement, whole)
        self._asides: dict[WorkloadKey, Aside] = {}
        self.attempts = MOST_TRIED
        self._in_vain: set[tuple[int, QueueName]] = set()
        """Demands for which nothing can be kept, by queue."""
        self._starts: dict[WorkloadKey, Instant] = {}
        self._too_large: set[tuple[WorkloadKey, int]] = set()
        self.opened: list[Kept] = []
        """What is not kept from the workload whose turn it is."""
        self._passed: set[_Passing] = set()
        """Demands that found nothing though all this gave way to them."""
        self._ways: dict[tuple[WorkloadKey, int, QueueName], bool] = {}
        self._deserved: dict[WorkloadKey, bool] = {}
        """Whether a queue deserves all that is kept for this gang of it: it gives none of it."""
        self._admitted = 0
        """How many were when `_ways` and `_deserved` were found."""

    # --- keeping --------------------------------------------------------------------------

    def keep(self, workload: Workload, refusal: Refusal) -> Refusal | None:
        """What is kept for a workload that has waited long: quota, or a domain that drains.

        Demands for which nothing would hold it are tried once a cycle, so many of them.
        """
        statement, verdict = self._statement, refusal.verdict
        if verdict.code != Code.NO_FIT or verdict.reason not in _ENDS:
            return None
        if workload.demand.division != Division.WHOLE or not is_patient(workload, statement):
            return None
        quota, shape = is_kept_out(refusal), (id(workload.demand), workload.queue)
        if shape in self._in_vain or self.attempts <= 0:
            return None
        if not (self._set_aside.may(workload) if quota else self._may_drain(workload)):
            return None
        self.attempts -= 1
        found = self._aside(workload, refusal) if quota else self._reserve(workload, refusal)
        if found is None:
            self._in_vain.add(shape)
        return found

    def _aside(self, workload: Workload, refusal: Refusal) -> Refusal | None:
        """What comes free of the limit, where there is a cluster that would hold it."""
        found = self._set_aside.keep(workload, refusal)
        if found is None:
            return None
        self._asides[workload.key] = found
        return with_why(refusal, "what comes free of that is kept for it")

    def _may_drain(self, workload: Workload) -> bool:
        """Whether it may have a reservation beside those that stand."""
        there = self._reservations()
        if len(there) >= self._statement.policy.reservations:
            return False
        return all(one.workload.queue != workload.queue for one in there)

    def _reservations(self) -> list[Held]:
        return [one for one in self._held.values() if not one.waves]

    def _reserve(self, workload: Workload, refusal: Refusal) -> Refusal | None:
        """A domain that drains for it, where there is one that would hold it."""
        statement, there = self._statement, self._reservations()
        reserved = reserve(workload, self._whole(), statement, others=there)
        if reserved is None or reserved.decision is None or reserved.decision.claim is None:
            return None
        held = hold(reserved, reserved.decision.claim, statement)
        self._held[workload.key] = held
        return replace(refusal, verdict=told(held, refusal.verdict))

    # --- passing by -----------------------------------------------------------------------

    def backfill(self, workload: Workload, refusal: Refusal) -> Offer | Refusal:
        """Room in a domain that drains, for a workload that ends before it is needed."""
        if workload.run_limit is None or refusal.verdict.reason not in HEALED:
            return refusal
        end = self._statement.now + workload.run_limit * SECOND
        for key, held in list(self._held.items()):
            if key not in self._starts:
                self._starts[key] = start_of(held, self._statement)
            start = self._starts[key]
            if start == NEVER or end > start or (key, id(workload.demand)) in self._too_large:
                continue
            mark = self._statement.mark()
            give_back(held, self._statement)
            found = offer_for(workload, self._statement)
            if isinstance(found, Offer):
                self._statement.commit()
                self.opened = [held]
                return found
            self._statement.rollback(mark)
            self._too_large.add((key, id(workload.demand)))
        return refusal

    def giving_way(self, workload: Workload, refusal: Refusal) -> Sequence[Kept]:
        """What is kept for gangs that would have to give it up to this one at once."""
        gang, verdict = workload.demand.gang, refusal.verdict
        if verdict.code == Code.NEVER or verdict.reason not in _ENDS or gang is None:
            return ()
        kept: list[Kept] = [*self._reservations(), *self._asides.values()]
        if not kept:
            return ()
        if len(self._statement.admissions) != self._admitted:
            self._admitted = len(self._statement.admissions)
            self._ways.clear()
            self._deserved.clear()
        found = [one for one in kept if self._gives_way(one, workload)]
        return () if _passing(workload, found) in self._passed else found

    def _gives_way(self, kept: Kept, workload: Workload) -> bool:
        one = kept.workload
        if one.key == workload.key:
            return False
        if one.queue == workload.queue:
            return one.priority < workload.priority
        ledger = self._statement.ledger
        deserved = self._deserved.get(one.key)
        if deserved is None:
            deserved = ledger.entitlements.deserves_all(one.queue, kept.amount)
            self._deserved[one.key] = deserved
        if deserved:
            return False
        key = (one.key, id(workload.demand), workload.queue)
        found = self._ways.get(key)
        if found is None:
            asked = self._statement.standings.of(workload).minimum_requests
            (found,) = ledger.would_give(one.queue, kept.amount, [(workload.queue, asked)])
            self._ways[key] = found
        return found

    def offer_without(self, kept: Sequence[Kept], workload: Workload) -> Offer | Refusal:
        """What the workload gets when these are not kept from it, which they are not until `close`.

        Its minimum alone: it has no such right to surplus.
        """
        self.opened = list(kept)
        for one in reversed(kept):
            if isinstance(one, Held):
                give_back(one, self._statement)
            else:
                self._statement.set_aside(one.workload, one.cluster, one.amount, -1)
        with self._statement.ledger.surplus.least_for(workload.key):
            return offer_for(workload, self._statement)

    def close(self) -> None:
        """Keep again what was opened, less what was taken of it."""
        for one in self.opened:
            if isinstance(one, Held):
                self._held[one.workload.key] = hold(one.workload, one.claim, self._statement)
            else:
                self._statement.set_aside(one.workload, one.cluster, one.amount)
        self.opened = []

    def shut(self, in_vain_for: Workload | None) -> None:
        """What was opened is kept as it was: that was rolled back, and helped this one nothing."""
        if in_vain_for is not None:
            self._passed.add(_passing(in_vain_for, self.opened))
        self.opened = []


def _passing(workload: Workload, kept: Sequence[Kept]) -> _Passing:
    return id(workload.demand), workload.queue, tuple([one.workload.key for one in kept])
