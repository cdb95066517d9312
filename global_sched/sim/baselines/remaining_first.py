"""Shortest remaining time first, and shortest remaining service (time × GPUs) first.

Jobs are paused and resumed at no cost and their lengths are known, so this bounds completion times
and is no scheduler: Muri's and Tiresias' simulators have it, which is what it is here for. It wants
a world of one cluster with one node, where GPUs are alike.
"""

from bisect import insort

from global_sched.sim.engine import Stage
from global_sched.sim.jobs import Job


class RemainingFirst:
    """All jobs by what is left of them; the first ones that fit side by side run."""

    def __init__(self, stage: Stage, *, by_service: bool = False) -> None:
        self._stage = stage
        self._by_service = by_service
        self._paused: list[tuple[int, int, Job]] = []
        """What waits, by what is left, which does not change while it waits."""
        self._running: dict[int, Job] = {}

    def _rank(self, job: Job) -> tuple[int, int, Job]:
        left = self._stage.remaining(job)
        return left * (job.width if self._by_service else 1), job.number, job

    def arrive(self, job: Job) -> None:
        """It waits."""
        insort(self._paused, self._rank(job), key=lambda one: one[:2])

    def ended(self, job: Job) -> None:
        """It runs no more."""
        del self._running[job.number]

    def decide(self, _now: int) -> int | None:
        """Choose anew what runs."""
        (member,) = self._stage.members
        running = sorted((self._rank(job) for job in self._running.values()), key=_order)
        free, chosen = member.gpus, []
        at_paused = at_running = 0
        while free and (at_paused < len(self._paused) or at_running < len(running)):
            paused = self._paused[at_paused] if at_paused < len(self._paused) else None
            runs = running[at_running] if at_running < len(running) else None
            if runs is None or (paused is not None and _order(paused) < _order(runs)):
                assert paused is not None
                at_paused, one = at_paused + 1, paused
            else:
                at_running, one = at_running + 1, runs
            if one[2].width <= free:
                free -= one[2].width
                chosen.append(one)
        keep = {one[1] for one in chosen}
        for one in running:
            if one[1] not in keep:
                del self._running[one[1]]
                self._stage.pause(one[2])
                insort(self._paused, one, key=_order)
        begins = [one for one in chosen if one[1] not in self._running]
        started = {one[1] for one in begins}
        if started:
            self._paused = [one for one in self._paused if one[1] not in started]
        for _, number, job in begins:
            self._running[number] = job
            self._stage.start(job, 0)
        return None


def _order(one: tuple[int, int, Job]) -> tuple[int, int]:
    return one[:2]
