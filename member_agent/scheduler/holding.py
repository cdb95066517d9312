"""Room that is kept for workloads which are not admitted yet. Pure.

With victims it is a wave: their nodes take nobody else until they are gone, and what is free
already is kept. Without any it is a reservation: the domain drains, and only who was there before
may start there, or who is sent there on purpose.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.model.instant import Instant
from member_agent.cache import Directed, Unit
from member_agent.scheduler.giving import pods_to_give_up

Entries = Mapping[BindingId, Directed]
LiesIn = Callable[[DomainId | None, DomainId | None], bool]
"""Whether the first domain is the second or within it; None is the whole cluster."""


def holds_of(entries: Iterable[Directed], now: Instant) -> list[Directed]:
    """The entries that keep room, in the order of the decisions, as if they were admitted.

    An entry that says what is admitted keeps nothing more; past `held_until` it keeps nothing.
    """
    return [
        replace(entry, admitted=entry.held, domain=entry.held_domain)
        for entry in sorted(entries, key=lambda entry: entry.turn)
        if entry.held.entries and not entry.admitted.entries and entry.held_until > now
    ]


def closed_nodes(
    holds: Iterable[Directed], entries: Entries, by_binding: Mapping[BindingId, Sequence[Unit]]
) -> frozenset[str]:
    """Nodes that take no pod now: one is leaving there for a claim.

    All pods of a binding without an entry leave; of one that gives up surplus only those.
    """
    closed: set[str] = set()
    for binding in sorted({one for hold in holds for one in hold.leaving}):
        entry, units = entries.get(binding), by_binding.get(binding, ())
        stays = entry is not None and bool(entry.admitted.entries)
        given = pods_to_give_up(entry, units) if entry is not None else ()
        going = {pod.uid for giving in given for pod in giving.pods}
        closed.update(
            pod.node
            for unit in units
            for pod in unit.placed
            if pod.node and (not stays or pod.deleting or pod.uid in going)
        )
    return frozenset(closed)


def draining_for(
    holds: Iterable[Directed], entry: Directed | None, lies_in: LiesIn
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
