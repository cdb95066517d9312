"""No starvation by a quota: what comes free of it is kept for a gang that waited long enough.

A gang that the capability of its queue, or of one above, keeps out waits until so much of that is
free at once. After its patience it is set aside in the gang's turn of each cycle: nobody behind it
in the order takes any, so that it adds up. Room is not kept meanwhile, since other queues use it.
Nothing is written: the next cycle finds the same.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from global_sched.core.by_cluster import ByCluster
from global_sched.core.fairness import Amount, add
from global_sched.core.field import Field
from global_sched.core.offer import Refusal
from global_sched.core.search import open_but_for_limits
from global_sched.core.statement import Statement
from global_sched.core.tree import Node
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Running
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload


def is_kept_out(refusal: Refusal) -> bool:
    """Whether a capability is in the way now, and would not be if others had ended."""
    verdict = refusal.verdict
    return verdict.code == Code.NO_FIT and verdict.reason == Reason.QUEUE_CAPABILITY


def set_aside(
    workload: Workload, refusal: Refusal, whole: Callable[[], Field], statement: Statement
) -> Refusal | None:
    """Set its queues' quota aside for a patient gang; the refusal that says so.

    None where something is set aside there already, or where the gang could not run even when all
    gangs had ended: for want of room, or for what its queues hold that does not end.
    """
    gang, ledger = workload.demand.gang, statement.ledger
    assert gang is not None
    limited = ledger.node(workload.queue).limits
    if any(node.aside for node in limited):
        return None
    cluster = refusal.nearest
    asked = statement.standings.of(workload).minimum_requests
    if not all(_suffices(node, asked, cluster, statement) for node in limited):
        return None
    field, case = whole(), statement.standings.case(workload)
    names = [room.cluster.name for room in statement.rooms.rooms]
    usable = {n for n, ok in zip(names, open_but_for_limits(case).tolist(), strict=True) if ok}
    allowed = np.array([part.cluster in usable for part in field.parts], dtype=np.bool_)
    if not field.drained(gang, allowed, 1):
        return None
    for node in limited:
        add(node.aside, asked, 1)
        if cluster is not None and cluster in node.cluster_capability:
            add(node.cluster_aside.setdefault(cluster, {}), asked, 1)
    text = f"{refusal.verdict.detail}; what comes free of that is kept for it"
    return replace(refusal, verdict=replace(refusal.verdict, detail=text))


def _suffices(
    node: Node, asked: Resources, cluster: ClusterName | None, statement: Statement
) -> bool:
    """Whether its capability, also in that cluster, lets this in when all gangs below ended."""
    ending: Amount = {}
    inside: Amount = {}
    for running in statement.snapshot.running:
        for queue, amount in _ENDING.of(running).items():
            if node in statement.ledger.node(queue).path:
                add(ending, amount, 1)
                if running.cluster == cluster:
                    add(inside, amount, 1)
    limits = [(node.capability, node.held, ending)]
    if cluster is not None and cluster in node.cluster_capability:
        there = node.cluster_held.get(cluster, {})
        limits.append((node.cluster_capability[cluster], there, inside))
    return all(
        held.get(name, 0) - ends.get(name, 0) + asked.get(name) <= limit
        for capability, held, ends in limits
        for name, limit in capability.items()
        if asked.get(name)
    )


def _ending(running: Running) -> dict[QueueName, Resources]:
    """What gangs hold in one cluster, by queue; other workloads run until somebody stops them."""
    found: dict[QueueName, Amount] = {}
    for one in running.workloads:
        gang, decision = one.demand.gang, one.decision
        if gang is None or decision is None or one.demand.division != Division.WHOLE:
            continue
        grant = decision.grant(running.cluster)
        if grant is not None:
            add(found.setdefault(one.queue, {}), gang.requests(grant.amounts), 1)
    return {queue: Resources.of(amount) for queue, amount in found.items()}


_ENDING: Final = ByCluster(_ending)
