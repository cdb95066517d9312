"""Room in trials, in which some have left."""

from collections.abc import Iterable, Mapping
from functools import partial

from global_sched.core.make_room.all_rows import AllRows
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.occupancy import freed_by
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName, QueueName, TenantName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Occupant
from global_sched.shared.placement import Space


def release_all(units: Iterable[EvictionUnit], statement: Statement) -> None:
    """Their amounts are held no more; those of one tenant in a queue and cluster together."""
    found: dict[tuple[QueueName, TenantName, ClusterName], list[EvictionUnit]] = {}
    for unit in units:
        one = unit.holder.workload
        found.setdefault((one.queue, one.tenant, unit.cluster), []).append(unit)
    for (_, _, cluster), those in found.items():
        amount = Resources.total(unit.amount for unit in those)
        statement.release(those[0].holder.workload, cluster, amount)


def vacate(units: Iterable[EvictionUnit], field: AllRows, statement: Statement) -> None:
    """Give the room of these units back, for a trial."""
    for cluster, those in by_cluster(units).items():
        part = next(one for one in field.parts if one.cluster == cluster)
        rows = dict.fromkeys(row for unit in those for row in unit.holder.rows)
        gangs = {
            unit.holder.workload.binding_id: gang
            for unit in those
            if (gang := unit.holder.workload.demand.gang) is not None
        }
        freed = freed_by((part.leaves[row] for row in rows), leaving_of(those), gangs)
        amount = Resources.total(unit.amount for unit in those)
        at = statement.rooms.position[cluster]
        statement.make_room(at, partial(_vacate, freed), amount)


def _vacate(freed: Mapping[tuple[Occupant, ...], Resources], space: Space) -> None:
    space.vacate(freed)


def leaving_of(units: Iterable[EvictionUnit]) -> dict[BindingId, Amounts | None]:
    """Per binding how many of its surplus pods leave; None for all of its pods. Of one cluster."""
    found: dict[BindingId, Amounts | None] = {}
    for unit in units:
        binding = unit.holder.workload.binding_id
        before = found.get(binding, Amounts())
        if unit.pod_set is None or before is None:
            found[binding] = None
        else:
            found[binding] = before.plus(Amounts.of({unit.pod_set: unit.pods}))
    return found


def by_cluster(units: Iterable[EvictionUnit]) -> dict[ClusterName, list[EvictionUnit]]:
    """The units of each cluster."""
    found: dict[ClusterName, list[EvictionUnit]] = {}
    for unit in units:
        found.setdefault(unit.cluster, []).append(unit)
    return found
