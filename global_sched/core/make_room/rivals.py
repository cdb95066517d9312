"""Who could take a workload's room from it in turn: nobody leaves for it then.

Else one gang would leave for a second that leaves for a third before it has done anything, or two
would leave for each other by turns; or one would start that has to leave in the next cycle.
"""

from collections.abc import Collection, Iterator
from itertools import islice

from global_sched.core.make_room.all_rows import AllRows
from global_sched.core.make_room.hold_window import rests
from global_sched.core.make_room.occupancy import may_ever_leave
from global_sched.core.make_room.search import Found
from global_sched.core.make_room.trial_room import asked_by, settle, vacate, would_fit
from global_sched.core.order.keys import effective_priority
from global_sched.core.quota.limits import cut
from global_sched.core.statement import Statement
from global_sched.core.waiting import Waiting, WaitingKind
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Division, Workload
from global_sched.shared.placement import Placed

MOST_COMPARED = 256
"""So many kinds of those that wait are looked at before a claim is made."""
MOST_TRIED = 32
"""So many of them are tried in the room that would be made."""


class Rivals:
    """Those that wait in one cycle, as rivals of claimants."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._waiting: Waiting | None = None
        self._kinds: list[WaitingKind] = []

    def provoked(
        self,
        claimant: Workload,
        found: Found,
        amount: Resources,
        field: AllRows,
        kept_for: Collection[WorkloadKey],
    ) -> bool:
        """Whether the claim gives rivals a right that they lack now, or room that they could take.

        The first: another queue could reclaim from the claimant's when it holds `amount` more. The
        second: whoever has a right to the claimant's room then, another queue or a higher priority
        in its own, finds its place where the victims leave, as long as the claimant is not there.
        `kept_for` have a claim already.
        """
        queue = claimant.queue
        others = [kind for kind in self._all() if kind.one.queue != queue][:MOST_COMPARED]
        before = [self._gives(queue, amount, kind) for kind in others]
        mark = self._statement.mark()
        for unit in found.units:
            self._statement.release(unit.holder.workload, unit.cluster, unit.amount)
        cluster = found.offer.parts[0].cluster
        self._statement.charge(claimant, cluster, amount)
        after = [self._gives(queue, amount, kind) for kind in others]
        self._statement.release(claimant, cluster, amount)
        provoked = any(now and not then for now, then in zip(after, before, strict=True))
        if not provoked and may_ever_leave(claimant):
            rivals = [kind for kind, gives in zip(others, after, strict=True) if gives]
            rivals += islice(self._above(claimant), MOST_COMPARED)
            provoked = self._fits_instead(
                claimant, found, field, self._searching(rivals, kept_for)[:MOST_TRIED]
            )
        self._statement.rollback(mark)
        return provoked

    def _makes_leave(self, one: Workload) -> bool:
        """Whether others might ever leave for it now."""
        statement = self._statement
        if one.group or rests(one, asked_by(one, statement), statement):
            return False
        return statement.ledger.gates.refusal(one) is None

    def _gives(self, queue: QueueName, amount: Resources, kind: WaitingKind) -> bool:
        entitlements = self._statement.ledger.entitlements
        return entitlements.gives(queue, amount, kind.one.queue, self._asked(kind))

    def _above(self, claimant: Workload) -> Iterator[WaitingKind]:
        """Those of a higher priority in its own queue that it does not overtake by ageing."""
        statement, queue, priority = self._statement, claimant.queue, claimant.priority
        own = effective_priority(claimant, statement)
        for kind in self._all():
            above = kind.one.queue == queue and kind.one.priority > priority
            if above and any(effective_priority(one, statement) > own for one in kind.those):
                yield kind

    def _searching(
        self, rivals: list[WaitingKind], kept_for: Collection[WorkloadKey]
    ) -> list[WaitingKind]:
        """Of which anybody would make others leave: it waits on, has no claim and does not rest."""
        out = {one.workload for one in self._statement.admissions}.union(kept_for)
        return [
            kind
            for kind in rivals
            if any(one.key not in out and self._makes_leave(one) for one in kind.those)
        ]

    def _fits_instead(
        self, claimant: Workload, found: Found, field: AllRows, rivals: list[WaitingKind]
    ) -> bool:
        """Whether one fits where the victims leave, and not beside the claimant; a trial."""
        victims, statement = self._victims(claimant, found), self._statement
        if not rivals and not victims:
            return False
        vacate(found.units, field, statement)
        fitting = [kind for kind in rivals if would_fit(kind, statement)]
        fitting += self._entitled(victims, claimant, found) if victims else ()
        if not fitting:
            return False
        settle(claimant, found.offer, statement)
        return not all(would_fit(kind, statement) for kind in fitting)

    def _victims(self, claimant: Workload, found: Found) -> list[WaitingKind]:
        """Gangs of other queues that leave whole for one that takes surplus, too."""
        gang = claimant.demand.gang
        assert gang is not None
        if gang.all_amounts() == gang.minimum_amounts():
            return []
        return [
            WaitingKind(one, [one], [])
            for unit in found.units
            if unit.whole and (one := unit.holder.workload).queue != claimant.queue
            if one.demand.division == Division.WHOLE and one.demand.gang is not None
        ]

    def _entitled(
        self, victims: list[WaitingKind], claimant: Workload, found: Found
    ) -> list[WaitingKind]:
        """Those of them that could reclaim from the claimant with all that it finds room for."""
        part, gang, rooms = found.offer.parts[0], claimant.demand.gang, self._statement.rooms
        assert gang is not None
        wanted, least = gang.all_amounts(), gang.minimum_amounts()
        if claimant.targets:
            wanted, least = claimant.lacking(), Amounts()
        bounds = self._statement.ledger.bounds(claimant.queue, claimant.tenant, part.cluster)
        wanted = cut(bounds, gang, least, wanted)
        placed = rooms.rooms[part.at].space.place(gang, amounts=wanted, minimum=Amounts())
        if not isinstance(placed, Placed):
            return []
        amount = gang.requests(placed.amounts)
        self._statement.charge(claimant, part.cluster, amount)
        entitled = [kind for kind in victims if self._gives(claimant.queue, amount, kind)]
        self._statement.release(claimant, part.cluster, amount)
        return entitled

    def _all(self) -> list[WaitingKind]:
        """Every kind that waits, in an order of their own."""
        waiting = self._statement.waiting
        if self._waiting is not waiting:
            self._waiting = waiting
            self._kinds = [kind for those in waiting.values() for kind in those]
        return self._kinds

    def _asked(self, kind: WaitingKind) -> Resources:
        return asked_by(kind.one, self._statement)
