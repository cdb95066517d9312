"""Entitlements of queues, and how far each is over or under its own.

*Deserved.* A queue deserves what its `deserved` says, and at least its guarantee; resources that
neither names it does not deserve at all. Without one, what its parent deserves and its brothers'
own words leave is divided by weight: each gets at least its guarantee and at most what it asks for
(pending and held) and its capability allows. The root deserves what the member clusters really
have. Exact whole numbers, level by level, the same for a whole cycle: admitting moves an amount
from asked to held.

*Excess.* By resource: what a queue holds over its deserved, as a part of the federation's total,
divided by its weight. Only resources count that its deserved names, or that of the nearest queue
above it which has one; all, where only weights decide.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from global_sched.core.quota.demand import HeldByQueue, asked_by_queue
from global_sched.core.quota.deserved import Deserved, Measures
from global_sched.core.quota.dominant_share import Amount
from global_sched.core.quota.gates import Gates
from global_sched.core.quota.tree import QueueNode, QueueTree
from global_sched.core.quota.water_filling import NOTHING, Ratio
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot

WITHIN: Final = 2**31
"""In place of a depth: no queue of the path borrows."""


class Entitlements:
    """A view over the tree of one ledger: it follows every charge, trial ones included."""

    def __init__(
        self,
        snapshot: Snapshot,
        tree: QueueTree,
        totals: Resources,
        opened: HeldByQueue | None = None,
        gates: Gates | None = None,
    ) -> None:
        """`opened` is what each queue itself holds at the start, where that is known already."""
        self._snapshot, self._opened = snapshot, opened
        self._gates = Gates(snapshot, tree) if gates is None else gates
        self._tree = tree
        self.totals = dict(totals.entries)
        self._division: Deserved | None = None
        self._measures: dict[QueueName, Measures] = {}

    def path(self, queue: QueueName) -> tuple[QueueName, ...]:
        """From the queue to the root."""
        return tuple(node.queue.name for node in self._tree.node(queue).path)

    def deserved(self, queue: QueueName) -> Mapping[str, int]:
        """What it is entitled to, by resource."""
        return self.deserved_of(self._tree.node(queue))

    def allocated(self, queue: QueueName) -> Mapping[str, int]:
        """What it holds now, with everything below it."""
        return self._tree.node(queue).held

    def asked(self, queue: QueueName) -> Mapping[str, int]:
        """What it holds and what waits in it, with everything below it."""
        return self._divided().asked.get(queue, {})

    def lacks(self, node: QueueNode, name: str) -> int:
        """How much less of a resource it holds than it asks for and deserves; frozen ones: 0."""
        if node.frozen:
            return 0
        asked = self.asked(node.queue.name).get(name, 0)
        return max(0, min(asked, self.deserved_of(node).get(name, 0)) - node.held.get(name, 0))

    def crosses_at(self, queue: QueueName, request: Resources) -> int:
        """The depth of the highest queue of the path that borrows with the request, or `WITHIN`.

        A queue borrows when it would hold more than it deserves of something that is asked for.
        What nothing on the path deserves is borrowed right below the root, at depth 1.
        """
        found, counted = WITHIN, not request.entries
        for node in self._tree.node(queue).path[:-1]:
            deserved, held = self.deserved_of(node), node.held
            for name, more in request.entries:
                if self.counts(node, name):
                    counted = True
                    if held.get(name, 0) + more > deserved.get(name, 0):
                        found = node.depth
                        break
        return found if counted else 1

    def deserved_of(self, node: QueueNode) -> Amount:
        """What a node is entitled to."""
        known = self._divided().deserved
        found = known.get(node.queue.name)
        if found is None:  # a queue without an object keeps what it has
            found = known[node.queue.name] = dict(node.held)
        return found

    def _divided(self) -> Deserved:
        """The division, made when first needed."""
        if self._division is None:
            asked = asked_by_queue(self._snapshot, self._tree, self._gates, self._opened)
            self._division = Deserved(self._snapshot.clusters, self._tree, self.totals, asked)
        return self._division

    def standing(self, node: QueueNode, wanted: tuple[str, ...] | None) -> tuple[bool, Ratio]:
        """Where it stands between its brothers: (whether it is saturated, its share).

        `wanted` is what the first workload in it asks for; None: the first queue below it has what
        it deserves of that. It is saturated when it has all that it deserves of any of that.
        Until then its share is the largest part of what it deserves that it holds: divided by its
        weight where the amount is said, of its weight's part of the whole where it is not. Then it
        is its largest excess. A queue with queues below it is measured only by what is wanted, so
        that those of another resource do not stand in the way. Who asks for nothing goes first.
        """
        if wanted is None:
            return True, self._largest_excess(node, node.held)
        if not wanted:
            return False, NOTHING
        measures = self._measures.get(node.queue.name)
        if measures is None or measures.wanted != wanted:
            measures = self._measures[node.queue.name] = self._measured(node, wanted)
        held, lacks = node.held, False
        for name, deserved, counts in measures.limits:
            has = held.get(name, 0)
            if has < deserved:
                lacks = True
            elif counts:
                lacks = False
                break
        if not lacks:
            return True, self._largest_excess(node, wanted if node.children else held)
        over, under = 0, 1
        for name, amount, part in measures.parts:
            has = held.get(name, 0) * part
            if has * under > over * amount:
                over, under = has, amount
        return False, Ratio(over, under)

    def _measured(self, node: QueueNode, wanted: tuple[str, ...]) -> Measures:
        """What the standing is measured by while these are wanted.

        A resource that no cluster has is not what it lacks, nor what it has enough of.
        """
        deserved = self.deserved_of(node)
        limits = [
            (name, deserved.get(name, 0), self.counts(node, name))
            for name in wanted
            if self.totals.get(name)
        ]
        shares = self._divided().shares.get(node.queue.name, {})
        parts = [
            (name, amount, part)
            for name, (amount, part) in shares.items()
            if not node.children or name in wanted
        ]
        return Measures(wanted, tuple(limits), tuple(parts))

    def _largest_excess(self, node: QueueNode, names: Iterable[str]) -> Ratio:
        """Over its deserved, of these: as a part of the total, divided by its weight."""
        held, deserved, totals = node.held, self.deserved_of(node), self.totals
        counted = totals if node.named is None else node.named
        weight = max(node.queue.weight, 0)
        over, under = 0, 1
        for name in names:
            more = held.get(name, 0) - deserved.get(name, 0) if name in counted else 0
            if more > 0:
                of = totals.get(name, 1) * weight
                if more * under > over * of:
                    over, under = more, of
        return Ratio(over, under)

    def excess(self, node: QueueNode, resource: str, more: int = 0) -> Ratio:
        """What it holds, and `more`, over its deserved: of the total, divided by its weight."""
        over = node.held.get(resource, 0) + more - self.deserved_of(node).get(resource, 0)
        if over <= 0:
            return NOTHING
        return Ratio(over, self.totals.get(resource, 1) * max(node.queue.weight, 0))

    def counts(self, node: QueueNode, resource: str) -> bool:
        """Whether the resource is one that its deserved speaks of."""
        return resource in (self.totals if node.named is None else node.named)
