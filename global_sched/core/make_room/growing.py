"""Growth of what runs, as a claimant: others leave for pods that it lacks.

Growth after admission is a new request; which pods others leave for stands in `kinds`. The proof is
that those pods fit beside the ones that it has, under its constraint. The claim stands beside the
grants in the decision annotation.
"""

from dataclasses import replace

from global_sched.core.make_room.annotations import write_annotation
from global_sched.core.make_room.claim_text import told
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.evictions import claim_of, evict
from global_sched.core.make_room.holds import Held, give_back
from global_sched.core.make_room.kinds import claimable, claims_replicas, for_growth, grew_lately
from global_sched.core.make_room.patience import HEALED
from global_sched.core.make_room.search import Nothing
from global_sched.core.place.admission import try_growth
from global_sched.core.statement import Statement
from global_sched.core.upkeep.running import Keeping, conclude, say
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Backoff, Decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import may_claim, needs_more
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Workload

ENDED_BY_LEAVING = HEALED | {Reason.GROWTH_PENDING}
"""Refusals of growth that end when others leave."""


def consider_growing(keeping: Keeping, position: int, claims: Claims, statement: Statement) -> None:
    """Give an admitted workload more, make room for it, or say what it waits for."""
    held = claims.kept_for(keeping.now.key)
    if held is not None:
        _continue(keeping, position, held, claims, statement)
        return
    workload = keeping.now
    why = try_growth(workload, position, statement)
    if why is None:
        return
    decision = workload.decision
    assert decision is not None
    if decision.claim is not None:
        _drop(workload, decision, statement)
        say(keeping, statement, why)
        return
    instead = _claim(keeping, why, claims, statement)
    if instead is None:
        conclude(keeping, statement, why)
    else:
        say(keeping, statement, instead)


def _continue(
    keeping: Keeping, position: int, held: Held, claims: Claims, statement: Statement
) -> None:
    """Its turn while room is being made: all of what the claim is for, or nothing yet."""
    mark = statement.mark()
    give_back(held, statement)
    why = try_growth(keeping.now, position, statement, held.claim.amounts)
    if why is None:
        statement.commit()
        claims.end(keeping.now.key)
        return
    statement.rollback(mark)
    conclude(keeping, statement, told(held, why))


def _claim(keeping: Keeping, why: Verdict, claims: Claims, statement: Statement) -> Verdict | None:
    """What it waits for when victims leave for it; None when there are none."""
    workload, decision = keeping.now, keeping.now.decision
    assert decision is not None
    if why.code != Code.NO_FIT or why.reason not in ENDED_BY_LEAVING:
        return None
    replicas = claims_replicas(workload, statement)
    if grew_lately(workload, statement) if replicas else not may_claim(workload):
        return None
    # What else has to be written about it goes first.
    unsaid = keeping.before.decision != decision or decision.pending != workload.lacking()
    if unsaid or keeping.before.forged or keeping.before.shrunk or not workload.placement_applied:
        return None
    asked = claimable(workload, statement)
    surplus = not replicas and not needs_more(workload).entries
    if not asked.entries or not claims.may_leave_for(workload, _least(workload, asked)):
        return None
    if not claims.turns.take_for_growth(surplus=surplus):
        return None
    found = for_growth(workload, asked, claims.whole, statement)
    if isinstance(found, Nothing):
        return None
    order = statement.next_order()
    claim = replace(claim_of(found, statement), order=order)
    evict(found.units, workload, statement)
    claimed = write_annotation(
        workload, replace(decision, claim=claim, epoch=statement.snapshot.epoch), statement
    )
    return told(claims.begin(claimed, claim), why)


def _least(workload: Workload, asked: Amounts) -> Resources:
    """What the least of that asks for: all pods of a gang's growth, else one."""
    gang = workload.demand.gang
    assert gang is not None
    whole = workload.demand.division == Division.WHOLE
    return gang.requests(asked if whole else gang.first_of(asked))


def end_claim(workload: Workload, statement: Statement) -> None:
    """Drop the claim of one that asks for no more, unless something else is written about it."""
    decision = workload.decision
    if (
        decision is not None
        and decision.claim is not None
        and workload.key not in statement.decided
    ):
        _drop(workload, decision, statement)


def _drop(workload: Workload, decision: Decision, statement: Statement) -> None:
    """Room was not free in time, or is not needed any more."""
    claim = decision.claim
    assert claim is not None
    backoffs = list(statement.backoffs(workload))
    if claim.until <= statement.now:
        until = Instant(statement.now + statement.policy.backoff_seconds * SECOND)
        backoffs = [one for one in backoffs if one.cluster not in claim.clusters]
        reason = "room for its growth was not free in time"
        backoffs += [Backoff(cluster=one, until=until, reason=reason) for one in claim.clusters]
    write_annotation(
        workload, replace(decision, claim=None, backoffs=tuple(sorted(backoffs))), statement
    )
