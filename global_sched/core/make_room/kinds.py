"""The kinds of requests for which others leave: what each asks for, and a filter of candidates.

| request | asks for | candidates |
|---|---|---|
| a gang that waits | its minimum | lower priorities of its queue, what it may reclaim |
| growth of a gang | what its edited minimum lacks, around its pods | the same |
| surplus of a gang | what its queue is owed, or fewer | other queues; no gang that these deserve |
| replicas of a service | what its queue is owed, or fewer | as of a gang |
| the same, owed none | what it lacks, or fewer | lower priorities of its queue |

All are solved by one `Search`, which proves each with the offer that the cycle would make.

*Surplus.* A gang that came when others held everything has its minimum only. What leaves for more
of it frees what its queue is owed, so the excess of the queues that give falls and no other rises:
it ends, and nothing that left has a right to take it back.

*Replicas.* Each replica of a Deployment or StatefulSet is a request of its own, so there is no
minimum to be whole, and others leave for as many as are owed, in one cluster. A policy that wants
several clusters claims nothing. Growth claims at most once per hold.
"""

from collections.abc import Callable
from itertools import islice

import numpy as np

from global_sched.core.fit.spread import maximum_clusters, minimum_clusters
from global_sched.core.make_room.all_rows import AllRows, DomainRows, Mask
from global_sched.core.make_room.claim_text import no_victims
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.search import Nothing, RoomFound, Search
from global_sched.core.make_room.spots import Spot, spot_at
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import growth_for, offer_for
from global_sched.core.place.one_cluster import grow_whole
from global_sched.core.quota.owed import owed_part
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.growth import growth_gang, may_claim, needs_more
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.selection import selected_by_any
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.workload import Division, Workload

TRIES = 4
"""So often fewer pods are tried where all of them find no room; beyond, nothing leaves."""
_DOMAINS = 256
"""So many domains of its cluster are compared with the one that a gang has to stay in; one beyond
that is not looked at."""

Whole = Callable[[], tuple[AllRows, Mask]]
"""The federation for searches, and what of it leaves in this cycle already."""


def for_waiting(workload: Workload, whole: Whole, statement: Statement) -> RoomFound | Nothing:
    """What leaves for one that waits, as everything is now."""
    if workload.demand.division != Division.WHOLE:
        return _for_replicas(workload, whole, statement)
    return Search(workload, *whole(), statement).run()


def for_growth(
    workload: Workload, asked: Amounts, whole: Whole, statement: Statement
) -> RoomFound | Nothing:
    """What leaves for those pods of one that runs (`claimable`), or for fewer of them."""
    if claims_replicas(workload, statement):
        return _for_replicas(workload, whole, statement)
    if needs_more(workload).entries:
        return GrownSearch(workload, asked, whole, statement).run()
    gang, has = workload.demand.gang, workload.granted()
    assert gang is not None
    return _or_fewer(
        asked,
        lambda pods: _SurplusSearch(workload, pods, whole, statement),
        sized=lambda pods: gang.sized(pods, has),
    )


def claimable(workload: Workload, statement: Statement) -> Amounts:
    """The pods for which others may leave: those its minimum lacks, else surplus it is owed.

    Of a service all replicas that it lacks: how many is found out by the search.
    """
    if claims_replicas(workload, statement):
        return lacking_replicas(workload)
    lacks = needs_more(workload)
    if lacks.entries or not may_claim(workload):
        return lacks
    gang = workload.demand.gang
    assert gang is not None
    owed = owed_part(workload.queue, gang, workload.lacking(), statement.ledger)
    return gang.sized(owed, workload.granted())


def _or_fewer(
    pods: Amounts,
    search_for: Callable[[Amounts], Search],
    least: Amounts | None = None,
    sized: Callable[[Amounts], Amounts] = lambda pods: pods,
) -> RoomFound | Nothing:
    """The answer for those pods, or for fewer of them (`least`) where all find no room."""
    found: RoomFound | Nothing = Nothing(no_victims(), none=True)
    for _ in range(TRIES + 1):
        if not pods.entries or (least is not None and not pods.covers(least)):
            break
        search = search_for(pods)
        found = search.run()
        if isinstance(found, RoomFound):
            break
        pods = sized(search.fewer())
    return found


# --- growth and surplus of a gang ---------------------------------------------------------


class GrownSearch(Search):
    """The domain is known: the largest one around its pods that its constraint allows."""

    def __init__(
        self, workload: Workload, lacks: Amounts, whole: Whole, statement: Statement
    ) -> None:
        self._lacks = lacks
        super().__init__(workload, *whole(), statement)

    def needed(self, workload: Workload) -> Gang:
        """The pods that it lacks."""
        return growth_gang(workload, self._lacks)

    def ask(self) -> Offer | Refusal:
        """All of them beside those that it has."""
        return grow_whole(self._workload, self._statement, self._gang.minimum_amounts())

    def _spots(self) -> tuple[list[Spot], int]:
        decision, gang = self._workload.decision, self._workload.demand.gang
        assert decision is not None
        assert gang is not None
        grant = decision.grants[0]
        rooms = self._statement.rooms
        at, least = rooms.position[grant.cluster], self._gang.minimum_amounts()
        lacks_quota = not self.rights.has_quota(grant.cluster)
        if lacks_quota and rooms.grow(at, gang, least, grant, minimum=least):
            return [Spot(cluster=grant.cluster)], 1
        found, total = self.domains(self._gang)
        return [spot_at(place) for place in found], total

    def domains(self, gang: Gang, among: Mask | None = None) -> tuple[list[DomainRows], int]:
        """The domains around its pods that would hold this if all that may leave left."""
        del among  # its cluster is known
        decision = self._workload.decision
        assert decision is not None
        grant = decision.grants[0]
        allowed = np.array([p.cluster == grant.cluster for p in self.field.parts], dtype=np.bool_)
        found, _ = self.field.places(gang, self.may, allowed, _DOMAINS)
        rooms = self._statement.rooms
        capacity = rooms.rooms[rooms.position[grant.cluster]].cluster.capacity
        assert capacity is not None
        inside = _around(capacity.topology, grant.domain)
        around = [one for one in found if one.domain in inside]
        return around, len(around)


def _around(topology: Topology, domain: DomainId | None) -> set[DomainId | None]:
    """A domain, all above it, and the cluster."""
    above = {one.name: one.parent for one in topology.domains}
    found: set[DomainId | None] = {None}
    while domain is not None and domain not in found:
        found.add(domain)
        domain = above.get(domain)
    return found


class _SurplusRights(Rights):
    """Other queues only, and of these no gang without which they lack some of their deserved."""

    def holders(self, field: AllRows, gone: Mask) -> Mask:
        """Of those that may leave, what belongs to other queues."""
        others = np.array([queue != self.claimant.queue for queue in field.queues], dtype=np.bool_)
        found: Mask = super().holders(field, gone) & others[field.queue]
        return found

    def permits(self, unit: EvictionUnit) -> bool:
        """Pods can be counted out exactly; a gang of which one would be needed stays whole."""
        if unit.whole and not self._entitlement.keeps_deserved(
            unit.holder.workload.queue, unit.amount, self.claimant.queue, self.amount
        ):
            return False
        return super().permits(unit)


class _SurplusSearch(GrownSearch):
    rights_of = _SurplusRights


# --- replicas -----------------------------------------------------------------------------


def claims_replicas(workload: Workload, statement: Statement) -> bool:
    """Whether others may leave for its replicas: its policy allows them to be in one cluster."""
    demand = workload.demand
    if demand.gang is None or len(demand.gang.pod_sets) != 1:
        return False
    if demand.division == Division.DIVIDED:
        return minimum_clusters(demand.rule) <= 1
    if demand.division != Division.DUPLICATED or minimum_clusters(demand.rule) > 1:
        return False
    if maximum_clusters(demand.rule) == 1:
        return True
    selected = (one for one in statement.snapshot.clusters if selected_by_any(demand.rule, one))
    return len(list(islice(selected, 2))) == 1


def grew_lately(workload: Workload, statement: Statement) -> bool:
    """Whether it came by a claim within its hold: its growth claims nothing until that is over."""
    decision = workload.decision
    if decision is None or decision.claimed is None:
        return False
    until = Instant(decision.claimed + decision.hold(statement.policy.hold_seconds))
    return statement.now < until


def lacking_replicas(workload: Workload) -> Amounts:
    """The replicas that it asks for and has not."""
    gang = workload.demand.gang
    assert gang is not None
    return workload.lacking() if workload.targets else gang.all_amounts()


def _for_replicas(workload: Workload, whole: Whole, statement: Statement) -> RoomFound | Nothing:
    """What leaves for as many of the replicas that it lacks as are owed, else by priority."""
    gang, lacks = workload.demand.gang, lacking_replicas(workload)
    assert gang is not None
    # A cluster of a duplicated one gets all replicas at first: fewer would be none.
    every = workload.demand.division == Division.DUPLICATED and not workload.targets

    def find(pods: Amounts, rights: type[Rights]) -> RoomFound | Nothing:
        return _or_fewer(
            pods,
            lambda fewer: _ReplicaSearch(workload, fewer, rights, whole, statement),
            least=lacks if every else None,
        )

    owed = find(owed_part(workload.queue, gang, lacks, statement.ledger), Rights)
    if isinstance(owed, RoomFound):
        return owed
    own = find(lacks, _OwnQueue)
    return owed if isinstance(own, Nothing) and own.none else own


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
        whole: Whole,
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
