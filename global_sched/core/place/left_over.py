"""What is free at the end of a cycle for those that were held back in their turn.

It goes to them with the decisions that they have, in the order of these. Members follow that order,
so it is only done where everybody who was admitted finds its place then, one after the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from global_sched.core.offer import Offer, Refusal, targets_of
from global_sched.core.place.admission import FITS
from global_sched.core.place.divided import offer_divided
from global_sched.core.place.one_cluster import grow_whole
from global_sched.core.quota.fair_surplus import Shares
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.plan import Admission, Outcome
from global_sched.shared.model.verdict import ClusterVerdict
from global_sched.shared.model.workload import Division, Workload


@dataclass(frozen=True, slots=True)
class LeftOver:
    """More for one that was admitted: what it has then, and in which clusters it has more."""

    workload: Workload
    admission: Admission
    clusters: frozenset[ClusterName]


def given(admission: Admission) -> Amounts:
    """All pods that it grants."""
    total = Amounts()
    for grant in admission.decision.grants:
        total = total.plus(grant.amounts)
    return total


def left_over(statement: Statement) -> list[LeftOver]:
    """More for those that could still grow, in the order of their admissions: first their shares.

    They take the room that they find: whoever does not want that rolls the statement back.
    """
    surplus = statement.ledger.surplus
    surplus.all_had_turns = True
    held_back = dict(surplus.held_back)
    admissions = [one for one in statement.admissions if one.workload in held_back]
    found: dict[WorkloadKey, LeftOver] = {}
    for shares in (surplus.shares, {}):
        surplus.shares = shares
        for admission in admissions:
            key, before = admission.workload, found.get(admission.workload)
            now = admission if before is None else before.admission
            more = _grown(held_back[key], now, statement)
            if more is not None:
                before_in = frozenset() if before is None else before.clusters
                found[key] = replace(more, clusters=more.clusters | before_in)
    surplus.held_back = held_back  # what was found now is undone, and perhaps decided otherwise
    return [found[one.workload] for one in admissions if one.workload in found]


def all_that_they_want(statement: Statement) -> Shares:
    """All pods of those that were admitted and held back."""
    held_back = statement.ledger.surplus.held_back
    found: dict[WorkloadKey, Amounts] = {}
    for admission in statement.admissions:
        one = held_back.get(admission.workload)
        if one is not None and one.demand.gang is not None:
            found[one.key] = one.demand.gang.all_amounts()
    return found


def _grown(workload: Workload, admission: Admission, statement: Statement) -> LeftOver | None:
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
    grown = replace(admission, decision=statement.redecide(now, grants), targets=targets_of(grants))
    return LeftOver(now, grown, frozenset(part.cluster for part in found.parts))


def behind_all(one: LeftOver, statement: Statement) -> LeftOver:
    """The same with a decision that comes after all others in the order in which room is given."""
    decision = statement.decide(one.workload, one.admission.decision.grants)
    return replace(one, admission=replace(one.admission, decision=decision))


def _more(workload: Workload, statement: Statement) -> Offer | Refusal:
    whole = workload.demand.division == Division.WHOLE
    return grow_whole(workload, statement) if whole else offer_divided(workload, statement)


def give(more: Iterable[LeftOver], statement: Statement) -> None:
    """Plan it, in place of what was planned for them."""
    instead = {one.admission.workload: one.admission for one in more}
    statement.admissions[:] = [instead.get(one.workload, one) for one in statement.admissions]
    statement.outcomes[:] = [
        _with_all(one, instead[one.workload]) if one.workload in instead else one
        for one in statement.outcomes
    ]


def _with_all(outcome: Outcome, admission: Admission) -> Outcome:
    """The outcome with the clusters that came in addition."""
    there = {one.cluster for one in outcome.clusters}
    new = (grant.cluster for grant in admission.decision.grants if grant.cluster not in there)
    more = tuple(ClusterVerdict(cluster=name, verdict=FITS) for name in new)
    return replace(outcome, clusters=outcome.clusters + more) if more else outcome
