"""One unit after the other, close to the others: a constructive heuristic that bounds are held to.

Problem: place several units (shapes, or groups of one) in one domain without counting vectors.
Method: units in at most two orders, most pods first and scarcest first (pods wanted over room, the
first-fail rule of Haralick and Elliott 1980). Each unit is split as `one_shape_exact` would split
it alone, or goes first where most pods of the others are; groups go whole, largest domain first.
A plan of `lagrangian_bound` may come first, as far as there is room.
Exact: no. What it finds is the closest exactly when its cost meets a lower bound (`lower_bounds`),
which `multi_shape` checks; it may find nothing where something fits.
Cost: O(units x children) per domain, besides the splits. docs/design/0003, "Several units".
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from global_sched.shared.placement.capacity.domain_room import (
    DomainRoom,
    FrozenRoom,
    RankedRoom,
    WholeGroups,
)
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import NOWHERE, Task, Unit
from global_sched.shared.placement.search.lagrangian_bound import Plan
from global_sched.shared.placement.search.one_shape_exact import OneShapeOptimum
from global_sched.shared.placement.search.pair_costs import Part
from global_sched.shared.placement.search.select_domain import SearchScope, choose, top_of
from global_sched.shared.placement.search.select_nodes import fill
from global_sched.shared.placement.search.trial import Trial


class Greedy:
    """Places the units of a task without looking back. Tables follow before they are read."""

    def __init__(self, rows: Rows, task: Task, tables: Sequence[ShapeTable]) -> None:
        self.rows = rows
        self.index = rows.index
        self.task = task
        self.tables = tables
        self._known: dict[int, WholeGroups] = {}
        """Rooms in whole groups, for the rows as they were after so many changes."""
        self._known_at = -1

    def room(self, at: int) -> RankedRoom:
        """The room of a unit now: whole groups only, where they need a domain of their own."""
        unit, table = self.task.units[at], self.tables[at]
        if unit.tier is None:
            return table
        now = len(self.rows.log)
        if now != self._known_at:
            self._known, self._known_at = {}, now
        room = self._known.get(at)
        if room is None:
            anchor = None if unit.anchor in (None, NOWHERE) else unit.anchor
            room = WholeGroups(self.index, table, tier=unit.tier, size=unit.size, anchor=anchor)
            self._known[at] = room
        return room

    def follow(self) -> None:
        """Bring the tables up to date with the rows."""
        for table in self.tables:
            table.follow()

    def orders(self, domain: int, wanted: Sequence[int]) -> list[list[int]]:
        """Orders in which units may be placed: most pods first, and the scarcest first."""
        asked = [at for at, pods in enumerate(wanted) if pods]
        largest = sorted(asked, key=lambda at: (-wanted[at], at))

        def scarcity(at: int) -> tuple[bool, Fraction, int]:
            unit, table = self.task.units[at], self.tables[at]
            room = max(1, int(table.sums[domain]))
            return unit.tier is None, -Fraction(wanted[at], room), at

        scarcest = sorted(asked, key=scarcity)
        return [largest] if scarcest == largest else [largest, scarcest]

    def attempt(
        self, domain: int, wanted: Sequence[int], order: Sequence[int], plan: Plan | None = None
    ) -> Trial | None:
        """All that is wanted, within a domain; None where this way does not get there.

        As much of a plan as there is room for comes first.
        """
        trial = Trial(self.rows)
        held: dict[int, int] = {}
        for leaf, vector in plan or ():
            self._follow_plan(trial, leaf, vector, wanted, held)
        for at in order:
            unit, table = self.task.units[at], self.tables[at]
            pods = wanted[at] - (trial.count(unit) if plan else 0)
            if not pods:
                continue
            if trial.steps:
                table.follow()
            if unit.family and unit.tier is not None:
                if trial.count(unit):
                    continue
                parts = self.share_groups(trial, unit, pods // unit.size, domain, held)
            else:
                room = self.room(at)
                if int(room.sums[domain]) < pods:
                    parts = []
                elif held:
                    parts = self._beside(room, domain, pods, held)
                else:
                    parts = OneShapeOptimum(self.index, room, pods).split(domain, pods)
                self.put(trial, unit, table, parts, scatter=False)
            if trial.count(unit) < wanted[at]:
                trial.undo()
                self.follow()
                return None
            for part, here in parts:
                for above in self.index.chain[part]:
                    held[above] = held.get(above, 0) + here
        self.follow()
        return trial

    def _follow_plan(
        self,
        trial: Trial,
        leaf: int,
        vector: Sequence[int],
        wanted: Sequence[int],
        held: dict[int, int],
    ) -> None:
        """What a plan puts on one leaf, as far as it is still wanted and there is room."""
        for at in self.orders(leaf, vector)[-1]:
            unit, table = self.task.units[at], self.tables[at]
            table.follow()
            room = int(self.room(at).sums[leaf])
            pods = min(vector[at], wanted[at] - trial.count(unit), room)
            if unit.tier is not None:
                pods -= pods % unit.size
            if pods > 0:
                self.put(trial, unit, table, [(leaf, pods)], scatter=False)
                for above in self.index.chain[leaf]:
                    held[above] = held.get(above, 0) + pods

    def share_groups(
        self, trial: Trial, unit: Unit, groups: int, domain: int, held: Mapping[int, int]
    ) -> list[Part]:
        """Up to so many groups of a unit's family, each whole in one domain that its tier allows.

        Where most pods are already comes first, then the largest.
        """
        tier = unit.tier
        if tier is None:
            return []
        members = [one for one in self.task.units if one.family == unit.family]
        self.follow()
        tops = [domain]
        if self.index.tier[domain] > tier:
            found = self.index.cut(tier).tops
            tops = found[self.index.under(domain)[found]].tolist()
        fits = {
            top: min(int(self.tables[one.at].sums[top]) // one.size for one in members)
            for top in tops
        }
        parts: list[Part] = []
        left = groups
        for top in sorted(
            (t for t, n in fits.items() if n), key=lambda t: (-held.get(t, 0), -fits[t], t)
        ):
            placed = self._groups_in(trial, members, min(left, fits[top]), top)
            if placed:
                parts.append((top, placed * sum(one.size for one in members)))
                left -= placed
            if not left:
                break
        return parts

    def _groups_in(self, trial: Trial, members: Sequence[Unit], groups: int, top: int) -> int:
        """As many groups of a family as this way finds room for in one domain, up to `groups`."""
        while groups:
            start = trial.here()
            for one in members:
                table, pods = self.tables[one.at], groups * one.size
                table.follow()
                if int(table.sums[top]) < pods:
                    break
                parts = OneShapeOptimum(self.index, table, pods).split(top, pods)
                self.put(trial, one, table, parts, scatter=False)
            else:
                return groups
            trial.back_to(start)
            self.follow()
            groups -= 1
        return 0

    def _beside(self, room: DomainRoom, domain: int, pods: int, held: dict[int, int]) -> list[Part]:
        """Where most pods of the other units are, first."""
        parts: list[Part] = []
        stack = [(domain, pods)]
        sums = room.sums
        while stack:
            at, left = stack.pop()
            children = sorted(
                (-held.get(child, 0), -int(sums[child]), child)
                for child in self.index.children[at]
                if sums[child] > 0
            )
            inner: list[Part] = []
            for _, held_room, child in children:
                if not left:
                    break
                share = min(left, -held_room)
                inner.append((child, share))
                left -= share
            if left:
                parts.append((at, left))
            stack.extend(reversed(inner))
        return parts

    def put(
        self, trial: Trial, unit: Unit, table: ShapeTable, parts: Sequence[Part], *, scatter: bool
    ) -> None:
        """Put pods on the own nodes of each domain. The tables follow when they are read next."""
        for domain, pods in parts:
            for row, nodes, each in fill(self.rows, table, domain, pods, scatter=scatter):
                trial.put(unit, table, row, nodes, each)

    def scattered(self, scope: SearchScope) -> Trial | None:
        """Each shape on the fullest nodes, where no group needs a domain."""
        if any(unit.tier is not None for unit in self.task.units):
            return None
        trial = Trial(self.rows)
        wanted = [unit.least for unit in self.task.units]
        for at in self.orders(self.index.root, wanted)[-1]:
            unit, table = self.task.units[at], self.tables[at]
            self.follow()
            parts = choose(self.index, FrozenRoom(table), unit.least, unit.least, scope)
            if parts is None:
                trial.undo()
                self.follow()
                return None
            self.put(trial, unit, table, parts, scatter=True)
        self.surplus(trial, scope, self.index.root)
        return trial

    def whole_groups(
        self, unit: Unit, room: RankedRoom, least: int, most: int, scope: SearchScope
    ) -> list[Part] | None:
        """Domains for pods of one unit: surplus in whole groups."""
        still = FrozenRoom(room)
        parts = choose(self.index, still, least, most, scope)
        pods = sum(part[1] for part in parts or ())
        odd = pods % unit.size if unit.size > 1 else 0
        if odd and least < pods < most:
            still = FrozenRoom(room)
            parts = choose(self.index, still, least, max(least, pods - odd), scope)
        return parts

    def surplus(self, trial: Trial, scope: SearchScope, domain: int) -> None:
        """As many more pods of each unit as fit: in the domain, then around it."""
        if all(trial.count(unit) >= unit.most for unit in self.task.units):
            return
        top = top_of(self.index, domain, scope.limit)
        chain = self.index.chain[domain]
        wider = chain[: chain.index(top) + 1] if top is not None else (domain,)
        for at, unit in enumerate(self.task.units):
            more = unit.most - trial.count(unit)
            if more <= 0 or unit.anchor == NOWHERE:
                continue
            self.follow()
            if unit.family and unit.tier is None:
                self._more_of_family(trial, unit.family, replace(scope, around=domain))
                continue
            if unit.family:
                for place in wider:
                    self.share_groups(trial, unit, more // unit.size, place, {})
                    more = unit.most - trial.count(unit)
                continue
            if unit.tier is not None:
                self._more_groups(trial, at, more, wider)
                continue
            around = replace(scope, around=domain)
            parts = self.whole_groups(unit, self.tables[at], 0, more, around)
            if parts:
                self.put(trial, unit, self.tables[at], parts, scatter=False)
        self.follow()

    def _more_of_family(self, trial: Trial, family: str, scope: SearchScope) -> None:
        """More groups of a family that no tier binds: all of a group, or none of it."""
        members = [one for one in self.task.units if one.family == family]
        left = min((one.most - trial.count(one)) // one.size for one in members)
        groups = left
        while groups:
            start = trial.here()
            for one in members:
                self.follow()
                table, pods = self.tables[one.at], groups * one.size
                parts = choose(self.index, FrozenRoom(table), pods, pods, scope)
                if parts is None:
                    trial.back_to(start)
                    groups //= 2
                    break
                self.put(trial, one, table, parts, scatter=False)
            else:
                left -= groups
                groups = min(groups, left)
        self.follow()

    def _more_groups(self, trial: Trial, at: int, more: int, domains: Sequence[int]) -> None:
        """Whole groups, in the first of the domains that has room for some, then in the next."""
        unit, table = self.task.units[at], self.tables[at]
        left = more
        for domain in domains:
            table.follow()
            room = self.room(at)
            pods = min(left, int(room.sums[domain])) // unit.size * unit.size
            if not pods:
                continue
            parts = OneShapeOptimum(self.index, room, pods).split(domain, pods)
            self.put(trial, unit, table, parts, scatter=False)
            left -= pods
            if left < unit.size:
                return
