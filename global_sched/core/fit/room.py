"""One cluster's room: as placement sees it, and how much is free in all."""

from collections.abc import Callable

from global_sched.core.fit.fills import Free
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, NodeClass, Topology
from global_sched.shared.model.verdict import ClusterVerdict, Verdict
from global_sched.shared.placement import ClusterSet, Space


class Room:
    """One cluster, by its position in the field."""

    def __init__(
        self, cluster: Cluster, at: int, field: ClusterSet, free: Callable[[], Free]
    ) -> None:
        self.cluster = cluster
        self.total = cluster.capacity.total if cluster.capacity is not None else Resources()
        self._at, self._field, self._free = at, field, free
        self._refusals: dict[int, ClusterVerdict] = {}
        """By identity of the verdict, which they keep alive."""

    @property
    def space(self) -> Space:
        """The placement engine's view, made when first asked."""
        return self._field.space(self._at)

    @property
    def free(self) -> dict[str, int]:
        """Free amounts in the whole cluster, for scores."""
        return self._free().of(self._at)

    def refusal(self, verdict: Verdict) -> ClusterVerdict:
        """The verdict as this cluster's: one object for all that are refused with the same one."""
        found = self._refusals.get(id(verdict))
        if found is None:
            found = ClusterVerdict(cluster=self.cluster.name, verdict=verdict)
            self._refusals[id(verdict)] = found
        return found


def topology_of(cluster: Cluster) -> Topology:
    """What is reported, or Karmada's summary as one big node where there is no report."""
    if cluster.capacity is not None:
        return cluster.capacity.topology
    summary = cluster.summary or Resources()
    leaf = Leaf(
        domain=None,
        node_class=NodeClass(),
        free=tuple(amount for _, amount in summary.entries),
        count=1,
    )
    return Topology(axis=summary.names(), leaves=(leaf,), label_keys=())
