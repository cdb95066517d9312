"""Surplus in a workload's turn: not more than the others leave it.

How much that is was found out beforehand (`rehearsal`). What is left when everybody had a turn is
given to those that were held back (`left_over`): nothing stays idle, and a second cycle finds
nothing to give.
"""

from collections.abc import Mapping

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.workload import Workload

Shares = Mapping[WorkloadKey, Amounts]
"""All pods that workloads may have, those that they have included."""


class FairSurplus:
    """What of surplus each may have, and who wanted more."""

    def __init__(self) -> None:
        self.shares: Shares = {}
        """Who is not in here may have all that there is room for."""
        self.held_back: dict[WorkloadKey, Workload] = {}
        """Workloads that got less here than they wanted when they were last asked about."""
        self.none_for: frozenset[WorkloadKey] = frozenset()
        """Workloads that get their minimum alone: all of them need a place."""

    def part(self, workload: Workload, minimum: Amounts, wanted: Amounts) -> Amounts:
        """The part of `wanted` that it may have: its minimum, and one pod at least."""
        share = self.shares.get(workload.key)
        if workload.key in self.none_for:
            share = Amounts()
        return wanted if share is None else self._at_least(workload, minimum, share, wanted)

    def part_of_growth(self, workload: Workload, least: Amounts, wanted: Amounts) -> Amounts:
        """The same of more pods for one that was admitted: `least`, and one pod at least."""
        share = self.shares.get(workload.key)
        if share is None or workload.decision is None or not wanted.entries:
            return wanted
        for grant in workload.decision.grants:
            share = share.minus(grant.amounts)
        return self._at_least(workload, least, share, wanted)

    def _at_least(
        self, workload: Workload, least: Amounts, share: Amounts, wanted: Amounts
    ) -> Amounts:
        names = [name for name, _ in wanted.entries]
        limits = {name: max(least.get(name), share.get(name)) for name in names}
        found = Amounts.of({name: min(pods, limits[name]) for name, pods in wanted.entries})
        if not found.entries:
            found = Amounts.of({names[0]: 1})
        if found != wanted:
            self.held_back[workload.key] = workload
        elif self.held_back:
            self.held_back.pop(workload.key, None)  # an earlier trial of this cycle held it back
        return found
