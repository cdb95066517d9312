"""All replicas in every chosen cluster: each needs the room for all, and each is charged."""

from global_sched.core.fit.spread import choose, minimum_clusters
from global_sched.core.fit.standing import OwnStanding
from global_sched.core.offer import Offer, OfferPart, Refusal, grant_of
from global_sched.core.quota.limits import over
from global_sched.core.statement import Statement
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload

Ranked = list[tuple[Cluster, OfferPart | None]]


def offer_duplicates(workload: Workload, statement: Statement) -> Offer | Refusal:
    """Every cluster of the first choice with room for all replicas, as many as quota allows.

    Clusters in use stay; they get the replicas that they lack where those fit.
    """
    standings = statement.standings
    standing, gang = standings.of(workload), workload.demand.gang
    assert gang is not None
    case = standings.case(workload)
    if case.shared and standing.dead is not None:
        return standing.dead
    decision = workload.decision
    before = {} if decision is None else {grant.cluster: grant for grant in decision.grants}
    ask = statement.rooms.ask(gang, standing.wanted, standing.wanted)
    refused: Refusal | None = None
    for choice, mask in standings.tries(case, workload.observed_affinity):
        fits = ask.fitting(mask)
        new: Ranked = [
            (cluster, OfferPart(at, cluster.name, ask.placed(at), score))
            for at, score in statement.ranking.ranked(workload, ask, fits)
            if (cluster := statement.rooms.rooms[at].cluster).name not in before
        ]
        kept = _kept(workload, statement, case, before)
        if not kept and not new:
            continue
        found = _choose(workload, statement, kept + new, before)
        if isinstance(found, Offer):
            return Offer(found.grants, found.parts, choice.name)
        refused = refused or found
    return refused or standings.refusal(case, ask)


def _kept(
    workload: Workload, statement: Statement, case: OwnStanding, before: dict[ClusterName, Grant]
) -> Ranked:
    """The clusters in use, each with the pods that it lacks and now has room for."""
    gang, found = workload.demand.gang, []
    assert gang is not None
    for name, grant in sorted(before.items()):
        at = statement.rooms.position[grant.cluster]
        lacking = gang.all_amounts().minus(grant.amounts)
        part = None
        if lacking.entries and case.allowed[at]:
            placed = statement.rooms.grow(at, gang, lacking, grant)
            if placed is not None:
                part = OfferPart(at, grant.cluster, placed)
        found.append((statement.rooms.rooms[at].cluster, part))
        assert found[-1][0].name == name
    return found


def _choose(
    workload: Workload, statement: Statement, ranked: Ranked, before: dict[ClusterName, Grant]
) -> Offer | Refusal:
    """As many of the ranked clusters as spread and quota allow, at least the spread's minimum."""
    rule, gang = workload.demand.rule, workload.demand.gang
    assert gang is not None
    chosen = choose(rule, ranked, kept=len(before))
    if isinstance(chosen, Verdict):
        return Refusal(chosen)
    ledger = statement.ledger
    bounds = ledger.bounds(workload.queue, workload.tenant)
    capped = ledger.capped_clusters(workload.queue)
    parts: list[OfferPart] = []
    asked = Resources()
    for cluster, part in chosen:
        if part is None:
            continue
        more = asked.plus(gang.requests(part.amounts()))
        refused = over(bounds, more)
        if refused is None and cluster.name in capped:
            here = ledger.bounds(workload.queue, workload.tenant, cluster.name)
            refused = over(here, gang.requests(part.amounts()))
        if refused is not None:
            used = len(before) + sum(one.cluster not in before for one in parts)
            if cluster.name not in before and used < minimum_clusters(rule):
                return Refusal(refused)
            continue
        parts.append(part)
        asked = more
    grown = {
        part.cluster: grant_of(workload.demand, part, before.get(part.cluster)) for part in parts
    }
    return Offer(tuple((before | grown).values()), tuple(parts))
