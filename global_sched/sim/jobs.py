"""One job of a trace, and its gang."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from global_sched.shared.model.gang import Gang, Mode, PodSet, TopologyConstraint
from global_sched.shared.model.ids import MAIN
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import PODS, Resources

GPU: Final = "nvidia.com/gpu"
BIG: Final = 8
"""A gang of more GPUs is a big one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A gang of equal pods that runs for a known time once all of them run.

    Units:  `submit` (since the begin of the trace) and `duration` are microseconds, `cpu` milli-CPU
            and `memory` bytes of one pod.
    """

    number: int
    """Its place in the trace, which breaks ties."""
    name: str
    submit: int
    duration: int
    pods: int
    gpus: int
    """Of one pod."""
    cpu: int = 0
    memory: int = 0
    tenant: str = "all"
    queue: str = ""
    """Empty: that of its tenant, or the default one."""
    priority: int = 0
    minimum: int = 0
    """Pods that must run; 0: all. With more, it does more of its work at a time."""
    tier: int | None = None
    """The highest tier of the HyperNode around it."""
    mode: Mode = Mode.HARD
    line: int = 0
    """Where it is in its file, for errors."""

    @property
    def width(self) -> int:
        """The GPUs of all its pods."""
        return self.pods * self.gpus

    @property
    def least(self) -> int:
        """The pods that must run."""
        return self.minimum or self.pods


@dataclass(frozen=True, slots=True)
class Dropped:
    """A job that no arm gets, and why."""

    name: str
    line: int
    reason: str


class Gangs:
    """One gang for all jobs that ask for the same: equal shapes are found by identity."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Gang] = {}

    def of(self, job: Job) -> Gang:
        """The job's gang."""
        key = _asks(job)
        gang = self._made.get(key)
        if gang is None:
            gang = self._made[key] = self.make(job)
        return gang

    def make(self, job: Job) -> Gang:
        """A gang that no other job has asked for before."""
        return _gang(job)


def _asks(job: Job) -> tuple[object, ...]:
    return job.pods, job.gpus, job.cpu, job.memory, job.least, job.tier, job.mode


def _gang(job: Job) -> Gang:
    requests = Resources.of({GPU: job.gpus, "cpu": job.cpu, "memory": job.memory, PODS: 1})
    pods = PodSet(name=MAIN, count=job.pods, minimum=job.least, shape=PodShape(requests=requests))
    limit = None
    if job.tier is not None:
        limit = TopologyConstraint(mode=job.mode, highest_tier=job.tier)
    elif job.mode == Mode.SOFT:
        limit = TopologyConstraint(mode=Mode.SOFT)
    return Gang(pod_sets=(pods,), minimum=job.least, constraint=limit)


def pods_of(gpus: int, per_node: int) -> tuple[int, int]:
    """Pods and GPUs of each for a job that only says how many GPUs it has.

    As few pods as there are nodes to fill, all equal: 12 GPUs on nodes of 8 are two pods of 6.
    """
    pods = -(-gpus // per_node)
    while gpus % pods:
        pods += 1
    return pods, gpus // pods


def arriving(
    jobs: Iterable[Job], window: tuple[float, float] | None = None, load: float = 1
) -> list[Job]:
    """The jobs that come in a window of [begin, end) days, `load` times as fast; None: all.

    Numbered anew, with times from the window's begin. A trace has up to a hundred thousand of them:
    each is made once.
    """
    found, first = jobs, 0
    if window is not None:
        day = 24 * 3600 * SECOND
        first, end = (round(one * day) for one in window)
        found = (one for one in jobs if first <= one.submit < end)
    return [
        replace(one, number=number, submit=round((one.submit - first) / load))
        for number, one in enumerate(found)
    ]
