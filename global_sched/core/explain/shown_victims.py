"""The victims of a workload that waits: those that would have to leave, or leave already.

Asked by `explain` only, in the workload's turn: the searches that the cycle makes, whose turns are
not counted here. Where there are none it is said why, also where victims were found and stay.
"""

from collections.abc import Iterable, Iterator

from global_sched.core.cycle import Cycle
from global_sched.core.explain.protected import protected
from global_sched.core.explain.remedy_text import name_for
from global_sched.core.make_room.claim_text import NO_SEARCHES, no_victims
from global_sched.core.make_room.growing import ENDED_BY_LEAVING
from global_sched.core.make_room.hold_window import rests, rests_until
from global_sched.core.make_room.kinds import claimable, claims_replicas, for_growth
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.patience import HEALED
from global_sched.core.make_room.search import Nothing, RoomFound
from global_sched.core.offer import Offer
from global_sched.core.place.admission import growth_for, offer_for
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Claim
from global_sched.shared.model.explanation import Victim
from global_sched.shared.model.growth import growth_gang, may_claim
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division, Workload

Shown = tuple[tuple[Victim, ...], str]
GROUP = "no victims: a group of bindings evicts no other job"
_WIDE = "no victims: a workload of several clusters evicts no other job"
_PARTITIONS = "no victims: growth by groups of pods evicts no other job"
_NO_SEARCHES = f"they stay: {NO_SEARCHES}"


def victims_of(workload: Workload, cycle: Cycle) -> Shown:
    """The victims, and why there are none or they stay; empty where it needs none."""
    if workload.demand.division == Division.COPIED or workload.demand.gang is None:
        return (), ""
    held = cycle.claims.kept_for(workload.key)
    if held is not None and held.claim.victims:
        return tuple(_leaving(held.claim, workload, cycle.statement.snapshot)), ""
    if workload.targets:
        return _of_growth(workload, cycle)
    offered = offer_for(workload, cycle.statement)
    if isinstance(offered, Offer):
        return (), ""
    why = _not_by_leaving(offered.verdict, workload)
    if why:
        return (), why
    whole = workload.demand.division == Division.WHOLE
    if not whole and not claims_replicas(workload, cycle.statement):
        return (), _WIDE
    found = cycle.claims.search(workload)
    if isinstance(found, Nothing):
        least = cycle.statement.standings.of(workload).minimum_requests
        return (), _why_none(found, workload, least, cycle)
    return _shown(found, workload), _why_they_stay(workload, cycle)


def _why_none(found: Nothing, workload: Workload, asked: Resources, cycle: Cycle) -> str:
    """Why nothing may leave for it, and what would have to if nothing protected that."""
    safe = protected(workload, asked, cycle.claims, cycle.statement)
    if not safe:
        return found.why
    return no_victims(safe) if found.why == no_victims() else f"{found.why}; {safe}"


def _why_they_stay(workload: Workload, cycle: Cycle) -> str:
    """Why victims that were found stay; empty where they leave."""
    statement = cycle.statement
    if statement.policy.searches_per_cycle <= 0:
        return _NO_SEARCHES
    least = statement.standings.of(workload).minimum_requests
    if rests(workload, least, statement):
        return _rests_until(workload, statement)
    return ""


def _of_growth(workload: Workload, cycle: Cycle) -> Shown:
    """The same for pods that it lacks beside those that run."""
    statement = cycle.statement
    if not workload.lacking().entries:
        return (), ""
    offered = growth_for(workload, statement)
    if isinstance(offered, Offer):
        return (), ""
    verdict = offered.verdict
    if verdict.code != Code.NO_FIT or verdict.reason not in ENDED_BY_LEAVING:
        return (), _not_by_leaving(verdict, workload)
    if not may_claim(workload) and not claims_replicas(workload, statement):
        whole = workload.demand.division == Division.WHOLE
        return (), _PARTITIONS if whole else _WIDE
    asked = claimable(workload, statement)
    if not asked.entries:
        return (), (
            "no victims: it has its minimum, and for more pods its queue would have to be below "
            "its deserved share"
        )
    found = for_growth(workload, asked, cycle.claims.whole, statement)
    amount = growth_gang(workload, asked).requests(asked)
    if isinstance(found, Nothing):
        return (), _why_none(found, workload, amount, cycle)
    if statement.policy.searches_per_cycle <= 0:
        return _shown(found, workload), _NO_SEARCHES
    return _shown(found, workload), ""


def _not_by_leaving(verdict: Verdict, workload: Workload) -> str:
    """Why no victim's leaving ends what stands against it; empty where it does."""
    if verdict.reason == Reason.TENANT_LIMIT:
        return f"no victims: only its own jobs can free the limit of tenant {workload.tenant}"
    if verdict.code == Code.NEVER:
        return "no victims: it would not be admitted either if all other jobs left"
    if verdict.reason not in HEALED:
        return "no victims: what it waits for is not room that other jobs hold"
    if verdict.code == Code.WAIT and verdict.proven:
        return "no victims: the room is kept for a gang that waited longer than its patience"
    if verdict.code != Code.NO_FIT:
        return "no victims: it is not certain that it does not fit"
    return ""


def _rests_until(workload: Workload, statement: Statement) -> str:
    until = rests_until(workload, statement)
    assert until is not None
    return f"they stay: it was evicted itself, and claims nothing until {format_instant(until)}"


def _shown(found: RoomFound, claimant: Workload) -> tuple[Victim, ...]:
    """The victims of a search; surplus pods of one gang together."""
    together: dict[tuple[int, bool], list[EvictionUnit]] = {}
    for unit in found.units:
        together.setdefault((unit.at, unit.whole), []).append(unit)
    return tuple(_victim(units, claimant) for units in together.values())


def _victim(units: list[EvictionUnit], claimant: Workload) -> Victim:
    first = units[0]
    pods = first.holder.grant.amounts.pods() if first.whole else sum(one.pods for one in units)
    one = first.holder.workload
    return Victim(
        cluster=first.cluster,
        queue=one.queue,
        priority=one.priority,
        pods=pods,
        whole=first.whole,
        reclaim=first.reclaim,
        workload=name_for(one, claimant),
    )


def _leaving(claim: Claim, claimant: Workload, snapshot: Snapshot) -> Iterator[Victim]:
    """The victims of its claim, as far as they still exist."""
    known = {one.binding_id: one for one in _workloads(snapshot)}
    for leaver in claim.victims:
        one = known.get(leaver.binding)
        if one is not None:
            yield Victim(
                cluster=claim.leaves(leaver),
                queue=one.queue,
                priority=one.priority,
                pods=leaver.amounts.pods(),
                whole=leaver.whole,
                reclaim=one.queue != claimant.queue,
                workload=name_for(one, claimant),
                leaves=True,
            )


def _workloads(snapshot: Snapshot) -> Iterable[Workload]:
    for bucket in snapshot.pending:
        yield from bucket.workloads
    for running in snapshot.running:
        yield from running.workloads
