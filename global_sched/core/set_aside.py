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

_Ending = dict[tuple[QueueName, ClusterName | None], Amount]


def is_kept_out(refusal: Refusal) -> bool:
    """Whether a capability is in the way now, and would not be if others had ended."""
    verdict = refusal.verdict
    return verdict.code == Code.NO_FIT and verdict.reason == Reason.QUEUE_CAPABILITY


class SetAside:
    """What is set aside in one cycle: at most `Policy.reservations` times, once below a queue."""

    def __init__(self, statement: Statement, whole: Callable[[], Field]) -> None:
        self._statement, self._whole = statement, whole
        self._left = statement.policy.reservations
        self._ends: _Ending | None = None

    def may(self, workload: Workload, refusal: Refusal) -> bool:
        """Whether so much would be free for it once all gangs of its queues have ended: cheap."""
        limited = self._statement.ledger.node(workload.queue).limits
        if self._left <= 0 or any(node.aside for node in limited):
            return False
        asked = self._asked(workload)
        return all(self._suffices(node, asked, refusal.nearest) for node in limited)

    def keep(self, workload: Workload, refusal: Refusal) -> Refusal | None:
        """Set it aside for a gang that `may` have it; the refusal that says so.

        None where no cluster would hold the gang even when all gangs had ended.
        """
        gang, statement = workload.demand.gang, self._statement
        assert gang is not None
        field, case = self._whole(), statement.standings.case(workload)
        names = [room.cluster.name for room in statement.rooms.rooms]
        usable = {n for n, ok in zip(names, open_but_for_limits(case).tolist(), strict=True) if ok}
        allowed = np.array([part.cluster in usable for part in field.parts], dtype=np.bool_)
        if not field.drained(gang, allowed, 1):
            return None
        self._left -= 1
        asked, cluster = self._asked(workload), refusal.nearest
        for node in statement.ledger.node(workload.queue).limits:
            add(node.aside, asked, 1)
            if cluster is not None and cluster in node.cluster_capability:
                add(node.cluster_aside.setdefault(cluster, {}), asked, 1)
        text = f"{refusal.verdict.detail}; what comes free of that is kept for it"
        return replace(refusal, verdict=replace(refusal.verdict, detail=text))

    def _asked(self, workload: Workload) -> Resources:
        return self._statement.standings.of(workload).minimum_requests

    def _suffices(self, node: Node, asked: Resources, cluster: ClusterName | None) -> bool:
        """Whether its capability, also in that cluster, lets this in beside what does not end."""
        limits = [(node.capability, node.held, self._ending(node, None))]
        if cluster is not None and cluster in node.cluster_capability:
            there = node.cluster_held.get(cluster, {})
            limits.append((node.cluster_capability[cluster], there, self._ending(node, cluster)))
        return all(
            held.get(name, 0) - ends.get(name, 0) + asked.get(name) <= limit
            for capability, held, ends in limits
            for name, limit in capability.items()
            if asked.get(name)
        )

    def _ending(self, node: Node, cluster: ClusterName | None) -> Amount:
        """What gangs hold below a queue, in all or in a cluster where anybody has a limit."""
        if self._ends is None:
            self._ends = {}
            ledger = self._statement.ledger
            for running in self._statement.snapshot.running:
                there = running.cluster if running.cluster in ledger.tree.limited_in else None
                for queue, amount in _ENDING.of(running).items():
                    for above in ledger.node(queue).path:
                        for place in {None, there}:
                            add(self._ends.setdefault((above.queue.name, place), {}), amount, 1)
        return self._ends.get((node.queue.name, cluster), {})


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
