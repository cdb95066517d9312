"""EASY backfill (Lifka 1995): the first job that does not fit gets a reservation, others go around.

The reservation is in the cluster where the job can start first if nothing else came, at the time
when enough nodes are free there (the shadow time). Another job goes to that cluster only if it ends
by then, or if the GPUs that the reserved job leaves over at that time are enough for it. Durations
are exact, which no real scheduler has: an oracle.
"""

from bisect import insort
from dataclasses import dataclass

from global_sched.sim.baselines.shared_queue import by_submit, most_free
from global_sched.sim.engine import Stage, binding_of
from global_sched.sim.jobs import Job


@dataclass(slots=True)
class _Reservation:
    """Room for the first job that waits."""

    member: int
    shadow: int
    extra: int
    """GPUs of the cluster that are free at the shadow time beside those of the job."""


class Easy:
    """FIFO with skipping in which nothing delays the first job that waits."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._waiting: list[tuple[tuple[int, int], Job]] = []
        self._running: list[dict[int, Job]] = [{} for _ in stage.members]
        self._at: dict[int, int] = {}

    def arrive(self, job: Job) -> None:
        """It joins the queue."""
        insort(self._waiting, (by_submit(job), job), key=lambda one: one[0])

    def ended(self, job: Job) -> None:
        """Its cluster has room."""
        del self._running[self._at.pop(job.number)][job.number]

    def decide(self, now: int) -> int | None:
        """Start in order; what comes behind the first that does not fit must not delay it."""
        held: _Reservation | None = None
        waiting = []
        for one in self._waiting:
            job, gang = one[1], self._stage.gang(one[1])
            fitting = [at for at, member in enumerate(self._stage.members) if member.fits(gang)]
            if not fitting and held is None:
                held = self._reserve(job, now)
            allowed = [at for at in fitting if held is None or _may(job, at, held, now)]
            if allowed:
                self._start(job, most_free(self._stage, allowed), held, now)
            else:
                waiting.append(one)
        self._waiting = waiting
        return None

    def _start(self, job: Job, at: int, held: _Reservation | None, now: int) -> None:
        self._stage.start(job, at)
        self._running[at][job.number] = job
        self._at[job.number] = at
        if held is not None and at == held.member and now + job.duration > held.shadow:
            held.extra -= job.width

    def _reserve(self, job: Job, now: int) -> _Reservation:
        """The cluster where enough nodes are free first, by the ends of what runs there."""
        found = (self._shadow(job, at, now) for at in range(len(self._stage.members)))
        return min((one for one in found if one is not None), key=lambda one: one.shadow)

    def _shadow(self, job: Job, at: int, now: int) -> _Reservation | None:
        member, running = self._stage.members[at], self._running[at]
        free = list(member.free_of_node)
        slots, shadow = sum(gpus // job.gpus for gpus in free), now
        for end, number in sorted(
            (self._stage.ends_at(one), one.number) for one in running.values()
        ):
            if slots >= job.pods:
                break
            shadow = end
            for node, gpus in member.nodes(binding_of(running[number])):
                slots += (free[node] + gpus) // job.gpus - free[node] // job.gpus
                free[node] += gpus
        return _Reservation(at, shadow, sum(free) - job.width) if slots >= job.pods else None


def _may(job: Job, at: int, held: _Reservation, now: int) -> bool:
    """Whether a job may start in a cluster beside the reservation."""
    if at != held.member or now + job.duration <= held.shadow:
        return True
    return job.width <= held.extra
