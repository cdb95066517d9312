"""The search for victims of a gang that runs: who leaves for more pods beside those that it has."""

import numpy as np

from global_sched.core.make_room.all_rows import DomainRows, Mask
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.search import Search
from global_sched.core.make_room.spots import Spot, spot_at
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.one_cluster import grow_whole
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.growth import growth_gang
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.workload import Workload

_DOMAINS = 256
"""So many domains of its cluster are compared with the one that it has to stay in."""


class GrownSearch(Search):
    """The domain is known: the largest one around its pods that its constraint allows."""

    def __init__(
        self, workload: Workload, lacks: Amounts, claims: Claims, statement: Statement
    ) -> None:
        self._lacks = lacks
        super().__init__(workload, *claims.whole(), statement)

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

    def domains(self, gang: Gang, among: Mask | None = None) -> tuple[list[DomainRows], int]:  # noqa: ARG002 - all of its cluster
        """The domains around its pods that would hold this if all that may leave left."""
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
