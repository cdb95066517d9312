"""The hold: a workload that was evicted claims nothing for so long.

The hold is `Policy.hold_seconds`, doubled with each eviction of the workload (`Decision.hold`). For
as long, one that came by a claim or came back is no victim of reclaim (`rights`). So two workloads
that take the same room from each other do so ever more seldom. What a guarantee is owed is bound by
no hold.
"""

from global_sched.core.statement import Statement
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.workload import Division, Workload


def rests_until(workload: Workload, statement: Statement) -> Instant | None:
    """Until when it claims nothing, since it had to leave; None: it may."""
    decision = workload.decision
    if decision is None or decision.evicted is None:
        return None
    if decision.grants and workload.demand.division == Division.WHOLE:
        return None
    until = Instant(decision.evicted + decision.hold(statement.policy.hold_seconds))
    return until if statement.now < until else None


def rests(workload: Workload, asked: Resources, statement: Statement) -> bool:
    """Whether it may claim nothing yet, as it had to leave and asks for more than a guarantee."""
    if rests_until(workload, statement) is None:
        return False
    return not within_guarantee(workload.queue, asked, statement)


def within_guarantee(queue: QueueName, asked: Resources, statement: Statement) -> bool:
    """Whether the queue's guarantee covers all of that beside what the queue holds.

    Every request asks for pods: a guarantee without a word about them covers any number.
    """
    node = statement.ledger.node(queue)
    return bool(node.guarantee and asked.entries) and all(
        node.held.get(name, 0) + amount <= node.guarantee.get(name, 0)
        for name, amount in asked.entries
        if name != PODS or name in node.guarantee
    )
