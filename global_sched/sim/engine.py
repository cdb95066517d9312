"""Events in virtual time: jobs come, run on members, end; an arm decides at every instant."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.sim.jobs import Gangs, Job
from global_sched.sim.member import Member

_END, _ARRIVAL, _TIMER = range(3)
_EVERY: Final = 1000
"""Progress is shown after so many events."""


class Arm(Protocol):
    """What decides which job starts where: ours, or a model of another scheduler."""

    def arrive(self, job: Job) -> None:
        """A job has come."""

    def ended(self, job: Job) -> None:
        """A job has ended; its pods are gone already."""

    def decide(self, now: int, /) -> int | None:
        """Start what can start; when to decide next, though nothing comes or ends until then."""


@dataclass(slots=True)
class History:
    """What became of one job. Times are microseconds since the begin."""

    job: Job
    started: int | None = None
    """When all pods of its minimum ran first."""
    ended: int | None = None
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(begin, end, pods, member)."""
    evictions: int = 0
    lost: int = 0
    """GPU microseconds of work that evictions undid."""
    member: int = -1
    pods: int = 0
    since: int = 0
    left: int = 0
    """Pod microseconds of work that are left."""
    turn: int = 0
    """Which end in the heap is its own: the time of the end changes with the pods."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What holds from `at` until the next moment."""

    at: int
    bound: int
    """GPUs."""
    waiting: int
    """Jobs."""
    waiting_gpus: int
    useless: float
    """Free GPUs that the pods of this trace cannot use, on average."""


class Stage:
    """Members, jobs and the clock. An arm acts through `start`, `resize`, `pause` and `evict`."""

    def __init__(
        self, jobs: Sequence[Job], members: Sequence[Member], gangs: Gangs, checkpoint: int = 0
    ) -> None:
        """`checkpoint`: a job keeps its work each time after so many microseconds of it; 0: never.

        Of work with all pods: one that runs with fewer takes longer from one to the next.
        """
        self._checkpoint = checkpoint
        self.now = 0
        self.members = tuple(members)
        self.gangs = gangs
        self.history = {job.number: History(job, left=job.duration * job.pods) for job in jobs}
        self.moments: list[Moment] = []
        self.events = 0
        self.misplaced = 0
        """Decisions that a member could not bind."""
        self._waiting = 0
        self._waiting_gpus = 0
        self._timer: int | None = None
        self._heap = [(job.submit, _ARRIVAL, job.number, 0) for job in jobs]
        heapq.heapify(self._heap)

    # --- the clock ----------------------------------------------------------------------------

    def run(
        self, arm: Arm, *, tick: int = 0, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """To the end of the last job that ends.

        tick:      decide at multiples of so many microseconds only (0: at every event).
        progress:  called now and then with the events so far and the instant.
        """
        while self._heap:
            self.now = self._heap[0][0]
            due = False
            while self._heap and self._heap[0][0] == self.now:
                due |= self._happen(arm)
            if tick and self.now % tick:
                self._wake(self.now - self.now % tick + tick)
            elif due:
                following = arm.decide(self.now)
                if following is not None and following > self.now:
                    self._wake(following)
            self._note()
            if progress is not None and self.events % _EVERY < 1:
                progress(self.events, self.now)

    def _happen(self, arm: Arm) -> bool:
        """The next event; whether an arm has to decide."""
        _, kind, number, turn = heapq.heappop(self._heap)
        if kind == _TIMER:
            if self._timer == self.now:
                self._timer = None
            return True
        one = self.history[number]
        if kind == _ARRIVAL:
            self.events += 1
            self._wait(one.job, 1)
            arm.arrive(one.job)
            return True
        if turn != one.turn:
            return False
        self.events += 1
        self._stop(one)
        one.ended = self.now
        arm.ended(one.job)
        return True

    def _wake(self, at: int) -> None:
        if self._timer is None or at < self._timer:
            self._timer = at
            heapq.heappush(self._heap, (at, _TIMER, -1, 0))

    def _note(self) -> None:
        bound = sum(member.gpus - member.free for member in self.members)
        useless = sum(member.useless for member in self.members)
        self.moments.append(Moment(self.now, bound, self._waiting, self._waiting_gpus, useless))

    # --- what an arm does ---------------------------------------------------------------------

    def gang(self, job: Job) -> Gang:
        """The job's gang."""
        return self.gangs.of(job)

    def start(
        self, job: Job, member: int, pods: int | None = None, domain: DomainId | None = None
    ) -> bool:
        """Bind a job's pods (None: all) and run them; False, and counted, where no room is."""
        one = self.history[job.number]
        if not self.members[member].bind(binding_of(job), self.gang(job), pods, domain):
            self.misplaced += 1
            return False
        one.member = member
        if one.started is None:
            one.started = self.now
        self._wait(job, -1)
        self._run(one, self.members[member].pods(binding_of(job)))
        return True

    def resize(self, job: Job, pods: int, domain: DomainId | None = None) -> bool:
        """Run so many pods of a job that runs; False, and counted, where more have no room."""
        one = self.history[job.number]
        member = self.members[one.member]
        more = pods - one.pods
        if more > 0 and not member.bind(binding_of(job), self.gang(job), more, domain):
            self.misplaced += 1
            return False
        if more < 0:
            member.shrink(binding_of(job), pods)
        self._work(one)
        self._run(one, member.pods(binding_of(job)))
        return True

    def pause(self, job: Job) -> None:
        """Its pods leave and nothing of its work is lost: what no real cluster can do."""
        one = self.history[job.number]
        self._stop(one)
        self._wait(job, 1)

    def evict(self, job: Job) -> None:
        """Its pods leave, and its work since the last checkpoint is lost: without any, all."""
        one = self.history[job.number]
        self._stop(one)
        whole, step = job.duration * job.pods, self._checkpoint * job.pods
        done = whole - one.left
        kept = done - done % step if step else 0
        one.lost += (done - kept) * job.gpus
        one.left = whole - kept
        one.evictions += 1
        self._wait(job, 1)

    def remaining(self, job: Job) -> int:
        """Microseconds until it ends, with all its pods if it waits."""
        one = self.history[job.number]
        if not one.pods:
            return -(-one.left // job.pods)
        return -(-one.left // one.pods) - (self.now - one.since)

    def ends_at(self, job: Job) -> int:
        """When a job that runs ends."""
        return self.now + self.remaining(job)

    # --- a job that runs ----------------------------------------------------------------------

    def _wait(self, job: Job, sign: int) -> None:
        self._waiting += sign
        self._waiting_gpus += sign * job.width

    def _run(self, one: History, pods: int) -> None:
        one.pods, one.since = pods, self.now
        one.turn += 1
        end = self.now + -(-one.left // pods)
        heapq.heappush(self._heap, (end, _END, one.job.number, one.turn))

    def _work(self, one: History) -> None:
        """Count what its pods did since their number changed last."""
        if self.now > one.since:
            one.spans.append((one.since, self.now, one.pods, one.member))
        one.left = max(0, one.left - one.pods * (self.now - one.since))

    def _stop(self, one: History) -> None:
        self._work(one)
        self.members[one.member].release(binding_of(one.job))
        one.pods, one.turn = 0, one.turn + 1


def binding_of(job: Job) -> BindingId:
    """The id of a job's binding."""
    return BindingId(f"job-{job.number:06d}")
