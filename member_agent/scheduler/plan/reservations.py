"""Capacity that is reserved for workloads which are not admitted yet. Pure.

With victims it is a wave: their nodes take no other pod until they are gone, and what is free
already is kept. Without any it is a reservation: the domain drains, and only who was there before
may start there, or who is sent there on purpose.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.model.instant import Instant
from global_sched.shared.placement import node_class_admits
from member_agent.cache import ClusterCache, ManagedWorkload, PodRecord, PodUnit
from member_agent.scheduler.gang.demand import RemainingDemand
from member_agent.scheduler.plan.surplus_release import surplus_evictions

Entries = Mapping[BindingId, ManagedWorkload]
Turn = tuple[Instant, int, BindingId]
LiesIn = Callable[[DomainId | None, DomainId | None], bool]
"""Whether the first domain is the second or within it; None is the whole cluster."""


def holds_of(entries: Iterable[ManagedWorkload], now: Instant) -> list[ManagedWorkload]:
    """The entries that keep room, in the order of the decisions, as if they were admitted.

    An entry that says what is admitted keeps nothing more; past `held_until` it keeps nothing.
    """
    return [
        replace(entry, admitted=entry.held, domain=entry.held_domain)
        for entry in sorted(entries, key=lambda entry: entry.turn)
        if entry.held.entries and not entry.admitted.entries and entry.held_until > now
    ]


def leaving_pods(
    hold: ManagedWorkload, entries: Entries, by_binding: Mapping[BindingId, Sequence[PodUnit]]
) -> Iterator[PodRecord]:
    """The pods on nodes here that are leaving for a claim.

    All pods of a binding without an entry leave; of one that gives up surplus only those.
    """
    for binding in hold.leaving:
        entry, units = entries.get(binding), by_binding.get(binding, ())
        stays = entry is not None and bool(entry.admitted.entries)
        given = surplus_evictions(entry, units) if entry is not None else ()
        going = {pod.uid for giving in given for pod in giving.pods}
        for pod in (pod for unit in units for pod in unit.placed):
            if pod.node and (not stays or pod.deleting or pod.uid in going):
                yield pod


def vacating_nodes(
    holds: Iterable[ManagedWorkload],
    entries: Entries,
    by_binding: Mapping[BindingId, Sequence[PodUnit]],
    nodes_in: Callable[[frozenset[DomainId | None]], frozenset[str]],
) -> Mapping[str, Turn]:
    """Nodes on which a pod is leaving for a claim, with the turn from which they take no pod.

    What victims leave outside of the claim's domain is not for the claimant.
    """
    closed: dict[str, Turn] = {}
    for hold in holds:
        inside = nodes_in(frozenset({hold.domain})) if hold.leaving else frozenset[str]()
        for pod in leaving_pods(hold, entries, by_binding):
            if pod.node in inside:
                closed[pod.node] = min(hold.turn, closed.get(pod.node, hold.turn))
    return closed


def kept_elsewhere(
    cache: ClusterCache,
    demand: RemainingDemand,
    leaving: Iterable[PodRecord],
    free: Mapping[str, Mapping[str, int]],
) -> Amounts:
    """By part the places to keep now: all but those that nodes have once these pods left.

    `free`: what is free now on the nodes that count. The leader counts the same: what it does not
    keep elsewhere it gives to others at once.
    """
    left = {part.name: part.count for part in demand.parts}
    rooms: dict[str, dict[str, int]] = {}
    for pod in leaving:
        if pod.node in free:
            there = rooms.setdefault(pod.node, dict(free[pod.node]))
            for name, amount in pod.shape.requests:
                there[name] = there.get(name, 0) + amount
    for node, room in sorted(rooms.items()):
        for part in demand.parts:
            if not node_class_admits(cache.nodes[node].node_class, part.shape):
                continue
            asked = part.shape.requests
            cap = min(room.get(name, 0) // amount for name, amount in asked)
            pods = min(left[part.name], max(0, min(cap, 1) if part.shape.anti_affine else cap))
            left[part.name] -= pods
            for name, amount in asked:
                room[name] = room.get(name, 0) - amount * pods
    return Amounts.of(left)


def draining_for(
    holds: Iterable[ManagedWorkload], entry: ManagedWorkload | None, lies_in: LiesIn
) -> frozenset[DomainId | None]:
    """Draining domains in which a workload may not start; without an entry all of them.

    What was admitted before the domain began to drain, or is sent into it, may.
    None stands for the whole cluster.
    """
    return frozenset(
        hold.domain
        for hold in holds
        if not hold.leaving
        and (entry is None or (hold.turn < entry.turn and not lies_in(entry.domain, hold.domain)))
    )
