"""Surplus that a gang's queue deserves while other queues hold more than theirs.

A gang that came when others held everything has its minimum only. Where its queue lacks some of
what it deserves, surplus pods of queues that are over theirs leave, and gangs without which their
queue still has what it deserves, for as many pods of the gang as stay within that. Nothing of its
own queue leaves. So the excess of the queues that give falls and no other rises: it ends, and
nothing that left has a right to take it back.
"""

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, Mask
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.grown_search import GrownSearch
from global_sched.core.make_room.leaving import Unit
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.search import Found, Nothing
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.workload import Workload

TRIES = 4
"""So often fewer pods are tried where all of them find no room."""


def find_surplus(
    workload: Workload, wanted: Amounts, claims: Claims, statement: Statement
) -> Found | Nothing:
    """What leaves for so many pods of the gang (`owed_part`), or for fewer of them."""
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
