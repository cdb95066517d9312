"""One workload's turn in full: the same cycle, stopped just before it and looked at from there."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from global_sched.core.cycle import Cycle
from global_sched.core.explain.choice import reasons
from global_sched.core.explain.group_remedies import GroupRemedies
from global_sched.core.explain.kept_room import kept_from
from global_sched.core.explain.occupants import occupants_of
from global_sched.core.explain.shown_victims import GROUP, victims_of
from global_sched.core.explain.trials import advice
from global_sched.core.explain.variants import Question
from global_sched.core.fit.rooms import Ask
from global_sched.core.fit.standing import OwnStanding
from global_sched.core.make_room.holds import Held, give_back
from global_sched.core.offer import Offer
from global_sched.core.place.admission import FITS, growth_for, offer_for
from global_sched.core.statement import Statement
from global_sched.core.waiting import claimants
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import (
    ClusterDomains,
    Explanation,
    Holding,
    Remedy,
    RoomHolder,
    Victim,
)
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import QueueName, TenantName, WorkloadKey
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Admission, Outcome
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import ClusterVerdict, Code
from global_sched.shared.model.workload import Division, Workload


def explain_workload(
    snapshot: Snapshot, policy: Policy, now: Instant, key: WorkloadKey
) -> Explanation | None:
    """What the cycle decides about one workload, and all that it looked at.

    The same `run_cycle` decides; every cluster is asked, also where the queue or tenant refuses
    already. None when there is nothing to decide about it: it is in place, finished or unknown.
    """
    cycle, turn, written = _turn(snapshot, policy, now, key)
    statement = cycle.statement
    position, queue, tenant, look = 0, None, None, _Look()
    if turn is not None:
        position, workload = turn
        queue, tenant = _holdings(workload.queue, workload.tenant, cycle)
        with statement.standings.aside():
            look = _look_with_its_room(workload, cycle)
        cycle.resume(position, workload)
    outcome = next((one for one in statement.outcomes if one.workload == key), None)
    if outcome is None:
        return None
    runs = turn is not None and bool(turn[1].targets)
    admission = next((one for one in statement.admissions if one.workload == key), None)
    if queue is None or tenant is None:
        queue, tenant = _holdings(outcome.queue, outcome.tenant, cycle)
    return Explanation(
        outcome=replace(outcome, clusters=_fuller(outcome, look.clusters)),
        domains=() if outcome.verdict.code == Code.NEVER else look.domains,
        admission=None if admission is None else written or admission,
        position=0 if runs else position,
        length=cycle.line.length(outcome.queue),
        queue=queue,
        tenant=tenant,
        victims=look.victims,
        no_victims=look.why,
        kept=look.kept if _waits(outcome) else (),
        occupants=look.occupants if _waits(outcome) else (),
        remedies=tuple(sorted(look.remedies, key=lambda one: not one.enough))
        if _waits(outcome)
        else (),
    )


def _holdings(queue: QueueName, tenant: TenantName, cycle: Cycle) -> tuple[Holding, Holding]:
    """What queue and tenant hold, and what of that is room kept for workloads that wait."""
    ledger = cycle.statement.ledger
    of_queue, of_tenant = [], []
    for held in _held(cycle):
        one = held.workload
        if not held.waves:
            continue
        if queue in ledger.entitlements.path(one.queue):
            of_queue.append(held.amount)
        if one.tenant == tenant:
            of_tenant.append(held.amount)
    return (
        replace(ledger.shown_queue(queue), kept=Resources.total(of_queue)),
        replace(ledger.shown_tenant(tenant), kept=Resources.total(of_tenant)),
    )


def _held(cycle: Cycle) -> Iterator[Held]:
    """The room that is kept for workloads that wait, at this point of the cycle."""
    for one in claimants(cycle.statement.snapshot):
        held = cycle.claims.kept_for(one.key)
        if held is not None:
            yield held


class _Look(NamedTuple):
    """What is found out about a workload in its turn, before it is decided."""

    clusters: tuple[ClusterVerdict, ...] = ()
    domains: tuple[ClusterDomains, ...] = ()
    victims: tuple[Victim, ...] = ()
    why: str = ""
    remedies: tuple[Remedy, ...] = ()
    kept: tuple[str, ...] = ()
    occupants: tuple[RoomHolder, ...] = ()


def _look_with_its_room(workload: Workload, cycle: Cycle) -> _Look:
    """With what a reservation keeps for it given back, as in its turn."""
    held = cycle.claims.kept_for(workload.key)
    if held is None or held.claim.victims:
        return _look(workload, cycle)
    mark = cycle.statement.mark()
    give_back(held, cycle.statement)
    found = _look(workload, cycle)
    cycle.statement.rollback(mark)
    return found


def _look(workload: Workload, cycle: Cycle) -> _Look:
    """Nothing of it stays in the cycle."""
    statement = cycle.statement
    clusters: tuple[ClusterVerdict, ...] = ()
    domains: tuple[ClusterDomains, ...] = ()
    readable = workload.demand.gang is not None or workload.problem is None
    if not workload.targets and readable:  # of what cannot be read no cluster has an answer
        clusters, domains = _ask_all(workload, statement)
    grouped = workload.group and workload.demand.division != Division.COPIED
    if grouped and not workload.targets:  # perhaps decided in another member's turn
        remedies = tuple(GroupRemedies(workload, cycle).find())
        return _Look(clusters, domains, (), GROUP, remedies)
    if workload.key in statement.decided:
        return _Look()
    victims, why = victims_of(workload, cycle)
    remedies = _remedies(workload, cycle, () if why else victims)
    kept, occupants = _held_from(workload, cycle)
    return _Look(clusters, domains, victims, why, remedies, kept, occupants)


def _held_from(workload: Workload, cycle: Cycle) -> tuple[tuple[str, ...], tuple[RoomHolder, ...]]:
    """What room is kept from it, and which gangs hold the rest."""
    asked = growth_for if workload.targets else offer_for
    found = asked(workload, cycle.statement)
    if isinstance(found, Offer):
        return (), ()
    verdict = found.verdict
    return kept_from(workload, verdict, cycle), occupants_of(workload, verdict, cycle)


def _waits(outcome: Outcome) -> bool:
    """Whether it waits for anything: to start, or for more pods."""
    verdict = outcome.verdict
    return verdict.code != Code.FIT or verdict.reason == Reason.GROWTH_PENDING


def _turn(
    snapshot: Snapshot, policy: Policy, now: Instant, key: WorkloadKey
) -> tuple[Cycle, tuple[int, Workload] | None, Admission | None]:
    """The cycle just before the workload's turn; None instead of a turn where it gets none.

    And what is written of it at the end, with what is left over. That needs a whole cycle more, so
    it is only looked for where surplus was held back, or the workload has some itself.
    """
    cycle = Cycle(snapshot, policy, now)
    turn = cycle.run(until=key)
    statement = cycle.statement
    standing = None if turn is None else statement.standings.of(turn[1])
    elastic = standing is not None and standing.minimum != standing.wanted
    if not (elastic or statement.ledger.surplus.held_back):
        return cycle, turn, None
    whole = Cycle(snapshot, policy, now)
    whole.run()
    written = (one for one in whole.statement.admissions if one.workload == key)
    return cycle, turn, next(written, None)


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
    question = Question(workload, cycle, refusal, ask, victims)
    return tuple(remedy for _, remedy in advice(question))


def _fuller(outcome: Outcome, asked: tuple[ClusterVerdict, ...]) -> tuple[ClusterVerdict, ...]:
    """The clusters' verdicts: a refusal's own ones, else those that were asked for the sake of it.

    A group's member is refused after its group has taken room, which no other workload sees.
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
    if ask is not None and workload.demand.division != Division.COPIED:
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
    workload: Workload, case: OwnStanding, statement: Statement, *, everywhere: bool = False
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
