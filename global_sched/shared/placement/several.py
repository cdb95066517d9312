"""Gangs of several shapes or with partitions: domain by domain, plainly first, then exactly."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from global_sched.shared.placement.choose import Scope, choose, top_of
from global_sched.shared.placement.closest import Closest, Part, sum_of_pairs
from global_sched.shared.placement.draft import Draft
from global_sched.shared.placement.fill import fill
from global_sched.shared.placement.ground import TableKey
from global_sched.shared.placement.pack import NodePods, Packer
from global_sched.shared.placement.rows import Rows
from global_sched.shared.placement.table import Table
from global_sched.shared.placement.units import NOWHERE, Limit, Task, Unit

_MOST_COMPARED = 8
"""So many domains of one tier are compared by distance."""

TableOf = Callable[[TableKey], Table]


class Several:
    """Places the units of a task together. Its tables follow the rows before they are read."""

    def __init__(self, rows: Rows, task: Task, tables: Sequence[Table]) -> None:
        self.rows = rows
        self.index = rows.index
        self.task = task
        self.tables = tables

    def place(self, scope: Scope) -> tuple[Draft | None, bool]:
        """The minimum in the lowest tier that holds it, with surplus; or None, and if proven."""
        proven = True
        for candidates in self._candidates(scope):
            found, known = self._best_of(candidates)
            if found is not None:
                self.surplus(found[1], scope, found[0])
                return found[1], True
            proven = proven and known
        return None, proven

    def _candidates(self, scope: Scope) -> list[list[int]]:
        """Domains that may hold the minimum, tier by tier, tightest first."""
        limit = scope.limit
        if scope.around is not None:
            top = top_of(self.index, scope.around, limit)
            if top is None:
                return []
            chain = self.index.chain[scope.around]
            return [[at] for at in chain[: chain.index(top) + 1] if self._may_hold(at)]
        inside = self.index.under(scope.within)
        enough = inside.copy()
        for unit, table in zip(self.task.units, self.tables, strict=True):
            enough &= table.sums >= unit.least
        found = [
            sorted((np.flatnonzero(enough[first:after]) + first).tolist(), key=self._room)
            for tier, first, after in self.index.slices
            if limit.tier is None or tier <= limit.tier
        ]
        if limit.tier is None and enough[self.index.root]:
            found.append([self.index.root])
        return [tier for tier in found if tier]

    def _may_hold(self, domain: int) -> bool:
        return all(
            int(table.sums[domain]) >= unit.least
            for unit, table in zip(self.task.units, self.tables, strict=True)
        )

    def _room(self, domain: int) -> tuple[int, int]:
        return (
            sum(int(table.sums[domain]) for table in self.tables),
            sum(int(table.slack[domain]) for table in self.tables),
        )

    def _best_of(self, candidates: Sequence[int]) -> tuple[tuple[int, Draft] | None, bool]:
        """The closest placement in domains of one tier, and whether "none" is proven.

        The plain ways come first, all pods and then the minimum; counting exactly is for what
        they miss.
        """
        task = self.task
        for least in (False, True) if task.most > task.least else (True,):
            found = self._compare(candidates, partial(self._greedy, least=least))
            if found is not None:
                return found, True
        wanted = tuple(unit.least for unit in task.units)
        packer = Packer(self.rows, task.units, self.tables, wanted)
        proven = all(packer.affordable(at, self.rows.ground.nodes(at)) for at in candidates)
        return self._compare(candidates, partial(self._exact, packer)), proven

    def _compare(
        self, candidates: Sequence[int], attempt: Callable[[int], Draft | None]
    ) -> tuple[int, Draft] | None:
        """The attempt whose pods are closest, of the first few that succeed."""
        best: tuple[tuple[int, int], int] | None = None
        compared = 0
        for place, domain in enumerate(candidates):
            draft = attempt(domain)
            if draft is None:
                continue
            if not self.index.children[domain] or len(candidates) == 1:
                return domain, draft
            parts = [(self.rows.domain[s.row], s.nodes * s.pods) for s in draft.steps]
            rank = (sum_of_pairs(self.index, parts), place)
            best = min(best, (rank, domain)) if best is not None else (rank, domain)
            draft.undo()
            self._follow()
            compared += 1
            if compared == _MOST_COMPARED:
                break
        if best is None:
            return None
        again = attempt(best[1])
        return None if again is None else (best[1], again)

    def _exact(self, packer: Packer, domain: int) -> Draft | None:
        if not packer.affordable(domain, self.rows.ground.nodes(domain)):
            return None
        return self._apply(packer.assign(domain)) if packer.fits(domain) else None

    def _apply(self, nodes: Sequence[NodePods]) -> Draft:
        draft = Draft(self.rows)
        for node in nodes:
            row = node.row
            for unit, table, pods in zip(self.task.units, self.tables, node.pods, strict=True):
                if pods:
                    row = draft.put(unit, table, row, 1, pods)
        self._follow()
        return draft

    def _greedy(self, domain: int, *, least: bool) -> Draft | None:
        """All pods, or the minimum, of one shape after the other, the scarcest first."""
        draft = Draft(self.rows)
        for at in self._scarcest_first(domain):
            unit, table = self.task.units[at], self.tables[at]
            pods = unit.least if least else unit.most
            table.follow()
            if int(table.sums[domain]) < pods:
                break
            if unit.tier is None:
                parts = Closest(self.index, table, pods).split(domain, pods)
                self.put(draft, unit, table, parts, scatter=False)
            else:
                self._groups(draft, at, pods // unit.size, self._homes(unit, [domain]))
            if draft.count(unit) < pods:
                break
        else:
            self._follow()
            return draft
        draft.undo()
        self._follow()
        return None

    def _scarcest_first(self, domain: int) -> list[int]:
        def scarcity(at: int) -> tuple[bool, Fraction, int]:
            unit, table = self.task.units[at], self.tables[at]
            room = max(1, int(table.sums[domain]))
            return unit.tier is None, -Fraction(unit.least, room), at

        return sorted(range(len(self.task.units)), key=scarcity)

    def scattered(self, scope: Scope) -> Draft | None:
        """Each shape on the fullest nodes, where no group needs a domain."""
        if any(unit.tier is not None for unit in self.task.units):
            return None
        draft = Draft(self.rows)
        for at in self._scarcest_first(self.index.root):
            unit, table = self.task.units[at], self.tables[at]
            self._follow()
            parts = choose(self.index, table, unit.least, unit.least, scope)
            if parts is None:
                draft.undo()
                self._follow()
                return None
            self.put(draft, unit, table, parts, scatter=True)
        self.surplus(draft, scope, self.index.root)
        return draft

    def put(
        self, draft: Draft, unit: Unit, table: Table, parts: Sequence[Part], *, scatter: bool
    ) -> None:
        """Put pods on the own nodes of each domain. The tables follow when they are read next."""
        for domain, pods in parts:
            for row, nodes, each in fill(self.rows, table, domain, pods, scatter=scatter):
                draft.put(unit, table, row, nodes, each)

    def whole_groups(
        self, unit: Unit, table: Table, least: int, most: int, scope: Scope
    ) -> list[Part] | None:
        """Domains for pods whose groups need no domain of their own: surplus in whole groups."""
        parts = choose(self.index, table, least, most, scope)
        pods = sum(part[1] for part in parts or ())
        odd = pods % unit.size if unit.size > 1 else 0
        if odd and least < pods < most:
            parts = choose(self.index, table, least, max(least, pods - odd), scope)
        return parts

    def surplus(self, draft: Draft, scope: Scope, domain: int) -> None:
        """As many more pods of each unit as fit: in the domain, then around it."""
        top = top_of(self.index, domain, scope.limit)
        for at, unit in enumerate(self.task.units):
            self._follow()
            more = unit.most - draft.count(unit)
            if more <= 0:
                continue
            table = self.tables[at]
            if unit.tier is not None:
                chain = self.index.chain[domain]
                wider = chain[: chain.index(top) + 1] if top is not None else (domain,)
                self._groups(draft, at, more // unit.size, self._homes(unit, wider))
                continue
            around = replace(scope, around=domain)
            parts = self.whole_groups(unit, table, 0, more, around)
            if parts:
                self.put(draft, unit, table, parts, scatter=False)
        self._follow()

    def _homes(self, unit: Unit, domains: Sequence[int]) -> list[int]:
        """The domains, narrowed to where a group runs already that the unit's pods join."""
        if unit.anchor is None:
            return list(domains)
        chain = self.index.chain
        if unit.anchor == NOWHERE:
            return []
        return [
            unit.anchor if at in chain[unit.anchor] else at
            for at in domains
            if at in chain[unit.anchor] or unit.anchor in chain[at]
        ]

    def _groups(self, draft: Draft, at: int, groups: int, domains: Sequence[int]) -> None:
        """Whole groups of a partition, one by one, in the first of the domains that takes it."""
        unit, table = self.task.units[at], self.tables[at]
        limit = Limit(tier=unit.tier)
        for _ in range(groups):
            table.follow()
            parts = None
            for domain in domains:
                scope = Scope(limit=limit, within=domain)
                parts = choose(self.index, table, unit.size, unit.size, scope)
                if parts:
                    break
            if not parts:
                return
            self.put(draft, unit, table, parts, scatter=False)

    def _follow(self) -> None:
        for table in self.tables:
            table.follow()
