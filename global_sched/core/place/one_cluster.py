"""A gang goes whole to one cluster: its minimum or nothing, then as much surplus as fits."""

from global_sched.core.fit.spread import minimum_clusters
from global_sched.core.offer import Offer, OfferPart, Refusal, grant_of
from global_sched.core.quota.limits import Bounds, cut, over
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import Placed


def offer_whole(workload: Workload, statement: Statement) -> Offer | Refusal:
    """The best cluster that holds the minimum, with the surplus that quota and room allow."""
    standings = statement.standings
    standing = standings.of(workload)
    gang = workload.demand.gang
    assert gang is not None
    if standing.spreads:
        return Refusal(_cannot_spread(workload))
    bounds, wanted = statement.ledger.bounds(workload.queue, workload.tenant), standing.wanted
    if bounds:
        refused = statement.ledger.refusal_of_equal(workload, standing.minimum_requests)
        if refused is not None:
            return refused
        if standing.elastic:
            wanted = cut(bounds, gang, standing.minimum, wanted)
        if standing.wanted.entries and not wanted.entries:
            return Refusal(_not_one(bounds, gang, standing.wanted))
    if standing.elastic and wanted != standing.minimum:
        wanted = statement.ledger.surplus.part(workload, standing.minimum, wanted)
    case = standings.case(workload)
    if case.shared and standing.dead is not None:
        return standing.dead
    ask = of_all = standings.ask(standing, gang, standing.wanted)
    for choice, mask in standings.tries(case, workload.observed_affinity):
        fitting = of_all.fitting(mask)  # all that have the same demand share this question
        if wanted != standing.wanted and fitting.any():
            ask = standings.ask(standing, gang, wanted)
            fitting = ask.fitting(fitting)
        best = statement.ranking.best(workload, ask, fitting)
        if best is not None:
            at, score = best
            cluster = statement.rooms.rooms[at].cluster.name
            placed = _within(workload, statement, cluster, ask.placed(at))
            part = OfferPart(at, cluster, placed, score)
            return Offer((grant_of(workload.demand, part),), (part,), choice.name)
    if ask is not of_all:
        ask.fitting(case.allowed)
    return standings.refusal(case, ask)


def _within(
    workload: Workload, statement: Statement, cluster: ClusterName, placed: Placed
) -> Placed:
    """The placement without the surplus that a limit in this cluster does not let in.

    Nor what is more than an allowed size: it holds no room.
    """
    gang, ledger = workload.demand.gang, statement.ledger
    assert gang is not None
    minimum = statement.standings.of(workload).minimum
    if cluster not in ledger.capped_clusters(workload.queue):
        return _asked_again(workload, statement, cluster, placed, gang.sized(placed.amounts))
    bounds = ledger.bounds(workload.queue, workload.tenant, cluster)
    amounts = cut(bounds, gang, minimum, placed.amounts)
    return _asked_again(workload, statement, cluster, placed, gang.sized(amounts))


def _asked_again(
    workload: Workload, statement: Statement, cluster: ClusterName, placed: Placed, amounts: Amounts
) -> Placed:
    """The placement of fewer pods, until it is one of an allowed size."""
    gang = workload.demand.gang
    assert gang is not None
    minimum = statement.standings.of(workload).minimum
    while amounts != placed.amounts:
        ask = statement.rooms.ask(gang, amounts, minimum)
        placed = ask.placed(statement.rooms.position[cluster])
        amounts = gang.sized(placed.amounts)
    return placed


def _not_one(bounds: Bounds, gang: Gang, wanted: Amounts, has: Amounts | None = None) -> Verdict:
    """The limits leave no room for any of the wanted pods: why the first, or group, is too much."""
    refused = over(bounds, gang.requests(gang.first_of(wanted, has)))
    assert refused is not None
    return refused


def _cannot_spread(workload: Workload) -> Verdict:
    wanted = minimum_clusters(workload.demand.rule)
    return Verdict(
        code=Code.NEVER,
        reason=Reason.CLUSTER_SPREAD,
        detail=f"the policy's spreadConstraints want at least {wanted} clusters, and a gang runs "
        "whole in one",
        missing=wanted - 1,
    )


def grow_whole(
    workload: Workload, statement: Statement, least: Amounts | None = None
) -> Offer | Refusal:
    """More pods beside those that it has, in the clusters where it is, under its constraint.

    As many as fit, at least one; with `least` at least those, and never less than its minimum
    lacks: of a gang that is not whole the agent starts no further pod.
    """
    decision, gang = workload.decision, workload.demand.gang
    assert decision is not None
    assert gang is not None
    lacking = workload.lacking()
    if least is None and (lacked := needs_more(workload)).entries:
        least = lacked
    places = [grant.cluster for grant in decision.grants]
    bounds = statement.ledger.bounds(
        workload.queue, workload.tenant, places[0] if len(places) == 1 else None
    )
    if least is not None and (refused := over(bounds, gang.requests(least))) is not None:
        return Refusal(refused)
    wanted, has = cut(bounds, gang, least or Amounts(), lacking), workload.granted()
    if not gang.sized(wanted, has).entries:
        return Refusal(_not_one(bounds, gang, lacking, has))
    wanted = statement.ledger.surplus.part_of_growth(workload, least or Amounts(), wanted)
    if least is not None and not wanted.covers(least):
        return Refusal(_no_room_beside(gang, lacking, has))
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
        placed = _grown(at, grant, workload, wanted, least, statement)
        if placed is None:
            continue
        part = OfferPart(at, grant.cluster, placed)
        grown = grant_of(workload.demand, part, grant)
        others = tuple(one for one in decision.grants if one is not grant)
        return Offer((*others, grown), (part,), workload.observed_affinity)
    if refusals:
        return Refusal(refusals[0].verdict, refusals[0].cluster, tuple(refusals))
    return Refusal(_no_room_beside(gang, lacking, has))


def _grown(
    at: int,
    grant: Grant,
    workload: Workload,
    wanted: Amounts,
    least: Amounts | None,
    statement: Statement,
) -> Placed | None:
    """Room for more pods beside a grant, as many as fit and make an allowed size; None for none."""
    gang, has = workload.demand.gang, workload.granted()
    assert gang is not None
    while wanted.entries:
        placed = statement.rooms.grow(at, gang, wanted, grant, minimum=least)
        if placed is None or placed.amounts == (fits := gang.sized(placed.amounts, has)):
            return placed
        wanted = fits
    return None


def _no_room_beside(gang: Gang, lacking: Amounts, has: Amounts) -> Verdict:
    pods, next_size = lacking.pods(), ""
    if gang.elastic is not None and (chunk := gang.first_of(lacking, has)).entries:
        pods = chunk.pods()
        next_size = f" of its next size, {has.pods() + pods},"
    return Verdict(
        code=Code.NO_FIT,
        reason=Reason.GROWTH_PENDING,
        detail=f"no room for {counted(pods, 'more pod')}{next_size} where it runs",
        missing=pods,
    )
