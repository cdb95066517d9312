"""What every queue is entitled to, and who may take back from whom.

*Deserved.* A queue deserves what its `deserved` says, and at least its guarantee; resources that
neither names it does not deserve at all. Without one, what its parent deserves and its brothers'
own words leave is divided by weight: each gets at least its guarantee and at most what it asks for
(pending and held) and its capability allows. The root deserves what the member clusters really
have. Exact whole numbers, level by level, the same for a whole cycle: admitting moves an amount
from asked to held.

*Excess.* By resource: what a queue holds over its deserved, as a part of the federation's total,
divided by its weight. Only resources count that its deserved names, or that of the nearest queue
above it which has one; all, where only weights decide.

*Reclaim.* Claimant and victim are compared where their paths part: two brothers, one above each.
Let `top` be the claimant's largest excess among the resources that it asks for, with its request
counted. A victim gives when in some resource that both have, its excess before it goes is more
than `top`, and so up to its own queue every queue on its path is over its deserved in such a
resource. A workload with nothing in common with its queue's deserved goes at once. A claimant
within its deserved has `top` 0, so it takes from whoever is over; one that is over takes only
from those who are further over, and only as long as they do not fall below their deserved.
Guarantees are never touched, nor what a queue on that path says is not reclaimable.

*Why it ends.* Sort the excess of all brothers where two queues part, largest first
(`potential`). A step raises only entries that end at `top` or less and lowers one that was more, so
the list gets strictly smaller; or a workload goes that its queue's deserved does not speak of, and
only one of which it speaks comes. The victim that asks again is back at more than `top`, and the
claimant's excess in what both have is at most `top`: it takes nothing back. With several victims
that holds for each when `stands` does, which looks at them once all are gone.
"""

from collections.abc import Collection, Iterable, Mapping

from global_sched.core.demand_of import Sums, asked_by_queue
from global_sched.core.deserved import Deserved, Measures
from global_sched.core.fairness import Amount
from global_sched.core.gates import Gates
from global_sched.core.sharing import NOTHING, Ratio
from global_sched.core.tree import Node, Tree
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot


class Entitlements:
    """A view over the tree of one ledger: it follows every charge, trial ones included.

    Victims are asked about with the charges of those that left before them taken off and their own
    still on. The claimant's request is not charged.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        tree: Tree,
        totals: Resources,
        opened: Sums | None = None,
        gates: Gates | None = None,
    ) -> None:
        """`opened` is what each queue itself holds at the start, where that is known already."""
        self._snapshot, self._opened = snapshot, opened
        self._gates = Gates(snapshot, tree) if gates is None else gates
        self._tree = tree
        self.totals = dict(totals.entries)
        self._division: Deserved | None = None
        self._measures: dict[QueueName, Measures] = {}
        self._parted: dict[tuple[QueueName, QueueName], tuple[Node, Node]] = {}

    # --- reading --------------------------------------------------------------------------

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

    def lacks(self, node: Node, name: str) -> int:
        """How much less of a resource it holds than it asks for and deserves; frozen ones: 0."""
        if node.frozen:
            return 0
        asked = self.asked(node.queue.name).get(name, 0)
        return max(0, min(asked, self.deserved_of(node).get(name, 0)) - node.held.get(name, 0))

    def deserved_of(self, node: Node) -> Amount:
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

    def standing(self, node: Node, wanted: Collection[str]) -> tuple[bool, Ratio]:
        """Where it stands between its brothers: (whether it is saturated, its share).

        It is saturated when it has all that it deserves of something that it waits for (`wanted`).
        Until then its share is the largest part of what it deserves that it holds: divided by its
        weight where the amount is said, of its weight's part of the whole where it is not. Then it
        is its largest excess. A queue with queues below it is measured only by what those that are
        not saturated wait for, so that a brother who has enough does not stand in their way.
        """
        measures = self._measures.get(node.queue.name)
        if measures is None or measures.wanted != wanted:
            measures = self._measures[node.queue.name] = self._measured(node, wanted)
        held, lacks = node.held, False
        for name, deserved, counts in measures.limits:
            has = held.get(name, 0)
            if has < deserved:
                lacks = True
            elif has > 0 and counts:
                return True, self._largest_excess(node, wanted)
        if not lacks:
            return True, self._largest_excess(node, wanted)
        over, under = 0, 1
        for name, amount, part in measures.parts:
            has = held.get(name, 0) * part
            if has * under > over * amount:
                over, under = has, amount
        return False, Ratio(over, under)

    def _measured(self, node: Node, wanted: Collection[str]) -> Measures:
        """What the standing is measured by while these are wanted."""
        deserved = self.deserved_of(node)
        limits = [(name, deserved.get(name, 0), self.counts(node, name)) for name in wanted]
        shares = self._divided().shares.get(node.queue.name, {})
        parts = [
            (name, amount, part)
            for name, (amount, part) in shares.items()
            if not node.children or name in wanted
        ]
        return Measures(tuple(wanted), tuple(limits), tuple(parts))

    def _largest_excess(self, node: Node, wanted: Collection[str]) -> Ratio:
        """Over all that it holds, or over what those below it lack where there are such."""
        held, deserved, totals = node.held, self.deserved_of(node), self.totals
        counted = totals if node.named is None else node.named
        weight = max(node.queue.weight, 0)
        over, under = 0, 1
        for name in wanted if node.children and wanted else held:
            more = held.get(name, 0) - deserved.get(name, 0) if name in counted else 0
            if more > 0:
                of = totals.get(name, 1) * weight
                if more * under > over * of:
                    over, under = more, of
        return Ratio(over, under)

    def excess(self, node: Node, resource: str, more: int = 0) -> Ratio:
        """What it holds, and `more`, over its deserved: of the total, divided by its weight."""
        over = node.held.get(resource, 0) + more - self.deserved_of(node).get(resource, 0)
        if over <= 0:
            return NOTHING
        return Ratio(over, self.totals.get(resource, 1) * max(node.queue.weight, 0))

    def counts(self, node: Node, resource: str) -> bool:
        """Whether the resource is one that its deserved speaks of."""
        return resource in (self.totals if node.named is None else node.named)

    # --- reclaim --------------------------------------------------------------------------

    def may_reclaim(self, claimant: QueueName, asked: Resources) -> bool:
        """Whether it could have a right to anything of others: it deserves some of what it asks.

        Limits are asked elsewhere: `refusal` of the ledger's quota says them.
        """
        node = self._tree.node(claimant)
        if node.frozen:
            return False
        return any(self.counts(node, name) for name, _ in asked.entries)

    def gives(
        self, victim: QueueName, amount: Resources, claimant: QueueName, asked: Resources
    ) -> bool:
        """Whether the victim's queue has to give that amount for what the claimant asks."""
        giver = self._tree.node(victim)
        if victim == claimant or giver.frozen:
            return False
        taker, other = self._part(claimant, giver)
        top = self.top(taker, asked)
        if top is None or not self._above_guarantee(giver, other, amount):
            return False
        common = [name for name, _ in asked.entries if amount.get(name)]
        node = giver
        while True:
            if not node.queue.reclaimable:
                return False
            if not self._over(node, amount, common, top if node is other else NOTHING):
                return False
            if node is other:
                return top == NOTHING or self._stays_over(node, amount, common)
            assert node.parent is not None
            node = node.parent

    def could_give(self, victim: QueueName, claimant: QueueName, asked: Resources) -> bool:
        """Whether any workload of the victim's queue might have to go: a quick look.

        False is sure; whether a workload really has to go, `gives` says.
        """
        giver = self._tree.node(victim)
        if victim == claimant or giver.frozen:
            return False
        taker, other = self._part(claimant, giver)
        top = self.top(taker, asked)
        if top is None:
            return False
        node: Node | None = giver
        while node is not None:
            least = top if node is other else NOTHING
            if not node.queue.reclaimable or not any(
                node.held.get(name, 0)
                and (not self.counts(node, name) or least < self.excess(node, name))
                for name, _ in asked.entries
            ):
                return False
            node = None if node is other else node.parent
        return True

    def stands(
        self,
        victims: Iterable[tuple[QueueName, Resources]],
        claimant: QueueName,
        asked: Resources,
    ) -> bool:
        """Whether, with all victims gone, none of them could take anything back at once.

        Asked with the charges of all of them taken off. A victim that gave while others of its
        queue were still there may be too small alone; leave out the smaller one first.
        """
        tops: dict[QueueName, Ratio | None] = {}
        for victim, amount in victims:
            if victim == claimant:
                continue
            taker, other = self._part(claimant, self._tree.node(victim))
            name = taker.queue.name
            if name not in tops:
                tops[name] = self.top(taker, asked)
            top = tops[name]
            if top is None:
                return False
            common = [name for name, _ in asked.entries if amount.get(name)]
            named = [name for name in common if self.counts(other, name)]
            speaks = any(self.counts(other, name) for name, _ in amount.entries)
            if speaks and not any(
                top < self.excess(other, name, amount.get(name)) for name in named
            ):
                return False
        return True

    def distance(self, victim: QueueName, claimant: QueueName) -> int:
        """How many levels above the claimant their paths part: nearest relatives have least."""
        giver = self._tree.node(victim)
        if victim == claimant:
            return 0
        taker, _ = self._part(claimant, giver)
        return self._tree.node(claimant).depth - taker.depth + 1

    def keeps_more(
        self, victim: QueueName, amount: Resources, claimant: QueueName, asked: Resources
    ) -> bool:
        """Whether the victim's side is, without that amount, still as far over as the claimant.

        Victims of which this holds go first: they leave the two sides nearer to each other.
        """
        giver = self._tree.node(victim)
        if victim == claimant:
            return True
        taker, other = self._part(claimant, giver)
        top = self.top(taker, asked)
        common = [name for name, _ in asked.entries if amount.get(name)]
        return top is not None and any(
            top <= self.excess(other, name, -amount.get(name))
            for name in common
            if self.counts(other, name)
        )

    def potential(self, claimant: QueueName, victim: QueueName) -> list[Ratio]:
        """The excess of all brothers where the two part, largest first: reclaim lowers this list.

        Compare it before (the victims still there) with after (the claimant charged).
        """
        taker, _ = self._part(claimant, self._tree.node(victim))
        brothers = [taker] if taker.parent is None else taker.parent.children
        found = [
            excess
            for node in brothers
            for name in node.held
            if self.counts(node, name) and (excess := self.excess(node, name)) != NOTHING
        ]
        return sorted(found, reverse=True)

    def top(self, node: Node, asked: Resources) -> Ratio | None:
        """The largest excess in what it asks for, counted with it; None: it deserves none of it."""
        found: Ratio | None = None
        for name, amount in asked.entries:
            if self.counts(node, name):
                excess = self.excess(node, name, amount)
                if found is None or found < excess:
                    found = excess
        return found

    def _over(self, node: Node, amount: Resources, common: list[str], top: Ratio) -> bool:
        """Whether it is over its deserved by more than `top` in something that both have."""
        named = [name for name in common if self.counts(node, name)]
        if named:
            return any(top < self.excess(node, name) for name in named)
        speaks = any(self.counts(node, name) for name, _ in amount.entries)
        return bool(common) and not speaks

    def _stays_over(self, node: Node, amount: Resources, common: list[str]) -> bool:
        """Whether it has its deserved of all that both have without that amount, too."""
        deserved = self.deserved_of(node)
        return all(
            node.held.get(name, 0) - amount.get(name) >= deserved.get(name, 0)
            for name in common
            if self.counts(node, name)
        )

    def _above_guarantee(self, giver: Node, other: Node, amount: Resources) -> bool:
        """Whether everybody up to the fork keeps all of its guarantee without that amount."""
        if not self._tree.guaranteed:
            return True
        node = giver
        while True:
            for name, value in amount.entries:
                kept = node.guarantee.get(name, 0)
                if kept and node.held.get(name, 0) - value < kept:
                    return False
            if node is other:
                return True
            assert node.parent is not None
            node = node.parent

    def _part(self, claimant: QueueName, giver: Node) -> tuple[Node, Node]:
        """The two brothers, one above each or itself, where their paths part."""
        key = (claimant, giver.queue.name)
        found = self._parted.get(key)
        if found is not None:
            return found
        one, other = self._tree.node(claimant), giver
        while one.depth > other.depth and one.parent is not other and one.parent is not None:
            one = one.parent
        while other.depth > one.depth and other.parent is not one and other.parent is not None:
            other = other.parent
        while one.parent is not other.parent and one.parent and other.parent:
            if one.parent is other or other.parent is one:
                break
            one, other = one.parent, other.parent
        self._parted[key] = (one, other)
        return one, other
