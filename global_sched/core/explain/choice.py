"""The choice between clusters that have room: what parts each of them from the best.

A gang goes to the best one: of each cluster the one score in which it is furthest ahead of the next
or behind the best is said. Of what several clusters share it is said what each of them gets.
"""

from typing import NamedTuple

from global_sched.core.fit.plugins import CLUSTER_SCORES
from global_sched.core.fit.rooms import Ask, Mask
from global_sched.core.fit.scores import Fill, ScoreInput, fill_of, idle_devices, used_of
from global_sched.core.offer import Offer
from global_sched.core.place.admission import offer_for
from global_sched.core.statement import Statement
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Division, Workload
from global_sched.shared.placement import NO_TIER


class _Points(NamedTuple):
    """One cluster's score in its parts, named by what says why it is ahead or behind."""

    shape: int
    locality: int
    tier: int
    tightness: int
    fullness: int
    evenness: int
    room: int
    """All of the last four where they cannot be separated."""
    balance: int


class _Ranked(NamedTuple):
    """A cluster that fits: its whole score, the parts of it, and the tier that it offers."""

    score: int
    points: _Points
    tier: int | None


def reasons(workload: Workload, ask: Ask, fits: Mask, statement: Statement) -> dict[int, str]:
    """A few words for each cluster that fits, by position; nothing where only one does."""
    if workload.demand.division != Division.WHOLE:
        return _parts(workload, fits, statement)
    ranked = statement.ranking.ranked(workload, ask, fits)
    if len(ranked) < 2:
        return {}
    shape = statement.ranking.shape(workload, ask, fits)
    found = {
        at: _Ranked(score, *_points(workload, ask, at, int(shape[at]), statement))
        for at, score in ranked
    }
    (best, _), (following, _) = ranked[:2]
    lead = _lead(found[best], found[following])
    told = {best: f"chosen: {_ahead(lead, found[best], found[following])}"}
    for at, _ in ranked[1:]:
        lead = _lead(found[best], found[at])
        if lead == "shape":
            requests, total = ask.gang.requests(ask.minimum), statement.rooms.rooms[at].total
            told[at] = _misfit(requests, total, fill_of(requests, total))
        else:
            told[at] = _behind(lead, found[best], found[at])
    return told


def _points(
    workload: Workload, ask: Ask, at: int, shape: int, statement: Statement
) -> tuple[_Points, int | None]:
    """A cluster's score in its parts, and its tier."""
    room = statement.rooms.rooms[at]
    placed = ask.placed(at)
    tier, base = None, int(ask.base[at])
    if ask.gang.constraint is not None:
        tier = NO_TIER if placed.tier is None else placed.tier
    fill = fill_of(ask.gang.requests(ask.minimum), room.total)
    holds = room.space.holds(ask.gang, placed.domain)
    subject = ScoreInput(tier, ask.pods, holds, fill, room.free.get(fill.resource, 0))
    weights = statement.policy.score_weights
    each = {
        name: getattr(weights, name) * int(score(subject, statement))
        for name, score in CLUSTER_SCORES.items()
    }
    packing = each["packing"]
    fullness = min(packing, weights.packing * int(used_of(subject)) // 2)
    told = sum(each.values()) == base
    return _Points(
        shape=shape,
        locality=statement.ranking.local(workload, room.cluster),
        tier=each["topology"] if told else 0,
        tightness=each["tightness"] if told else 0,
        fullness=fullness if told else 0,
        evenness=packing - fullness if told else 0,
        room=0 if told else base,
        balance=int(statement.ranking.balance(workload)[at]),
    ), tier


def _lead(one: _Ranked, other: _Ranked) -> str:
    """In which part one is furthest ahead; empty where it is no better in all."""
    if one.score == other.score:
        return ""
    pairs = zip(_Points._fields, one.points, other.points, strict=True)
    leads = {name: a - b for name, a, b in pairs}
    name = max(leads, key=lambda part: leads[part])
    return name if leads[name] > 0 else ""


_AHEAD = {
    "": "as good as others, first by name",
    "shape": "its resources go with what the job asks for",
    "locality": "the job is there",
    "tightness": "a tighter domain",
    "fullness": "fuller",
    "evenness": "its resources go better with the job",
    "room": "a lower tier, a tighter domain or fuller",
    "balance": "the tenant holds less there",
}
_BEHIND = {
    "": "as good, later by name",
    "locality": "the job is elsewhere",
    "tightness": "a wider domain",
    "fullness": "less full",
    "evenness": "its resources go less well with the job",
    "room": "a higher tier, a wider domain or less full",
    "balance": "the tenant holds more there",
}


def _ahead(lead: str, best: _Ranked, following: _Ranked) -> str:
    if lead != "tier":
        return _AHEAD[lead]
    other = "none" if following.tier == NO_TIER else following.tier
    return f"a lower tier ({best.tier}, elsewhere {other})"


def _behind(lead: str, best: _Ranked, other: _Ranked) -> str:
    if lead != "tier":
        return _BEHIND[lead]
    if other.tier == NO_TIER:
        return "no HyperNode holds it, only the cluster as a whole"
    return f"a higher tier ({other.tier}, not {best.tier})"


def _misfit(requests: Resources, total: Resources, fill: Fill) -> str:
    """What is wrong with a cluster whose resources do not go with a gang."""
    devices = idle_devices(requests, total)
    if devices:
        return f"kept for jobs that ask for {', '.join(devices)}"
    if not fill.resource:
        return "nothing is known of what its nodes have"
    return f"its {fill.resource} would be used up long before the rest"


def _parts(workload: Workload, fits: Mask, statement: Statement) -> dict[int, str]:
    """What each cluster that fits gets of a divided or duplicated workload."""
    gang = workload.demand.gang
    offer = offer_for(workload, statement)
    if gang is None or not isinstance(offer, Offer):
        return {}
    gets = {part.at: part.amounts().pods() for part in offer.parts}
    wanted = gang.all_amounts().pods()
    return {
        at: f"chosen: {gets[at]} of {wanted} replicas" if at in gets else "gets no replicas"
        for at in fits.nonzero()[0].tolist()
    }
