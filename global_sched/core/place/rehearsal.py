"""Shares of surplus: the queue order gone through with sums in place of nodes.

An elastic gang asks more than once. In its turn it gets its minimum, and it stands in the order
again for surplus, a part at a time: behind all that its tenant waits for with the same priority,
and wherever its queue and its tenant belong with what they hold by then. So surplus goes by the
same order as everything else: no minimum of a tenant waits for surplus of the same priority,
siblings share what their queues deserve and what they borrow, and tenants what their queue gets.

Clusters are amounts here, without nodes, domains or domains' shapes. What is given to a
workload that then finds no place is left over, and goes to others at the end of the cycle
(`left_over`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from global_sched.core.order.queue_order import QueueOrder
from global_sched.core.place.admission import division_of, refused_growth
from global_sched.core.place.sums import Sums
from global_sched.core.quota.entitlement import WITHIN
from global_sched.core.quota.fair_surplus import Shares
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Division, Workload

_PARTS: Final = 8
"""A turn gives an eighth of one's fair part of what is free, so that shares come out even."""
_TURNS: Final = 4000
"""More turns for surplus than about so many are made fewer by giving more in each."""


def rehearse(
    waiting: Sequence[Workload], growing: Sequence[Workload], statement: Statement
) -> Shares:
    """What each that asks for surplus may have; nothing where none does, or no other waits.

    Pending workloads and admitted ones that may want more, in any order. Nothing of it stays in the
    statement. Cost: a turn of each, and about `_PARTS` for each that asks for surplus; little where
    there is no room for any of those.
    """
    lacking = [one for one in growing if _lacks(one)]
    asks = [one for one in waiting if _elastic(one, statement)] + lacking
    if not asks or len(waiting) + len(lacking) == 1:
        return {}
    sums = Sums(statement)
    if not any(_has_room(one, sums, statement) for one in asks):
        return {}
    mark = statement.mark()
    found = _Rehearsal([*waiting, *lacking], asks, sums, statement).run()
    statement.rollback(mark)
    return found


def _lacks(workload: Workload) -> bool:
    """Whether it runs with fewer pods than it wants; copies are not shared out."""
    if workload.demand.division in (Division.DUPLICATED, Division.COPIED):
        return False
    return bool(workload.lacking().entries)


def _has_room(workload: Workload, sums: Sums, statement: Statement) -> bool:
    """Whether the sums hold its minimum, or of one that runs any more."""
    gang, decision = workload.demand.gang, workload.decision
    assert gang is not None
    if decision is None or not workload.targets:
        request = gang.requests(_least(workload, statement))
        return sums.hold(workload, request)
    position = statement.rooms.position
    places: list[int | None] = [
        position[grant.cluster] for grant in decision.grants if grant.cluster in position
    ]
    if _is_divided(workload):
        places = [None]
    return any(
        sums.clusters(workload, gang.requests(unit), at)
        for unit, _ in _units(gang, workload.lacking(), workload.granted())
        for at in places
    )


def _least(workload: Workload, statement: Statement) -> Amounts:
    """What a pending workload starts with."""
    standing = statement.standings.of(workload)
    if workload.demand.division == Division.DUPLICATED or not standing.wanted.entries:
        return standing.wanted
    if _is_divided(workload) or not standing.minimum.entries:
        assert workload.demand.gang is not None
        return workload.demand.gang.first_of(standing.wanted)
    return standing.minimum


def _elastic(workload: Workload, statement: Statement) -> bool:
    division, gang = workload.demand.division, workload.demand.gang
    if gang is None or division not in (Division.WHOLE, Division.DIVIDED):
        return False
    standing = statement.standings.of(workload)
    return standing.elastic or (_is_divided(workload) and standing.wanted.pods() > 1)


def _is_divided(workload: Workload) -> bool:
    """Whether it runs in several clusters, with as many pods as there is room for."""
    return division_of(workload.demand) == Division.DIVIDED


class _Rehearsal:
    """A line, what of the clusters is free, and what was given so far."""

    def __init__(
        self,
        workloads: Iterable[Workload],
        asks: Iterable[Workload],
        sums: Sums,
        statement: Statement,
    ) -> None:
        self._statement, self._ledger = statement, statement.ledger
        self._line = QueueOrder(workloads, statement)
        self._sums = sums
        self._given = {one.key: Amounts() for one in asks}
        self._asking = {one.key: self._weight(one) for one in asks}
        """Those that are to get surplus yet, with their weights."""
        self._weights = sum(self._asking.values())
        self._weights_in: dict[int, int] = {}
        """Their sums, in all and by cluster: there of those that are whole in it."""
        self._after: dict[WorkloadKey, Workload] = {}
        """Those that let others go first, and whether these have gone:"""
        self._last = False
        self._begun: set[WorkloadKey] = set()
        self._where: dict[WorkloadKey, int] = {}
        """The cluster of those that are whole in one."""

    def run(self) -> Shares:
        """Go through the order to its end, then through workloads that let others go first."""
        self._go_through()
        if self._after:
            self._line, self._last = QueueOrder(self._after.values(), self._statement), True
            self._go_through()
        return self._given

    def _go_through(self) -> None:
        for _, workload in self._line:
            if self._turn(workload):
                self._line.again()
            elif workload.key in self._asking and (self._last or workload.key not in self._after):
                self._leave(workload)

    def _leave(self, workload: Workload) -> None:
        """It asks for no more."""
        weight, at = self._asking.pop(workload.key), self._where.get(workload.key)
        self._weights -= weight
        if at is not None:
            self._weights_in[at] -= weight

    def _turn(self, workload: Workload) -> bool:
        """Give it its minimum, or else some surplus; whether it asks again."""
        if workload.key in self._begun:
            return self._give_surplus(workload)
        return self._begin(workload) and workload.key in self._asking

    def _begin(self, workload: Workload) -> bool:
        """Its minimum; of one that runs, what its minimum lacks. Others may have to go first."""
        gang = workload.demand.gang
        if gang is None:
            return False
        if workload.targets:
            self._begun.add(workload.key)
            return self._go_on(workload, gang)
        least = _least(workload, self._statement)
        request = gang.requests(least)
        fits = not least.entries or self._sums.hold(workload, request)
        if self._sums.hopeless(workload):
            self._given.pop(workload.key, None)
        if not fits or self._ledger.gates.refusal(workload) is not None:
            return False
        if not self._last and self._borrows(workload, request):
            self._after[workload.key] = workload
            return False
        self._begun.add(workload.key)
        return not least.entries or self._take(workload, gang, least)

    def _borrows(self, workload: Workload, request: Resources) -> bool:
        return self._ledger.entitlements.crosses_at(workload.queue, request) < WITHIN

    def _go_on(self, workload: Workload, gang: Gang) -> bool:
        decision = workload.decision
        if decision is None or refused_growth(workload, self._statement) is not None:
            return False
        for grant in decision.grants:
            self._note(workload, grant.amounts)
            at = self._statement.rooms.position.get(grant.cluster)
            if at is not None:
                self._settle(workload, at)
        lacks = needs_more(workload)
        if lacks.entries:
            return self._take(workload, gang, lacks)
        return workload.key in self._asking

    def _take(self, workload: Workload, gang: Gang, amounts: Amounts) -> bool:
        """So many pods in one cluster, where the limits let them in and the sums hold them."""
        request = gang.requests(amounts)
        for at, _ in self._sums.clusters(workload, request, self._where.get(workload.key)):
            if self._sums.take(workload, at, request):
                self._note(workload, amounts)
                self._settle(workload, at)
                return True
        return False

    def _settle(self, workload: Workload, at: int) -> None:
        """Its cluster is this one, if it is whole in one."""
        if workload.key in self._where or _is_divided(workload):
            return
        weight = self._asking.get(workload.key)
        if weight is not None:
            self._where[workload.key] = at
            self._weights_in[at] = self._weights_in.get(at, 0) + weight

    def _give_surplus(self, workload: Workload) -> bool:
        """Its next part of surplus; whether it asks again."""
        gang = workload.demand.gang
        assert gang is not None
        given = self._given[workload.key]
        for unit, most in _units(gang, gang.all_amounts().minus(given), given):
            request = gang.requests(unit)
            clusters = self._sums.clusters(workload, request, self._where.get(workload.key))
            part = min(most, self._part(workload, sum(room for _, room in clusters)))
            part = self._sums.left(workload, request, part, last=self._last)
            if not part:
                self._after[workload.key] = workload
                return False
            for at, room in clusters:
                times = self._sums.take(workload, at, request, min(part, room))
                if times:
                    self._note(workload, Amounts.of({n: p * times for n, p in unit.entries}))
                    return True
        return False

    def _part(self, workload: Workload, room: int) -> int:
        """So much of the room is given at a time: by its weight among those that ask for it."""
        parts = max(1, min(_PARTS, _TURNS // len(self._asking)))
        if len(self._asking) == 1 and not self._line.waits():
            return room
        at = self._where.get(workload.key)
        weights = self._weights if at is None else self._weights_in[at]
        return max(1, room * self._asking[workload.key] // (parts * weights))

    def _note(self, workload: Workload, amounts: Amounts) -> None:
        if workload.key in self._given:
            self._given[workload.key] = self._given[workload.key].plus(amounts)

    def _weight(self, workload: Workload) -> int:
        tenant, queue = self._ledger.tenant(workload.tenant), self._ledger.queue(workload.queue)
        return max(1, tenant.weight) * max(1, queue.weight)


def _units(gang: Gang, lacking: Amounts, has: Amounts) -> Iterator[tuple[Amounts, int]]:
    """What grows together, in the template's order, and how often it is lacking.

    A pod alone, a group of a partition with those that share its groups, or what makes the next
    size of an elastic gang that `has` so many pods.
    """
    if gang.elastic is not None:
        if (chunk := gang.first_of(lacking, has)).entries:
            yield chunk, 1
        return
    for unit in gang.units():
        times = min(lacking.get(name) // size for name, size in unit.entries)
        if times:
            yield unit, times
