"""Upkeep of an admitted workload: withdrawn, cut, moved, confirmed, or grown.

First what must go: clusters that are gone, places that the member never filled, replicas that
are not asked for any more. What is asked for in addition joins the order with all others, and what
is left unsaid by then is written at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from global_sched.core.fit.filters import trust_micros
from global_sched.core.outcomes import outcome_of
from global_sched.core.place.admission import try_growth
from global_sched.core.place.divided import resized, shrink_divided
from global_sched.core.place.rebalance import rebalance
from global_sched.core.quota.limits import over
from global_sched.core.statement import Statement
from global_sched.core.upkeep.live_claims import live
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Backoff, Decision, Grant
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.selection import selected_by_any
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Target, Workload

CLUSTER_GONE = "ClusterGone"
PLACEMENT_CHANGED = "PlacementChanged"
_SPREADING = (Division.COPIED, Division.DUPLICATED)


@dataclass(frozen=True, slots=True)
class Keeping:
    """An admitted workload that stays: as it was, and with what it keeps."""

    before: Workload
    now: Workload
    stays: str = ""
    """Why it stays although its member cannot hold it; empty where that is not so."""

    def wants_more(self) -> bool:
        """Whether it joins the line: more pods, or any cluster that becomes usable."""
        if self.now.problem is not None:
            return False
        lacks = bool(self.now.lacking().entries)
        return lacks or self.now.demand.division in _SPREADING


def look_after(statement: Statement) -> list[Keeping]:
    """Do what must be done for every admitted workload; return those that stay."""
    found = (_look_at(one, statement) for one in _admitted(statement))
    return [keeping for keeping in found if keeping is not None]


def _admitted(statement: Statement) -> list[Workload]:
    unsettled = statement.snapshot.unsettled
    return sorted((one for one in unsettled if one.admitted()), key=lambda one: one.key)


def _look_at(workload: Workload, statement: Statement) -> Keeping | None:
    """Withdraw or move it (None then), or cut it to what it keeps."""
    decision = workload.decision
    if decision is None:
        return None
    targets = _targets(workload, decision)
    if targets != workload.targets:
        workload = replace(workload, targets=targets)
    if workload.late and (why := _too_much(workload, decision, statement)) is not None:
        _withdraw_untimely(workload, decision, why, statement)
        return None
    gone, unwanted = _lost(workload, decision, statement)
    kept = tuple(grant for grant in decision.grants if grant not in (*gone, *unwanted))
    if kept != decision.grants and (workload.demand.division == Division.WHOLE or not kept):
        _withdraw(workload, gone, unwanted, kept, statement)
        return None
    late = tuple(grant for grant in kept if _late(workload, decision, grant, statement))
    if late:
        _withdraw_late(workload, late, statement)
        return None
    if workload.reschedule_due() and workload.problem is None and rebalance(workload, statement):
        return None
    if workload.problem is None:
        kept = _trimmed(workload, kept)
    elif workload.paused():
        kept = tuple(
            Grant(cluster=one.cluster, amounts=Amounts(), replicas=one.replicas) for one in kept
        )
    if kept == decision.grants:
        return Keeping(workload, workload)  # nearly all: a copy of each would be most of a cycle
    _release(workload, decision.grants, kept, statement)
    targets = tuple(t for t in targets if any(g.cluster == t.cluster for g in kept))
    return Keeping(
        workload, replace(workload, decision=replace(decision, grants=kept), targets=targets)
    )


def _targets(workload: Workload, decision: Decision) -> tuple[Target, ...]:
    """Its clusters in the decision's order."""
    known = {target.cluster: target for target in workload.targets}
    return tuple(
        known.get(grant.cluster, Target(cluster=grant.cluster)) for grant in decision.grants
    )


def _lost(
    workload: Workload, decision: Decision, statement: Statement
) -> tuple[tuple[Grant, ...], tuple[Grant, ...]]:
    """The grants in clusters that are gone, and in those that the policy no longer selects."""
    rooms = statement.rooms
    gone, unwanted = [], []
    again = not workload.placement_applied or workload.demand.division in _SPREADING
    for grant in decision.grants:
        at = rooms.position.get(grant.cluster)
        cluster = None if at is None else rooms.rooms[at].cluster
        if cluster is None or cluster.terminating:
            gone.append(grant)
        elif (
            again
            and workload.problem is None
            and not selected_by_any(workload.demand.rule, cluster)
        ):
            unwanted.append(grant)
    return tuple(gone), tuple(unwanted)


def _withdraw(
    workload: Workload,
    gone: tuple[Grant, ...],
    unwanted: tuple[Grant, ...],
    kept: tuple[Grant, ...],
    statement: Statement,
) -> None:
    """Take it back from all of those clusters with one write, an eviction task for each."""
    decision = workload.decision
    assert decision is not None
    _release(workload, decision.grants, kept, statement)
    left = statement.decide(workload, kept)
    first, *rest = (*gone, *unwanted)
    text = "; ".join(
        f"{', '.join(grant.cluster for grant in lost)}: {why}"
        for lost, why in (
            (gone, "the cluster is gone or being removed"),
            (unwanted, "the policy no longer selects it"),
        )
        if lost
    )
    reason = CLUSTER_GONE if gone else PLACEMENT_CHANGED
    statement.withdraw(workload, first, left, reason, text, tuple(rest))
    found = Reason.CLUSTER_TERMINATING if gone else Reason.CLUSTER_AFFINITY
    waits(workload, first, found, text, statement)


def _too_much(workload: Workload, decision: Decision, statement: Statement) -> Verdict | None:
    """Why the limits do not let it in beside all else that is decided, None when they do."""
    gang = workload.demand.gang
    if gang is None:
        return None
    amounts = [(one.cluster, gang.requests(workload.held(one))) for one in decision.grants]
    for cluster, amount in amounts:
        statement.release(workload, cluster, amount)
    refusal = None
    for cluster, amount in amounts:
        bounds = statement.ledger.bounds(workload.queue, workload.tenant, cluster)
        refusal = refusal or over(bounds, amount)
        statement.charge(workload, cluster, amount)
    return refusal


def _withdraw_untimely(
    workload: Workload, decision: Decision, why: Verdict, statement: Statement
) -> None:
    """Take back what an earlier leader decided without knowing what has been decided since."""
    _release(workload, decision.grants, (), statement)
    left = statement.decide(workload, ())
    text = (
        f"it was admitted by an earlier leader (term {decision.epoch}), whose decision arrived "
        f"after term {statement.snapshot.epoch} had begun, and breaks a limit: {why.detail}"
    )
    first, *rest = decision.grants
    statement.withdraw(workload, first, left, Reason.LATE_DECISION, text, tuple(rest))
    waits(workload, first, Reason.LATE_DECISION, text, statement)


def _late(workload: Workload, decision: Decision, grant: Grant, statement: Statement) -> bool:
    """Whether the member had its time, has reported since, and never reached the minimum."""
    if workload.demand.gang is None or not grant.amounts.entries:
        return False
    if workload.minimum_reached(grant):
        return False
    deadline = decision.at + statement.policy.placement_timeout_seconds * SECOND
    if statement.now < deadline or workload.forged:
        return False
    cluster = statement.rooms.rooms[statement.rooms.position[grant.cluster]].cluster
    capacity = cluster.capacity
    if capacity is None or statement.now - capacity.observed > trust_micros(capacity, statement):
        return False
    return capacity.observed > decision.at


def _withdraw_late(workload: Workload, late: tuple[Grant, ...], statement: Statement) -> None:
    """Take it back from the clusters that could not place it; they are left out for a while."""
    decision = workload.decision
    assert decision is not None
    kept = tuple(grant for grant in decision.grants if grant not in late)
    _release(workload, decision.grants, kept, statement)
    why = {grant.cluster: _why_late(workload, grant) for grant in late}
    left = statement.decide(workload, kept, backed_off(workload, why, statement))
    seconds = statement.policy.placement_timeout_seconds
    text = "; ".join(
        f"{cluster} did not place the minimum within {seconds} s"
        + (f": {reason}" if reason else "")
        for cluster, reason in why.items()
    )
    statement.withdraw(workload, late[0], left, Reason.PLACEMENT_TIMEOUT, text, late[1:])
    waits(workload, late[0], Reason.PLACEMENT_TIMEOUT, text, statement)


def _why_late(workload: Workload, grant: Grant) -> str:
    progress = workload.progress_in(grant.cluster)
    return progress.reason if progress is not None else ""


def backed_off(
    workload: Workload, why: Mapping[ClusterName, str], statement: Statement
) -> tuple[Backoff, ...]:
    """The back-offs with one more failure of each: it doubles the time, to the limit."""
    policy = statement.policy
    before = statement.backoffs(workload)
    found = [one for one in before if one.cluster not in why]
    for cluster, reason in why.items():
        failures = 1 + next((one.failures for one in before if one.cluster == cluster), 0)
        doublings = min(failures - 1, 32)
        seconds = min(policy.backoff_limit_seconds, policy.backoff_seconds << doublings)
        until = Instant(statement.now + seconds * SECOND)
        found.append(Backoff(cluster=cluster, until=until, failures=failures, reason=reason))
    return tuple(sorted(found))


def waits(
    workload: Workload, grant: Grant, reason: Reason, detail: str, statement: Statement
) -> None:
    """End a workload that was withdrawn: it waits from now on."""
    verdict = Verdict(code=Code.WAIT, reason=reason, detail=detail, missing=1)
    statement.outcomes.append(outcome_of(workload, verdict, nearest=grant.cluster))


def _trimmed(workload: Workload, kept: tuple[Grant, ...]) -> tuple[Grant, ...]:
    """The grants without what the template no longer asks for."""
    gang = workload.demand.gang
    if gang is None:
        return kept
    wanted = gang.all_amounts()
    if workload.demand.division == Division.DIVIDED and len(gang.pod_sets) == 1:
        given = sum(grant.amounts.pods() for grant in kept)
        return shrink_divided(workload, kept) if given > wanted.pods() else kept
    cut = []
    for grant in kept:
        if wanted.covers(grant.amounts) and not workload.shrunk:
            cut.append(grant)
            continue
        cut.append(resized(workload, grant, grant.amounts.within(wanted)))
    return tuple(cut)


def _release(
    workload: Workload, before: tuple[Grant, ...], after: tuple[Grant, ...], statement: Statement
) -> None:
    """Free what the grants no longer hold.

    Pods that a template no longer asks for hold it while they run.
    """
    gang, decision = workload.demand.gang, workload.decision
    if gang is None or decision is None or before == after:
        return
    cut = replace(workload, decision=replace(decision, grants=after))
    stays_as = {grant.cluster: cut.held(grant) for grant in after}
    for grant in before:
        left = stays_as.get(grant.cluster)
        freed = workload.held(grant) if left is None else workload.held(grant).minus(left)
        statement.release(workload, grant.cluster, gang.requests(freed))


def conclude(keeping: Keeping, statement: Statement, why: Verdict | None) -> None:
    """Write what a workload that stays still needs written, and end it with its verdict."""
    _settle(keeping, statement)
    say(keeping, statement, why)


def _settle(keeping: Keeping, statement: Statement) -> None:
    before, now = keeping.before, keeping.now
    old, decision = before.decision, now.decision
    assert old is not None
    assert decision is not None
    if before.forged:
        statement.write(now, statement.decide(now, decision.grants), now.observed_affinity)
    elif decision.grants != old.grants or before.shrunk or before.late or before.to_pause():
        statement.write(now, statement.redecide(now, decision.grants), now.observed_affinity)
    else:
        _settle_status(before, old, statement)


def say(keeping: Keeping, statement: Statement, why: Verdict | None) -> None:
    """End a workload that stays with its verdict."""
    before, now = keeping.before, keeping.now
    growing = why is not None and bool(now.lacking().entries)
    verdict = Verdict(code=Code.FIT, reason=Reason.ADMITTED, detail="in place")
    if before.problem is not None:
        what = "paused" if before.paused() else "not followed"
        detail = f"in place; {what}: {before.problem.detail}"
        verdict = replace(verdict, detail=detail)
    elif keeping.stays:
        detail = f"in place; {keeping.stays}"
        verdict = Verdict(code=Code.FIT, reason=Reason.CANNOT_BE_WHOLE, detail=detail)
    elif growing and why is not None:
        lacks = now.lacking().pods()
        wait = "1 more pod waits" if lacks == 1 else f"{lacks} more pods wait"
        rest = why.detail.removeprefix("waits for ")
        detail = f"in place; {wait}{': ' if rest == why.detail else ' for '}{rest}"
        verdict = Verdict(
            code=Code.FIT, reason=Reason.GROWTH_PENDING, detail=detail, missing=why.missing
        )
    statement.outcomes.append(outcome_of(before, verdict))


def _settle_status(workload: Workload, decision: Decision, statement: Statement) -> None:
    """Write again what is not recorded: pending growth, the applied placement, the status."""
    if workload.problem is not None:
        return
    pending = workload.lacking()
    if pending != decision.pending or not workload.placement_applied:
        # Room that growth no longer needs is given to others in this cycle: agents must know.
        same = replace(decision, pending=pending, claim=live(workload, statement))
        statement.write(workload, same, workload.observed_affinity)
        return
    unsaid = not workload.scheduled or workload.last_scheduled is None or workload.reschedule_due()
    if unsaid or workload.observed_generation != workload.generation:
        statement.confirm(workload, scheduled_now=unsaid)


def consider_growth(keeping: Keeping, position: int, statement: Statement) -> None:
    """Give an admitted workload more of what it asks for, or say what it waits for."""
    why = try_growth(keeping.now, position, statement)
    if why is not None:
        conclude(keeping, statement, why)
