"""Demand of every queue: what its workloads hold and what they wait for."""

from collections.abc import Mapping

from global_sched.core.quota.dominant_share import Amount, add
from global_sched.core.quota.gates import Gates
from global_sched.core.quota.tree import QueueTree
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Demand

HeldByQueue = Mapping[QueueName, Amount]
"""What queues hold themselves."""


def asked_by_queue(
    snapshot: Snapshot, tree: QueueTree, gates: Gates, opened: HeldByQueue | None = None
) -> dict[QueueName, Amount]:
    """By queue, with everything below it. What a workload may never get is not asked for.

    `opened` is the sum of the snapshot's usage by queue, where it is known already.
    """
    found: dict[QueueName, Amount] = {}
    if opened is None:
        for usage in snapshot.usage:
            add(found.setdefault(usage.queue, {}), usage.amount)
    else:
        found.update({queue: dict(held) for queue, held in opened.items()})
    needs: dict[int, Resources] = {}
    for bucket in snapshot.pending:
        counts: dict[int, int] = {}
        demands: dict[int, Demand] = {}
        for one in bucket.workloads:
            if not one.targets and not one.finished and gates.refusal(one) is None:
                key = id(one.demand)
                counts[key] = counts.get(key, 0) + 1
                demands[key] = one.demand
        held = found.setdefault(bucket.queue, {}) if counts else {}
        for key, count in counts.items():
            if not gates.within(bucket.queue, bucket.tenant, demands[key]):
                continue
            if key not in needs:
                needs[key] = _needs(demands[key])
            add(held, needs[key], count)
    for one in snapshot.unsettled:
        if one.admitted() and one.demand.gang is not None and gates.refusal(one) is None:
            lacking = one.lacking()
            if lacking.entries:
                add(found.setdefault(one.queue, {}), one.demand.gang.requests(lacking))
    for queue in list(found):
        tree.node(queue)
    for node in reversed(tree.order):
        above = node.parent
        own = found.get(node.queue.name)
        if above is not None and own:
            total = found.setdefault(above.queue.name, {})
            for name, value in own.items():
                total[name] = total.get(name, 0) + value
    return found


def _needs(demand: Demand) -> Resources:
    gang = demand.gang
    return Resources() if gang is None else gang.requests(gang.all_amounts())
