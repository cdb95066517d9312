"""Equal demands and every cluster, before room is counted.

A cycle asks the demand filters once per kind of question and cluster; workloads with the same
demand share the answer, and share the whole refusal once no cluster has room.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from global_sched.core.fit.affinity import AffinityTerm, choices
from global_sched.core.fit.filters import PASS, constrained, shared_gpu
from global_sched.core.fit.plugins import COPY_FILTERS, DEMAND_FILTERS, WORKLOAD_FILTERS, Filter
from global_sched.core.fit.rooms import Ask, Mask, Rooms
from global_sched.core.fit.sizes import Sizes
from global_sched.core.fit.spread import minimum_clusters
from global_sched.core.offer import Refusal, refusal_of
from global_sched.core.view import CycleView
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.gang import Amounts, Gang, Mode
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import ClusterVerdict, Code, Verdict
from global_sched.shared.model.workload import Demand, Division, Workload

Refusals = list[ClusterVerdict | None]


@dataclass(slots=True)
class Static:
    """The demand filters' answers by cluster position, and the choices of clusters to try."""

    refusals: Refusals
    allowed: Mask
    tries: dict[str, tuple[tuple[AffinityTerm, Mask], ...]] = field(default_factory=dict)
    usual: dict[str, tuple[tuple[AffinityTerm, Mask], ...]] = field(default_factory=dict)
    """The same with the allowed clusters only; the caller does not change them."""


class Standing:
    """One demand's answers; `dead` is the refusal that all its workloads get from now on."""

    def __init__(self, demand: Demand, static: Static) -> None:
        self.demand, self.static = demand, static
        gang = demand.gang
        self.minimum = Amounts() if gang is None else gang.minimum_amounts()
        self.wanted = Amounts() if gang is None else gang.all_amounts()
        self.elastic = self.wanted != self.minimum
        """Whether it asks for more than its minimum."""
        self.minimum_requests = Resources() if gang is None else gang.requests(self.minimum)
        self.spreads = minimum_clusters(demand.rule) > 1
        """Whether the policy wants several clusters."""
        self.dead: Refusal | None = None
        self.case = OwnStanding(self, static.refusals, static.allowed, True)
        self.ask: Ask | None = None
        """The question for all of it, once it was asked."""
        self._requests = {self.minimum.entries: self.minimum_requests}

    def requests(self, gang: Gang, amounts: Amounts) -> Resources:
        """The resources of that many pods of the gang, worked out once."""
        found = self._requests.get(amounts.entries)
        if found is None:
            found = self._requests[amounts.entries] = gang.requests(amounts)
        return found


@dataclass(frozen=True, slots=True)
class OwnStanding:
    """One workload's own view of its standing: with its back-offs, and past taints where it is.

    `shared` says that nothing differs from the standing of its demand.
    """

    standing: Standing
    refusals: Refusals
    allowed: Mask
    shared: bool


class Standings:
    """All standings of a cycle."""

    def __init__(self, view: CycleView, rooms: Rooms) -> None:
        self._view, self._rooms = view, rooms
        self._sizes: dict[tuple[int, ...] | None, Sizes] = {}
        self._by_demand: dict[int, Standing] = {}
        self._statics: dict[tuple[object, ...], Static] = {}
        self._refusals: dict[tuple[int, ...], Refusal] = {}
        """By the identities of the clusters' answers, which they keep alive."""

    def of(self, workload: Workload) -> Standing:
        """The standing of the workload's demand."""
        demand = workload.demand
        standing = self._by_demand.get(id(demand))
        if standing is None:
            standing = Standing(demand, self._static(workload))
            self._by_demand[id(demand)] = standing  # holds the demand, so that the id stays its own
        return standing

    def ask(self, standing: Standing, gang: Gang, wanted: Amounts) -> Ask:
        """The question for so many pods of the demand, or its minimum at least."""
        if wanted is not standing.wanted:
            return self._rooms.ask(gang, wanted, standing.minimum)
        if standing.ask is None:
            standing.ask = self._rooms.ask(gang, wanted, standing.minimum)
        return standing.ask

    def case(self, workload: Workload) -> OwnStanding:
        """What counts for this one workload."""
        standing = self.of(workload)
        static = standing.static
        backoffs = workload.decision.backoffs if workload.decision is not None else ()
        capped = self._view.capped_clusters(workload.queue)
        if not (workload.leaving or workload.targets or backoffs or capped):
            return standing.case
        refusals, allowed = list(static.refusals), static.allowed.copy()
        inside = {target.cluster for target in workload.targets}
        marked = inside.union(workload.leaving, capped, (backoff.cluster for backoff in backoffs))
        for name in sorted(marked):
            at = self._rooms.position.get(name)
            if at is None:
                continue
            chain = dict(_filters(workload.demand))
            if name in inside:
                chain.pop("taints")
            refusal = self._first_refusal(workload, at, chain | dict(WORKLOAD_FILTERS))
            refusals[at], allowed[at] = refusal, refusal is None
        return OwnStanding(standing, refusals, allowed, False)

    def tries(self, case: OwnStanding, observed: str) -> tuple[tuple[AffinityTerm, Mask], ...]:
        """The sets of clusters to try, in order, each with the mask of those allowed."""
        static, rule = case.standing.static, case.standing.demand.rule
        found = static.tries.get(observed)
        if found is None:
            found = tuple(
                (choice, np.array([choice.selects(r.cluster) for r in self._rooms.rooms], bool))
                for choice in choices(rule, observed)
            )
            static.tries[observed] = found
            static.usual[observed] = tuple([(one, mask & static.allowed) for one, mask in found])
        if case.shared:
            return static.usual[observed]
        return tuple([(choice, mask & case.allowed) for choice, mask in found])

    def refusal(self, case: OwnStanding, ask: Ask | None) -> Refusal:
        """The refusal after no choice had a cluster; remembered where the case is the demand's."""
        found = list(case.refusals)
        open_at = [at for at, static in enumerate(found) if static is None]
        answers = [None] * len(open_at) if ask is None else ask.refusals(open_at)
        for at, answer in zip(open_at, answers, strict=True):
            found[at] = answer or self._not_asked(at)
        refusal = self._refusal_of(tuple([one for one in found if one is not None]))
        if ask is not None and refusal.verdict.holds is not None:
            refusal = self._beyond(ask, case, refusal)
        if case.shared:
            case.standing.dead = refusal
        return refusal

    def sizes(self) -> Sizes:
        """The largest nodes and clusters of the federation."""
        return self._sizes_of(None)

    def _sizes_of(self, at: tuple[int, ...] | None) -> Sizes:
        """Those of the clusters at these positions, of all for None; kept for the cycle."""
        found = self._sizes.get(at)
        if found is None:
            rooms = self._rooms.rooms
            those = rooms if at is None else [rooms[one] for one in at]
            found = self._sizes[at] = Sizes([room.cluster for room in those])
        return found

    def _beyond(self, ask: Ask, case: OwnStanding, refusal: Refusal) -> Refusal:
        """The refusal for lack of room, for good where the federation does not have so much.

        Where only the clusters that it may use have not, another policy helps, not free room.
        """
        verdict, beyond = refusal.verdict, self.sizes().beyond(ask.gang, ask.minimum)
        if beyond:
            verdict = replace(verdict, code=Code.NEVER, detail=beyond, proven=True)
            return replace(refusal, verdict=verdict)
        usable = tuple(
            at
            for at, one in enumerate(case.refusals)
            if one is None or one.verdict.code != Code.NEVER
        )
        if len(usable) < len(case.refusals) and self._sizes_of(usable).beyond(
            ask.gang, ask.minimum
        ):
            return replace(refusal, verdict=replace(verdict, too_small=True))
        return refusal

    def _refusal_of(self, answers: tuple[ClusterVerdict, ...]) -> Refusal:
        """One refusal for the answers: many demands get the same ones from clusters that are full.

        Those are the same objects then (`Room.refusal`).
        """
        key = tuple(map(id, answers))
        found = self._refusals.get(key)
        if found is None:
            found = self._refusals[key] = refusal_of(answers)
        return found

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A demand refused for good meanwhile is not so afterwards (`Rooms.aside`)."""
        before = {one: (one.dead, one.ask) for one in self._by_demand.values()}
        for one in before:
            one.ask = None
        with self._rooms.aside():
            yield
        for one in self._by_demand.values():
            one.dead, one.ask = before.get(one, (None, None))

    def mark(self) -> dict[Standing, Refusal]:
        """Who is refused for good now, to go back to."""
        return {one: one.dead for one in self._by_demand.values() if one.dead is not None}

    def revive(self, dead: Mapping[Standing, Refusal] | None = None) -> None:
        """Room has grown: no demand is refused for good, or only those of a mark gone back to."""
        for standing in self._by_demand.values():
            standing.dead = None if dead is None else dead.get(standing)

    def _not_asked(self, at: int) -> ClusterVerdict:
        """It would do alone, but the clusters together do not."""
        return ClusterVerdict(
            cluster=self._rooms.rooms[at].cluster.name,
            verdict=Verdict(code=Code.FIT, reason=Reason.FITS),
        )

    def _static(self, workload: Workload) -> Static:
        demand = workload.demand
        gang = demand.gang
        key = (
            demand.api_version,
            demand.kind,
            demand.rule,
            demand.scheduler_name,
            demand.scheduler_overrides,
            demand.division == Division.COPIED,
            gang is not None and constrained(gang),
            gang is not None and constrained(gang, Mode.HARD),
            shared_gpu(gang),
        )
        static = self._statics.get(key)
        if static is None:
            chain = _filters(demand)
            refusals = [
                self._first_refusal(workload, at, chain) for at in range(len(self._rooms.rooms))
            ]
            static = Static(refusals, np.array([one is None for one in refusals], dtype=np.bool_))
            self._statics[key] = static
        return static

    def _first_refusal(
        self, workload: Workload, at: int, chain: Mapping[str, Filter]
    ) -> ClusterVerdict | None:
        cluster: Cluster = self._rooms.rooms[at].cluster
        for check in chain.values():
            verdict = check(workload, cluster, self._view)
            if verdict is not PASS:
                return ClusterVerdict(cluster=cluster.name, verdict=verdict)
        return None


def _filters(demand: Demand) -> Mapping[str, Filter]:
    return COPY_FILTERS if demand.division == Division.COPIED else DEMAND_FILTERS
