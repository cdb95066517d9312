"""Whether what is given at the end of a cycle fits in the order of the decisions.

Members and the next cycle place what was admitted one after the other, each into the domain that
was chosen. More pods for one may take the nodes of those after it, so all are placed anew here, as
the clusters were at the beginning of the cycle. What finds room beside them then is given, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from global_sched.core.left_over import LeftOver
from global_sched.core.offer import Part, grant_of, targets_of
from global_sched.core.quota import cut
from global_sched.core.statement import Statement
from global_sched.core.variants import claimants
from global_sched.shared.model.decision import Claim, Grant
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.plan import Admission
from global_sched.shared.model.workload import Division, Workload
from global_sched.shared.placement import Placed, Space

FURTHER = 256
"""More is looked for in the clusters as they are then with so many placements, and twice as many as
there are admissions."""

Spaces = dict[ClusterName, Space]
Given = dict[WorkloadKey, LeftOver]


class Fitting(NamedTuple):
    """What fits of that which is left over; `all` of it did, and nothing more is left."""

    more: list[LeftOver]
    all: bool


def fitting(more: Sequence[LeftOver], statement: Statement) -> Fitting:
    """Those of it with which all that was admitted still finds its place.

    Where a cluster does not hold all, the later half of what is more there is dropped. Nothing is
    given in clusters where room is kept for those who wait, or without a report. What is more is
    charged in the statement then: whoever asks rolls that back.
    """
    return Fitting([], all=True) if not more else _Order(statement).fitting(more)


class _Order:
    """The admissions of a cycle in the order of their decisions."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        snapshot, decided = statement.snapshot, statement.decided
        self._workloads = {one.key: one for one in claimants(snapshot) if one.key in decided}
        self._admissions = sorted(statement.admissions, key=_turn)
        self._refused: set[tuple[WorkloadKey, ClusterName]] = set()
        self._places = 0
        """How often anybody was placed so far, or room was looked for."""
        self._all = True

    def fitting(self, more: Sequence[LeftOver]) -> Fitting:
        kept = {one.cluster for one in _claims(self._statement)}
        fits = [one for one in more if not one.clusters & kept]
        while fits:
            given = {one.admission.workload: one for one in fits}
            spaces, full = self._placed(given)
            if full is None:
                found = list(self._extended(given, spaces).values())
                self._all &= len(fits) == len(more) and not self._refused
                return Fitting(found, all=self._all)
            there = [one for one in fits if full in one.clusters]
            dropped = there[len(there) // 2 :]
            fits = [one for one in fits if one not in dropped]
        return Fitting([], all=False)

    def _final(self, given: Given) -> Iterator[Admission]:
        for one in self._admissions:
            yield given[one.workload].admission if one.workload in given else one

    # --- in their places ------------------------------------------------------------------

    def _placed(self, given: Given) -> tuple[Spaces, ClusterName | None]:
        """The clusters in which anybody gets more, with everybody in; or one that is too full."""
        final, spaces = list(self._final(given)), Spaces()
        for name in sorted({name for one in given.values() for name in one.clusters}):
            space = self._space(name, final)
            if space is None:
                return {}, name
            spaces[name] = space
        return spaces, None

    def _space(self, name: ClusterName, admissions: Iterable[Admission]) -> Space | None:
        rooms = self._statement.rooms
        capacity = rooms.rooms[rooms.position[name]].cluster.capacity
        if capacity is None:
            return None
        space = Space(capacity.topology)
        for admission in admissions:
            grant, one = admission.decision.grant(name), self._workloads.get(admission.workload)
            if grant is None or one is None or one.demand.gang is None:
                continue
            old = None if one.decision is None else one.decision.grant(name)
            new = grant.amounts if old is None else grant.amounts.minus(old.amounts)
            if not new.entries:
                continue
            self._places += 1
            placed = space.place(
                one.demand.gang,
                amounts=new,
                minimum=new,
                prefer=grant.domain,
                bound=() if old is None else (old.domain,),
                binding=one.binding_id,
            )
            if not isinstance(placed, Placed) or placed.amounts != new:
                return None
            if one.demand.gang.constraint is not None and placed.domain != grant.domain:
                return None
            space.take(placed)
        return space

    # --- what is left then ----------------------------------------------------------------

    def _extended(self, given: Given, spaces: Spaces) -> Given:
        """With what there is room for, now that all are in their places."""
        most = self._places + FURTHER + 2 * len(self._admissions)
        while self._places < most:
            found = next(self._further(given, spaces), None)
            if found is None:
                return given
            more, part = found
            key, gang = more.admission.workload, more.workload.demand.gang
            assert gang is not None
            wider = given | {key: more}
            space = self._space(part.cluster, self._final(wider))
            if space is not None:
                given, spaces = wider, spaces | {part.cluster: space}
                self._statement.charge(more.workload, part.cluster, gang.requests(part.amounts()))
            else:
                self._refused.add((key, part.cluster))
        self._all = False
        return given

    def _further(self, given: Given, spaces: Spaces) -> Iterator[tuple[LeftOver, Part]]:
        """Whoever lacks pods that a cluster still has room for beside all others."""
        for admission in self._final(given):
            one, lacks = self._workloads.get(admission.workload), admission.decision.pending
            if one is None or one.targets or not lacks.entries:
                continue
            for name, space in spaces.items():
                grant = admission.decision.grant(name)
                if (one.key, name) in self._refused or not self._may_use(one, name, grant):
                    continue
                placed = self._room_for(one, lacks, name, grant, space)
                if placed is not None:
                    part = Part(self._statement.rooms.position[name], name, placed)
                    yield self._with(one, admission, part, given.get(one.key)), part

    def _may_use(self, workload: Workload, name: ClusterName, grant: Grant | None) -> bool:
        """Whether it is there, or may be as well."""
        if grant is not None or workload.demand.division != Division.DIVIDED:
            return grant is not None
        standings, rooms = self._statement.standings, self._statement.rooms
        return bool(standings.case(workload).allowed[rooms.position[name]])

    def _room_for(
        self,
        workload: Workload,
        lacks: Amounts,
        name: ClusterName,
        grant: Grant | None,
        space: Space,
    ) -> Placed | None:
        gang, ledger = workload.demand.gang, self._statement.ledger
        assert gang is not None
        bounds = ledger.bounds(workload.queue, workload.tenant, name)
        wanted = cut(bounds, gang, Amounts(), lacks)
        if not wanted.entries:
            return None
        self._places += 1
        bound = () if grant is None else (grant.domain,)
        placed = space.place(gang, amounts=wanted, minimum=Amounts(), bound=bound)
        return placed if isinstance(placed, Placed) and placed.amounts.entries else None

    def _with(
        self, workload: Workload, admission: Admission, part: Part, before: LeftOver | None
    ) -> LeftOver:
        """Its admission with more pods in one cluster."""
        decision, demand = admission.decision, workload.demand
        assert demand.gang is not None
        grown = grant_of(demand, part, decision.grant(part.cluster))
        others = (one for one in decision.grants if one.cluster != part.cluster)
        grants = tuple(sorted((*others, grown), key=lambda grant: grant.cluster))
        now = replace(workload, decision=decision, targets=targets_of(decision.grants))
        made = self._statement.redecide(now, grants)
        clusters = frozenset({part.cluster}) | (before.clusters if before else frozenset())
        return LeftOver(
            now, replace(admission, decision=made, targets=targets_of(grants)), clusters
        )


def _turn(admission: Admission) -> tuple[int, int]:
    return admission.decision.at, admission.decision.order


def _claims(statement: Statement) -> Iterable[Claim]:
    """Those at the beginning of the cycle and those that it made."""
    found = [one.decision for one in claimants(statement.snapshot) if one.decision is not None]
    found += [one.decision for one in statement.claims]
    return [one.claim for one in found if one.claim is not None]
