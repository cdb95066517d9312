"""Claims that still count: their workload may be admitted, and will be in time."""

from dataclasses import replace

from global_sched.core.quota.limits import over
from global_sched.core.statement import Statement
from global_sched.shared.model.decision import Claim
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload


def live(workload: Workload, statement: Statement) -> Claim | None:
    """The workload's claim where it still counts: it may be admitted, and will be in time.

    Others left for it already, so one that asks for less by now claims that much: without a claim
    they would come back to its room, and a victim would have to leave a second time. One that still
    leaves a cluster goes nowhere yet, and its claim stands: that is how a gang moves.
    """
    claim = None if workload.decision is None else workload.decision.claim
    gang = workload.demand.gang
    if claim is None or gang is None or claim.until <= statement.now:
        return None
    policy = statement.policy
    longest = policy.hold_seconds + policy.checkpoint_grace_limit_seconds
    if claim.victims and claim.until > statement.now + longest * SECOND:
        return None  # no wave lasts longer: the Policy has changed, or another writer made it
    if not set(claim.clusters) <= set(statement.rooms.position):
        return None
    ledger, left = statement.ledger, workload.lacking() if workload.targets else gang.all_amounts()
    if ledger.gates.once_it_left(workload) is not None:
        return None
    parts = []
    for part in claim.parts:
        amounts = part.amounts.within(left)
        left = left.minus(amounts)
        bounds = ledger.bounds(workload.queue, workload.tenant, part.cluster)
        refused = over(bounds, gang.requests(amounts))
        if refused is not None and refused.code == Code.NEVER:
            return None
        if amounts.entries:
            parts.append(replace(part, amounts=amounts))
    if tuple(parts) != claim.parts and not (claim.victims and parts):
        return None
    return replace(claim, parts=tuple(parts))
