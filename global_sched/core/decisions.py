"""The content of decisions: new ones, and those that only hold less than before."""

from dataclasses import replace

from global_sched.shared.model.decision import Backoff, Decision, Grant, sealed
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import DecisionId
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.workload import Division, Workload, lacking


def new_decision(
    workload: Workload,
    grants: tuple[Grant, ...],
    turn: tuple[Instant, int],
    *,
    epoch: int,
    pending: Amounts,
    backoffs: tuple[Backoff, ...],
) -> Decision:
    """A new decision at its turn: (when, order)."""
    at, order = turn
    made = Decision(
        id=DecisionId(""),
        epoch=epoch,
        at=at,
        order=order,
        grants=grants,
        pending=pending,
        backoffs=backoffs,
        priority=workload.priority if grants else None,
        claimed=_claimed(workload, at) if grants else None,
        evictions=0 if workload.decision is None else workload.decision.evictions,
        started=_started(workload, grants),
        moved=None if workload.decision is None else workload.decision.moved,
        moves=0 if workload.decision is None else workload.decision.moves,
        recovering=_recovering(workload, grants, pending),
        left=workload.left,
    )
    return sealed(made, workload.binding_id)


def reduced(workload: Workload, grants: tuple[Grant, ...], epoch: int) -> Decision:
    """The decision with fewer grants, at its old place in the order in which room was given.

    A new place would let those that came later take the room first. A claim for their growth ends.
    """
    old = workload.decision
    assert old is not None
    less = replace(
        old,
        epoch=epoch,
        grants=grants,
        pending=lacking(workload.demand, grants),
        claim=None,
        left=workload.left,
    )
    return sealed(less, workload.binding_id)


def smaller(workload: Workload, less: Grant, leaves: Amounts, now: Instant, epoch: int) -> Decision:
    """The decision after surplus left: `less` is what it keeps, `leaves` are bound pods to evict.

    Its cooldown begins now.
    """
    made = reduced(workload, (less,), epoch)
    give_up = ((less.cluster, leaves),) if leaves.entries else ()
    return sealed(replace(made, give_up=give_up, cut=now), workload.binding_id)


def evicted(victim: Workload, made: Decision, now: Instant, hold_seconds: int) -> Decision:
    """The decision of a victim: its hold begins, and is longer than the one before."""
    assert victim.decision is not None
    times = victim.decision.evictions_after(now, hold_seconds)
    return sealed(replace(made, evicted=now, evictions=times), victim.binding_id)


def _started(workload: Workload, grants: tuple[Grant, ...]) -> Instant | None:
    """When it began, where it stays in a cluster that it has already."""
    old, clusters = workload.decision, {grant.cluster for grant in grants}
    if old is None or workload.forged or not any(one.cluster in clusters for one in old.grants):
        return None
    return old.runs_since


def _claimed(workload: Workload, at: Instant) -> Instant | None:
    """Since when its hold protects it; None: it came without a claim and never had to leave.

    Surplus that others gave up is left out: it may have to go again as soon as it came.
    """
    old = workload.decision
    if old is None:
        return None
    replicas = workload.demand.division != Division.WHOLE
    needed = replicas or not old.grants or needs_more(workload).entries
    by_claim = old.claim is not None and old.claim.victims and needed
    if by_claim or old.evicted is not None:
        return at
    return old.claimed if old.grants else None


def _recovering(workload: Workload, grants: tuple[Grant, ...], pending: Amounts) -> Instant | None:
    """Since when it goes on with fewer pods, where it stays and lacks some of them still."""
    old = workload.decision
    if old is None or not pending.entries or _started(workload, grants) is None:
        return None
    return old.recovering
