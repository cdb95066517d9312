"""Surplus at an admission: not more than its queue deserves while brothers lack some of theirs.

The line gives every gang its minimum and its surplus in one turn, and a divided workload all its
replicas, of which one is enough. Without a bound the first elastic
gang would take all that is free, and the others their minimums only. What is left when everybody
had a turn is given to those that were held back (`left_over`): nothing stays idle, and a second
cycle finds nothing to give.
"""

from collections import Counter
from collections.abc import Mapping

from global_sched.core.entitlement import Entitlements
from global_sched.core.quota import Bounds, Limit, cut
from global_sched.core.tree import Node, Tree
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.workload import Workload


class FairSurplus:
    """Bounds for surplus, by queue; who lacks what is looked at once in a cycle."""

    def __init__(self, tree: Tree, entitlements: Entitlements) -> None:
        self._tree, self._entitlements = tree, entitlements
        self._lacking: dict[QueueName, Counter[str]] = {}
        self._bounds: dict[QueueName, Bounds] = {}
        self.shares: Mapping[WorkloadKey, Amounts] = {}
        """What workloads may have in any case: found to be left over when everybody had a turn."""
        self.held_back: dict[WorkloadKey, Workload] = {}
        """Workloads that got less here than they wanted when they were last asked about."""
        self.none_for: frozenset[WorkloadKey] = frozenset()
        """Workloads that get their minimum or share alone: all of them need a place."""

    def part(self, workload: Workload, minimum: Amounts, wanted: Amounts) -> Amounts:
        """The part of `wanted` that is fair to its queue's brothers; one pod at least."""
        gang = workload.demand.gang
        assert gang is not None
        least = minimum
        share = self.shares.get(workload.key)
        if share is not None:
            kept = {name: min(pods, share.get(name)) for name, pods in wanted.entries}
            least = Amounts.of({name: max(n, minimum.get(name)) for name, n in kept.items()})
        found = least
        if workload.key not in self.none_for:
            found = cut(self._of_queue(workload.queue), gang, least, wanted)
        if not found.entries:
            found = Amounts.of({wanted.entries[0][0]: 1})
        if found != wanted:
            self.held_back[workload.key] = workload
        elif self.held_back:
            self.held_back.pop(workload.key, None)  # an earlier trial of this cycle held it back
        return found

    def _of_queue(self, queue: QueueName) -> Bounds:
        """What the queue and those above it deserve of what a brother of theirs lacks."""
        found = self._bounds.get(queue)
        if found is None:
            path = self._tree.node(queue).path[:-1]
            limits = [(node, self._scarce(node)) for node in path]
            found = self._bounds[queue] = tuple(
                Limit(f"queue {node.queue.name}", scarce, node.held)
                for node, scarce in limits
                if scarce
            )
        return found

    def _scarce(self, node: Node) -> dict[str, int]:
        """What it deserves of each resource of which a brother lacks some."""
        assert node.parent is not None
        lacking = self._lacking_below(node.parent)
        if not lacking:
            return {}
        own = self._lacks(node)
        deserved = self._entitlements.deserved_of(node)
        return {
            name: deserved.get(name, 0) for name, count in lacking.items() if count > (name in own)
        }

    def _lacking_below(self, parent: Node) -> Counter[str]:
        """How many children lack some of what they deserve and ask for, by resource."""
        found = self._lacking.get(parent.queue.name)
        if found is None:
            found = self._lacking[parent.queue.name] = Counter()
            if len(parent.children) > 1:
                for child in parent.children:
                    found.update(self._lacks(child))
        return found

    def _lacks(self, node: Node) -> set[str]:
        if node.frozen:
            return set()
        asked = self._entitlements.asked(node.queue.name)
        deserved = self._entitlements.deserved_of(node)
        return {
            name
            for name, amount in asked.items()
            if node.held.get(name, 0) < min(amount, deserved.get(name, 0))
        }
