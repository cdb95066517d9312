"""Replicas split over clusters: in all at most what the template asks for, by what fits.

`Aggregated` uses as few clusters as it can, static weights keep the listed ratio, dynamic weights
follow how much each cluster holds. Growth comes on top of what is there; only a reschedule divides
afresh.
"""

from dataclasses import dataclass

from global_sched.core.fit.spread import choose, minimum_clusters
from global_sched.core.offer import Offer, OfferPart, Refusal, grant_of
from global_sched.core.quota.limits import cut, over
from global_sched.core.statement import Statement
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.placement_rule import PlacementRule, Preference
from global_sched.shared.model.selection import selected
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import Placed


@dataclass(slots=True)
class ClusterShare:
    """A cluster in the division: it has `before` replicas and may get `more` of those asked for.

    `room` is how many would fit, whatever number is asked for: the measure of the cluster.
    """

    at: int
    cluster: Cluster
    before: int
    more: int
    room: int
    score: int
    extra: int = 0


def offer_divided(
    workload: Workload, statement: Statement, least: Amounts | None = None
) -> Offer | Refusal:
    """As many replicas as quota and the clusters allow, at least one more than there are now.

    `least` are those for which others left: they wait for no sibling's turn.

    The first choice of clusters that holds all of them wins; else the one that holds most.
    """
    standings, gang = statement.standings, workload.demand.gang
    assert gang is not None
    standing = standings.of(workload)
    case = standings.case(workload)
    if case.shared and standing.dead is not None:
        return standing.dead
    wanted = _within_quota(workload, statement, gang, least or Amounts())
    if isinstance(wanted, Refusal):
        return wanted
    one = Amounts.of({gang.pod_sets[0].name: min(1, gang.pod_sets[0].count)})
    ask = statement.rooms.ask(gang, gang.all_amounts(), one)
    best: Offer | None = None
    most = 0
    refused: Refusal | None = None
    for choice, mask in standings.tries(case, workload.observed_affinity):
        fits = ask.fitting(mask)
        ranked = statement.ranking.ranked(workload, ask, fits)
        holds = {at: ask.placed(at).amounts.pods() for at, _ in ranked}
        shares = _shares(workload, statement, ranked, holds)
        if not shares:  # room is what lacks, whatever the spread is
            continue
        chosen = _choose(workload.demand.rule, shares, wanted.pods())
        if isinstance(chosen, Verdict):
            refused = refused or Refusal(chosen)
            continue
        if not chosen:
            continue
        distribute(workload.demand.rule, chosen, wanted.pods())
        offer = _offer(workload, statement, chosen, choice.name)
        pods = sum(part.amounts().pods() for part in offer.parts)
        if best is None or pods > most:
            best, most = offer, pods
        if most >= wanted.pods():
            break
    if best is not None and (best.parts or not wanted.entries):
        return best
    return refused or standings.refusal(case, ask)


def _within_quota(
    workload: Workload, statement: Statement, gang: Gang, least: Amounts
) -> Amounts | Refusal:
    """How many more replicas the capability, and at first fairness, allow: at least one."""
    bounds = statement.ledger.bounds(workload.queue, workload.tenant)
    asked = workload.lacking() if workload.decision is not None else gang.all_amounts()
    wanted = cut(bounds, gang, Amounts(), asked)
    if asked.entries and not wanted.entries:
        one = Amounts.of({asked.entries[0][0]: 1})
        refused = over(bounds, gang.requests(one))
        assert refused is not None
        return Refusal(refused)
    if not workload.targets and wanted.pods() > 1:
        one = Amounts.of({wanted.entries[0][0]: max(1, least.pods())})
        return statement.ledger.surplus.part(workload, one.within(wanted), wanted)
    return statement.ledger.surplus.part_of_growth(workload, least.within(wanted), wanted)


def _shares(
    workload: Workload, statement: Statement, ranked: list[tuple[int, int]], holds: dict[int, int]
) -> list[ClusterShare]:
    """The clusters in use first, then the others, best first."""
    grants = () if workload.decision is None else workload.decision.grants
    scores = dict(ranked)
    shares = []
    for grant in grants:
        at = statement.rooms.position[grant.cluster]
        cluster = statement.rooms.rooms[at].cluster
        more = room_beside(workload, statement, at, grant) if at in holds else 0
        more = _allowed(workload, statement, cluster, more)
        room = room_for(workload, statement, at, grant) if more else 0
        shares.append(
            ClusterShare(at, cluster, grant.amounts.pods(), more, room, scores.get(at, 0))
        )
    inside = {share.at for share in shares}
    for at, score in ranked:
        if at not in inside:
            cluster = statement.rooms.rooms[at].cluster
            more = _allowed(workload, statement, cluster, holds[at])
            room = room_for(workload, statement, at, None)
            shares.append(ClusterShare(at, cluster, 0, more, room, score))
    return shares


def _allowed(workload: Workload, statement: Statement, cluster: Cluster, pods: int) -> int:
    """How many of the replicas the limits in this cluster let in."""
    gang, ledger = workload.demand.gang, statement.ledger
    assert gang is not None
    if cluster.name not in ledger.capped_clusters(workload.queue):
        return pods
    bounds = ledger.bounds(workload.queue, workload.tenant, cluster.name)
    return cut(bounds, gang, Amounts(), Amounts.of({gang.pod_sets[0].name: pods})).pods()


def room_for(workload: Workload, statement: Statement, at: int, grant: Grant | None) -> int:
    """How many of such replicas the cluster and the limits in it let in, beside a grant's."""
    gang = workload.demand.gang
    assert gang is not None
    pods = statement.rooms.holds(at, gang, grant)
    return _allowed(workload, statement, statement.rooms.rooms[at].cluster, pods)


def room_beside(workload: Workload, statement: Statement, at: int, grant: Grant) -> int:
    """How many more replicas fit where some are already, under the same constraint."""
    gang = workload.demand.gang
    assert gang is not None
    placed = statement.rooms.grow(at, gang, gang.all_amounts(), grant)
    return 0 if placed is None else placed.amounts.pods()


def _choose(
    rule: PlacementRule, shares: list[ClusterShare], wanted: int
) -> list[ClusterShare] | Verdict:
    """The clusters to divide over, under the spread constraints."""
    kept = sum(1 for share in shares if share.before)
    new = shares[kept:]
    new.sort(key=lambda share: rank(rule, share, wanted))
    chosen = choose(rule, [(s.cluster, s) for s in shares[:kept] + new], kept=kept)
    return chosen if isinstance(chosen, Verdict) else [share for _, share in chosen]


def rank(rule: PlacementRule, share: ClusterShare, wanted: int) -> tuple[int, int, int]:
    """Which clusters are used first where not all may be.

    By dynamic weights the roomiest; for `Aggregated` those that hold all are alike, and their
    scores decide, as they do alone for static weights.
    """
    measure = {
        Preference.AGGREGATED: min(share.more, wanted),
        Preference.DYNAMIC_WEIGHTS: share.room,
        Preference.STATIC_WEIGHTS: 0,
    }
    return -measure[rule.preference], -share.score, share.at


def distribute(rule: PlacementRule, shares: list[ClusterShare], wanted: int) -> None:
    """Set each share's `extra`, in all at most `wanted`."""
    left = wanted
    if rule.preference == Preference.AGGREGATED:
        for share in shares[: minimum_clusters(rule)] if minimum_clusters(rule) > 1 else ():
            if not share.before and share.more and left:
                share.extra, left = 1, left - 1
        _aggregate(shares, left)
        return
    if rule.preference == Preference.STATIC_WEIGHTS:
        weights = [static_weight(rule, share.cluster) for share in shares]
        if not any(weights):
            weights = [1] * len(shares)
    else:
        weights = [share.before + share.room for share in shares]
    total = wanted + sum(share.before for share in shares)
    for share, goal in zip(shares, dispense(total, weights), strict=True):
        share.extra = max(0, min(goal - share.before, share.more, left))
        left -= share.extra
    if rule.preference == Preference.DYNAMIC_WEIGHTS:
        for share in shares:
            more = min(left, share.more - share.extra)
            share.extra, left = share.extra + more, left - more


def _aggregate(shares: list[ClusterShare], wanted: int) -> None:
    """Into the clusters in use, then the best one that holds the rest, else the roomiest first."""
    left = wanted
    for share in sorted(shares, key=lambda s: not s.before and not s.extra):
        if share.before or share.extra:
            more = min(left, share.more - share.extra)
            share.extra, left = share.extra + more, left - more
    fresh = [share for share in shares if not share.before and not share.extra]
    while left and fresh:
        enough = [share for share in fresh if share.more >= left]
        pool = enough or [s for s in fresh if s.more == max(f.more for f in fresh)]
        share = min(pool, key=lambda s: (-s.score, s.at))
        share.extra = min(left, share.more)
        left -= share.extra
        fresh.remove(share)


def static_weight(rule: PlacementRule, cluster: Cluster) -> int:
    """The largest weight of the entries that match the cluster; 0 when none does."""
    return max((w.weight for w in rule.weights if selected(w.selector, cluster)), default=0)


def dispense(total: int, weights: list[int]) -> list[int]:
    """Whole parts of `total` by weight: floors, then the rest by largest remainder and order."""
    whole = sum(weights)
    if whole <= 0:
        return [0] * len(weights)
    parts = [total * weight // whole for weight in weights]
    rest = total - sum(parts)
    by_remainder = sorted(
        range(len(weights)), key=lambda i: (-(total * weights[i] % whole), -weights[i], i)
    )
    for i in by_remainder[:rest]:
        parts[i] += 1
    return parts


def _offer(
    workload: Workload, statement: Statement, shares: list[ClusterShare], affinity: str
) -> Offer:
    """The room for every share's extra replicas, on top of the grants that are there."""
    gang, decision = workload.demand.gang, workload.decision
    assert gang is not None
    before = {} if decision is None else {grant.cluster: grant for grant in decision.grants}
    grants = dict(before)
    parts = []
    empty = gang.pod_sets[0].count == 0 and not before
    for share in shares[:1] if empty else shares:
        if not share.extra and not empty:
            continue
        placed = place_extra(workload, statement, share.at, share.extra)
        part = OfferPart(share.at, share.cluster.name, placed, share.score)
        parts.append(part)
        grants[part.cluster] = grant_of(workload.demand, part, before.get(part.cluster))
    return Offer(tuple(grants.values()), tuple(parts), affinity)


def place_extra(workload: Workload, statement: Statement, at: int, extra: int) -> Placed:
    """Room for exactly that many more replicas, which the caller knows to be there."""
    gang = workload.demand.gang
    assert gang is not None
    amounts = Amounts.of({gang.pod_sets[0].name: extra})
    cluster = statement.rooms.rooms[at].cluster.name
    before = None if workload.decision is None else workload.decision.grant(cluster)
    placed = statement.rooms.grow(at, gang, amounts, before, minimum=amounts)
    assert placed is not None
    return placed


def shrink_divided(workload: Workload, grants: tuple[Grant, ...]) -> tuple[Grant, ...]:
    """The grants for fewer replicas: the smallest ones go first, or all by weight."""
    gang, rule = workload.demand.gang, workload.demand.rule
    assert gang is not None
    name, total = gang.pod_sets[0].name, gang.pod_sets[0].count
    sizes = [grant.amounts.get(name) for grant in grants]
    if rule.preference == Preference.AGGREGATED:
        order = sorted(range(len(grants)), key=lambda i: (-sizes[i], grants[i].cluster))
        goals = [0] * len(grants)
        for i in order:
            goals[i] = min(sizes[i], total - sum(goals))
    else:
        goals = [min(a, b) for a, b in zip(sizes, dispense(total, sizes), strict=True)]
    cut = []
    for grant, goal in zip(grants, goals, strict=True):
        if goal or total == 0:
            cut.append(resized(workload, grant, Amounts.of({name: goal})))
    return tuple(cut[:1] if total == 0 else cut)


def resized(workload: Workload, grant: Grant, amounts: Amounts) -> Grant:
    """The grant with other amounts, in the same domain."""
    return Grant(
        cluster=grant.cluster,
        amounts=amounts,
        replicas=amounts.pods() if workload.demand.carries_replicas else None,
        domain=grant.domain,
        tier=grant.tier,
        tier_name=grant.tier_name,
    )
