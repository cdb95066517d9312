"""Who could take a workload's room from it in turn: nobody leaves for it then, and it goes later.

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
from global_sched.core.offer import Offer
from global_sched.core.order.keys import effective_priority
from global_sched.core.quota.limits import cut
from global_sched.core.quota.tree import Node
from global_sched.core.statement import Statement
from global_sched.core.waiting import Alike, Waiting, WaitingKind, alike
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Division, Workload
from global_sched.shared.placement import Placed

MOST_COMPARED = 256
"""So many kinds of those that wait are looked at before a claim is made."""
MOST_TRIED = 32
"""So many of them are tried in the room that would be made."""
MOST_LOOKED_AT = 4096
"""So many are looked at in a cycle for the sake of what is admitted."""


class Rivals:
    """Those that wait in one cycle, as rivals of claimants."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._waiting: Waiting | None = None
        self._kinds: list[WaitingKind] = []
        self._looks = MOST_LOOKED_AT
        self._first: set[Alike] = set()
        """Those whom others let go first."""

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

    def goes_after(self, workload: Workload, offer: Offer) -> bool:
        """Whether it lets others go first, or one before it in the line does.

        Whoever is beyond its deserved, too, and has no right to that one's room waits then for the
        turns of them all: else the last of the line would pass the first that lets others go.
        """
        if self.lets_others(workload, offer):
            return True
        passes = not self._first or alike(workload) in self._first
        return not passes and self._could_be_taken(workload)

    def lets_others(self, workload: Workload, offer: Offer) -> bool:
        """Whether others of those behind it in the line could take its room back at once, and fit.

        They go first then: else it would have to leave in the next cycle.
        """
        rivals = self._who_could_take(workload)
        if not rivals or not self._keeps_out(workload, offer, rivals):
            return False
        self._first.update(alike(kind.one) for kind in rivals)
        return True

    def _who_could_take(self, workload: Workload) -> list[WaitingKind]:
        """Those who have had no turn yet, fit now, and could take the workload's room back at once.

        Only what is more than its queues deserve can be taken back; by others of its own queue
        nothing, since they come later in its order. `MOST_LOOKED_AT` are looked at in a cycle.
        """
        if not self._could_be_taken(workload):
            return []
        statement, queue = self._statement, workload.queue
        amount = statement.standings.of(workload).minimum_requests
        looked_at: list[WaitingKind] = []
        for kind in self._all():
            if self._looks == 0:
                break
            if kind.one.queue != queue and self._has_turns(kind):
                self._looks -= 1
                looked_at.append(kind)
        asks = [(kind.one.queue, self._asked(kind)) for kind in looked_at]
        gives = statement.ledger.would_give(queue, amount, asks)
        rightful = (kind for kind, right in zip(looked_at, gives, strict=True) if right)
        return list(islice((kind for kind in rightful if would_fit(kind, statement)), MOST_TRIED))

    def _could_be_taken(self, workload: Workload) -> bool:
        """Whether it would be more than its queues deserve, so that it might have to leave."""
        if workload.demand.division != Division.WHOLE or workload.targets:
            return False
        amount = self._statement.standings.of(workload).minimum_requests
        over = self._statement.ledger.would_be_over(workload.queue, amount)
        return over and may_ever_leave(workload)

    def _has_turns(self, kind: WaitingKind) -> bool:
        """Whether anybody of it is still to come in the line, and might make others leave."""
        to_come, decided = kind.to_come, self._statement.decided
        while to_come and to_come[-1].key in decided:
            to_come.pop()
        return any(one.key not in decided and self._makes_leave(one) for one in to_come)

    def _makes_leave(self, one: Workload) -> bool:
        """Whether others might ever leave for it now."""
        statement = self._statement
        if one.group or rests(one, asked_by(one, statement), statement):
            return False
        return statement.ledger.gates.refusal(one) is None

    def _keeps_out(self, workload: Workload, offer: Offer, rivals: list[WaitingKind]) -> bool:
        """Whether one of these finds no place any more once the workload has what it is offered.

        Or all of them together do not, counted in what is free in all.
        """
        if self._lack_more(workload, rivals):
            return True
        statement = self._statement
        mark = statement.mark()
        settle(workload, offer, statement)
        kept_out = not all(would_fit(kind, statement) for kind in rivals)
        statement.rollback(mark)
        return kept_out

    def _lack_more(self, workload: Workload, rivals: list[WaitingKind]) -> bool:
        """Whether they have a right to more, one after the other, than the workload leaves free."""
        statement = self._statement
        tree, free = statement.ledger.tree, statement.rooms.free
        amount = statement.standings.of(workload).minimum_requests
        tree.charge(tree.node(workload.queue), None, amount, 1)
        rightful: list[tuple[Node, Resources, int]] = []
        for kind in rivals:
            node, asked = tree.node(kind.one.queue), self._asked(kind)
            waiting = sum(1 for one in kind.to_come if one.key not in statement.decided)
            most = min([free.sum(name) // value for name, value in asked.entries], default=0)
            count = self._rights(workload.queue, amount, kind, min(waiting, most + 1))
            tree.charge(node, None, asked, count)
            rightful.append((node, asked, count))
        for node, asked, count in rightful:
            tree.charge(node, None, asked, -count)
        tree.charge(tree.node(workload.queue), None, amount, -1)
        lacking = Resources.total(asked.times(count) for _, asked, count in rightful)
        return any(lacking.get(name) > free.sum(name) - had for name, had in amount.entries)

    def _rights(self, queue: QueueName, amount: Resources, kind: WaitingKind, most: int) -> int:
        """How many of them could take that amount back if the others before them had their place.

        Each one less than the one before it: the first without a right is looked for by halves.
        """
        tree, asked = self._statement.ledger.tree, self._asked(kind)
        node, least = tree.node(kind.one.queue), 0
        while least < most:
            middle = (least + most) // 2
            tree.charge(node, None, asked, middle)
            if self._gives(queue, amount, kind):
                least = middle + 1
            else:
                most = middle
            tree.charge(node, None, asked, -middle)
        return least

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
