"""Surplus in a workload's turn: not more than the others leave it.

How much that is in the end was found out beforehand (`rehearsal`). In its turn a workload gets no
more of it than its queue deserves while siblings lack some of theirs: they come behind it, need
nodes, and could take it back. What is left when all had a turn is given to workloads that were
held back (`left_over`): nothing stays idle, and a second cycle finds nothing to give.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from global_sched.core.quota.entitlement import Entitlements
from global_sched.core.quota.limits import Bounds, QuotaLimit, cut
from global_sched.core.quota.tree import QueueNode, QueueTree
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.workload import Workload

NONE: Final = Amounts()
Shares = Mapping[WorkloadKey, Amounts]
"""All pods that workloads may have, those that they have included."""


class FairSurplus:
    """Surplus that each may have, and workloads that wanted more; lacks are looked at once."""

    def __init__(self, tree: QueueTree, entitlements: Entitlements) -> None:
        self._tree, self._entitlements = tree, entitlements
        self.shares: Shares = {}
        """At most so much; a workload not in here may have all that there is room for."""
        self.held_back: dict[WorkloadKey, Workload] = {}
        """Workloads that got less here than they wanted when they were last asked about."""
        self.all_had_turns = False
        """Whether none is left that lacks anything and comes later."""
        self._least: frozenset[WorkloadKey] = frozenset()
        """Workloads that get their minimum alone."""
        self._lacking: dict[QueueName, Counter[str]] = {}
        self._bounds: dict[QueueName, Bounds] = {}

    @contextmanager
    def least_for(self, *workloads: WorkloadKey) -> Iterator[None]:
        """Meanwhile these get their minimum alone, for others need a place, too."""
        self._least = frozenset(workloads)
        yield
        self._least = frozenset()

    def part(self, workload: Workload, minimum: Amounts, wanted: Amounts) -> Amounts:
        """The part of `wanted` that it may have: its minimum, and a pod or group at least."""
        if workload.key in self._least:
            fair = minimum.within(wanted)
        else:
            share = self.shares.get(workload.key, wanted)
            fair = self._fair(workload, minimum, share, wanted)
        return self._one_at_least(workload, fair, wanted, NONE)

    def part_of_growth(self, workload: Workload, least: Amounts, wanted: Amounts) -> Amounts:
        """The same of more pods for one that was admitted: `least`, and a pod or group at least."""
        fair = self._fair_growth(workload, least, wanted)
        return self._one_at_least(workload, fair, wanted, workload.granted())

    def leaves_nothing(self, workload: Workload) -> bool:
        """Whether one that was admitted is to let others go first: for now it gets no more.

        What its minimum lacks is no surplus, and waits for no other.
        """
        wanted, least = workload.lacking(), needs_more(workload)
        return bool(wanted.entries) and not self._fair_growth(workload, least, wanted).entries

    def _fair_growth(self, workload: Workload, least: Amounts, wanted: Amounts) -> Amounts:
        """The same beside the pods that it has."""
        share, has = self.shares.get(workload.key), workload.granted()
        more = wanted if share is None else share.minus(has)
        return self._fair(workload, least, more, wanted, has)

    def _fair(
        self,
        workload: Workload,
        least: Amounts,
        share: Amounts,
        wanted: Amounts,
        has: Amounts = NONE,
    ) -> Amounts:
        """As much of `wanted` as its share is, and as its queue deserves; `least` in any case."""
        gang, part = workload.demand.gang, _larger(least, share).within(wanted)
        if gang is None:
            return part
        if not self.all_had_turns:
            part = cut(self._of_queue(workload.queue), gang, least.within(part), part)
        return gang.sized(part, has)

    def _one_at_least(
        self, workload: Workload, found: Amounts, wanted: Amounts, has: Amounts
    ) -> Amounts:
        gang = workload.demand.gang
        if not found.entries and wanted.entries and gang is not None:
            found = gang.first_of(wanted, has)
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
                QuotaLimit(f"queue {node.queue.name}", scarce, node.held)
                for node, scarce in limits
                if scarce
            )
        return found

    def _scarce(self, node: QueueNode) -> dict[str, int]:
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

    def _lacking_below(self, parent: QueueNode) -> Counter[str]:
        """How many children lack some of what they deserve and ask for, by resource."""
        found = self._lacking.get(parent.queue.name)
        if found is None:
            found = self._lacking[parent.queue.name] = Counter()
            if len(parent.children) > 1:
                for child in parent.children:
                    found.update(self._lacks(child))
        return found

    def _lacks(self, node: QueueNode) -> set[str]:
        entitlements = self._entitlements
        return {
            name for name in entitlements.asked(node.queue.name) if entitlements.lacks(node, name)
        }


def _larger(one: Amounts, other: Amounts) -> Amounts:
    """Of each pod set as many pods as the larger one has."""
    return one.plus(other.minus(one)) if one.entries else other
