"""The claims of a cycle: those that are open hold their room, and refusals may lead to new ones."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, Mask
from global_sched.core.make_room.claim_order import claims_in_order
from global_sched.core.make_room.claim_text import deferred, told, with_why
from global_sched.core.make_room.evictions import (
    claim_of,
    drop_claim,
    evict,
    let_leave,
    write_claim,
)
from global_sched.core.make_room.hold_window import rests
from global_sched.core.make_room.holds import Held, give_back, hold
from global_sched.core.make_room.kinds import claims_replicas, for_waiting
from global_sched.core.make_room.patience import HEALED, Patience
from global_sched.core.make_room.reservation import is_patient
from global_sched.core.make_room.running_facts import lowest_running
from global_sched.core.make_room.search import Nothing, RoomFound
from global_sched.core.make_room.search_turns import SearchTurns, Turn
from global_sched.core.make_room.set_aside import is_kept_out
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import accept, offer_for, refuse
from global_sched.core.statement import Statement
from global_sched.core.upkeep.live_claims import live
from global_sched.core.waiting import Alike, alike
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Claim, Leaver
from global_sched.shared.model.ids import BindingId, ClusterName, QueueName, WorkloadKey
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload


class Claims:
    """What waiting workloads claim, in one cycle."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._held: dict[WorkloadKey, Held] = {}
        self._searched: dict[Alike, RoomFound | Nothing] = {}
        self.turns = SearchTurns(statement)
        self._field: AllRows | None = None
        self._gone: Mask = np.zeros(0, dtype=np.bool_)
        self._lowest: dict[QueueName, int] | None = None
        self._seen: set[WorkloadKey] = set()
        self._patience = Patience(statement, self._held, self._whole)
        self._told: dict[tuple[int, str], tuple[Refusal, Refusal]] = {}
        """By a refusal's identity, which it keeps, and one more reason: the refusal with that."""
        self._chances: dict[tuple[int, QueueName, Resources], bool] = {}

    def open(self, pending: Iterable[Workload]) -> None:
        """Hold the room of every claim that still counts.

        Of reservations only as many as the Policy allows by now, for whom it calls patient.
        """
        statement, kept = self._statement, 0
        found = [(one, claim) for one in pending if (claim := live(one, statement))]
        for one, claim in claims_in_order(found):
            if not claim.victims:
                if kept >= statement.policy.reservations or not is_patient(one, statement):
                    continue
                kept += 1
            self._go_on(one, claim)
            self._held[one.key] = hold(one, claim, self._statement)

    def _go_on(self, claimant: Workload, claim: Claim) -> None:
        """Evict victims that an earlier cycle chose and that were not written, after a crash."""
        if not claim.victims:
            return
        victims: dict[BindingId, list[Leaver]] = {}
        for leaver in claim.victims:
            victims.setdefault(leaver.binding, []).append(leaver)
        for running in self._statement.snapshot.running:
            for one in running.workloads:
                if one.binding_id in victims:
                    let_leave(one, victims[one.binding_id], claimant, self._statement)

    # --- a turn ---------------------------------------------------------------------------

    def consider(self, workload: Workload, position: int, level: int) -> int:
        """Admit a pending workload, make room for it, or end it with the reason why not.

        Where it fits and borrows above the `level`, nothing is decided, and its own is returned.
        """
        held = self._held.get(workload.key)
        if held is not None:
            return self._continue(held, position, level)
        found = offer_for(workload, self._statement)
        if isinstance(found, Refusal):
            found = self._patience.backfill(workload, found)
        claim = None if workload.decision is None else workload.decision.claim
        failed = claim is not None and bool(claim.victims)
        if isinstance(found, Refusal) and not failed:
            found = self._past_others(workload, found)
        if isinstance(found, Offer):
            if not self._patience.opened and (own := self._borrows_at(workload)) < level:
                return own
            accept(workload, position, found, self._statement)
            self._patience.close()
            return level
        if workload.key in self._statement.decided:
            refuse(workload, position, found, self._statement)
            return level
        own = self._borrows_at(workload)
        if own < level and not failed and self._may_search(workload, found):
            return own
        if claim is not None and failed:
            shut = self._statement.ledger.gates.refusal(workload) is not None
            drop_claim(workload, self._statement, () if shut else claim.clusters)
        else:
            found = self._instead(workload, found) or found
            found = self._patience.keep(workload, found) or found
            if claim is not None and workload.key not in self._statement.decided:
                drop_claim(workload, self._statement)
        refuse(workload, position, found, self._statement)
        return level

    def _borrows_at(self, workload: Workload) -> int:
        """At which depth a queue borrows with its minimum (`Entitlements.crosses_at`)."""
        request = self._statement.standings.of(workload).minimum_requests
        return self._statement.ledger.entitlements.crosses_at(workload.queue, request)

    def put_off(self, workload: Workload, level: int) -> bool:
        """Whether it borrows, and would be admitted now or make others leave, and is put off."""
        held = self._held.get(workload.key)
        if (held is not None and held.waves) or self._borrows_at(workload) >= level:
            return False
        mark = self._statement.mark()
        if held is not None:
            give_back(held, self._statement)
        found = offer_for(workload, self._statement)
        self._statement.rollback(mark)
        return isinstance(found, Offer) or (held is None and self._may_search(workload, found))

    def _past_others(self, workload: Workload, refusal: Refusal) -> Offer | Refusal:
        """The same without what is kept for gangs that give way to it; victims may leave for it."""
        statement, patience = self._statement, self._patience
        kept = patience.giving_way(workload, refusal)
        if not kept:
            return refusal
        mark = statement.mark()
        found = patience.offer_without(kept, workload)
        if isinstance(found, Offer):
            statement.commit()
            return found
        instead = self._instead(workload, found)
        if instead is not None and workload.key in statement.decided:
            statement.commit()
            patience.close()
            return instead
        statement.rollback(mark)
        put_off = instead is not None and instead.verdict.reason == Reason.SEARCH_DEFERRED
        patience.shut(None if put_off else workload)
        return instead if instead is not None and put_off else refusal

    def tries(self) -> tuple[int, int]:
        """Changes with every search and every try at a reservation, which are limited."""
        return len(self._searched), self._patience.attempts

    def _continue(self, held: Held, position: int, level: int) -> int:
        """The turn of a workload with a claim: nothing of it is kept from the workload itself."""
        statement, workload = self._statement, held.workload
        mark = statement.mark()
        give_back(held, statement)
        found = offer_for(workload, statement, held.claim.amounts if held.waves else None)
        if isinstance(found, Refusal) and (kept := self._patience.giving_way(workload, found)):
            found = self._patience.offer_without(kept, workload)
        if isinstance(found, Offer):
            if not held.waves and (own := self._borrows_at(workload)) < level:
                statement.rollback(mark)
                self._patience.shut(None)
                return own
            statement.commit()
            del self._held[workload.key]
            accept(workload, position, found, statement)
            self._patience.close()
            if not held.waves:
                self._hold_again(held.claim.clusters)
            return level
        if not held.waves or held.outgrown():
            instead = self._instead(workload, found) or self._instead_of_room(held, found)
            if workload.key in statement.decided:
                statement.commit()
                self._patience.close()
                refuse(workload, position, instead or found, statement)
                return level
        statement.rollback(mark)
        self._patience.shut(workload)
        if found.verdict.reason in HEALED:
            found = replace(found, verdict=told(held, found.verdict))
        refuse(workload, position, found, statement)
        return level

    def _instead_of_room(self, held: Held, refusal: Refusal) -> Refusal | None:
        """A domain that drains does not help against a limit: its quota is set aside instead."""
        if held.waves or not is_kept_out(refusal):
            return None
        del self._held[held.workload.key]
        drop_claim(held.workload, self._statement)
        return self._patience.keep(held.workload, refusal)

    def _hold_again(self, clusters: tuple[ClusterName, ...]) -> None:
        """What drains no more is first for the claims that others have left for before."""
        for key, held in list(self._held.items()):
            claim = held.claim
            there = set(claim.clusters) & set(clusters)
            if there and claim.victims and claim.since < self._statement.now:
                give_back(held, self._statement)
                self._held[key] = hold(held.workload, claim, self._statement)

    # --- new claims -----------------------------------------------------------------------

    def _instead(self, workload: Workload, refusal: Refusal) -> Refusal | None:
        """The refusal in place of the first one, when victims leave or may leave for it."""
        if not self._may_search(workload, refusal):
            return None
        shape = alike(workload)
        known = self._searched.get(shape)
        if isinstance(known, Nothing):
            return self._with_why(refusal, known.why)
        turn = Turn.LATER if known is not None else self.turns.take(workload)
        if turn != Turn.SEARCH:
            policy = self._statement.policy
            return deferred(refusal, policy) if turn == Turn.LATER else None
        found = self.search(workload)
        self._searched[shape] = found
        if isinstance(found, Nothing):
            return None if found.none else self._with_why(refusal, found.why)
        return self._claim(workload, found, refusal)

    def _with_why(self, refusal: Refusal, why: str) -> Refusal:
        """The refusal with one more reason; equal workloads share it."""
        key = (id(refusal), why)
        known = self._told.get(key)
        if known is None:
            known = self._told[key] = (refusal, with_why(refusal, why))
        return known[1]

    def _may_search(self, workload: Workload, refusal: Refusal) -> bool:
        """Whether a search could help at all; asked of every refusal, so it has to be cheap."""
        if refusal.verdict.code != Code.NO_FIT or refusal.verdict.reason not in HEALED:
            return False
        demand = workload.demand
        if demand.gang is None or not self.may_leave_for(workload, self._least(workload)):
            return False
        return demand.division == Division.WHOLE or claims_replicas(workload, self._statement)

    def _least(self, workload: Workload) -> Resources:
        """What its minimum asks for."""
        return self._statement.standings.of(workload).minimum_requests

    def may_leave_for(self, workload: Workload, asked: Resources) -> bool:
        """Whether any gang might have to leave when it asks for that: a quick look."""
        statement = self._statement
        if not statement.snapshot.running:
            return False
        if rests(workload, asked, statement):
            return False
        if self._lowest is None:
            self._lowest = lowest_running(statement.snapshot.running)
        lowest = self._lowest
        if lowest.get(workload.queue, workload.priority) < workload.priority:
            return True
        return self._has_chance(workload, asked, lowest)

    def _has_chance(
        self, workload: Workload, asked: Resources, lowest: dict[QueueName, int]
    ) -> bool:
        """Whether any other queue would give anything to it."""
        key = (id(workload.demand), workload.queue, asked)
        known = self._chances.get(key)
        if known is None:
            entitlements = self._statement.ledger.entitlements
            giving = entitlements.could_give(lowest, workload.queue, asked)
            known = self._chances[key] = next(giving, None) is not None
        return known

    def search(self, workload: Workload) -> RoomFound | Nothing:
        """Who would have to leave for it, as everything is now."""
        return for_waiting(workload, self.whole, self._statement)

    def whole(self) -> tuple[AllRows, Mask]:
        """The federation for searches, and who of it leaves in this cycle."""
        field = self._whole()
        for key in self._statement.decided - self._seen:
            self._seen.add(key)
            for at in field.holders_of(key):
                self._gone[at] = True
        return field, self._gone

    # --- growth, see `growing` ------------------------------------------------------------

    def kept_for(self, key: WorkloadKey) -> Held | None:
        """The room that is kept for a workload."""
        return self._held.get(key)

    def end(self, key: WorkloadKey) -> None:
        """Its claim was met."""
        del self._held[key]

    def begin(self, claimed: Workload, claim: Claim) -> Held:
        """Keep room from now on for a claim of this cycle."""
        held = self._held[claimed.key] = hold(claimed, claim, self._statement, fresh=True)
        self._chances.clear()
        return held

    def _whole(self) -> AllRows:
        """The federation for searches, made when first needed."""
        if self._field is None:
            self._field = AllRows(self._statement.snapshot, self._statement.now)
            self._gone = np.zeros(len(self._field.holders), dtype=np.bool_)
        return self._field

    def _claim(self, workload: Workload, found: RoomFound, refusal: Refusal) -> Refusal:
        statement = self._statement
        claim = claim_of(found, statement)
        evict(found.units, workload, statement)
        claimed = write_claim(workload, claim, statement)
        verdict = told(self.begin(claimed, claim), refusal.verdict)
        return Refusal(verdict, claim.first.cluster, refusal.clusters)
