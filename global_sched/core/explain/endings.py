"""The jobs whose end would let a workload in, whether they could be victims or not.

The search for victims with all rights given: the same domains, the same costs, the same proof. For
what several clusters share one replica more is looked for, or all of them in one more cluster.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, Mask
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.kinds import GrownSearch
from global_sched.core.make_room.leaving import EvictionUnit, QueueResources
from global_sched.core.make_room.reservation import NEVER, ends_at
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.search import Nothing, RoomFound, Search
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import growth_for, offer_for
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Division, Workload


class _AllRights(Rights):
    """Every gang ends some day, and whole."""

    takes_surplus = False

    def holders(self, field: AllRows, gone: Mask) -> Mask:
        """All gangs that have not left in this cycle, but for the workload itself."""
        found: Mask = field.ends & ~gone
        self.stays_whole = np.zeros(len(found), dtype=np.bool_)
        for at in field.holders_of(self.claimant.key):
            found[at] = False
        return found

    def permits(self, unit: EvictionUnit) -> bool:  # noqa: ARG002 - a right's signature
        """Every job ends some day."""
        return True

    def gives_any(self, kind: QueueResources) -> bool:  # noqa: ARG002 - a right's signature
        """Every job ends some day."""
        return True

    def could_return(self, unit: EvictionUnit, held: Resources) -> bool:  # noqa: ARG002 - a right's signature
        """What has ended takes nothing back."""
        return False

    def rightful(self, units: Sequence[EvictionUnit]) -> bool:  # noqa: ARG002 - a right's signature
        """What has ended takes nothing back."""
        return True


class _Endings(Search):
    """A search with all rights given."""

    rights_of = _AllRights

    def needed(self, workload: Workload) -> Gang:
        """Its minimum: one replica where they are divided, all where each cluster gets all."""
        gang, division = workload.demand.gang, workload.demand.division
        assert gang is not None
        if division == Division.WHOLE:
            return gang
        every = division == Division.DUPLICATED and not workload.targets
        name = gang.pod_sets[0].name
        return gang.only(gang.all_amounts() if every else Amounts.of({name: 1}))

    def ask(self) -> Offer | Refusal:
        """What it would get, or get in addition."""
        asked = growth_for if self._workload.targets else offer_for
        return asked(self._workload, self._statement)


class _GrownEndings(GrownSearch):
    """The same for pods beside those that it has."""

    rights_of = _AllRights


def endings(
    workload: Workload, claims: Claims, statement: Statement, lacks: Amounts
) -> tuple[EvictionUnit, ...]:
    """The gangs whose ending lets it in, cheapest first chosen and proved; none: no end does.

    `lacks` are the pods that one which runs wants in addition.
    """
    search: Search
    if workload.targets and workload.demand.division == Division.WHOLE:
        search = _GrownEndings(workload, lacks, claims.whole, statement)
    else:
        search = _Endings(workload, *claims.whole(), statement)
    found: RoomFound | Nothing = search.run()
    return () if isinstance(found, Nothing) else found.units


def latest_end(units: Iterable[EvictionUnit]) -> Instant | None:
    """When all of them have ended at the latest, by their run-time limits; None: not known."""
    latest = max((ends_at(unit.holder.workload) for unit in units), default=NEVER)
    return None if latest == NEVER else latest
