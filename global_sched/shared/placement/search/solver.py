"""Choice of the algorithm: a dispatcher over scopes, then over the form of the gang.

Problem: place the minimum of a task in the lowest tier, then with the least
    cost = sum over all pairs of pods of tier(smallest domain around both),
then in the tightest domain, then by name (a lexicographic minimum).
Method: the preferred domain and those around it come first, then the whole tree. Per scope one
unit goes to `select_domain` (exact), several units or groups to `multi_shape` (exact within a
budget), and a gang without constraint to `select_nodes` alone.
Exact: where each of them is; `exact` and `proven` say whether the budget cut something off.
Cost: that of the method chosen, once per scope. docs/design/0003, "The rule" and "Algorithms".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import Limit, Task, Unit
from global_sched.shared.placement.search.greedy import Greedy
from global_sched.shared.placement.search.multi_shape import MultiShapeSearch
from global_sched.shared.placement.search.select_domain import SearchScope, room_in, top_of
from global_sched.shared.placement.search.trial import Trial
from global_sched.shared.placement.sentinels import MOST_PODS_EXACT


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Nothing was found; `proven` when there is nothing to find."""

    proven: bool


class Solver:
    """Solves one task; its tables are in step with the rows."""

    def __init__(self, rows: Rows, tables: Sequence[ShapeTable], task: Task, limit: int) -> None:
        """`limit` is how many additions exact searches may take together."""
        self.rows = rows
        self.index = rows.index
        self.task = task
        self.tables = tables
        self.plain = Greedy(rows, task, self.tables)
        self._limit = limit
        self.exact = True
        """Whether the answer is the closest, or a proven refusal."""

    @cached_property
    def _multi_shape(self) -> MultiShapeSearch:
        """For several units or groups; what it may spend is for all scopes together."""
        return MultiShapeSearch(self.plain, self._limit)

    def solve(
        self, prefer: int | None, around: int | None, *, nearby: bool, within: int | None = None
    ) -> Trial | Unplaced:
        """The placement, applied to the rows as a trial.

        `prefer` is tried first; then, when it is to be `nearby`, the domains around that, upwards.
        Who has no constraint is scattered, wherever pods of it run. `within`: in that domain only.
        """
        limit = self.task.limit
        within = self.index.root if within is None else within
        if limit.scatter:
            around = None
        scopes = [SearchScope(limit=limit, within=within, around=around)]
        if prefer is not None and around is None:
            chain = self.index.chain[prefer]
            first = chain[:-1] if nearby else (prefer,)
            scopes = [*(SearchScope(limit=limit, within=at) for at in first), *scopes]
        proven = True
        for scope in scopes:
            found = self._in_scope(scope)
            if isinstance(found, Trial):
                return found
            proven = found.proven
        return Unplaced(proven)

    def _in_scope(self, scope: SearchScope) -> Trial | Unplaced:
        units = self.task.units
        if len(units) == 1 and units[0].anchor is None:
            if units[0].tier is not None and scope.limit.scatter:
                # Groups that stay in a domain are not strewn over the fullest nodes.
                scope = replace(scope, limit=Limit())
            return self._one_shape(units[0], scope)
        if self.task.any_number:
            return self._any_number(scope)
        if self.task.limit.scatter:
            found = self.plain.scattered(scope)
            if found is not None:
                return found
        placed, proven = self._multi_shape.place(scope)
        self.exact = proven
        return Unplaced(proven) if placed is None else placed

    def _one_shape(self, unit: Unit, scope: SearchScope) -> Trial | Unplaced:
        least, room = unit.least, self.plain.room(unit.at)
        if self.task.any_number:
            least = min(unit.most, room_in(self.index, room, scope))
            if unit.size > 1 and least < unit.most:
                least -= least % unit.size
            if least == 0:
                return Unplaced(proven=True)
        trial = Trial(self.rows, applied=False)
        parts = self.plain.whole_groups(unit, room, least, unit.most, scope)
        if parts is None:
            return Unplaced(proven=True)
        self.exact = sum(pods for _, pods in parts) <= MOST_PODS_EXACT
        table = self.tables[unit.at]
        self.plain.put(trial, unit, table, parts, scatter=scope.limit.scatter)
        return trial

    def _any_number(self, scope: SearchScope) -> Trial | Unplaced:
        """As many as fit, pod set by pod set, in the allowed domain that has most room."""
        within = self._roomiest(scope)
        if within is None:
            return Unplaced(proven=True)
        trial = Trial(self.rows)
        self.plain.surplus(trial, scope, within)
        if not trial.steps:
            trial.undo()
            return Unplaced(proven=True)
        return trial

    def _roomiest(self, scope: SearchScope) -> int | None:
        if scope.around is not None:
            return top_of(self.index, scope.around, scope.limit)
        if scope.limit.tier is None:
            return scope.within
        inside = self.index.under(scope.within)
        allowed = [
            at
            for tier, first, after in self.index.slices
            if tier <= scope.limit.tier
            for at in range(first, after)
            if inside[at]
        ]
        return max(allowed, key=lambda at: (self._within(at), -at), default=None)

    def _within(self, domain: int) -> int:
        """Pods that a domain holds at best, shape by shape."""
        return sum(
            min(unit.most, int(table.sums[domain]))
            for unit, table in zip(self.task.units, self.tables, strict=True)
        )
