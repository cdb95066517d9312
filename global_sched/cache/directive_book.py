"""Which members have to be told anew, and what: the Directives of the world as it stands."""

from global_sched.cache.directives import directive_specs
from global_sched.cache.world import World
from global_sched.shared.api.federation import DirectiveSpec
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.topology import Wanted


class DirectiveBook:
    """What every member was told last: label keys, epoch, mix, and that it is there at all."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._told: tuple[tuple[str, ...], int] = ((), -1)
        self._directed: frozenset[ClusterName] = frozenset()
        self._demands: dict[ClusterName, tuple[Wanted, ...]] = {}

    def changes(self, label_keys_limit: int, epoch: int) -> frozenset[ClusterName]:
        """Members whose Directive may differ from what it was at the last call."""
        clusters = frozenset(self._world.clusters())
        holders = self._world.ledger.changed_holders
        changed = frozenset(holders) & clusters
        holders.clear()
        told = (self._world.demands.label_keys(label_keys_limit), epoch)
        if told != self._told:
            changed = clusters
        changed |= clusters - self._directed
        demands = {cluster: self._world.demand_in(cluster) for cluster in clusters}
        before = self._demands
        changed |= {name for name, mix in demands.items() if mix != before.get(name, ())}
        self._demands = demands
        self._told, self._directed = told, clusters
        return changed

    def specs(self, cluster: ClusterName) -> tuple[DirectiveSpec, ...]:
        """The Directive of one member as it should be; nothing for a cluster that is gone."""
        if cluster not in self._directed:
            return ()
        ledger = self._world.ledger
        return directive_specs(
            cluster,
            tuple(ledger.holders.get(cluster, {}).values()),
            tuple(ledger.claimants.get(cluster, {}).values()),
            tuple(ledger.leavers.get(cluster, {}).values()),
            label_keys=self._told[0],
            epoch=self._told[1],
            demand=self._demands.get(cluster, ()),
        )
