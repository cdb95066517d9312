"""Karmada with volcano-global and Volcano in each cluster.

Once a second volcano-global goes through the queues by priority, one job of each in turn, and
dispatches a job when the federation has as many free GPUs as it asks for; what does not fit is
skipped. It knows no nodes and no tiers. Karmada then takes the cluster with
the most free GPUs, less what was dispatched there and does not run yet. In the cluster Volcano
starts whole gangs, first come first served with skipping.
"""

from collections import deque
from typing import Final

from global_sched.shared.model.instant import SECOND
from global_sched.sim.baselines.shared_queue import SharedQueue
from global_sched.sim.engine import Stage
from global_sched.sim.jobs import Job

_CYCLE: Final = SECOND


class VolcanoGlobal:
    """Queues of jobs that are suspended, and a queue in each cluster."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._waiting: dict[tuple[int, str], deque[Job]] = {}
        self._local = [SharedQueue(stage, members=(at,)) for at in range(len(stage.members))]
        self._at: dict[int, int] = {}
        self._held = [0 for _ in stage.members]
        """GPUs of what was dispatched to each cluster and has not ended."""
        self._touched: set[int] = set()
        self._room_changed = False

    def arrive(self, job: Job) -> None:
        """It is suspended in its queue."""
        self._waiting.setdefault((-job.priority, job.queue), deque()).append(job)
        self._room_changed = True

    def ended(self, job: Job) -> None:
        """Its cluster has room."""
        at = self._at.pop(job.number)
        self._held[at] -= job.width
        self._touched.add(at)
        self._room_changed = True

    def decide(self, now: int) -> int | None:
        """Clusters act at once, the dispatcher at whole seconds."""
        if now % _CYCLE == 0 and self._room_changed:
            self._room_changed = False
            self._dispatch()
        for at in sorted(self._touched):
            self._local[at].decide(now)
        self._touched.clear()
        waits = any(self._waiting.values()) and self._room_changed
        return now - now % _CYCLE + _CYCLE if waits else None

    def _dispatch(self) -> None:
        """One job of each queue in turn, for as long as any can go."""
        lanes = [list(self._waiting[key]) for key in sorted(self._waiting)]
        while any(lanes):
            for lane in lanes:
                if lane:
                    job = lane.pop(0)
                    at = self._cluster(job)
                    if at is not None:
                        self._go(job, at)
        for key, jobs in self._waiting.items():
            self._waiting[key] = deque(job for job in jobs if job.number not in self._at)

    def _cluster(self, job: Job) -> int | None:
        """Where most is free, if all of it together is enough."""
        members = self._stage.members
        free = [member.gpus - held for member, held in zip(members, self._held, strict=True)]
        if sum(max(0, one) for one in free) < job.width:
            return None
        gang = self._stage.gang(job)
        large = [at for at, member in enumerate(members) if member.holds(gang)]
        return max(large, key=lambda at: (free[at], -at))

    def _go(self, job: Job, at: int) -> None:
        self._at[job.number] = at
        self._held[at] += job.width
        self._local[at].arrive(job)
        self._touched.add(at)
