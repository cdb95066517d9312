"""Left-over room at the end of a cycle for workloads that were held back in their turn.

It goes to them with the decisions that they have, in the order of these, first as far as their
shares. Members place the minimums of all that was admitted before any surplus, so it is in no
minimum's way.
"""

from dataclasses import replace

from global_sched.core.offer import Offer, Refusal, targets_of
from global_sched.core.place.admission import FITS
from global_sched.core.place.divided import offer_divided
from global_sched.core.place.one_cluster import grow_whole
from global_sched.core.statement import Statement
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Admission, Outcome
from global_sched.shared.model.verdict import ClusterVerdict
from global_sched.shared.model.workload import Division, Workload


def give_left_over(statement: Statement) -> None:
    """Let workloads grow that were held back, in place of what was planned for them."""
    surplus = statement.ledger.surplus
    surplus.all_had_turns = True
    held_back = dict(surplus.held_back)
    admissions = [one for one in statement.admissions if one.workload in held_back]
    found: dict[WorkloadKey, Admission] = {}
    for shares in (surplus.shares, {}):
        surplus.shares = shares
        for admission in admissions:
            key = admission.workload
            more = _grown(held_back[key], found.get(key, admission), statement)
            if more is not None:
                found[key] = more
    statement.admissions[:] = [found.get(one.workload, one) for one in statement.admissions]
    statement.outcomes[:] = [
        _with_all(one, found[one.workload]) if one.workload in found else one
        for one in statement.outcomes
    ]


def _grown(workload: Workload, admission: Admission, statement: Statement) -> Admission | None:
    """What is free beside its pods; None where nothing is."""
    decision = admission.decision
    now = replace(
        workload,
        decision=decision,
        targets=targets_of(decision.grants),
        observed_affinity=admission.affinity,
    )
    if not now.lacking().entries or statement.ledger.surplus.leaves_nothing(now):
        return None
    found = _more(now, statement)
    if isinstance(found, Refusal) or not found.parts:
        return None
    gang = workload.demand.gang
    assert gang is not None
    for part in found.parts:
        assert part.placed is not None
        amount = gang.requests(part.placed.amounts)
        statement.take(now, part, part.placed, amount)
    grants = tuple(sorted(found.grants, key=lambda grant: grant.cluster))
    return replace(admission, decision=statement.redecide(now, grants), targets=targets_of(grants))


def _more(workload: Workload, statement: Statement) -> Offer | Refusal:
    whole = workload.demand.division == Division.WHOLE
    return grow_whole(workload, statement) if whole else offer_divided(workload, statement)


def _with_all(outcome: Outcome, admission: Admission) -> Outcome:
    """The outcome with the clusters that came in addition."""
    there = {one.cluster for one in outcome.clusters}
    new = (grant.cluster for grant in admission.decision.grants if grant.cluster not in there)
    more = tuple(ClusterVerdict(cluster=name, verdict=FITS) for name in new)
    return replace(outcome, clusters=outcome.clusters + more) if more else outcome
