"""One workload's turn: the checks before any cluster is asked, the offer, the verdict."""

from collections.abc import Callable, Mapping

from global_sched.core.offer import Offer, Refusal
from global_sched.core.outcomes import outcome_of
from global_sched.core.place.copied import offer_copies
from global_sched.core.place.divided import offer_divided
from global_sched.core.place.duplicated import offer_duplicates
from global_sched.core.place.one_cluster import grow_whole, offer_whole
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import cooldown_ends, needs_more
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.verdict import ClusterVerdict, Code, Verdict
from global_sched.shared.model.workload import Demand, Division, Workload

OFFERS: Mapping[Division, Callable[[Workload, Statement], Offer | Refusal]] = {
    Division.WHOLE: offer_whole,
    Division.DUPLICATED: offer_duplicates,
    Division.DIVIDED: offer_divided,
    Division.COPIED: offer_copies,
}
"""How each division uses the clusters."""

FITS = Verdict(code=Code.FIT, reason=Reason.FITS)
ADMITTED = Verdict(code=Code.FIT, reason=Reason.ADMITTED)
NO_ROOM_BESIDE = Verdict(
    code=Code.NO_FIT,
    reason=Reason.GROWTH_PENDING,
    detail="no room for more pods where it runs",
    missing=1,
)


def consider(workload: Workload, position: int, statement: Statement) -> None:
    """Admit a pending workload, or end it with the reason why not."""
    found = offer_for(workload, statement)
    if isinstance(found, Refusal):
        refuse(workload, position, found, statement)
    else:
        accept(workload, position, found, statement)


def try_growth(
    workload: Workload, position: int, statement: Statement, least: Amounts | None = None
) -> Verdict | None:
    """Admit more of what it asks for (`least` at least); why not, or None when that was done."""
    found = growth_for(workload, statement, least)
    if isinstance(found, Refusal):
        return found.verdict
    accept(workload, position, found, statement)
    return None


def growth_for(
    workload: Workload, statement: Statement, least: Amounts | None = None
) -> Offer | Refusal:
    """What an admitted workload would get now in addition (`least` at least)."""
    refusal = refused_growth(workload, statement)
    found = refusal or _last_resort(workload, statement, lambda one: _growth(one, statement, least))
    if isinstance(found, Offer) and not found.parts:
        return Refusal(NO_ROOM_BESIDE)
    return found


def refused_growth(workload: Workload, statement: Statement) -> Refusal | None:
    """What stands against more for an admitted workload before its cluster is asked."""
    return refused_before(workload, statement) or _unbound(workload) or _rests(workload, statement)


def _rests(workload: Workload, statement: Statement) -> Refusal | None:
    """After a resize an elastic gang gets no surplus for its cooldown."""
    until = cooldown_ends(workload, statement.policy)
    if until is None or until <= statement.now or needs_more(workload).entries:
        return None
    assert workload.decision is not None
    detail = (
        f"it was resized at {format_instant(workload.decision.resized)}, and its cooldown lasts "
        f"until {format_instant(until)}"
    )
    return Refusal(_wait(Reason.GROWTH_PENDING, detail))


def _unbound(workload: Workload) -> Refusal | None:
    """Growth waits until all that was admitted before is bound, and all that leaves is gone.

    A new decision comes last in the order in which room was given, and so would its unbound pods;
    and surplus that gives way to others would stay where it is.
    """
    decision = workload.decision
    if decision is None or workload.demand.division == Division.COPIED:
        return None
    for grant in decision.grants:
        progress = workload.progress_in(grant.cluster)
        if grant.amounts.entries and (progress is None or not progress.bound.covers(grant.amounts)):
            detail = f"{grant.cluster} has not bound all pods that were admitted before"
            return Refusal(_wait(Reason.GROWTH_PENDING, detail), grant.cluster)
        gives_up = any(cluster == grant.cluster for cluster, _ in decision.give_up)
        if gives_up and progress is not None and not grant.amounts.covers(progress.bound):
            detail = f"surplus pods of it in {grant.cluster} are still being evicted"
            return Refusal(_wait(Reason.GROWTH_PENDING, detail), grant.cluster)
    return None


def offer_for(
    workload: Workload, statement: Statement, least: Amounts | None = None
) -> Offer | Refusal:
    """What a pending workload would get now (`least` at least)."""
    refusal = refused_before(workload, statement)
    if refusal is not None:
        return refusal
    offers = OFFERS[division_of(workload.demand)]
    return _last_resort(workload, statement, lambda one: _at_least(offers, one, statement, least))


def _last_resort(
    workload: Workload, statement: Statement, ask: Callable[[Workload], Offer | Refusal]
) -> Offer | Refusal:
    """The offer without nodes of last resort; where there is none, the one that counts them."""
    found = ask(workload)
    if isinstance(found, Offer) or not statement.rooms.last_resort:
        return found
    return ask(statement.counting_all(workload))


def _growth(workload: Workload, statement: Statement, least: Amounts | None) -> Offer | Refusal:
    offers = OFFERS[division_of(workload.demand)]
    if offers is offer_whole:
        return grow_whole(workload, statement, least)
    return _at_least(offers, workload, statement, least)


def _at_least(
    offers: Callable[[Workload, Statement], Offer | Refusal],
    workload: Workload,
    statement: Statement,
    least: Amounts | None,
) -> Offer | Refusal:
    """The offer, refused where it is less than `least`: what room is kept for comes at once."""
    if least is None:
        return offers(workload, statement)
    if offers is offer_divided:
        found = offer_divided(workload, statement, least)
    else:
        found = offers(workload, statement)
    if isinstance(found, Offer):
        pods = sum(part.amounts().pods() for part in found.parts)
        if pods < least.pods():
            return Refusal(NO_ROOM_BESIDE)
    return found


def division_of(demand: Demand) -> Division:
    """How it uses the clusters; a gang of several pod sets is never divided."""
    if demand.gang is None:
        return Division.COPIED
    if demand.division == Division.DIVIDED and len(demand.gang.pod_sets) != 1:
        return Division.WHOLE
    return demand.division


def accept(workload: Workload, position: int, offer: Offer, statement: Statement) -> None:
    """Commit an offer."""
    statement.admit(workload, offer)
    record(workload, position, offer, statement)


def record(workload: Workload, position: int, offer: Offer, statement: Statement) -> None:
    """End a workload that was admitted with its verdict."""
    clusters = tuple(
        ClusterVerdict(cluster=part.cluster, verdict=FITS, score=part.score) for part in offer.parts
    )
    nearest = offer.parts[0].cluster if offer.parts else None
    statement.outcomes.append(
        outcome_of(workload, ADMITTED, nearest=nearest, clusters=clusters, position=position)
    )


def refuse(workload: Workload, position: int, refusal: Refusal, statement: Statement) -> None:
    """End a pending workload with a refusal."""
    statement.decided.add(workload.key)
    statement.outcomes.append(
        outcome_of(
            workload,
            refusal.verdict,
            nearest=refusal.nearest,
            clusters=refusal.clusters,
            position=position,
        )
    )


def refused_before(workload: Workload, statement: Statement) -> Refusal | None:
    """What stands against a workload before any cluster is asked: itself, its queue, its tenant."""
    verdict = statement.ledger.gates.refusal(workload)
    return None if verdict is None else Refusal(verdict)


def _wait(reason: Reason, detail: str) -> Verdict:
    return Verdict(code=Code.WAIT, reason=reason, detail=detail, missing=1)
