"""One search for victims: the domain first, then who leaves it, then the proof by placement.

Every domain in which the claimant would fit if all that may leave left is a candidate. Of the
cheapest few by estimate the victims are chosen exactly, and the cheapest whose placement is proved
in the statement, with the victims' room and quota given back, is the answer. Nothing of a search
stays in the statement.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from global_sched.core.fit.standing import OwnStanding
from global_sched.core.make_room.all_rows import AllRows, DomainRows, Mask
from global_sched.core.make_room.candidates import Candidates
from global_sched.core.make_room.claim_text import no_victims
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.rights import Rights
from global_sched.core.make_room.spots import Cost, Spot, cost_of, spot_at
from global_sched.core.make_room.trial_room import vacate
from global_sched.core.make_room.victims import VictimChoice
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import offer_for
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import ClusterVerdict, Code
from global_sched.shared.model.words import shortened
from global_sched.shared.model.workload import Workload

PLACES = 4
"""So many domains are looked at exactly, the cheapest by estimate; others are not tried."""
STEPS = 6
"""So often victims are added (each time twice as many) where the count was too good; then the
domain is given up."""
MOST_COMPARED = 32
"""With more victims than this in one domain, further domains are not looked at."""
MOST_LOOKED_AT = 600
"""After so many candidates in the domains so far, further domains are not looked at."""
MOST_PROVED = 48
"""Up to so many victims, each is proved to be needed by placement; beyond, by count."""


@dataclass(frozen=True, slots=True)
class RoomFound:
    """What leaves, and what the claimant gets then; `amounts` of it is what they leave for."""

    units: tuple[EvictionUnit, ...]
    offer: Offer
    cost: Cost
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class Nothing:
    """Why there are no victims, as a sentence; `none` when nothing may be evicted for it at all."""

    why: str
    none: bool = False


class Search:
    """A search for one workload."""

    rights_of: type[Rights] = Rights

    def __init__(
        self, workload: Workload, field: AllRows, gone: Mask, statement: Statement
    ) -> None:
        gang = self.needed(workload)
        self._workload, self._gang = workload, gang
        self.field, self.gone, self._statement = field, gone, statement
        self.rights = self.rights_of(workload, gang.requests(gang.minimum_amounts()), statement)
        self.may = self.rights.holders(field, gone)

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates(self._gang, self.may, self.rights, self.field)

    def needed(self, workload: Workload) -> Gang:
        """What others leave for: the minimum of this."""
        gang = workload.demand.gang
        assert gang is not None
        return gang

    def ask(self) -> Offer | Refusal:
        """What it would get, with everything as it is now."""
        return offer_for(self._workload, self._statement)

    def run(self) -> RoomFound | Nothing:
        """The cheapest proved victims, or why there are none."""
        if not self.may.any():
            if spared := self.rights.spared(self.field):
                return Nothing(self._why_spared(spared))
            if self.rights.overtaken_by.any():
                return Nothing(
                    "no victims: ageing had raised the jobs of lower priority in its queue above "
                    "it when they were admitted"
                )
            return Nothing(no_victims(), none=not self.rights.stays_whole.any())
        spots, total = self._spots()
        if not spots:
            may = counted(int(self.may.sum()), "gang")
            return Nothing(
                f"no victims: no allowed domain would have room for it even without the {may} "
                "that could be evicted for it"
            )
        proved: list[RoomFound] = []
        rightless = True
        for choice, units, cost in sorted(self._choices(spots), key=lambda one: one[2]):
            rightless = False
            found = self._prove(choice, units)
            if found is not None:
                proved.append(found)
                if found.cost <= cost:
                    break
        if proved:
            return min(proved, key=lambda one: one.cost)
        if rightless:
            there = f"{counted(total, 'domain')} would have room for it without the jobs there"
            return Nothing(f"no victims: {there}, and it may not evict enough of them")
        return Nothing(
            "no victims: it could not be placed in the room of the jobs that could be evicted for "
            "it"
        )

    def _why_spared(self, spared: list[int]) -> str:
        """Why these stay, of which it could take room but for the time or what they would lose."""
        field, rights = self.field, self.rights
        dear = [at for at in spared if rights.loses_much[at]]
        early = [at for at in spared if not rights.loses_much[at]]
        short = [at for at in early if rights.runs_shortly[at]]
        rests = [at for at in early if rights.rests[at] and not rights.runs_shortly[at]]
        held = [at for at in early if not rights.runs_shortly[at] and not rights.rests[at]]
        parts = []
        if dear:
            hours = self._statement.policy.reclaim_loss_limit_gpu_hours
            queues = sorted({field.holders[at].workload.queue for at in dear})
            parts.append(
                f"{counted(len(dear), 'gang')} of queue {', '.join(shortened(queues))} would lose "
                f"more than {counted(hours, 'GPU hour')} of work"
            )
        if short:
            run = "has run" if len(short) == 1 else "have run"
            seconds = int(rights.min_runtimes(field)[short].max()) // SECOND
            queues = sorted({field.holders[at].workload.queue for at in short})
            parts.append(
                f"{counted(len(short), 'gang')} of queue {', '.join(shortened(queues))} {run} less "
                f"than the minimum run time of {seconds} s"
            )
        if held:
            seconds = self._statement.policy.hold_seconds << int(field.evictions[held].max())
            parts.append(
                f"{counted(len(held), 'gang')} started by an eviction, or came back after one, "
                f"less than {seconds} s ago"
            )
        if rests:
            parts.append(f"{counted(len(rests), 'elastic gang')} within the cooldown of a resize")
        stay = "stays" if len(spared) == 1 else "stay"
        return (
            f"no victims: of the jobs that could be evicted for it, {' and '.join(parts)}, and "
            f"{stay}{'' if dear else ' so long'}"
        )

    # --- candidates -----------------------------------------------------------------------

    def _spots(self) -> tuple[list[Spot], int]:
        """Where to look, and how many such there are; a quota that lacks alone needs no domain."""
        rooms = self._statement.rooms
        case = self._statement.standings.case(self._workload)
        least = self._gang.minimum_amounts()
        ask = rooms.ask(self._gang, least, least)
        if not self.rights.has_quota() and ask.fitting(case.allowed).any():
            return [Spot()], 1
        opened = open_but_for_limits(case)
        roomy = ask.fitting(opened & ~case.allowed)
        spots = self._in_limits(roomy)
        found, total = self.domains(self._gang, ~roomy)
        return [*spots[:PLACES], *map(spot_at, found)], len(spots) + total

    def domains(self, gang: Gang, among: Mask | None = None) -> tuple[list[DomainRows], int]:
        """The cheapest domains that would hold this if all that may leave left; and how many do."""
        usable = open_but_for_limits(self._statement.standings.case(self._workload))
        usable = usable if among is None else usable & among
        names = [room.cluster.name for room in self._statement.rooms.rooms]
        there = {name for name, ok in zip(names, usable.tolist(), strict=True) if ok}
        allowed = np.array([part.cluster in there for part in self.field.parts], dtype=np.bool_)
        return self.field.places(gang, self.may, allowed, PLACES)

    def _in_limits(self, roomy: Mask) -> list[Spot]:
        """Clusters with room where only the queue's limits are in the way, the cheapest first."""
        field, found = self.field, list[tuple[int, ClusterName]]()
        for at in roomy.nonzero()[0].tolist():
            cluster = self._statement.rooms.rooms[at].cluster.name
            ranks = field.rank[field.in_cluster(cluster) & self.may]
            if len(ranks):
                found.append((int(ranks.min()), cluster))
        return [Spot(cluster=cluster) for _, cluster in sorted(found)]

    def _choices(
        self, spots: Iterable[Spot]
    ) -> Iterable[tuple[VictimChoice, tuple[EvictionUnit, ...], Cost]]:
        looked = 0
        for spot in spots:
            mark = self._statement.mark()
            choice = VictimChoice(self._gang, spot, self._candidates, self.rights, self.field)
            enough = choice.choose()
            units = tuple(choice.units)
            self._statement.rollback(mark)
            if enough and units:
                yield choice, units, cost_of(units, self.field)
                if len(units) > MOST_COMPARED:
                    break
            looked += choice.candidates
            if looked > MOST_LOOKED_AT:
                break

    # --- fewer pods ---------------------------------------------------------------------------

    def fewer(self) -> Amounts:
        """Fewer of the pods: as many as its victims make room for by count, else half."""
        gang, asked = self._gang, self._gang.minimum_amounts()
        singles = [gang.only(Amounts.of({one.name: 1})) for one in gang.pod_sets]
        places = [place for one in singles for place in self.domains(one)[0][:PLACES]]
        counts = [self._count(place) for place in places]
        best = max(counts, key=lambda found: (found.pods(), found), default=Amounts())
        if best.pods() < asked.pods():
            return best
        return Amounts.of({name: pods // 2 for name, pods in asked.entries})

    def _count(self, place: DomainRows) -> Amounts:
        """How many of the pods a domain would hold, pod set by pod set."""
        mark = self._statement.mark()
        choice = VictimChoice(self._gang, spot_at(place), self._candidates, self.rights, self.field)
        choice.choose()
        room, found = choice.room, Amounts()
        self._statement.rollback(mark)
        for pod_set in self._gang.pod_sets:
            pods = min(pod_set.count, max(0, room[pod_set.shape]))
            room[pod_set.shape] -= pods
            found = found.plus(Amounts.of({pod_set.name: pods}))
        return found

    # --- proof ----------------------------------------------------------------------------

    def _prove(self, choice: VictimChoice, units: Sequence[EvictionUnit]) -> RoomFound | None:
        """The victims that placement really needs; None when it fails with all that may leave."""
        offer = self.offer(units)
        step = 1
        while offer is None and step < 2**STEPS:
            wider = self._widened(choice, units, step)
            if len(wider) == len(units):
                return None
            units, step = wider, step * 2
            offer = self.offer(units)
        if offer is None:
            return None
        needed = self._needed_of(units)
        if len(needed) < len(units):
            offer = self.offer(needed)
        if offer is None or not self.valid(needed, offer):
            return None
        return RoomFound(
            tuple(needed), offer, cost_of(needed, self.field), self._gang.minimum_amounts()
        )

    def _widened(
        self, choice: VictimChoice, units: Sequence[EvictionUnit], step: int
    ) -> list[EvictionUnit]:
        """The same victims and up to so many more."""
        mark = self._statement.mark()
        for unit in units:
            self.rights.release(unit)
        choice.resume(units)
        choice.more(step)
        wider = list(choice.units)
        self._statement.rollback(mark)
        return wider

    def _needed_of(self, units: Sequence[EvictionUnit]) -> list[EvictionUnit]:
        """Without those that placement does not need, dearest first, where the others may leave."""
        kept = list(units)
        if len(kept) > MOST_PROVED:
            return kept
        dear = sorted(kept, key=lambda u: (u.whole, int(self.field.rank[u.at]), u.first))
        for unit in reversed(dear):
            later = any(
                o.at == unit.at and o.pod_set == unit.pod_set and o.first > unit.first for o in kept
            )
            fewer = [one for one in kept if one is not unit]
            if not later and fewer and self.offer(fewer) is not None and self._stand(fewer):
                kept = fewer
        return kept

    def valid(self, units: Sequence[EvictionUnit], offer: Offer) -> bool:
        """Whether these may leave together, and none could take its room back afterwards (R4)."""
        return self._stand(units) and not self._returns(units, offer)

    def _stand(self, units: Sequence[EvictionUnit]) -> bool:
        """Whether these may leave together."""
        mark = self._statement.mark()
        self.rights.release_all(units)
        stand = self.rights.rightful(units)
        self._statement.rollback(mark)
        return stand

    def _returns(self, units: Sequence[EvictionUnit], offer: Offer) -> bool:
        """Whether one of these could take back from the claimant with all that it is offered."""
        mark, claimant, rights = self._statement.mark(), self.rights.claimant, self.rights
        rights.release_all(units)
        amounts = [(part.cluster, self._gang.requests(part.amounts())) for part in offer.parts]
        for cluster, amount in amounts:
            self._statement.charge(claimant, cluster, amount)
        held = Resources.total(amount for _, amount in amounts)
        found = any(rights.could_return(unit, held) for unit in units if unit.whole)
        self._statement.rollback(mark)
        return found

    def offer(self, units: Sequence[EvictionUnit]) -> Offer | None:
        """What the claimant would get if these left; nothing stays in the statement."""
        mark = self._statement.mark()
        self.rights.release_all(units)
        vacate(units, self.field, self._statement)
        found = self.ask()
        self._statement.rollback(mark)
        return found if isinstance(found, Offer) else None


def open_but_for_limits(case: OwnStanding) -> Mask:
    """The clusters that are allowed, or out only for what others of its queues hold."""
    limited = [at for at, refusal in enumerate(case.refusals) if _is_limited(refusal)]
    found = case.allowed
    if limited:
        found = found.copy()
        found[limited] = True
    return found


def _is_limited(refusal: ClusterVerdict | None) -> bool:
    if refusal is None or refusal.verdict.code != Code.NO_FIT:
        return False
    return refusal.verdict.reason in {Reason.QUEUE_CAPABILITY, Reason.GUARANTEE_RESERVED}
