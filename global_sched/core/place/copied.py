"""Objects without demand go to every cluster that the policy and the filters allow."""

from global_sched.core.fit.spread import choose
from global_sched.core.offer import Offer, OfferPart, Refusal, grant_of
from global_sched.core.statement import Statement
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload


def offer_copies(workload: Workload, statement: Statement) -> Offer | Refusal:
    """All clusters of the first choice that has any; those in use come first and stay."""
    standings, rooms = statement.standings, statement.rooms
    case = standings.case(workload)
    before = {} if workload.decision is None else {g.cluster: g for g in workload.decision.grants}
    spread: Verdict | None = None
    for choice, mask in standings.tries(case, workload.observed_affinity):
        ranked: list[tuple[Cluster, int]] = [
            (room.cluster, at)
            for at, room in enumerate(rooms.rooms)
            if mask[at] or room.cluster.name in before
        ]
        ranked.sort(key=lambda one: one[0].name not in before)
        chosen = choose(workload.demand.rule, ranked, kept=len(before)) if ranked else []
        if isinstance(chosen, Verdict):
            spread = spread or chosen
        elif chosen:
            return _offer(workload, chosen, before, choice.name)
    return standings.refusal(case, None) if spread is None else Refusal(spread)


def _offer(
    workload: Workload,
    chosen: list[tuple[Cluster, int]],
    before: dict[ClusterName, Grant],
    affinity: str,
) -> Offer:
    parts = tuple(OfferPart(at, c.name, None) for c, at in chosen if c.name not in before)
    grants = (*before.values(), *(grant_of(workload.demand, part) for part in parts))
    return Offer(tuple(grants), parts, affinity)
