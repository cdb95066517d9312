"""Room that is kept from a workload, for people: how much, for whom, and why it may not pass by."""

from global_sched.core.cycle import Cycle
from global_sched.core.make_room.claim_text import claim_place
from global_sched.core.make_room.holds import Held
from global_sched.core.make_room.patience import HEALED
from global_sched.core.make_room.reservation import NEVER, start_of
from global_sched.core.statement import Statement
from global_sched.core.waiting import claimants
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload


def kept_from(workload: Workload, verdict: Verdict, cycle: Cycle) -> tuple[str, ...]:
    """A sentence for all that is kept in clusters that it may use; none where room is no matter."""
    statement, gang = cycle.statement, workload.demand.gang
    if verdict.reason not in HEALED or gang is None:
        return ()
    allowed = statement.standings.case(workload).allowed
    found = []
    for one in claimants(statement.snapshot):
        held = cycle.claims.kept_for(one.key)
        if (
            held is not None
            and one.key != workload.key
            and any(allowed[part.at] for part in held.parts)
        ):
            found.append(_kept(held) + ("" if held.waves else _past(workload, held, statement)))
    return tuple(found)


def _kept(held: Held) -> str:
    claim = held.claim
    where = claim_place(claim)
    for_whom = f"a gang of queue {held.workload.queue} ({counted(claim.amounts.pods(), 'pod')})"
    if held.waves:
        return f"room in {where} for {for_whom}, for which victims were evicted"
    return f"{where} drains for {for_whom}, which waited longer than its patience"


def _past(workload: Workload, held: Held, statement: Statement) -> str:
    """Why it may not run there until the gang starts."""
    start = start_of(held, statement)
    if start == NEVER:
        return (
            "; no other job may be placed there before it, since not all that runs there has a "
            "run-time limit"
        )
    when = f"; that starts at {format_instant(start)} at the latest"
    if workload.run_limit is None:
        return f"{when}, and this job has no run-time limit"
    end = Instant(statement.now + workload.run_limit * SECOND)
    if end > start:
        return f"{when}, and this job may run until {format_instant(end)}"
    return f"{when}, and there is no room for this job before that either"
