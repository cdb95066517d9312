"""One queue before all clusters: late binding in the order of a key, strictly or with skipping.

FIFO with skipping is backfill without reservations. With the key of the duration it is
shortest-job-first, an oracle, since no real scheduler knows the duration.
"""

import heapq
from collections.abc import Callable, Sequence

from global_sched.shared.model.gang import Gang
from global_sched.sim.engine import Stage
from global_sched.sim.jobs import Job

Key = Callable[[Job], tuple[int, int]]
Choose = Callable[[Stage, Sequence[int]], int]


def by_submit(job: Job) -> tuple[int, int]:
    """First come, first served."""
    return job.submit, job.number


def by_duration(job: Job) -> tuple[int, int]:
    """Shortest first."""
    return job.duration, job.number


def most_free(stage: Stage, fitting: Sequence[int]) -> int:
    """The cluster with the most free GPUs; of equal ones the first."""
    return max(fitting, key=lambda at: (stage.members[at].free, -at))


def first(_: Stage, fitting: Sequence[int]) -> int:
    """The first cluster that holds it, in the order of the file."""
    return fitting[0]


class SharedQueue:
    """Jobs that wait, one heap for each gang: of equal gangs the first is the only one to try."""

    def __init__(
        self,
        stage: Stage,
        *,
        key: Key = by_submit,
        strict: bool = False,
        choose: Choose = most_free,
        members: Sequence[int] | None = None,
    ) -> None:
        self._stage = stage
        self._key = key
        self._strict = strict
        self._choose = choose
        self._members = range(len(stage.members)) if members is None else members
        self._heaps: dict[int, tuple[Gang, list[tuple[tuple[int, int], Job]]]] = {}

    def arrive(self, job: Job) -> None:
        """It joins the queue."""
        gang = self._stage.gang(job)
        _, heap = self._heaps.setdefault(id(gang), (gang, []))
        heapq.heappush(heap, (self._key(job), job))

    def ended(self, job: Job) -> None:
        """Room is free; `decide` follows."""

    def decide(self, _now: int) -> int | None:
        """Start in order what fits: what is started makes no room for what did not fit before."""
        heads = [(heap[0][0], gang, heap) for gang, heap in self._heaps.values() if heap]
        heads.sort(key=lambda head: head[0])
        order = [(key, at) for at, (key, _, _) in enumerate(heads)]
        while order:
            _, at = heapq.heappop(order)
            _, gang, heap = heads[at]
            if not self.try_head(gang, heap):
                if self._strict:
                    break
                continue
            if heap:
                heapq.heappush(order, (heap[0][0], at))
        return None

    def try_head(self, gang: Gang, heap: list[tuple[tuple[int, int], Job]]) -> bool:
        """Start the first job of equal ones where it fits."""
        members = self._stage.members
        fitting = [at for at in self._members if members[at].fits(gang)]
        if not fitting:
            return False
        _, job = heapq.heappop(heap)
        return self._stage.start(job, self._choose(self._stage, fitting))
