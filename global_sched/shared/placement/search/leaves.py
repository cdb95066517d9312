"""Domains whose children are leaves, from what costs least at best to what does cost least."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np

from global_sched.shared.placement.capacity.domain_room import Ints
from global_sched.shared.placement.search.greedy import Greedy
from global_sched.shared.placement.search.leaf_program import Flat, Usable
from global_sched.shared.placement.search.node_packing import Budget, NodePods, Packer, Vector
from global_sched.shared.placement.search.trial import Draft

_FIRST = 4
"""So many domains are counted at first, then four times as many."""

Rank = tuple[int, int, int, int]
"""(cost, room, slack, domain)."""


@dataclass(slots=True)
class ByLeaves:
    """Finds the placement of least rank with the program of `Flat`."""

    flat: Flat
    plain: Greedy
    budget: Budget
    stuck: bool = False
    """True once something could not be counted: then nothing that is said here is certain."""
    _packer: Packer | None = None
    _counted: set[int] = field(default_factory=set)

    def closest(self, ranks: Sequence[Rank]) -> tuple[Rank, Draft] | None:
        """The closest placement, not applied, from ranks at best; None when there is none."""
        left = list(ranks)
        heapify(left)
        many = _FIRST
        while left:
            rank = left[0]
            if rank[3] not in self._counted:
                self._count(left, many)
                many *= 4
                continue
            heappop(left)
            draft = self._place(rank[3])
            if draft is not None:
                draft.undo()
                self.plain.follow()
                return rank, draft
            if self.stuck:
                return None
            self._push(left, rank)
        return None

    def _count(self, left: list[Rank], many: int) -> None:
        """Put the true costs on some of the ranks that come first."""
        chosen: list[Rank] = []
        known: list[Rank] = []
        while left and len(chosen) < many:
            rank = heappop(left)
            (known if rank[3] in self._counted else chosen).append(rank)
        domains: Ints = np.array([rank[3] for rank in chosen], dtype=np.int64)
        self.flat.count(domains)
        self._counted.update(domains.tolist())
        for rank in known:
            heappush(left, rank)
        for rank in chosen:
            self._push(left, rank)

    def _push(self, left: list[Rank], rank: Rank) -> None:
        cost = self.flat.cost(rank[3])
        if cost >= 0:
            heappush(left, (cost, *rank[1:]))

    def _place(self, domain: int) -> Draft | None:
        """What costs least by the count; None where a leaf does not take it, which then counts."""
        draft = Draft(self.plain.rows)
        for leaf, vector in self.flat.plan(domain):
            start = draft.here()
            if self._put(draft, leaf, vector):
                continue
            draft.back_to(start)
            usable = self._usable(leaf)
            at = (self.flat.grid.vectors == vector).all(axis=1)
            if usable is not None and usable[at].all():
                assert self._packer is not None, "made to count"
                self._apply(draft, self._packer.spread(leaf, vector))
                continue
            draft.undo()
            self.plain.follow()
            if usable is None:
                self.stuck = True
            else:
                self.flat.forbid(domain, leaf, usable)
            return None
        return draft

    def _put(self, draft: Draft, leaf: int, vector: Vector) -> bool:
        """One unit after the other on a leaf's nodes, the scarcest first; False: not all fit."""
        tables, units = self.plain.tables, self.plain.task.units
        asked = [at for at, pods in enumerate(vector) if pods]
        if len(asked) > 1:
            room = {at: max(1, int(tables[at].sums[leaf])) for at in asked}
            asked.sort(key=lambda at: (-vector[at] / room[at], at))
        for at in asked:
            before = draft.count(units[at])
            self.plain.put(draft, units[at], tables[at], [(leaf, vector[at])], scatter=False)
            if draft.count(units[at]) - before < vector[at]:
                return False
        return True

    def _usable(self, leaf: int) -> Usable | None:
        """Which vectors fit on a leaf's nodes, counted exactly; None when it takes too long."""
        if self._packer is None:
            task, flat = self.plain.task, self.flat
            self._packer = Packer(
                self.plain.rows, task.units, self.plain.tables, flat.wanted, self.budget
            )
        packer = self._packer
        if not packer.possible() or not packer.prepare([leaf]):
            return None
        front = packer.own(leaf)
        if front is None:
            return None
        vectors = self.flat.grid.vectors
        beside = vectors[:, packer.others] if packer.others else np.zeros((len(vectors), 1), int)
        usable: Usable = front[tuple(beside.T)] >= vectors[:, packer.last]
        return usable

    def _apply(self, draft: Draft, nodes: Sequence[NodePods]) -> None:
        for node in nodes:
            row = node.row
            for at, pods in enumerate(node.pods):
                if pods:
                    unit, table = self.plain.task.units[at], self.plain.tables[at]
                    row = draft.put(unit, table, row, 1, pods)
