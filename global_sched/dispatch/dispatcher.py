"""Executes plans: placements first, then confirmations, then reasons."""

import asyncio
import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final

from global_sched.dispatch.binding_writer import BindingWriter, Work
from global_sched.dispatch.reasons import ReasonBook, ReasonWrite, needs_reason
from global_sched.dispatch.results import Result, result_of
from global_sched.dispatch.source import Source, Term
from global_sched.shared.clock import Clock
from global_sched.shared.kube.errors import ApiError, NotFound
from global_sched.shared.kube.retry import retry
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.plan import Admission, Plan, Withdrawal
from global_sched.shared.model.policy import Policy
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    ADMISSION_WAIT,
    DECISIONS,
    DISPATCH_CONFLICTS,
    DISPATCH_IN_FLIGHT,
    DISPATCH_WRITES,
    STATUS_DEFERRED,
    WITHDRAWN,
)
from global_sched.shared.telemetry.registry import Metrics

PENALTY: Final = 30.0
"""Seconds for which a binding that the server refuses is left alone; doubles up to the limit."""
PENALTY_LIMIT: Final = 600.0

_OUTCOMES: Final = {Result.OK: "committed", Result.CONFLICT: "conflict"}

log = get_logger(__name__)


@dataclass(order=True, slots=True)
class _Item:
    rank: int
    serial: int
    work: Work = field(compare=False)


@dataclass(slots=True)
class _Penalty:
    until: float
    seconds: float


class Dispatcher:
    """Takes plans and writes them with bounded concurrency.

    `wake` is called when something happened that no watch event will tell: a write was dropped and
    has to be decided again.
    """

    def __init__(
        self,
        writer: BindingWriter,
        source: Source,
        *,
        clock: Clock,
        term: Term,
        metrics: Metrics,
        wake: Callable[[], None],
        concurrency: int = 64,
    ) -> None:
        self._writer = writer
        self._source = source
        self._clock = clock
        self._term = term
        self._metrics = metrics
        self._wake = wake
        self._concurrency = concurrency
        self._heap: list[_Item] = []
        self._serial = count()
        self._reasons = ReasonBook()
        self._queued_reasons: dict[WorkloadKey, ReasonWrite] = {}
        self._busy: set[WorkloadKey] = set()
        self._penalties: dict[WorkloadKey, _Penalty] = {}
        self._held_until = 0.0
        self._available = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._writing = 0
        self._stopping = False
        self._doubts: set[asyncio.Task[None]] = set()

    # --- taking a plan --------------------------------------------------------------------

    def submit(self, plan: Plan, policy: Policy) -> None:
        """Assume what the plan admits and queue its writes; returns at once."""
        if self._stopping:
            return
        now = self._clock.monotonic()
        held = now < self._held_until
        actions: tuple[Admission | Withdrawal, ...] = (*plan.admissions, *plan.withdrawals)
        for action in actions:
            if held or not self._may_write(action.workload, action.uid, action.resource_version):
                continue
            self._observe_wait(action)
            self._source.assume(action, self._clock.now())
            self._queue(0, action)
        for confirmation in plan.confirmations:
            key, version = confirmation.workload, confirmation.resource_version
            if not held and self._may_write(key, confirmation.uid, version):
                self._queue(1, confirmation)
        self._queue_reasons(plan, policy, now)

    def _observe_wait(self, action: Admission | Withdrawal) -> None:
        """How long a workload waited for its first decision."""
        workload = self._source.workload(action.workload)
        if workload is None or workload.last_scheduled is not None or not action.targets:
            return
        waited = max(0, action.decision.at - workload.created) / SECOND
        self._metrics.observe(ADMISSION_WAIT, waited, queue=workload.queue)

    def _may_write(self, key: WorkloadKey, uid: str, version: str) -> bool:
        """False when a write is under way, was refused lately, or the binding moved on."""
        workload = self._source.workload(key)
        penalty = self._penalties.get(key)
        if penalty is not None and self._clock.monotonic() < penalty.until:
            return False
        return (
            key not in self._busy
            and workload is not None
            and workload.uid == uid
            and workload.resource_version == version
        )

    def _queue(self, rank: int, work: Work) -> None:
        self._busy.add(work.workload)
        heapq.heappush(self._heap, _Item(rank, next(self._serial), work))
        self._available.set()
        self._idle.clear()

    def _queue_reasons(self, plan: Plan, policy: Policy, now: float) -> None:
        pending = []
        for outcome in plan.outcomes:
            workload = self._source.workload(outcome.workload)
            if workload is None or workload.targets or not needs_reason(outcome):
                continue
            pending.append((outcome, workload.reported))
        for write in self._reasons.choose(pending, policy, now):
            waits = write.workload in self._queued_reasons
            if write.workload in self._busy and not waits:
                continue
            self._queued_reasons[write.workload] = write
            if not waits:
                self._queue(2, write)
        self._metrics.set(STATUS_DEFERRED, self._reasons.deferred)

    def next_due(self) -> float | None:
        """When a cycle is wanted for what was put off (monotonic), None when nothing was."""
        now = self._clock.monotonic()
        self._penalties = {
            key: one for key, one in self._penalties.items() if now < one.until + one.seconds
        }
        dues = [one.until for one in self._penalties.values() if one.until > now]
        if self._held_until > now:
            dues.append(self._held_until)
        if self._reasons.due is not None:
            dues.append(self._reasons.due)
        return min(dues, default=None)

    @property
    def in_flight(self) -> Mapping[str, int]:
        """Counts for people: queued and being written."""
        return {"queued": len(self._heap), "writing": self._writing}

    # --- writing --------------------------------------------------------------------------

    async def run(self) -> None:
        """Write what is queued until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._worker())
        finally:
            for task in self._doubts:
                task.cancel()
            # Whatever was under way is not known any more: the watch will tell the next leader.
            for key in self._busy:
                self._source.forget(key)

    async def drain(self) -> None:
        """Take no more plans, drop what is not being written, and wait for what is."""
        self._stopping = True
        for item in self._heap:
            self._release(item.work, forget=True)
        self._heap.clear()
        self._check_idle()
        await self._idle.wait()

    async def settle(self) -> None:
        """Return when everything that was queued has been written."""
        await self._idle.wait()

    async def _worker(self) -> None:
        while True:
            while not self._heap:
                self._available.clear()
                await self._available.wait()
            work = heapq.heappop(self._heap).work
            self._writing += 1
            self._metrics.set(DISPATCH_IN_FLIGHT, self._writing)
            try:
                await self._execute(work)
            finally:
                self._writing -= 1
                self._metrics.set(DISPATCH_IN_FLIGHT, self._writing)
                self._check_idle()

    def _check_idle(self) -> None:
        if not self._heap and not self._writing:
            self._idle.set()

    async def _execute(self, work: Work) -> None:
        if isinstance(work, ReasonWrite):
            work = self._queued_reasons.pop(work.workload, work)
        if not self._term.valid():
            self._release(work, forget=True)
            self._metrics.inc(DECISIONS, kind="admit", outcome="fenced")
            return
        try:
            result = await self._writer.write(work)
        except ApiError as error:
            result = self._failed(work, error)
        self._count(work, result)
        if result is Result.IN_DOUBT:
            self._look_up(work)
            return
        self._release(work, forget=True)
        if result is Result.OK:
            self._penalties.pop(work.workload, None)
            if isinstance(work, ReasonWrite):
                self._reasons.written(work.workload, self._clock.monotonic())
        elif not isinstance(work, ReasonWrite):
            self._wake()

    def _failed(self, work: Work, error: ApiError) -> Result:
        result = result_of(error)
        log.warning("write_failed", workload=work.workload, result=result.value, error=str(error))
        if error.retry_after is not None:
            until = self._clock.monotonic() + error.retry_after
            self._held_until = max(self._held_until, until)
        elif result is Result.INVALID:
            last = self._penalties.get(work.workload)
            seconds = PENALTY if last is None else min(PENALTY_LIMIT, last.seconds * 2)
            self._penalties[work.workload] = _Penalty(self._clock.monotonic() + seconds, seconds)
        return result

    def _release(self, work: Work, *, forget: bool) -> None:
        self._busy.discard(work.workload)
        self._queued_reasons.pop(work.workload, None)
        if forget and isinstance(work, Admission | Withdrawal):
            self._source.forget(work.workload)

    def _count(self, work: Work, result: Result) -> None:
        kind = "binding" if isinstance(work, Admission | Withdrawal) else "binding_status"
        self._metrics.inc(DISPATCH_WRITES, object=kind, verb="patch", outcome=result.value)
        if not isinstance(work, Admission | Withdrawal):
            return
        if result is Result.CONFLICT:
            self._metrics.inc(DISPATCH_CONFLICTS)
        if isinstance(work, Withdrawal) and result is Result.OK:
            self._metrics.inc(WITHDRAWN, cluster=work.cluster)
        self._metrics.inc(
            DECISIONS,
            kind="withdraw" if isinstance(work, Withdrawal) else "admit",
            outcome=_OUTCOMES.get(result, "failed"),
        )

    # --- writes in doubt ------------------------------------------------------------------

    def _look_up(self, work: Work) -> None:
        """The room stays assumed until the server says whether the write happened."""
        task = asyncio.ensure_future(self._resolve(work))
        self._doubts.add(task)
        task.add_done_callback(self._doubts.discard)

    async def _resolve(self, work: Work) -> None:
        while self._term.valid():
            try:
                found = await retry(partial(self._writer.read, work.workload), clock=self._clock)
            except NotFound:
                break
            except ApiError as error:
                log.warning("lookup_failed", workload=work.workload, error=str(error))
                await self._clock.sleep(PENALTY)
            else:
                self._source.refresh(found)
                break
        self._release(work, forget=True)
        self._wake()
