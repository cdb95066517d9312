"""Gangs that hold the room that a workload waits for: since when, until when where known.

Of the clusters that it may use those gangs whose pods use what it asks for, the ones that end first
before the others. A job is named only to its own namespace.
"""

from collections.abc import Iterator

from global_sched.core.cycle import Cycle
from global_sched.core.explain.remedy_text import name_for
from global_sched.core.make_room.patience import HEALED
from global_sched.core.make_room.reservation import NEVER, ends_at
from global_sched.shared.model.explanation import RoomHolder
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Workload

MOST = 8
"""So many gangs are named."""


def occupants_of(workload: Workload, verdict: Verdict, cycle: Cycle) -> tuple[RoomHolder, ...]:
    """The gangs that hold the room, those that end first before the others.

    None where it is not room that is lacking.
    """
    healed = verdict.reason in HEALED and verdict.code != Code.NEVER
    if not healed or workload.demand.gang is None:
        return ()
    ranked = sorted(_found(workload, cycle), key=lambda one: one[0])
    return tuple(one for _, one in ranked[:MOST])


def _found(
    workload: Workload, cycle: Cycle
) -> Iterator[tuple[tuple[int, int, int, str], RoomHolder]]:
    """Each with what it is ranked by."""
    gang, statement = workload.demand.gang, cycle.statement
    assert gang is not None
    asked = {
        name for one in gang.pod_sets for name, _ in one.shape.requests.entries if name != PODS
    }
    scarce = {name for name in asked if "/" in name} or asked
    allowed, position = statement.standings.case(workload).allowed, statement.rooms.position
    for holder in cycle.claims.whole()[0].holders:
        one, grant = holder.workload, holder.grant
        at = position.get(grant.cluster)
        held = Resources.of({n: a for n, a in holder.amount.entries if n in asked})
        uses = any(held.get(name) for name in scarce)
        if one.key == workload.key or at is None or not uses:
            continue
        if not allowed[at] and not any(one.cluster == grant.cluster for one in workload.targets):
            continue
        end, decision = ends_at(one), one.decision
        found = RoomHolder(
            cluster=grant.cluster,
            domain=grant.domain,
            queue=one.queue,
            priority=one.priority,
            pods=grant.amounts.pods(),
            amount=held,
            since=None if decision is None else decision.at,
            until=None if end == NEVER else end,
            workload=name_for(one, workload),
        )
        yield (end, one.priority, -grant.amounts.pods(), one.key), found
