"""Replicas of a Deployment or StatefulSet as claimants: others leave for as many as room is proved.

Each replica is a request of its own, so there is no minimum to be whole: what is asked for is cut
to what its queue is owed, and others leave for those in one cluster. Where the queue is owed none,
only lower priorities of its own queue leave. A policy that wants several clusters claims nothing.
Growth claims at most once per hold.
"""

from collections.abc import Callable

import numpy as np

from global_sched.core.fit.spread import maximum_clusters, minimum_clusters
from global_sched.core.make_room.all_rows import AllRows, Mask
from global_sched.core.make_room.claim_text import no_victims
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.search import Found, Nothing, Search
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import growth_for, offer_for
from global_sched.core.quota.owed import owed_part
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.selection import selected_by_any
from global_sched.shared.model.workload import Division, Workload

TRIES = 4
"""So often fewer replicas are tried where all of them find no room; beyond, nothing leaves."""


def claims_replicas(workload: Workload, statement: Statement) -> bool:
    """Whether others may leave for its replicas: its policy allows them to be in one cluster."""
    demand = workload.demand
    if demand.gang is None or len(demand.gang.pod_sets) != 1:
        return False
    if demand.division == Division.DIVIDED:
        return minimum_clusters(demand.rule) <= 1
    if demand.division != Division.DUPLICATED or minimum_clusters(demand.rule) > 1:
        return False
    selected = [one for one in statement.snapshot.clusters if selected_by_any(demand.rule, one)]
    return maximum_clusters(demand.rule) == 1 or len(selected) == 1


def grew_lately(workload: Workload, statement: Statement) -> bool:
    """Whether it came by a claim within its hold: its growth claims nothing until that is over."""
    decision = workload.decision
    if decision is None or decision.claimed is None:
        return False
    until = Instant(decision.claimed + decision.hold(statement.policy.hold_seconds))
    return statement.now < until


def find_replicas(
    workload: Workload, whole: Callable[[], tuple[AllRows, Mask]], statement: Statement
) -> Found | Nothing:
    """What leaves for as many of the replicas that it lacks as are owed, else by priority."""
    gang, lacks = workload.demand.gang, lacking_replicas(workload)
    assert gang is not None
    part = owed_part(workload.queue, gang, lacks, statement.ledger)
    owed = _find(workload, part, Rights, whole, statement)
    if isinstance(owed, Found):
        return owed
    own = _find(workload, lacks, _OwnQueue, whole, statement)
    return owed if isinstance(own, Nothing) and own.none else own


def lacking_replicas(workload: Workload) -> Amounts:
    """The replicas that it asks for and has not."""
    gang = workload.demand.gang
    assert gang is not None
    return workload.lacking() if workload.targets else gang.all_amounts()


def _find(
    workload: Workload,
    amounts: Amounts,
    rights: type[Rights],
    whole: Callable[[], tuple[AllRows, Mask]],
    statement: Statement,
) -> Found | Nothing:
    """What leaves for those replicas, or for fewer."""
    found: Found | Nothing = Nothing(no_victims(), none=True)
    for _ in range(TRIES + 1):
        if not amounts.entries or not _may_be(workload, amounts):
            break
        search = _ReplicaSearch(workload, amounts, rights, whole, statement)
        found = search.run()
        if isinstance(found, Found):
            break
        amounts = search.fewer()
    return found


def _may_be(workload: Workload, amounts: Amounts) -> bool:
    """Whether so few will do: a cluster of a duplicated one gets all of them at first."""
    gang = workload.demand.gang
    assert gang is not None
    duplicated = workload.demand.division == Division.DUPLICATED
    return not duplicated or bool(workload.targets) or amounts == gang.all_amounts()


class _OwnQueue(Rights):
    """Lower priorities of its own queue only."""

    def holders(self, field: AllRows, gone: Mask) -> Mask:
        """Of those that may leave, what belongs to its queue."""
        own = np.array([queue == self.claimant.queue for queue in field.queues], dtype=np.bool_)
        found: Mask = super().holders(field, gone) & own[field.queue]
        return found


class _ReplicaSearch(Search):
    """So many replicas, all in one domain; the offer divides them as its policy says."""

    def __init__(
        self,
        workload: Workload,
        amounts: Amounts,
        rights: type[Rights],
        whole: Callable[[], tuple[AllRows, Mask]],
        statement: Statement,
    ) -> None:
        self._amounts, self.rights_of = amounts, rights
        super().__init__(workload, *whole(), statement)

    def needed(self, workload: Workload) -> Gang:
        """The replicas, each of which is needed here."""
        gang = workload.demand.gang
        assert gang is not None
        return gang.only(self._amounts)

    def ask(self) -> Offer | Refusal:
        """All of them, beside those that it has."""
        ask = growth_for if self._workload.targets else offer_for
        return ask(self._workload, self._statement, self._amounts)
