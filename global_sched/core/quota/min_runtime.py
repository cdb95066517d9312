"""The minimum run time: how long a workload runs before others may take its place.

A Queue says it for reclaim and for preemption apart. Without one of its own the nearest queue above
it that has one says it, else the Policy; at most the Policy's limit. The victim's queue decides.
(KAI's `reclaimMinRuntime` and `preemptMinRuntime`.) What it does not protect: `make_room.rights`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import ROOT, Queue


class MinRuntime(NamedTuple):
    """Of one queue, in microseconds; 0: none."""

    reclaim: int = 0
    preemption: int = 0


class MinRuntimes:
    """The minimum run times of all queues."""

    def __init__(self, queues: Iterable[Queue], policy: Policy) -> None:
        self._policy = policy
        self._queues = {one.name: one for one in queues}
        default = policy.min_runtime_before_reclaim_seconds
        default = max(default, policy.min_runtime_before_preemption_seconds)
        self.any = default > 0 or any(
            one.min_runtime_before_reclaim or one.min_runtime_before_preemption
            for one in self._queues.values()
        )
        """Whether anything is protected by one."""
        self._known: dict[QueueName, MinRuntime] = {}

    def of(self, queue: QueueName) -> MinRuntime:
        """What protects the workloads of a queue."""
        if not self.any:
            return MinRuntime()
        found = self._known.get(queue)
        if found is None:
            found = self._known[queue] = self._resolved(queue)
        return found

    def _resolved(self, name: QueueName) -> MinRuntime:
        reclaim = preemption = None
        seen: set[QueueName] = set()
        while name not in seen and (queue := self._queues.get(name)) is not None:
            seen.add(name)
            if reclaim is None:
                reclaim = queue.min_runtime_before_reclaim
            if preemption is None:
                preemption = queue.min_runtime_before_preemption
            name = queue.parent or ROOT
        policy = self._policy
        if reclaim is None:
            reclaim = policy.min_runtime_before_reclaim_seconds
        if preemption is None:
            preemption = policy.min_runtime_before_preemption_seconds
        most = policy.min_runtime_limit_seconds
        return MinRuntime(min(reclaim, most) * SECOND, min(preemption, most) * SECOND)
