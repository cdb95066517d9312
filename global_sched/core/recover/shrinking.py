"""Going on with fewer: a gang keeps what its member can hold, at or above its minimum.

It asked for that (`shrink` in its ladder), and for `heal` seconds fewer pods than admitted have had
a node. The places of lost pods are given back, and bound pods beyond an allowed size leave. It
grows back in its turn like every gang with surplus; a back-off of its cluster keeps that away while
leader and member may disagree about the room there.
"""

from collections.abc import Sequence
from dataclasses import replace

from global_sched.core.decisions import smaller
from global_sched.core.fit.filters import trust_micros
from global_sched.core.outcomes import outcome_of
from global_sched.core.place.divided import resized
from global_sched.core.statement import Statement
from global_sched.core.upkeep.running import Keeping, backed_off
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Grant, sealed
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import shrinks_at
from global_sched.shared.model.instant import Instant, format_instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Progress


def go_on_with_fewer(kept: Sequence[Keeping], statement: Statement) -> list[Keeping]:
    """Shrink what its member found no seat for; return all the others."""
    return [one for one in kept if not _shrink(one, statement)]


def _shrink(keeping: Keeping, statement: Statement) -> bool:
    found = _short(keeping, statement)
    if found is None:
        return False
    workload, decision = keeping.now, keeping.now.decision
    gang = workload.demand.gang
    assert decision is not None
    assert gang is not None
    grant, progress, since = found
    keeps = gang.sized(progress.bound.within(grant.amounts))
    if not keeps.covers(gang.minimum_amounts()):
        return False
    leaves = progress.bound.within(grant.amounts).minus(keeps)
    statement.release(workload, grant.cluster, gang.requests(grant.amounts.minus(keeps)))
    statement.leave(workload, grant.cluster, gang.requests(leaves))
    less = resized(workload, grant, keeps)
    text = _text(grant, keeps, leaves, since, progress)
    made = replace(
        smaller(workload, less, leaves, statement.now, statement.snapshot.epoch),
        backoffs=backed_off(workload, {grant.cluster: text}, statement),
        recovering=decision.recovering or since,
    )
    statement.write(workload, sealed(made, workload.binding_id), workload.observed_affinity)
    verdict = Verdict(code=Code.FIT, reason=Reason.GOES_ON_WITH_FEWER, detail=f"in place; {text}")
    statement.outcomes.append(outcome_of(workload, verdict, nearest=grant.cluster))
    return True


def _short(keeping: Keeping, statement: Statement) -> tuple[Grant, Progress, Instant] | None:
    """Where it is short, and since when, if that is long enough; None else."""
    workload, decision = keeping.now, keeping.now.decision
    asked = workload.below_minimum
    if asked is None or not asked.shrinks or decision is None or len(decision.grants) != 1:
        return None
    if workload.demand.division != Division.WHOLE or workload.problem is not None:
        return None
    if workload.forged or decision.claim is not None or decision != keeping.before.decision:
        return None
    [grant] = decision.grants
    progress = workload.progress_in(grant.cluster)
    if progress is None or progress.short is None or progress.decision != decision.id:
        return None
    if progress.bound.covers(grant.amounts) or workload.giving_up(grant).entries:
        return None
    due = shrinks_at(decision, progress.short, statement.policy)
    capacity = statement.rooms.rooms[statement.rooms.position[grant.cluster]].cluster.capacity
    if statement.now < due or capacity is None:
        return None
    if statement.now - capacity.observed > trust_micros(capacity, statement):
        return None  # a member that does not report may have found seats
    return grant, progress, progress.short


def _text(grant: Grant, keeps: Amounts, leaves: Amounts, since: Instant, progress: Progress) -> str:
    """What happened, and what it goes on with."""
    lost = grant.amounts.minus(keeps).minus(leaves)
    why = "".join(f"; {one.pod} was lost: {one.cause}" for one in progress.losses[-1:])
    why += f"; {progress.reason}" if progress.reason else ""
    size = ", its next smaller size," if leaves.entries else ""
    return (
        f"{grant.cluster} has had no seat for {counted(lost.pods(), 'pod')} since "
        f"{format_instant(since)}{why}; it goes on with {keeps.pods()} of "
        f"{counted(grant.amounts.pods(), 'pod')}{size} and grows back when there is room"
    )
