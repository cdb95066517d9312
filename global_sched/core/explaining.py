"""One workload's turn in full: the same cycle, stopped just before it and looked at from there."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from global_sched.core.admission import FITS, growth_for, offer_for
from global_sched.core.choice import reasons
from global_sched.core.claims import HEALED
from global_sched.core.cycle import Cycle, settled
from global_sched.core.group_remedies import GroupRemedies
from global_sched.core.growing import claimable, who_leaves
from global_sched.core.offer import Offer
from global_sched.core.remedies import Remedies
from global_sched.core.rights import Unit
from global_sched.core.rooms import Ask
from global_sched.core.search import Nothing
from global_sched.core.standing import Case
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import (
    ClusterDomains,
    Explanation,
    Remedy,
    Victim,
)
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import ClusterVerdict, Code
from global_sched.shared.model.workload import Division, Workload


def explain(
    snapshot: Snapshot, policy: Policy, now: Instant, key: WorkloadKey
) -> Explanation | None:
    """What the cycle decides about one workload, and all that it looked at.

    The same `run_cycle` decides; every cluster is asked, also where the queue or tenant refuses
    already. None when there is nothing to decide about it: it is in place, finished or unknown.
    """
    cycle, turn = _turn(snapshot, policy, now, key)
    statement = cycle.statement
    position, queue, tenant, look = 0, None, None, _Look()
    if turn is not None:
        position, workload = turn
        queue = statement.ledger.shown_queue(workload.queue)
        tenant = statement.ledger.shown_tenant(workload.tenant)
        look = _look(workload, cycle)
        cycle.resume(position, workload)
    outcome = next((one for one in statement.outcomes if one.workload == key), None)
    if outcome is None:
        return None
    return Explanation(
        outcome=replace(outcome, clusters=_fuller(outcome, look.clusters)),
        domains=look.domains,
        admission=next((one for one in statement.admissions if one.workload == key), None),
        position=position,
        length=cycle.line.length(outcome.queue),
        queue=queue or statement.ledger.shown_queue(outcome.queue),
        tenant=tenant or statement.ledger.shown_tenant(outcome.tenant),
        victims=look.victims,
        no_victims=look.why,
        remedies=look.remedies if _waits(outcome) else (),
    )


class _Look(NamedTuple):
    """What is found out about a workload in its turn, before it is decided."""

    clusters: tuple[ClusterVerdict, ...] = ()
    domains: tuple[ClusterDomains, ...] = ()
    victims: tuple[Victim, ...] = ()
    why: str = ""
    remedies: tuple[Remedy, ...] = ()


def _look(workload: Workload, cycle: Cycle) -> _Look:
    """Nothing of it stays in the cycle."""
    statement = cycle.statement
    clusters: tuple[ClusterVerdict, ...] = ()
    domains: tuple[ClusterDomains, ...] = ()
    if not workload.targets:
        clusters, domains = _ask_all(workload, statement)
    grouped = workload.group and workload.demand.division != Division.COPIED
    if grouped and not workload.targets:  # perhaps decided in another member's turn
        why = "nobody leaves for a group of bindings: it waits until room is free"
        remedies = tuple(GroupRemedies(workload, cycle).find())
        return _Look(clusters, domains, (), why, remedies)
    if workload.key in statement.decided:
        return _Look()
    victims, why = _victims(workload, cycle)
    return _Look(clusters, domains, victims, why, _remedies(workload, cycle, victims))


def _waits(outcome: Outcome) -> bool:
    """Whether it waits for anything: to start, or for more pods."""
    verdict = outcome.verdict
    return verdict.code != Code.FIT or verdict.reason == Reason.GROWTH_PENDING


def _turn(
    snapshot: Snapshot, policy: Policy, now: Instant, key: WorkloadKey
) -> tuple[Cycle, tuple[int, Workload] | None]:
    """The cycle just before the workload's turn; None instead of a turn where it gets none.

    Shares of what is left over need a whole cycle more, so they are only looked for where surplus
    was held back, or the workload has some itself.
    """
    cycle = Cycle(snapshot, policy, now)
    turn = cycle.run(until=key)
    statement = cycle.statement
    standing = None if turn is None else statement.standings.of(turn[1])
    elastic = standing is not None and standing.minimum != standing.wanted
    if elastic or statement.ledger.surplus.held_back:
        cycle = Cycle(snapshot, policy, now, settled(snapshot, policy, now)[1])
        turn = cycle.run(until=key)
    return cycle, turn


def _victims(workload: Workload, cycle: Cycle) -> tuple[tuple[Victim, ...], str]:
    """Who would have to leave for it now, or why nobody may."""
    if workload.demand.division != Division.WHOLE or workload.demand.gang is None:
        return (), ""
    if workload.targets:
        return _victims_of_growth(workload, cycle)
    offered = offer_for(workload, cycle.statement)
    if isinstance(offered, Offer) or offered.verdict.reason not in HEALED:
        return (), ""
    found = cycle.claims.search(workload)
    if isinstance(found, Nothing):
        return (), found.why
    return tuple(_victim(unit, workload) for unit in found.units), ""


def _victims_of_growth(workload: Workload, cycle: Cycle) -> tuple[tuple[Victim, ...], str]:
    """The same for pods that it lacks beside those that run."""
    statement = cycle.statement
    asked = claimable(workload, statement)
    if not asked.entries or isinstance(growth_for(workload, statement), Offer):
        return (), ""
    found, _ = who_leaves(workload, asked, cycle.claims, statement)
    if isinstance(found, Nothing):
        return (), found.why
    return tuple(_victim(unit, workload) for unit in found.units), ""


def _remedies(workload: Workload, cycle: Cycle, victims: tuple[Victim, ...]) -> tuple[Remedy, ...]:
    """What would let it run; nothing where it runs, or where room is being made for it already."""
    claim = None if workload.decision is None else workload.decision.claim
    if claim is not None and claim.victims:
        return ()
    statement = cycle.statement
    runs = bool(workload.targets)
    if runs and not workload.lacking().entries:
        return ()
    refusal = growth_for(workload, statement) if runs else offer_for(workload, statement)
    if isinstance(refusal, Offer):
        return ()
    case = statement.standings.case(workload)
    ask = None if runs else _ask(workload, case, statement, everywhere=True)
    return tuple(Remedies(workload, cycle, refusal).find(ask, victims))


def _victim(unit: Unit, claimant: Workload) -> Victim:
    victim = unit.holder.workload
    return Victim(
        cluster=unit.cluster,
        queue=victim.queue,
        priority=victim.priority,
        pods=unit.holder.grant.amounts.pods() if unit.whole else unit.pods,
        whole=unit.whole,
        reclaim=unit.reclaim,
        workload=victim.key if victim.tenant == claimant.tenant else None,
    )


def _fuller(outcome: Outcome, asked: tuple[ClusterVerdict, ...]) -> tuple[ClusterVerdict, ...]:
    """The clusters' verdicts: a refusal's own ones, else those that were asked for the sake of it.

    A group's member is refused after its group has taken room, which nobody else sees.
    """
    refused = outcome.verdict.code != Code.FIT
    return outcome.clusters if refused and outcome.clusters else asked or outcome.clusters


def _ask_all(
    workload: Workload, statement: Statement
) -> tuple[tuple[ClusterVerdict, ...], tuple[ClusterDomains, ...]]:
    """Every cluster's verdict with its score and why, and the domains of those without room."""
    case = statement.standings.case(workload)
    ask = _ask(workload, case, statement)
    fits = case.allowed if ask is None else ask.fitting(case.allowed)
    scores = None if ask is None else statement.ranking.scores(workload, ask, fits)
    why: dict[int, str] = {}
    if ask is not None and workload.demand.division == Division.WHOLE:
        why = reasons(workload, ask, fits, statement)
    clusters, domains = [], []
    for at, room in enumerate(statement.rooms.rooms):
        name, refusal = room.cluster.name, case.refusals[at]
        if fits[at]:
            score = None if scores is None else int(scores[at])
            verdict = replace(FITS, detail=why.get(at, ""))
            clusters.append(ClusterVerdict(cluster=name, verdict=verdict, score=score))
        elif refusal is not None:
            clusters.append(refusal)
        elif ask is not None:
            clusters.append(ask.refusal(at) or ClusterVerdict(cluster=name, verdict=FITS))
            found = room.space.explain(ask.gang, minimum=ask.minimum)
            domains.append(ClusterDomains(cluster=name, domains=found))
    return tuple(clusters), tuple(domains)


def _ask(
    workload: Workload, case: Case, statement: Statement, *, everywhere: bool = False
) -> Ask | None:
    """The question that the workload's division puts to each cluster.

    Not the cycle's own ask: what is asked here must not be remembered there. None where no cluster
    is allowed, but with `everywhere`.
    """
    gang, standing = workload.demand.gang, case.standing
    if gang is None or not (everywhere or np.any(case.allowed)):
        return None
    match workload.demand.division:
        case Division.WHOLE | Division.COPIED:
            minimum = standing.minimum
        case Division.DUPLICATED:
            minimum = standing.wanted
        case Division.DIVIDED:
            minimum = Amounts.of({gang.pod_sets[0].name: min(1, gang.pod_sets[0].count)})
    return Ask(gang, standing.wanted, minimum, statement.rooms)
