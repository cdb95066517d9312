"""Why a gang goes to one of the clusters that have room: what parts each of them from the best."""

from typing import NamedTuple

from global_sched.core.rooms import Ask, Mask
from global_sched.core.scores import Fill, fill_of, idle_devices
from global_sched.core.statement import Statement
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Workload


class _Points(NamedTuple):
    """One cluster's score in its parts, named by what says why it is ahead or behind."""

    shape: int
    locality: int
    balance: int
    room: int


def reasons(workload: Workload, ask: Ask, fits: Mask, statement: Statement) -> dict[int, str]:
    """A few words for each cluster that fits, by position; nothing where only one does.

    Of the best it says what puts it before the next, of the others what puts the best before them.
    """
    ranking = statement.ranking
    ranked = [at for at, _ in ranking.ranked(workload, ask, fits)]
    if len(ranked) < 2:
        return {}
    shape = ranking.shape(workload, ask, fits)
    balance = ranking.balance(workload)
    points = {
        at: _Points(
            shape=int(shape[at]),
            locality=ranking.local(workload, statement.rooms.rooms[at].cluster),
            balance=int(balance[at]),
            room=int(ask.base[at]),
        )
        for at in ranked
    }
    best, following = ranked[0], ranked[1]
    lead = _lead(points[best], points[following])
    found = {best: f"chosen: {_AHEAD[lead] if lead else 'as good as others, first by name'}"}
    if lead == "room" and ask.gang.constraint is not None:
        found[best] = "chosen: a lower tier, a tighter domain or fuller"
    for at in ranked[1:]:
        lead = _lead(points[best], points[at])
        if lead == "shape":
            requests, total = ask.gang.requests(ask.minimum), statement.rooms.rooms[at].total
            found[at] = _misfit(requests, total, fill_of(requests, total))
        elif lead == "room" and ask.gang.constraint is not None:
            found[at] = "a higher tier, a wider domain or less full"
        else:
            found[at] = _BEHIND[lead] if lead else "as good, later by name"
    return found


_AHEAD = {
    "shape": "its resources go with what the job asks for",
    "locality": "the job is there",
    "balance": "the tenant holds less there",
    "room": "fuller, or its resources go better with the job",
}
_BEHIND = {
    "locality": "the job is elsewhere",
    "balance": "the tenant holds more there",
    "room": "less full, or its resources go less well with the job",
}


def _lead(one: _Points, other: _Points) -> str:
    """In which part one is furthest ahead; empty where it is nowhere ahead."""
    leads = {name: a - b for name, a, b in zip(_Points._fields, one, other, strict=True)}
    name = max(leads, key=lambda part: leads[part])
    return name if leads[name] > 0 else ""


def _misfit(requests: Resources, total: Resources, fill: Fill) -> str:
    """What is wrong with a cluster whose resources do not go with a gang."""
    devices = idle_devices(requests, total)
    if devices:
        return f"kept for jobs that ask for {', '.join(devices)}"
    if not fill.resource:
        return "nothing is known of what its nodes have"
    return f"its {fill.resource} would be used up long before the rest"
