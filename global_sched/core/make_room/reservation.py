"""No starvation: a gang that waited long enough gets a domain that drains for it.

Nothing is evicted. The domain is the one where the gang can start first by the run-time limits of
what runs there, or else the one that lacks least. While it drains, another workload goes there only
when its own limit says that it ends before that start; without limits nothing goes there. A
domain that drains for another one already is chosen only where there is no other.
At most one gang of a queue has a reservation, and at most `Policy.reservations` in the federation.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, DomainRows, minimum_by_shape
from global_sched.core.make_room.evictions import write_claim
from global_sched.core.make_room.holds import Held, below
from global_sched.core.make_room.occupancy import freed_by
from global_sched.core.statement import Statement
from global_sched.shared.model.decision import Claim, ClaimPart
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import BindingId, ClusterName, DomainId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.topology import Leaf
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import node_class_admits

PLACES = 8
"""So many domains are compared by when they can start the gang."""
NEVER = Instant(2**62)


def is_patient(workload: Workload, statement: Statement) -> bool:
    """Whether it has waited long enough for a reservation."""
    patience = statement.policy.patience_seconds
    return patience > 0 and statement.now >= workload.created + patience * SECOND


def reserve(
    workload: Workload, field: AllRows, statement: Statement, *, others: Sequence[Held]
) -> Workload | None:
    """Plan a reservation; the workload with it, or None where no domain would hold it drained.

    `others` are the reservations that stand: of two in one domain only the first would come in.
    """
    gang = workload.demand.gang
    assert gang is not None
    case = statement.standings.case(workload)
    names = [room.cluster.name for room in statement.rooms.rooms]
    usable = {name for name, ok in zip(names, case.allowed.tolist(), strict=True) if ok}
    allowed = np.array([part.cluster in usable for part in field.parts], dtype=np.bool_)
    found: list[tuple[bool, Instant, int, DomainRows]] = []
    for number, place in enumerate(field.drained(gang, allowed, PLACES)):
        start = start_in(gang, place.occupancy.cluster, place.domain, statement)
        found.append((_drains(place, others, statement), start, number, place))
    if not found:
        return None
    _, start, _, place = min(found, key=lambda one: one[:3])
    wait = statement.policy.patience_seconds * SECOND
    until = statement.now + wait if start == NEVER else start + _grace(statement)
    tier = place.occupancy.index.tier[place.position]
    claim = Claim(
        parts=(
            ClaimPart(
                cluster=place.occupancy.cluster,
                amounts=gang.minimum_amounts(),
                domain=place.domain,
                tier=tier if place.domain is not None else None,
            ),
        ),
        since=statement.now,
        until=Instant(max(until, statement.now + _grace(statement))),
    )
    return write_claim(workload, claim, statement)


def _drains(place: DomainRows, others: Iterable[Held], statement: Statement) -> bool:
    """Whether the domain, a part of it or one around it drains for another gang already."""
    cluster = place.occupancy.cluster
    domains = [
        part.domain for held in others for part in held.claim.parts if part.cluster == cluster
    ]
    capacity = statement.rooms.rooms[statement.rooms.position[cluster]].cluster.capacity
    assert capacity is not None
    under = below(capacity.topology, place.domain)
    around = [below(capacity.topology, one) for one in domains]
    return any(
        under is None or names is None or one in under or place.domain in names
        for one, names in zip(domains, around, strict=True)
    )


def _grace(statement: Statement) -> int:
    return statement.policy.hold_seconds * SECOND


def start_in(
    gang: Gang, cluster: ClusterName, domain: DomainId | None, statement: Statement
) -> Instant:
    """When the domain holds the gang, by the run-time limits of what runs there; NEVER: unknown."""
    at = statement.rooms.position.get(cluster)
    capacity = None if at is None else statement.rooms.rooms[at].cluster.capacity
    if capacity is None:
        return NEVER
    under = below(capacity.topology, domain)
    leaves = [leaf for leaf in capacity.topology.leaves if under is None or leaf.domain in under]
    ends = _ends(cluster, leaves, statement)
    gone: set[BindingId] = set()
    gangs = {one.binding_id: one.demand.gang for _, one in ends if one.demand.gang is not None}
    wants = minimum_by_shape(gang)
    start = statement.now
    for end, workload in [(statement.now, None), *ends]:
        if end == NEVER:
            return NEVER
        start = max(start, end)
        if workload is not None:
            gone.add(workload.binding_id)
        freed = freed_by(leaves, dict.fromkeys(gone), gangs)
        has = {
            shape: sum(
                _cap(shape, leaf, capacity.topology.axis, dict(freed[leaf.occupants].entries))
                if leaf.occupants in freed
                else _cap(shape, leaf, capacity.topology.axis, {})
                for leaf in leaves
            )
            for shape in wants
        }
        if all(has[shape] >= pods for shape, pods in wants.items()):
            return start
    return NEVER


def _ends(
    cluster: ClusterName, leaves: Iterable[Leaf], statement: Statement
) -> list[tuple[Instant, Workload]]:
    """The gangs on these nodes by when they end at the latest."""
    there = {occupant.binding for leaf in leaves for occupant in leaf.occupants}
    found: list[tuple[Instant, Workload]] = []
    for running in statement.snapshot.running:
        if running.cluster != cluster:
            continue
        found += [(ends_at(one), one) for one in running.workloads if one.binding_id in there]
    return sorted(found, key=lambda item: (item[0], item[1].key))


def ends_at(workload: Workload) -> Instant:
    """When it ends at the latest, by its limit; NEVER without one."""
    if workload.run_limit is None or workload.decision is None:
        return NEVER
    return Instant(workload.decision.at + workload.run_limit * SECOND)


def _cap(shape: PodShape, leaf: Leaf, axis: tuple[str, ...], more: dict[str, int]) -> int:
    if not node_class_admits(leaf.node_class, shape):
        return 0
    free = {name: has + more.get(name, 0) for name, has in zip(axis, leaf.free, strict=True)}
    cap = min(free.get(name, 0) // amount for name, amount in shape.requests)
    return min(cap, 1 if shape.anti_affine else cap) * leaf.count


def start_of(held: Held, statement: Statement) -> Instant:
    """When the gang of a reservation can start; NEVER when that is not known, or for a wave."""
    gang = held.workload.demand.gang
    if held.claim.victims or gang is None:
        return NEVER
    return start_in(gang, held.claim.first.cluster, held.claim.first.domain, statement)
