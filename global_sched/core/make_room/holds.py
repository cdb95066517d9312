"""Room kept for a workload that waits: taken from all others, given back in its turn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from global_sched.core.make_room.occupancy import freed_by
from global_sched.core.statement import Statement
from global_sched.shared.model.decision import Claim, ClaimPart
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId, ClusterName, DomainId
from global_sched.shared.model.last_resort import counting_all
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.topology import Leaf, Occupant, Topology
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import Placed, Space, node_class_admits


@dataclass(frozen=True, slots=True)
class HeldPart:
    """What one part of a claim holds in a statement."""

    cluster: ClusterName
    at: int
    """The cluster's position in the rooms."""
    taken: tuple[tuple[Placed, Resources], ...]
    amount: Resources
    """Of its queue and tenant: charged where others leave for it, else set aside."""
    leaving: bool = False
    """Whether nodes of its domain still have pods of the victims."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a claim holds in a statement."""

    workload: Workload
    claim: Claim
    parts: tuple[HeldPart, ...]

    @property
    def waves(self) -> bool:
        """Whether others leave for it; else it is a reservation."""
        return bool(self.claim.victims)

    @property
    def amount(self) -> Resources:
        """Of its queue and tenant, all parts together."""
        return Resources.total(part.amount for part in self.parts)

    def outgrown(self) -> bool:
        """Whether all have left whom it made leave, and it needs more than that by now."""
        gang = self.workload.demand.gang
        if gang is None or not self.waves or any(part.leaving for part in self.parts):
            return False
        return not self.claim.amounts.covers(gang.minimum_amounts())


def hold(workload: Workload, claim: Claim, statement: Statement, *, fresh: bool = False) -> Held:
    """Keep its room and quota from now on, part by part.

    Where others leave for it, its queue and tenant are charged as if it ran; a reservation is set
    aside, since what only waits holds nothing that others could take back. `fresh`: the claim is of
    this cycle, so that the snapshot still shows the victims as they were.
    """
    parts = [_hold(workload, claim, part, statement, fresh=fresh) for part in claim.parts]
    return Held(workload, claim, tuple(parts))


def _hold(
    workload: Workload, claim: Claim, part: ClaimPart, statement: Statement, *, fresh: bool
) -> HeldPart:
    """Keep the room and quota of one part.

    A wave: the nodes of the domain that still have pods of a victim take nothing, and what of the
    gang will not be on those is kept elsewhere in the domain, as much as fits. A reservation:
    nothing goes into the domain; without one, room is kept as it comes free.
    """
    gang = workload.demand.gang
    assert gang is not None
    at = statement.rooms.position[part.cluster]
    rest = part.amounts
    shut: Mapping[tuple[Occupant, ...], Resources] = {}
    if claim.victims:
        shut, there = _leaving(claim, part, gang, statement, fresh=fresh)
        rest = rest.minus(there)
    taken = []
    if shut or (part.domain is not None and not claim.victims):
        domain = None if claim.victims else part.domain
        placed = statement.rooms.rooms[at].space.all_free(occupants=tuple(shut), domain=domain)
        taken.append((placed, _sum(placed)))
        statement.rooms.take(at, *taken[-1])
    if rest.entries and (claim.victims or part.domain is None):
        kept = _keep(workload, part, rest, statement)
        if kept is not None:
            taken.append((kept, gang.requests(kept.amounts)))
            statement.rooms.take(at, *taken[-1])
    amount = gang.requests(part.amounts)
    if claim.victims:
        statement.charge(workload, part.cluster, amount)
    else:
        statement.set_aside(workload, part.cluster, amount)
    return HeldPart(part.cluster, at, tuple(taken), amount, bool(claim.victims and shut))


def _keep(
    workload: Workload, part: ClaimPart, amounts: Amounts, statement: Statement
) -> Placed | None:
    """Room for as many of these pods as its domain has: beyond it is in the way of others."""
    gang, decision = workload.demand.gang, workload.decision
    assert gang is not None
    grant = None if decision is None else decision.grant(part.cluster)
    at = statement.rooms.position[part.cluster]
    space = statement.rooms.rooms[at].space
    statement.rooms.field.touched(at)
    mark = space.mark()
    space.take(space.all_free(beyond=part.domain))
    most, pods = None, 0
    for one in (gang, counting_all(gang)) if statement.rooms.last_resort else (gang,):
        found = space.place(
            one,
            amounts=amounts,
            minimum=Amounts(),
            prefer=part.domain,
            bound=() if grant is None else (grant.domain,),
        )
        if isinstance(found, Placed) and found.amounts.pods() > pods:
            most, pods = found, found.amounts.pods()
    space.rollback(mark)
    return most


def give_back(held: Held, statement: Statement) -> None:
    """The claimant's own turn: nothing is kept from it."""
    for part in reversed(held.parts):
        for placed, amount in reversed(part.taken):
            statement.make_room(part.at, partial(_give_back, placed), amount)
        if held.waves:
            statement.release(held.workload, part.cluster, part.amount)
        else:
            statement.set_aside(held.workload, part.cluster, part.amount, -1)


def _give_back(placed: Placed, space: Space) -> None:
    space.give_back(placed)


def _sum(placed: Placed) -> Resources:
    return Resources.total(take.requests.times(take.nodes) for take in placed.takes)


def _leaving(
    claim: Claim, part: ClaimPart, gang: Gang, statement: Statement, *, fresh: bool
) -> tuple[Mapping[tuple[Occupant, ...], Resources], Amounts]:
    """What nodes with pods of victims get back, by occupants; and what of the gang goes there."""
    room = statement.rooms.rooms[statement.rooms.position[part.cluster]]
    if room.cluster.capacity is None:
        return {}, Amounts()
    topology = room.cluster.capacity.topology
    leaving, gangs = leavers(claim, part.cluster, statement.snapshot, fresh=fresh)
    inside = below(topology, part.domain)
    leaves = [
        leaf
        for leaf in topology.leaves
        if leaf.occupants and (inside is None or leaf.domain in inside)
    ]
    freed = freed_by(leaves, leaving, gangs)
    # Others may have taken of these nodes in this cycle.
    now = [leaf for leaf in room.space.nodes_of(freed) if inside is None or leaf.domain in inside]
    return freed, _fits(gang, part.amounts, now, topology.axis, freed)


def leavers(
    claim: Claim, cluster: ClusterName, snapshot: Snapshot, *, fresh: bool
) -> tuple[dict[BindingId, Amounts | None], dict[BindingId, Gang]]:
    """What still has to leave one cluster: None for all pods, else so many; their gangs."""
    victims = {one.binding: one for one in claim.victims if claim.leaves(one) == cluster}
    known = dict(_known(snapshot, victims))
    leaving: dict[BindingId, Amounts | None] = {}
    for binding, victim in victims.items():
        one = known.get(binding)
        if one is None or (victim.whole and not _came_back(one, claim, cluster)):
            leaving[binding] = None
            continue
        if fresh:
            leaving[binding] = victim.amounts
            continue
        progress = one.progress_in(cluster)
        grant = one.decision.grant(cluster) if one.decision is not None else None
        if progress is not None and grant is not None:
            leaving[binding] = progress.bound.minus(grant.amounts)
    return leaving, {b: g for b, one in known.items() if (g := one.demand.gang) is not None}


def _came_back(victim: Workload, claim: Claim, cluster: ClusterName) -> bool:
    """Whether it was admitted anew to the cluster since its eviction."""
    decision = victim.decision
    if decision is None or decision.at <= claim.since:
        return False
    return decision.grant(cluster) is not None


def _known(
    snapshot: Snapshot, victims: Mapping[BindingId, object]
) -> Iterable[tuple[BindingId, Workload]]:
    """The victims as they are now: pending again, or running with less."""
    for bucket in snapshot.pending:
        for one in bucket.workloads:
            if one.binding_id in victims:
                yield one.binding_id, one
    for running in snapshot.running:
        for one in running.workloads:
            if one.binding_id in victims:
                yield one.binding_id, one


def below(topology: Topology, domain: DomainId | None) -> set[DomainId | None] | None:
    """The domains under one, itself included; None: everything."""
    if domain is None:
        return None
    found: set[DomainId | None] = {domain}
    for one in sorted(topology.domains, key=lambda d: -d.tier):
        if one.parent in found:
            found.add(one.name)
    return found


def _fits(
    gang: Gang,
    amounts: Amounts,
    leaves: Iterable[Leaf],
    axis: tuple[str, ...],
    freed: Mapping[tuple[Occupant, ...], Resources],
) -> Amounts:
    """How many of these pods the nodes that victims leave hold then, filled pod set by pod set."""
    left = dict(amounts.entries)
    for leaf in leaves:
        more = freed[leaf.occupants]
        free = {name: has + more.get(name) for name, has in zip(axis, leaf.free, strict=True)}
        for pod_set in gang.pod_sets:
            if not left.get(pod_set.name) or not node_class_admits(leaf.node_class, pod_set.shape):
                continue
            asked = pod_set.shape.requests
            cap = min(free.get(name, 0) // amount for name, amount in asked)
            cap = min(cap, 1 if pod_set.shape.anti_affine else cap, left[pod_set.name])
            pods = min(cap * leaf.count, left[pod_set.name])
            left[pod_set.name] -= pods
            for name, amount in asked:
                free[name] -= amount * min(cap, pods)
    return amounts.minus(Amounts.of(left))
