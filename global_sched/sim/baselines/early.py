"""Early binding: each job is bound to a cluster when it comes, and each cluster has a queue."""

from collections.abc import Callable

from global_sched.shared.model.ids import ClusterName
from global_sched.sim.baselines.shared_queue import SharedQueue
from global_sched.sim.engine import Stage
from global_sched.sim.jobs import Job

Route = Callable[[Stage, Job], int]


class EarlyBinding:
    """A queue for each cluster, FIFO with skipping (or strict)."""

    def __init__(self, stage: Stage, route: Route, *, strict: bool = False) -> None:
        self._stage = stage
        self._route = route
        self._queues = [
            SharedQueue(stage, members=(at,), strict=strict) for at in range(len(stage.members))
        ]
        self._at: dict[int, int] = {}
        self._touched: set[int] = set()

    def arrive(self, job: Job) -> None:
        """It is bound to a cluster for good."""
        at = self._at[job.number] = self._route(self._stage, job)
        self._queues[at].arrive(job)
        self._touched.add(at)

    def ended(self, job: Job) -> None:
        """Room is free in its cluster."""
        self._touched.add(self._at.pop(job.number))

    def decide(self, now: int) -> int | None:
        """Each cluster that changed goes through its own queue."""
        for at in sorted(self._touched):
            self._queues[at].decide(now)
        self._touched.clear()
        return None


def _holding(stage: Stage, job: Job) -> list[int]:
    """The clusters that are large enough for it."""
    gang = stage.gang(job)
    return [at for at, member in enumerate(stage.members) if member.holds(gang)]


def karmada_dynamic(stage: Stage) -> EarlyBinding:
    """Karmada's dynamic weight, for gangs that are not divided: most free GPUs at submission."""

    def route(stage: Stage, job: Job) -> int:
        return max(_holding(stage, job), key=lambda at: (stage.members[at].free, -at))

    return EarlyBinding(stage, route)


def karmada_static(stage: Stage) -> EarlyBinding:
    """Static weights, all equal: one cluster after the other."""
    turn = 0

    def route(stage: Stage, job: Job) -> int:
        nonlocal turn
        holding = _holding(stage, job)
        while True:
            at = turn % len(stage.members)
            turn += 1
            if at in holding:
                return at

    return EarlyBinding(stage, route)


def silos(stage: Stage, *, strict: bool = False) -> EarlyBinding:
    """One cluster for each tenant, of the tenant's name."""
    at = {member.name: number for number, member in enumerate(stage.members)}
    return EarlyBinding(stage, lambda _, job: at[ClusterName(job.tenant)], strict=strict)
