"""Gangs of several shapes or in groups: best-first branch and bound over the domains of a tier.

Problem: vectors of pods per unit, to be placed in one domain of the lowest tier with the least sum
over pairs of tiers; nodes are shared, so that units compete (vector bin packing, NP-hard).
Method: each candidate domain has a lower bound (`lower_bounds`, later `lagrangian_bound`); domains
are taken in the order of (bound, room, slack, name) until the best placement so far is not dearer
than the next bound (Land and Doig 1960). In a domain `greedy` comes first: when it meets the bound
it is optimal. Else `leaf_program` where children are leaves, `multi_shape_exact` elsewhere.
Exact: yes, unless the budget of `Policy.placement_search_limit` additions ends; then the best
placement so far is used (`Placed.exact` False), or none is claimed to be impossible (`proven`).
Cost: bounded by that budget; a 40th of it improves a placement that is known already.
docs/design/0003, "Several units" and "Limit".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from global_sched.shared.placement.capacity.domain_room import DomainRoom, Ints
from global_sched.shared.placement.request.compile import NOWHERE
from global_sched.shared.placement.search.greedy import Greedy
from global_sched.shared.placement.search.lagrangian_bound import (
    LagrangianBound,
    Plan,
    lagrangian_costs,
)
from global_sched.shared.placement.search.leaf_program import (
    LeafProgram,
    LeafProgramSearch,
    leaf_program_of,
)
from global_sched.shared.placement.search.lower_bounds import least_costs
from global_sched.shared.placement.search.multi_shape_exact import MultiShapeOptimum, Share
from global_sched.shared.placement.search.node_packing import SearchBudget
from global_sched.shared.placement.search.pair_costs import sum_of_pairs
from global_sched.shared.placement.search.select_domain import SearchScope, top_of
from global_sched.shared.placement.search.trial import Trial

_Vector = tuple[int, ...]

_IMPROVING = 40
"""A placement that is known is held against all others for one part in so many of the search."""
_FEW_CANDIDATES = 12
"""So few domains are all counted, without bounds that say which come first."""
_TRIAL = 100_000
"""What one plain trial in a domain costs, in additions."""


@dataclass(slots=True)
class DomainFit:
    """A placement in a domain, not applied; `exact` where none is closer."""

    rank: tuple[int, int, int, int]
    domain: int
    trial: Trial


@dataclass(slots=True)
class SearchResult:
    """How a search ended. Nothing found and `proven`: there is nothing to find."""

    found: DomainFit | None = None
    proven: bool = True
    """Whether nothing was left out: the answer is the closest, or none exists."""


@dataclass(frozen=True, slots=True)
class _Tight:
    """Of domains that cost the same the one with least room, then least slack, comes first."""

    room: Ints
    slack: Ints

    def at(self, place: int) -> tuple[int, int]:
        """Both of one domain."""
        return int(self.room[place]), int(self.slack[place])


class MultiShapeSearch:
    """Places the units of a task together."""

    def __init__(self, plain: Greedy, limit: int) -> None:
        """`limit`: additions to find a placement; a known one is improved for a part of them."""
        self.rows = plain.rows
        self.index = plain.index
        self.task = plain.task
        self.tables = plain.tables
        self._to_find = SearchBudget(limit)
        self._to_improve = SearchBudget(limit // _IMPROVING)
        self.plain = plain

    def place(self, scope: SearchScope) -> tuple[Trial | None, bool]:
        """The minimum in the lowest tier that holds it, with surplus; or None. And if proven.

        Where nothing follows the minimum the trial is not on the rows: nothing reads them.
        """
        least = tuple(unit.least for unit in self.task.units)
        most = tuple(unit.most for unit in self.task.units)
        if any(u.least and u.anchor == NOWHERE for u in self.task.units):
            return None, True
        proven = True
        for candidates in self._candidates(scope, least):
            search = SearchResult()
            if most != least:
                search = self._closest(self._holding(candidates, most), most)
            if search.found is None:
                search = self._closest(candidates, least)
            proven = proven and search.proven
            if search.found is not None:
                trial = search.found.trial
                if any(trial.count(unit) < unit.most for unit in self.task.units):
                    trial.redo()
                    self.plain.surplus(trial, scope, search.found.domain)
                return trial, proven
        return None, proven

    def _candidates(self, scope: SearchScope, wanted: _Vector) -> list[Ints]:
        """Domains that may hold the minimum, tier by tier."""
        limit, index = scope.limit, self.index
        enough = self._enough(wanted)
        if scope.around is not None:
            top = top_of(index, scope.around, limit)
            if top is None:
                return []
            chain = index.chain[scope.around]
            around = chain[: chain.index(top) + 1]
            return [np.array([at], dtype=np.int64) for at in around if enough[at]]
        enough &= index.under(scope.within)
        found = [
            np.flatnonzero(enough[first:after]) + first
            for tier, first, after in index.slices
            if limit.tier is None or tier <= limit.tier
        ]
        if limit.tier is None and enough[index.root]:
            found.append(np.array([index.root], dtype=np.int64))
        return [tier for tier in found if len(tier)]

    def _enough(self, wanted: _Vector) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which domains have room for each unit, taken alone."""
        enough = np.ones(self.index.root + 1, dtype=np.bool_)
        for at, pods in enumerate(wanted):
            if pods:
                enough &= self.plain.room(at).sums >= pods
        return enough

    def _holding(self, candidates: Ints, wanted: _Vector) -> Ints:
        return candidates[self._enough(wanted)[candidates]]

    def _closest(self, candidates: Ints, wanted: _Vector) -> SearchResult:
        """The closest placement in domains of one tier, then the tightest, then the first name."""
        if not len(candidates):
            return SearchResult()
        rooms = [self.plain.room(at) for at in range(len(self.tables))]
        tight = _Tight(
            np.sum([table.sums[candidates] for table in self.tables], axis=0),
            np.sum([table.slack[candidates] for table in self.tables], axis=0),
        )
        flat = leaf_program_of(self.rows, self.task, self.tables, rooms, wanted, candidates)
        if flat is not None and flat.quick:
            unknown = np.zeros(len(candidates), dtype=np.int64)
            if len(candidates) > _FEW_CANDIDATES:
                unknown = least_costs(self.index, rooms, wanted, candidates)
            found = self._by_leaves(flat, unknown, tight, candidates)
            if found is not None:
                return found
            flat = None
        return self._one_by_one(candidates, wanted, rooms, tight, flat)

    def _one_by_one(
        self,
        candidates: Ints,
        wanted: _Vector,
        rooms: Sequence[DomainRoom],
        tight: _Tight,
        flat: LeafProgram | None,
    ) -> SearchResult:
        """Domain by domain, from the lowest bound: plainly, then, where that is dearer, exactly."""
        search = SearchResult()
        bounds = least_costs(self.index, rooms, wanted, candidates)
        lagrangian: LagrangianBound | None = None
        asked = False
        left = np.lexsort((candidates, tight.slack, tight.room, bounds)).tolist()
        while left:
            at = left.pop(0)
            domain = int(candidates[at])
            rest = (*tight.at(at), domain)
            best = search.found
            if best is not None and best.rank <= (int(bounds[at]), *rest):
                break
            if best is not None and not self._to_improve.spend(_TRIAL):
                search.proven = False
                break
            plan = lagrangian.plans.get(domain) if lagrangian is not None else None
            plain = self._plainly(domain, wanted, plan)
            if flat is not None and (plain is None or plain[0] > bounds[at]):
                by_leaves = self._by_leaves(flat, bounds, tight, candidates)
                if by_leaves is not None:
                    return by_leaves
                flat = None
            if not asked and plain is not None and plain[0] > bounds[at]:
                asked = True
                lagrangian = self._lagrangian(candidates, wanted, rooms, plain[0])
                if lagrangian is not None:
                    bounds = np.maximum(bounds, lagrangian.costs)
                    left = sorted([at, *left], key=lambda i: (int(bounds[i]), *tight.at(i), i))
                    continue
            if plain is None or plain[0] > bounds[at]:
                found, proven = self._exactly(domain, wanted, plain, best)
            else:
                found, proven = plain, True
            search.proven = search.proven and proven
            if found is not None:
                rank = (found[0], *rest)
                if best is None or rank < best.rank:
                    search.found = DomainFit(rank, domain, found[1])
        return search

    def _by_leaves(
        self, flat: LeafProgram, bounds: Ints, tight: _Tight, candidates: Ints
    ) -> SearchResult | None:
        """The closest by the program over leaves; None where that cannot say."""
        numbers = (bounds, tight.room, tight.slack, candidates)
        by_leaves = LeafProgramSearch(flat, self.plain, self._to_find)
        closest = by_leaves.closest(list(zip(*(x.tolist() for x in numbers), strict=True)))
        if by_leaves.stuck:
            return None
        if closest is None:
            return SearchResult()
        rank, trial = closest
        return SearchResult(DomainFit(rank, rank[3], trial))

    def _lagrangian(
        self, candidates: Ints, wanted: _Vector, rooms: Sequence[DomainRoom], target: int
    ) -> LagrangianBound | None:
        """Better bounds, and what to try, once the quick ones are found too low."""
        if any(unit.family for unit in self.task.units):
            return None
        units = self.task.units
        free = self.rows.own_free()
        return lagrangian_costs(
            self.index, units, self.tables, rooms, wanted, free, candidates, target
        )

    def _plainly(self, domain: int, wanted: _Vector, plan: Plan | None) -> tuple[int, Trial] | None:
        """A placement in one domain with its cost: by the plan, or one unit after the other."""
        found: tuple[int, Trial] | None = None
        orders = self.plain.orders(domain, wanted)
        for tried in ([plan] if plan else []) + [None]:
            for order in orders:
                trial = self.plain.attempt(domain, wanted, order, tried)
                if trial is not None:
                    trial.undo()
                    self.plain.follow()
                    cost = self._cost(trial)
                    if found is None or cost < found[0]:
                        found = cost, trial
                    break
        return found

    def _exactly(
        self, domain: int, wanted: _Vector, plain: tuple[int, Trial] | None, best: DomainFit | None
    ) -> tuple[tuple[int, Trial] | None, bool]:
        """The closest placement in one domain with its cost, and whether none is closer."""
        known = [*([plain[0]] if plain else []), *([best.rank[0]] if best else [])]
        budget = self._to_improve if known else self._to_find
        if not budget.left:
            return plain, False
        exact = MultiShapeOptimum(self.rows, self.task.units, self.tables, wanted, budget)
        shares = exact.solve(domain, min(known, default=None))
        if not exact.complete:
            budget.left = 0
        if not shares:
            return plain, exact.complete
        trial = self._apply(exact, shares)
        trial.undo()
        self.plain.follow()
        return (self._cost(trial), trial), exact.complete

    def _cost(self, trial: Trial) -> int:
        parts = [(self.rows.domain[step.row], step.nodes * step.pods) for step in trial.steps]
        return sum_of_pairs(self.index, parts)

    def _apply(self, exact: MultiShapeOptimum, shares: Sequence[Share]) -> Trial:
        trial = Trial(self.rows)
        for node in exact.assign(shares):
            row = node.row
            for unit, table, pods in zip(self.task.units, self.tables, node.pods, strict=True):
                if pods:
                    row = trial.put(unit, table, row, 1, pods)
        return trial
