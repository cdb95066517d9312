"""Writes of a claim: the evictions of its victims, and the claim itself."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from global_sched.core.decisions import evicted, smaller
from global_sched.core.make_room.annotations import write_annotation
from global_sched.core.make_room.checkpoint_calls import CALLED, called, grace_of, waited_for
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.occupancy import Holder, may_ever_leave
from global_sched.core.make_room.search import RoomFound
from global_sched.core.make_room.trial_room import by_cluster, leaving_of
from global_sched.core.offer import Offer
from global_sched.core.outcomes import outcome_of
from global_sched.core.place.divided import resized
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import (
    Backoff,
    Claim,
    ClaimPart,
    Grant,
    Leaver,
    sealed,
)
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Workload


def claim_of(found: RoomFound, statement: Statement) -> Claim:
    """The claim for what a search found. Victims in other clusters free a quota, not its room.

    It lasts longer by the time for which victims are waited for.
    """
    whole = (unit.holder.workload for unit in found.units if unit.whole)
    grace = max((grace_of(one, statement) for one in whole), default=0)
    return Claim(
        parts=parts_of(found.offer, found.amounts),
        victims=leavers_of(found.units, found.offer.parts[0].cluster),
        since=statement.now,
        until=Instant(statement.now + (statement.policy.hold_seconds + grace) * SECOND),
    )


def parts_of(offer: Offer, amounts: Amounts) -> tuple[ClaimPart, ...]:
    """The parts of an offer as a claim on `amounts` keeps them, the first ones first."""
    found, left = [], amounts
    for part in offer.parts:
        there = left if len(offer.parts) == 1 else part.amounts().within(left)
        left = left.minus(there)
        if part.placed is not None and there.entries:
            placed = part.placed
            found.append(
                ClaimPart(
                    cluster=part.cluster, amounts=there, domain=placed.domain, tier=placed.tier
                )
            )
    return tuple(found)


def leavers_of(units: Iterable[EvictionUnit], home: ClusterName) -> tuple[Leaver, ...]:
    """These victims as a claim on room in `home` names them."""
    found = []
    for cluster, those in by_cluster(units).items():
        where = ClusterName("") if cluster == home else cluster
        whole = {one.holder.workload.binding_id: one.holder.grant for one in those if one.whole}
        for binding, amounts in leaving_of(those).items():
            every = whole[binding].amounts if binding in whole else amounts
            found.append(
                Leaver(
                    binding=binding,
                    amounts=every or Amounts(),
                    whole=amounts is None,
                    cluster=where,
                )
            )
    return tuple(sorted(found))


def let_leave(
    victim: Workload, leavers: Sequence[Leaver], claimant: Workload, statement: Statement
) -> bool:
    """Plan again an eviction that an earlier cycle did not write; whether it was open still.

    `leavers` are all that the claim says of this victim. One that was admitted anew since the claim
    is left alone.
    """
    claim, decision = claimant.decision, victim.decision
    assert claim is not None
    assert claim.claim is not None
    if decision is None or victim.key in statement.decided or decision.at > claim.claim.since:
        return False
    if victim.demand.division == Division.WHOLE and len(decision.grants) != 1:
        return False
    if any(one.whole for one in leavers) and not _could_leave(victim, claimant, statement):
        return False  # the Policy has changed since, or another writer named it
    reclaim = victim.queue != claimant.queue
    units: list[EvictionUnit] = []
    for leaver in leavers:
        grant = decision.grant(claim.claim.leaves(leaver))
        if grant is not None:
            units += _units(victim, grant, leaver, reclaim=reclaim)
    # Of a claim's time its hold is for pods to end, however long their program was waited for.
    at_latest = Instant(claim.claim.until - statement.policy.hold_seconds * SECOND)
    evict(units, claimant, statement, at_latest)
    return bool(units)


def _could_leave(victim: Workload, claimant: Workload, statement: Statement) -> bool:
    """Whether all of a workload may leave for another one at all, whatever the amounts.

    A claim's own proof is not made again; what no proof could have chosen stays.
    """
    if not may_ever_leave(victim):
        return False
    if victim.queue == claimant.queue:
        return victim.priority < claimant.priority
    return statement.ledger.node(victim.queue).queue.reclaimable


def _units(victim: Workload, grant: Grant, leaver: Leaver, *, reclaim: bool) -> list[EvictionUnit]:
    """What of a victim has to leave a cluster still."""
    gang, decision = victim.demand.gang, victim.decision
    assert decision is not None
    amount = gang.requests(grant.amounts) if gang is not None else Resources()
    holder = Holder(victim, grant, amount, ())
    if leaver.whole or gang is None:
        return [EvictionUnit(0, holder, amount, reclaim)]
    if decision.give_up or not grant.amounts.minus(leaver.amounts).covers(gang.minimum_amounts()):
        return []
    return [
        EvictionUnit(0, holder, p.shape.requests.times(n), reclaim, p.name, 0, n)
        for p in gang.pod_sets
        if (n := leaver.amounts.get(p.name))
    ]


def evict(
    units: Sequence[EvictionUnit],
    claimant: Workload,
    statement: Statement,
    at_latest: Instant | None = None,
) -> None:
    """Plan the leaving of every victim. Limits count what it holds until its pods have ended.

    A gang that asks for it is called for a checkpoint first, and waited for until `at_latest`.
    """
    by_binding: dict[BindingId, list[EvictionUnit]] = {}
    for unit in units:
        by_binding.setdefault(unit.holder.workload.binding_id, []).append(unit)
    for parts in by_binding.values():
        whole = parts[0].whole
        if whole and _is_waited_for(parts[0], claimant, statement, at_latest):
            continue
        leave = statement.release if whole else statement.shrink
        for unit in parts:
            leave(unit.holder.workload, unit.cluster, unit.amount)
        if whole:
            _evict_whole(parts, claimant, statement)
        else:
            _evict_surplus(parts, claimant, statement)


def _is_waited_for(
    unit: EvictionUnit, claimant: Workload, statement: Statement, at_latest: Instant | None
) -> bool:
    """Whether the gang stays until it has written a checkpoint; its outcome says so."""
    victim, grant = unit.holder.workload, unit.holder.grant
    until = waited_for(victim, statement, at_latest=at_latest)
    if until is None:
        return False
    text = f"in place; {called(until)}; then it leaves {grant.cluster}: {why(unit, claimant)}"
    _end(victim, Verdict(code=Code.FIT, reason=CALLED, detail=text), grant, statement)
    return True


def _evict_whole(units: Sequence[EvictionUnit], claimant: Workload, statement: Statement) -> None:
    """Out of these clusters with one write; what it has in others stays, at its place in turn."""
    victim = units[0].holder.workload
    assert victim.decision is not None
    first, *others = sorted(unit.holder.grant for unit in units)
    kept = tuple(one for one in victim.decision.grants if one not in (first, *others))
    reason = Reason.RECLAIMED if units[0].reclaim else Reason.PREEMPTED
    text = f"{', '.join(one.cluster for one in (first, *others))}: {why(units[0], claimant)}"
    made = statement.redecide(victim, kept) if kept else statement.decide(victim, ())
    statement.withdraw(
        victim,
        first,
        evicted(victim, made, statement.now, statement.policy.hold_seconds),
        reason,
        text,
        tuple(others),
        makes_room_for=claimant.key,
    )
    verdict = Verdict(code=Code.WAIT, reason=reason, detail=text, missing=1)
    if kept:
        verdict = Verdict(code=Code.FIT, reason=reason, detail=f"in place elsewhere; {text}")
    _end(victim, verdict, first, statement)


def _evict_surplus(units: Sequence[EvictionUnit], claimant: Workload, statement: Statement) -> None:
    victim, grant = units[0].holder.workload, units[0].holder.grant
    leaves = leaving_of(units)[victim.binding_id] or Amounts()
    less = resized(victim, grant, grant.amounts.minus(leaves))
    decision = smaller(victim, less, leaves, statement.now, statement.snapshot.epoch)
    statement.write(victim, decision, victim.observed_affinity, makes_room_for=claimant.key)
    text = f"in place; {_beyond(leaves.pods())}: {why(units[0], claimant)}"
    verdict = Verdict(code=Code.FIT, reason=Reason.GAVE_UP_SURPLUS, detail=text)
    _end(victim, verdict, grant, statement)


def _beyond(pods: int) -> str:
    """`1 pod beyond its minimum leaves`."""
    return f"{counted(pods, 'pod')} beyond its minimum {'leaves' if pods == 1 else 'leave'}"


def why(unit: EvictionUnit, claimant: Workload) -> str:
    """Who takes the place, without naming another tenant's job."""
    if unit.reclaim:
        return (
            f"queue {claimant.queue} is below its deserved share and reclaims what queue "
            f"{unit.holder.workload.queue} holds beyond its own"
        )
    return (
        f"preempted by a workload of priority {claimant.priority} in queue {claimant.queue}; "
        f"this one has priority {unit.holder.workload.priority}"
    )


def write_claim(workload: Workload, claim: Claim, statement: Statement) -> Workload:
    """Plan the claim's annotation; the workload as it is then."""
    made = statement.decide(workload, ())
    claim = replace(claim, order=made.order)
    decision = replace(made, claim=claim, evicted=_evicted(workload))
    return write_annotation(workload, sealed(decision, workload.binding_id), statement)


def _end(victim: Workload, verdict: Verdict, grant: Grant, statement: Statement) -> None:
    """Its outcome, in place of one from its own turn, in which it stayed."""
    others = (one for one in statement.outcomes if one.workload != victim.key)
    statement.outcomes[:] = [*others, outcome_of(victim, verdict, nearest=grant.cluster)]


def drop_claim(
    workload: Workload, statement: Statement, failed: tuple[ClusterName, ...] = ()
) -> None:
    """Plan the annotation without the claim; where it failed is left out for a while."""
    backoffs = [one for one in statement.backoffs(workload) if one.cluster not in failed]
    until = Instant(statement.now + statement.policy.backoff_seconds * SECOND)
    backoffs += [
        Backoff(cluster=one, until=until, reason="room was not free in time") for one in failed
    ]
    made = statement.decide(workload, (), tuple(sorted(backoffs)))
    write_annotation(workload, replace(made, evicted=_evicted(workload)), statement)


def _evicted(workload: Workload) -> Instant | None:
    return None if workload.decision is None else workload.decision.evicted
