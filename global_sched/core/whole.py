"""A gang goes whole to one cluster: its minimum or nothing, then as much surplus as fits."""

from global_sched.core.fairness import Amount
from global_sched.core.offer import Offer, Part, Refusal, grant_of
from global_sched.core.quota import cut_to_capability, over_capability
from global_sched.core.spread import minimum_clusters
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Workload


def offer_whole(workload: Workload, statement: Statement) -> Offer | Refusal:
    """The best cluster that holds the minimum, with the surplus that quota and room allow."""
    standings = statement.standings
    standing = standings.of(workload)
    gang = workload.demand.gang
    assert gang is not None
    if minimum_clusters(workload.demand.rule) > 1:
        return Refusal(_cannot_spread(workload))
    queue = statement.queue(workload.queue)
    held = statement.ledger.queue_held(workload.queue)
    if queue.capability:
        over = over_capability(queue, held, standing.minimum_requests)
        if over is not None:
            return Refusal(over)
        wanted = cut_to_capability(queue, held, gang, standing.minimum, standing.wanted)
        if standing.wanted.entries and not wanted.entries:
            return Refusal(_not_one(queue, held, gang, standing.wanted))
    else:
        wanted = standing.wanted
    case = standings.case(workload)
    if case.shared and standing.dead is not None:
        return standing.dead
    ask = statement.rooms.ask(gang, wanted, standing.minimum)
    for choice, mask in standings.tries(case, workload.observed_affinity):
        best = statement.best(workload, ask, ask.fitting(mask))
        if best is not None:
            at, score = best
            cluster = statement.rooms.rooms[at].cluster.name
            part = Part(at, cluster, ask.placed(at), score)
            return Offer((grant_of(workload.demand, part),), (part,), choice.name)
    return standings.refusal(case, ask)


def _not_one(queue: Queue, held: Amount, gang: Gang, wanted: Amounts) -> Verdict:
    """The capability leaves no room for any of the wanted pods."""
    over = over_capability(queue, held, gang.requests(wanted))
    assert over is not None
    return over


def _cannot_spread(workload: Workload) -> Verdict:
    wanted = minimum_clusters(workload.demand.rule)
    return Verdict(
        code=Code.NEVER,
        reason=Reason.CLUSTER_SPREAD,
        detail=f"the policy wants at least {wanted} clusters, and a gang runs whole in one",
        missing=wanted - 1,
    )


def grow_whole(workload: Workload, statement: Statement) -> Offer | Refusal:
    """More pods beside those that it has, in the clusters where it is, under its constraint."""
    decision, gang = workload.decision, workload.demand.gang
    assert decision is not None
    assert gang is not None
    queue, held = statement.queue(workload.queue), statement.ledger.queue_held(workload.queue)
    lacking = workload.lacking()
    wanted = cut_to_capability(queue, held, gang, Amounts(), lacking)
    if not wanted.entries:
        return Refusal(_not_one(queue, held, gang, lacking))
    case = statement.standings.case(workload)
    refusals = []
    for grant in decision.grants:
        at = statement.rooms.position.get(grant.cluster)
        if at is None:
            continue
        refusal = case.refusals[at]
        if refusal is not None:
            refusals.append(refusal)
            continue
        placed = statement.rooms.grow(at, gang, wanted, grant)
        if placed is None:
            continue
        part = Part(at, grant.cluster, placed)
        grown = grant_of(workload.demand, part, grant)
        others = tuple(one for one in decision.grants if one is not grant)
        return Offer((*others, grown), (part,), workload.observed_affinity)
    if refusals:
        return Refusal(refusals[0].verdict, refusals[0].cluster, tuple(refusals))
    return Refusal(
        Verdict(
            code=Code.NO_FIT,
            reason=Reason.GROWTH_PENDING,
            detail=f"{lacking.pods()} more pods find no room beside the others",
            missing=lacking.pods(),
        )
    )
