"""Free amounts of the clusters in all, without nodes and domains: a copy to give away."""

from collections.abc import Callable
from copy import deepcopy

from global_sched.core.quota.tree import QueueNode
from global_sched.core.statement import Statement
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Workload


class Sums:
    """The clusters' free amounts at this moment; what is given is charged to the statement."""

    def __init__(self, statement: Statement) -> None:
        self._statement, self._ledger = statement, statement.ledger
        self._free = deepcopy(statement.rooms.free)
        self._full: set[int] = set()
        """Demands for which no cluster has room any more."""
        self._hopeless: set[int] = set()
        """Those for which none had any from the beginning."""

    def hold(self, workload: Workload, request: Resources) -> bool:
        """Whether any cluster has room for its minimum; a no is kept for all of its demand."""
        return id(workload.demand) not in self._full and bool(self.clusters(workload, request))

    def hopeless(self, workload: Workload) -> bool:
        """Whether none had any from the beginning, so that it is refused anyway."""
        return id(workload.demand) in self._hopeless

    def clusters(
        self, workload: Workload, request: Resources, at: int | None = None
    ) -> list[tuple[int, int]]:
        """Where so much is free and how often, most room first; only `at`, where that is said."""
        if at is not None:
            times = self._free.times(request, at)
            return [(at, times)] if times > 0 else []
        holds = self._free.holds(request)
        case = self._statement.standings.case(workload)
        found = ((holds > 0) & case.allowed).nonzero()[0].tolist()
        if not found and case.shared:
            self._full.add(id(workload.demand))
            if not (self._statement.rooms.free.holds(request) > 0).any():
                self._hopeless.add(id(workload.demand))
        return sorted(zip(found, holds[found].tolist(), strict=True), key=lambda one: -one[1])

    def take(self, workload: Workload, at: int, request: Resources, most: int = 1) -> int:
        """Take it, as often as the limits let it in and `most` at most; how often that was."""
        cluster = self._statement.rooms.rooms[at].cluster.name
        for bound in self._ledger.bounds(workload.queue, workload.tenant, cluster):
            for name, amount in request.entries:
                room = bound.room(name)
                if room is not None:
                    most = min(most, room // amount)
        if most > 0:
            taken = request.times(most)
            self._free.add(at, taken, -1)
            self._statement.charge(workload, cluster, taken)
        return max(0, most)

    def left(self, workload: Workload, request: Resources, most: int, *, last: bool) -> int:
        """How often others leave it that much of what is free, `most` at most.

        What begins below what a queue on its path deserves ends there. Until all had their turns
        (`last`), nothing goes beyond but what brothers leave that lack some of theirs: they would
        take it back.
        """
        entitlements, path = self._ledger.entitlements, self._ledger.node(workload.queue).path
        for name, amount in request.entries:
            within = False  # whether one below stays at what it deserves: none takes it then
            for node in path[:-1]:
                if not entitlements.counts(node, name):
                    continue
                room = entitlements.deserved_of(node).get(name, 0) - node.held.get(name, 0)
                if room >= amount:
                    within, most = True, min(most, room // amount)
                    continue
                lacking = 0 if within or last else _lacking_beside(node, name, entitlements.lacks)
                if lacking:
                    most = min(most, max(0, self._free.sum(name) - lacking) // amount)
                if room > 0:
                    most = min(most, 1)
        return most


def _lacking_beside(node: QueueNode, name: str, lacks: Callable[[QueueNode, str], int]) -> int:
    """How much less of it brothers hold than they ask for and deserve."""
    assert node.parent is not None
    return sum(lacks(one, name) for one in node.parent.children if one is not node)
