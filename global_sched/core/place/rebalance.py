"""A reschedule that was asked for: look for a better place as if there were none yet."""

from global_sched.core.fit.scores import ScoreInput, fill_of
from global_sched.core.fit.spread import choose
from global_sched.core.offer import Offer, OfferPart, grant_of
from global_sched.core.outcomes import outcome_of
from global_sched.core.place.divided import (
    ClusterShare,
    distribute,
    place_extra,
    rank,
    resized,
    room_beside,
    room_for,
)
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Decision, Grant
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Workload
from global_sched.shared.placement import NO_TIER

REBALANCED = "Rebalanced"


def rebalance(workload: Workload, statement: Statement) -> bool:
    """Whether a better place was found and the move is in the plan.

    Copies and duplicates are where they can be already; more clusters come through the line.
    """
    decision, gang = workload.decision, workload.demand.gang
    assert decision is not None
    if gang is None:
        return False
    if workload.demand.division == Division.WHOLE and len(decision.grants) == 1:
        return _move_whole(workload, decision.grants[0], gang, statement)
    if workload.demand.division == Division.DIVIDED:
        return _divide_afresh(workload, decision, gang, statement)
    return False


def _move_whole(workload: Workload, grant: Grant, gang: Gang, statement: Statement) -> bool:
    """Move a gang as it is to a cluster that scores strictly better than where it is."""
    standings, rooms = statement.standings, statement.rooms
    case = standings.case(workload)
    home = rooms.position[grant.cluster]
    ask = rooms.ask(gang, grant.amounts, grant.amounts)
    for choice, mask in standings.tries(case, ""):
        others = mask.copy()
        others[home] = False
        best = statement.ranking.best(workload, ask, ask.fitting(others))
        at_home = _score_at_home(workload, grant, gang, statement) if mask[home] else -1
        if best is None and at_home < 0:
            continue
        if best is None or best[1] <= at_home:
            return False
        part = OfferPart(best[0], rooms.rooms[best[0]].cluster.name, ask.placed(best[0]), best[1])
        _write_move(workload, grant, Offer((), (part,), choice.name), statement)
        return True
    return False


def _score_at_home(workload: Workload, grant: Grant, gang: Gang, statement: Statement) -> int:
    """The weighted score of the place that it has, its domain taken as filled by it."""
    room = statement.rooms.rooms[statement.rooms.position[grant.cluster]]
    pods = grant.amounts.pods()
    tier = None
    if gang.constraint is not None:
        tier = NO_TIER if grant.tier is None else grant.tier
    fill = fill_of(gang.requests(grant.amounts), room.total)
    subject = ScoreInput(tier, pods, pods, fill, room.free.get(fill.resource, 0))
    return int(statement.rooms.base_scores(subject)) + statement.ranking.place_score(
        workload, room.cluster
    )


def _write_move(workload: Workload, grant: Grant, offer: Offer, statement: Statement) -> None:
    """One write: out of the old cluster with an eviction task, into the new one."""
    gang, part = workload.demand.gang, offer.parts[0]
    assert gang is not None
    assert part.placed is not None
    statement.release(workload, grant.cluster, gang.requests(grant.amounts))
    amount = gang.requests(part.placed.amounts)
    statement.take(workload, part, part.placed, amount)
    decision = statement.decide(workload, (grant_of(workload.demand, part),))
    text = f"moved from {grant.cluster} to {part.cluster}, as the reschedule asked for"
    statement.withdraw(workload, grant, decision, REBALANCED, text)
    verdict = Verdict(code=Code.FIT, reason=Reason.ADMITTED, detail=text)
    statement.outcomes.append(outcome_of(workload, verdict, nearest=part.cluster))


def _divide_afresh(
    workload: Workload, decision: Decision, gang: Gang, statement: Statement
) -> bool:
    """Divide the replicas that it has again, over all clusters that may take some."""
    standings, rooms = statement.standings, statement.rooms
    case = standings.case(workload)
    before = {grant.cluster: grant for grant in decision.grants}
    total = sum(grant.amounts.pods() for grant in decision.grants)
    one = Amounts.of({gang.pod_sets[0].name: 1})
    ask = rooms.ask(gang, gang.all_amounts(), one)
    for choice, mask in standings.tries(case, ""):
        fits = ask.fitting(mask)
        scores = dict(statement.ranking.ranked(workload, ask, fits))
        shares = []
        for at, room in enumerate(rooms.rooms):
            grant = before.get(room.cluster.name)
            has = 0 if grant is None or not mask[at] else grant.amounts.pods()
            more = holds = 0
            if fits[at] and has and grant is not None:
                more = room_beside(workload, statement, at, grant)
                holds = room_for(workload, statement, at, grant)
            elif fits[at]:
                more = ask.placed(at).amounts.pods()
                holds = room_for(workload, statement, at, None)
            if has + more:
                score = scores.get(at, 0)
                shares.append(ClusterShare(at, room.cluster, 0, has + more, has + holds, score))
        shares.sort(key=lambda share: rank(workload.demand.rule, share, total))
        chosen = choose(workload.demand.rule, [(share.cluster, share) for share in shares])
        if isinstance(chosen, Verdict) or not chosen:
            continue
        picked = [share for _, share in chosen]
        distribute(workload.demand.rule, picked, total)
        goals = {share.cluster.name: share.extra for share in picked if share.extra}
        if sum(goals.values()) < total:
            continue
        if goals == {grant.cluster: grant.amounts.pods() for grant in decision.grants}:
            return False
        _write_division(workload, picked, before, choice.name, statement)
        return True
    return False


def _write_division(
    workload: Workload,
    shares: list[ClusterShare],
    before: dict[ClusterName, Grant],
    affinity: str,
    statement: Statement,
) -> None:
    """The new division as one admission: what shrinks is freed, what grows is placed."""
    gang = workload.demand.gang
    assert gang is not None
    name = gang.pod_sets[0].name
    goals = {share.cluster.name: share for share in shares if share.extra}
    grants, parts = [], []
    for cluster, grant in before.items():
        goal = goals[cluster].extra if cluster in goals else 0
        if goal < grant.amounts.pods():
            fewer = Amounts.of({name: goal})
            freed = gang.requests(grant.amounts.minus(fewer))
            statement.shrink(workload, grant.cluster, freed)
        if 0 < goal <= grant.amounts.pods():
            grants.append(resized(workload, grant, Amounts.of({name: goal})))
    for cluster, share in goals.items():
        has = before[cluster].amounts.pods() if cluster in before else 0
        if share.extra > has:
            placed = place_extra(workload, statement, share.at, share.extra - has)
            part = OfferPart(share.at, share.cluster.name, placed, share.score)
            parts.append(part)
            grants.append(grant_of(workload.demand, part, before.get(cluster)))
    statement.admit(workload, Offer(tuple(grants), tuple(parts), affinity))
    verdict = Verdict(code=Code.FIT, reason=Reason.ADMITTED, detail="divided afresh")
    statement.outcomes.append(outcome_of(workload, verdict))
