"""Surplus that a gang's queue deserves while other queues hold more than theirs.

A gang that came when others held everything has its minimum only. Where its queue lacks some of
what it deserves, surplus pods of queues that are over theirs leave, and gangs without which their
queue still has what it deserves, for as many pods of the gang as stay within that. Nothing of its
own queue leaves. So the excess of the queues that give falls and no other rises: it ends, and
nothing that left has a right to take it back.
"""

from collections.abc import Iterable

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, DomainRows, Mask
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.grown_search import GrownSearch
from global_sched.core.make_room.leaving import Unit
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.search import PLACES, Found, Nothing
from global_sched.core.make_room.spots import spot_at
from global_sched.core.make_room.victims import VictimChoice
from global_sched.core.quota.limits import QuotaLimit, cut
from global_sched.core.quota.tree import Node
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.workload import Workload

TRIES = 4
"""So often fewer pods are tried where all of them find no room."""


def find_surplus(
    workload: Workload, wanted: Amounts, claims: Claims, statement: Statement
) -> Found | Nothing:
    """What leaves for so many pods of the gang (`deserved_part`), or for fewer of them."""
    search = _SurplusSearch(workload, wanted, claims, statement)
    found = search.run()
    for _ in range(TRIES):
        if isinstance(found, Found):
            break
        fewer = search.fewer()
        if not fewer.entries:
            break
        search = _SurplusSearch(workload, fewer, claims, statement)
        found = search.run()
    return found


def deserved_part(workload: Workload, statement: Statement) -> Amounts:
    """The part of what it lacks that its queue and those above it deserve and do not hold.

    Where one above has all of its own, its queue may still take from a brother: then only its queue
    counts.
    """
    gang, lacking = workload.demand.gang, workload.lacking()
    assert gang is not None
    asked = gang.requests(lacking)
    if not statement.ledger.entitlements.may_reclaim(workload.queue, asked):
        return Amounts()
    path = statement.ledger.node(workload.queue).path[:-1]
    limits = tuple(_limit(node, asked.names(), statement) for node in path)
    found = cut(limits, gang, Amounts(), lacking)
    return found if found.entries else cut(limits[:1], gang, Amounts(), lacking)


def _limit(node: Node, names: Iterable[str], statement: Statement) -> QuotaLimit:
    """What the queue deserves of the resources that its deserved speaks of."""
    entitlements = statement.ledger.entitlements
    deserved = entitlements.deserved_of(node)
    counted = {name: deserved.get(name, 0) for name in names if entitlements.counts(node, name)}
    return QuotaLimit(f"queue {node.queue.name}", counted, node.held)


class _SurplusRights(Rights):
    """Other queues only, and of these no gang without which they lack some of their deserved."""

    def holders(self, field: AllRows, gone: Mask) -> Mask:
        """Of those that may leave, what belongs to other queues."""
        others = np.array([queue != self.claimant.queue for queue in field.queues], dtype=np.bool_)
        found: Mask = super().holders(field, gone) & others[field.queue]
        return found

    def permits(self, unit: Unit) -> bool:
        """Pods can be counted out exactly; a gang of which one would be needed stays whole."""
        if unit.whole and not self._entitlement.keeps_deserved(
            unit.holder.workload.queue, unit.amount, self.claimant.queue, self.amount
        ):
            return False
        return super().permits(unit)


class _SurplusSearch(GrownSearch):
    rights_of = _SurplusRights

    def fewer(self) -> Amounts:
        """Fewer of the pods: as many as its victims make room for by count, else half."""
        gang, asked = self._gang, self._gang.minimum_amounts()
        singles = [gang.only(Amounts.of({one.name: 1})) for one in gang.pod_sets]
        places = [place for one in singles for place in self.around(one)[:PLACES]]
        counts = [self._count(place) for place in places]
        best = max(counts, key=lambda found: (found.pods(), found), default=Amounts())
        if best.pods() < asked.pods():
            return best
        return Amounts.of({name: pods // 2 for name, pods in asked.entries})

    def _count(self, place: DomainRows) -> Amounts:
        """How many of the pods a domain would hold, pod set by pod set."""
        mark = self._statement.mark()
        choice = VictimChoice(self._gang, spot_at(place), self.may, self.rights, self.field)
        choice.choose()
        room, found = choice.room, Amounts()
        self._statement.rollback(mark)
        for pod_set in self._gang.pod_sets:
            pods = min(pod_set.count, max(0, room[pod_set.shape]))
            room[pod_set.shape] -= pods
            found = found.plus(Amounts.of({pod_set.name: pods}))
        return found
