"""Reclaim: rights between queues over what they are entitled to.

*Reclaim.* Claimant and victim are compared where their paths part: two brothers, one above each.
Let `top` be the claimant's largest excess among the resources that it asks for, with its request
counted. A victim gives when in some resource that both have, its excess before it goes is more
than `top`, and so up to its own queue every queue on its path is over its deserved in such a
resource. A workload with nothing in common with its queue's deserved goes at once. A claimant
within its deserved has `top` 0, so it takes from any that is over; one that is over takes only from
those further over, and only as long as they do not fall below their deserved.
Guarantees are never touched, nor what a queue on that path says is not reclaimable.

*Why it ends.* Sort the excess of all brothers where two queues part, largest first
(`potential`). A step raises only entries that end at `top` or less and lowers one that was more, so
the list gets strictly smaller; or a workload goes that its queue's deserved does not speak of, and
only one of which it speaks comes. The victim that asks again is back at more than `top`, and the
claimant's excess in what both have is at most `top`: it takes nothing back. With several victims
that holds for each when `stands` does, which looks at them once all are gone.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

from global_sched.core.quota.entitlement import Entitlements
from global_sched.core.quota.tree import QueueNode
from global_sched.core.quota.water_filling import NOTHING, Ratio
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.resources import Resources


class Reclaim(Entitlements):
    """Entitlements, and the rights that follow from them at this moment.

    Victims are asked about with the charges of those that left before them taken off and their own
    still on. The claimant's request is not charged.
    """

    @cached_property
    def _parted(self) -> dict[tuple[QueueName, QueueName], tuple[QueueNode, QueueNode]]:
        """Where the paths of two queues part, of those that were asked for."""
        return {}

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
        taker, other = self.part(claimant, victim)
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

    def could_give(
        self, victims: Iterable[QueueName], claimant: QueueName, asked: Resources
    ) -> Iterator[QueueName]:
        """The queues of which any workload might have to go: a quick look, in the same order.

        One that is left out has none that would; whether a workload has to go, `gives` says.
        """
        tops: dict[QueueName, Ratio | None] = {}
        for victim in victims:
            giver = self._tree.node(victim)
            if victim == claimant or giver.frozen:
                continue
            taker, other = self.part(claimant, victim)
            name = taker.queue.name
            if name not in tops:
                tops[name] = self.top(taker, asked)
            top = tops[name]
            if top is not None and self._could_give(giver, other, top, asked):
                yield victim

    def _could_give(self, giver: QueueNode, other: QueueNode, top: Ratio, asked: Resources) -> bool:
        """Whether every queue of a path up to the fork is over in something that is asked for."""
        node: QueueNode | None = giver
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
        queue were still there may be too small alone: then this spot is none.
        """
        tops: dict[QueueName, Ratio | None] = {}
        for victim, amount in victims:
            if victim == claimant:
                continue
            taker, other = self.part(claimant, victim)
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

    def part(self, claimant: QueueName, victim: QueueName) -> tuple[QueueNode, QueueNode]:
        """The two brothers, one above each or itself, where their paths part."""
        key = (claimant, victim)
        found = self._parted.get(key)
        if found is not None:
            return found
        one, other = self._tree.node(claimant), self._tree.node(victim)
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

    def distance(self, victim: QueueName, claimant: QueueName) -> int:
        """How many levels above the claimant their paths part: nearest relatives have least."""
        if victim == claimant:
            return 0
        taker, _ = self.part(claimant, victim)
        return self._tree.node(claimant).depth - taker.depth + 1

    def keeps_more(
        self, victim: QueueName, amount: Resources, claimant: QueueName, asked: Resources
    ) -> bool:
        """Whether the victim's side is, without that amount, still as far over as the claimant.

        Victims of which this holds go first: they leave the two sides nearer to each other.
        """
        if victim == claimant:
            return True
        taker, other = self.part(claimant, victim)
        top = self.top(taker, asked)
        common = [name for name, _ in asked.entries if amount.get(name)]
        return top is not None and any(
            top <= self.excess(other, name, -amount.get(name))
            for name in common
            if self.counts(other, name)
        )

    def deserves_all(self, name: QueueName, amount: Resources) -> bool:
        """Whether the queue is within its deserved with that amount more, in all of it.

        Then it gives none of the amount to any claimant, whatever that asks for.
        """
        node = self._tree.node(name)
        counted = [one for one, _ in amount.entries if self.counts(node, one)]
        return bool(counted) and all(
            self.excess(node, one, amount.get(one)) == NOTHING for one in counted
        )

    def potential(self, claimant: QueueName, victim: QueueName) -> list[Ratio]:
        """The excess of all brothers where the two part, largest first: reclaim lowers this list.

        Compare it before (the victims still there) with after (the claimant charged).
        """
        taker, _ = self.part(claimant, victim)
        brothers = [taker] if taker.parent is None else taker.parent.children
        found = [
            excess
            for node in brothers
            for name in node.held
            if self.counts(node, name) and (excess := self.excess(node, name)) != NOTHING
        ]
        return sorted(found, reverse=True)

    def top(self, node: QueueNode, asked: Resources) -> Ratio | None:
        """The largest excess in what it asks for, counted with it; None: it deserves none of it."""
        found: Ratio | None = None
        for name, amount in asked.entries:
            if self.counts(node, name):
                excess = self.excess(node, name, amount)
                if found is None or found < excess:
                    found = excess
        return found

    def _over(self, node: QueueNode, amount: Resources, common: list[str], top: Ratio) -> bool:
        """Whether it is over its deserved by more than `top` in something that both have."""
        named = [name for name in common if self.counts(node, name)]
        if named:
            return any(top < self.excess(node, name) for name in named)
        speaks = any(self.counts(node, name) for name, _ in amount.entries)
        return bool(common) and not speaks

    def keeps_deserved(
        self, victim: QueueName, amount: Resources, claimant: QueueName, asked: Resources
    ) -> bool:
        """Whether the victim's queue, up to the fork, still has its deserved without that amount.

        In what is asked for; what its deserved does not name is not looked at.
        """
        _, other = self.part(claimant, victim)
        common = [name for name, _ in asked.entries if amount.get(name)]
        node: QueueNode | None = self._tree.node(victim)
        while node is not None and self._stays_over(node, amount, common):
            if node is other:
                return True
            node = node.parent
        return False

    def _stays_over(self, node: QueueNode, amount: Resources, common: list[str]) -> bool:
        """Whether it has its deserved of all that both have without that amount, too."""
        deserved = self.deserved_of(node)
        return all(
            node.held.get(name, 0) - amount.get(name) >= deserved.get(name, 0)
            for name in common
            if self.counts(node, name)
        )

    def _above_guarantee(self, giver: QueueNode, other: QueueNode, amount: Resources) -> bool:
        """Whether every queue up to the fork keeps all of its guarantee without that amount."""
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
