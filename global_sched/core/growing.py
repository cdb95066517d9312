"""Growth of a gang that runs, as a claimant: others leave for pods that its minimum lacks.

Growth after admission is a new request. What its edited template needs to run (its minimum, above
what was admitted) may make others leave like any other request; the proof is that those pods fit
beside the ones that it has, under its constraint. Surplus waits for free room: it would be
the first to leave again. The claim stands beside the grants in the decision annotation.
"""

from dataclasses import replace

import numpy as np

from global_sched.core.admission import try_growth
from global_sched.core.claim_text import told
from global_sched.core.claims import HEALED, Claims
from global_sched.core.evictions import claim_of, evict, write_annotation
from global_sched.core.field import Place
from global_sched.core.holds import Held, give_back
from global_sched.core.offer import Offer, Refusal
from global_sched.core.search import Nothing, Search
from global_sched.core.statement import Statement
from global_sched.core.upkeep import Keeping, conclude, say
from global_sched.core.whole import grow_whole
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Backoff, Decision
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.growth import growth_gang, needs_more
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Workload

_ENDED_BY_LEAVING = HEALED | {Reason.GROWTH_PENDING}
_DOMAINS = 256
"""So many domains of its cluster are compared with the one that it has to stay in."""


def consider_growing(keeping: Keeping, position: int, claims: Claims, statement: Statement) -> None:
    """Give an admitted workload more, make room for it, or say what it waits for."""
    held = claims.kept_for(keeping.now.key)
    if held is not None:
        _continue(keeping, position, held, claims, statement)
        return
    workload = keeping.now
    why = try_growth(workload, position, statement)
    if why is None:
        return
    decision = workload.decision
    assert decision is not None
    if decision.claim is not None:
        _drop(workload, decision, statement)
        say(keeping, statement, why)
        return
    instead = _claim(keeping, why, claims, statement)
    if instead is None:
        conclude(keeping, statement, why)
    else:
        say(keeping, statement, instead)


def _continue(
    keeping: Keeping, position: int, held: Held, claims: Claims, statement: Statement
) -> None:
    """Its turn while room is being made: all of what the claim is for, or nothing yet."""
    mark = statement.mark()
    give_back(held, statement)
    why = try_growth(keeping.now, position, statement, held.claim.amounts)
    if why is None:
        statement.commit()
        claims.end(keeping.now.key)
        return
    statement.rollback(mark)
    conclude(keeping, statement, told(held, why))


def _claim(keeping: Keeping, why: Verdict, claims: Claims, statement: Statement) -> Verdict | None:
    """What it waits for when others leave for it; None when nobody does."""
    workload, decision = keeping.now, keeping.now.decision
    assert decision is not None
    lacks = needs_more(workload)
    if not lacks.entries or why.code != Code.NO_FIT or why.reason not in _ENDED_BY_LEAVING:
        return None
    # What else has to be written about it goes first.
    unsaid = keeping.before.decision != decision or decision.pending != workload.lacking()
    if unsaid or keeping.before.forged or not workload.placement_applied:
        return None
    amount = growth_gang(workload).requests(lacks)
    if not claims.may_leave_for(workload, amount) or not claims.take_search():
        return None
    found = _GrowthSearch(workload, *claims.whole(), statement).run()
    if isinstance(found, Nothing) or claims.provokes(workload, found, amount):
        return None
    claim = replace(claim_of(workload, found, statement), amounts=lacks)
    evict(found.units, workload, statement)
    claimed = write_annotation(
        workload, replace(decision, claim=claim, epoch=statement.snapshot.epoch), statement
    )
    return told(claims.begin(claimed, claim), why)


def end_claim(workload: Workload, statement: Statement) -> None:
    """Drop the claim of one that asks for no more, unless something else is written about it."""
    decision = workload.decision
    if (
        decision is not None
        and decision.claim is not None
        and workload.key not in statement.decided
    ):
        _drop(workload, decision, statement)


def _drop(workload: Workload, decision: Decision, statement: Statement) -> None:
    """Room was not free in time, or is not needed any more."""
    claim = decision.claim
    assert claim is not None
    backoffs = list(statement.backoffs(workload))
    if claim.until <= statement.now:
        until = Instant(statement.now + statement.policy.backoff_seconds * SECOND)
        backoffs = [one for one in backoffs if one.cluster != claim.cluster]
        reason = "room for its growth was not free in time"
        backoffs.append(Backoff(cluster=claim.cluster, until=until, reason=reason))
    write_annotation(
        workload, replace(decision, claim=None, backoffs=tuple(sorted(backoffs))), statement
    )


class _GrowthSearch(Search):
    """The domain is known: the largest one around its pods that its constraint allows."""

    def needed(self, workload: Workload) -> Gang:
        """The pods that its minimum lacks."""
        return growth_gang(workload)

    def ask(self) -> Offer | Refusal:
        """All of them beside those that it has."""
        return grow_whole(self._workload, self._statement, self._gang.minimum_amounts())

    def _places(self) -> tuple[list[Place | None], int]:
        decision, gang = self._workload.decision, self._workload.demand.gang
        assert decision is not None
        assert gang is not None
        grant = decision.grants[0]
        rooms = self._statement.rooms
        at, least = rooms.position[grant.cluster], self._gang.minimum_amounts()
        if not self.rights.has_quota() and rooms.grow(at, gang, least, grant, minimum=least):
            return [None], 1
        allowed = np.array([p.cluster == grant.cluster for p in self._field.parts], dtype=np.bool_)
        found, _ = self._field.places(self._gang, self.may, allowed, _DOMAINS)
        capacity = rooms.rooms[at].cluster.capacity
        assert capacity is not None
        around = _around(capacity.topology, grant.domain)
        places: list[Place | None] = [one for one in found if one.domain in around]
        return places, len(places)


def _around(topology: Topology, domain: DomainId | None) -> set[DomainId | None]:
    """A domain, all above it, and the cluster."""
    above = {one.name: one.parent for one in topology.domains}
    found: set[DomainId | None] = {None}
    while domain is not None and domain not in found:
        found.add(domain)
        domain = above.get(domain)
    return found
