"""Pods of a request that the queue is owed."""

from collections.abc import Iterable

from global_sched.core.quota.ledger import Ledger
from global_sched.core.quota.limits import QuotaLimit, cut
from global_sched.core.quota.tree import QueueNode
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import QueueName


def owed_part(queue: QueueName, gang: Gang, lacking: Amounts, ledger: Ledger) -> Amounts:
    """The part of these pods that the queue and those above it deserve and do not hold.

    Where one above has all of its own, the queue may still take from a sibling: then only the queue
    itself counts.
    """
    asked = gang.requests(lacking)
    if not ledger.entitlements.may_reclaim(queue, asked):
        return Amounts()
    path = ledger.node(queue).path[:-1]
    limits = tuple(_limit(node, asked.names(), ledger) for node in path)
    found = cut(limits, gang, Amounts(), lacking)
    return found if found.entries else cut(limits[:1], gang, Amounts(), lacking)


def _limit(node: QueueNode, names: Iterable[str], ledger: Ledger) -> QuotaLimit:
    """What the queue deserves of the resources that its deserved speaks of."""
    deserved, counts = ledger.entitlements.deserved_of(node), ledger.entitlements.counts
    counted = {name: deserved.get(name, 0) for name in names if counts(node, name)}
    return QuotaLimit(f"queue {node.queue.name}", counted, node.held)
