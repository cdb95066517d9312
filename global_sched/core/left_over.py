"""What is free at the end of a cycle for those that were held back in their turn."""

from collections.abc import Mapping
from dataclasses import replace

from global_sched.core.divided import offer_divided
from global_sched.core.offer import Refusal, targets_of
from global_sched.core.statement import Statement
from global_sched.core.whole import grow_whole
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Admission
from global_sched.shared.model.workload import Division, Workload

Shares = Mapping[WorkloadKey, Amounts]
"""Pods that workloads may have, whatever their queues' brothers lack."""


def left_over(statement: Statement, *, everything: bool = False) -> Shares:
    """Shares for those that could still grow; empty, and nothing is changed, where none can.

    They take the room that they find, in the order of their admissions: a statement with shares is
    used up. `everything` gives all that they want to all that were held back, where one can grow.
    """
    held_back, shares = statement.ledger.surplus.held_back, {}
    admitted = [one for one in statement.admissions if one.workload in held_back]
    for admission in admitted:
        grown = _grown(held_back[admission.workload][0], admission, statement)
        if grown is not None:
            shares[admission.workload] = grown
    if everything and shares:
        return {one.workload: held_back[one.workload][1] for one in admitted}
    return shares


def _grown(workload: Workload, admission: Admission, statement: Statement) -> Amounts | None:
    """All that it would have with what is free beside its pods; None where nothing is."""
    decision = admission.decision
    now = replace(
        workload,
        decision=decision,
        targets=targets_of(decision.grants),
        observed_affinity=admission.affinity,
    )
    whole = workload.demand.division == Division.WHOLE
    found = grow_whole(now, statement) if whole else offer_divided(now, statement)
    if isinstance(found, Refusal) or not found.parts:
        return None
    gang = workload.demand.gang
    assert gang is not None
    for part in found.parts:
        assert part.placed is not None
        amount = gang.requests(part.placed.amounts)
        statement.take(now, part, part.placed, amount)
    total = Amounts()
    for grant in found.grants:
        total = total.plus(grant.amounts)
    return total
