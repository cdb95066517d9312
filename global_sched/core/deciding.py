"""The content of decisions: new ones, and those that only hold less than before."""

from dataclasses import replace

from global_sched.shared.model.decision import Backoff, Decision, Grant, decision_id
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.workload import Workload, lacking


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
    priority = workload.priority if grants else None
    claimed = _claimed(workload) if grants else None
    return Decision(
        id=decision_id(workload.binding_id, grants, at, order, None, priority, claimed),
        epoch=epoch,
        at=at,
        order=order,
        grants=grants,
        pending=pending,
        backoffs=backoffs,
        priority=priority,
        claimed=claimed,
    )


def reduced(workload: Workload, grants: tuple[Grant, ...], epoch: int) -> Decision:
    """The decision with fewer grants, at its old place in the order in which room was given.

    A new place would let those that came later take the room first. A claim for their growth ends.
    """
    old = workload.decision
    assert old is not None
    at, order, priority, claimed = old.at, old.order, old.priority, old.claimed
    return replace(
        old,
        id=decision_id(workload.binding_id, grants, at, order, None, priority, claimed),
        epoch=epoch,
        grants=grants,
        pending=lacking(workload.demand, grants),
        claim=None,
    )


def _claimed(workload: Workload) -> Instant | None:
    """When others had to leave for what it needs to run, or it had to itself; None: never.

    Surplus that others gave up is left out: it may have to go again as soon as it came.
    """
    old = workload.decision
    if old is None:
        return None
    needed = not old.grants or needs_more(workload).entries
    if old.claim is not None and old.claim.victims and needed:
        return old.claim.since
    before = (old.claimed if old.grants else None, old.evicted)
    return max((one for one in before if one is not None), default=None)
