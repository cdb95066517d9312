"""Executes plans: placements first, then what statuses say of them, then reasons."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final

from global_sched.dispatch.binding_writer import BindingWriter, StatusUpdate, Work
from global_sched.dispatch.reasons import ReasonBook, ReasonWrite, needs_reason
from global_sched.dispatch.results import WriteResult, result_of
from global_sched.dispatch.source import LeaderTerm, Source
from global_sched.dispatch.write_backoff import PENALTY, WriteBackoff
from global_sched.dispatch.write_queue import PLACEMENT, REASON, STATUS, WriteQueue
from global_sched.shared.api.reasons import Reason
from global_sched.shared.clock import Clock
from global_sched.shared.kube.errors import ApiError, NotFound
from global_sched.shared.kube.retry import retry
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.plan import (
    Admission,
    Claiming,
    Confirmation,
    Outcome,
    Plan,
    Withdrawal,
)
from global_sched.shared.model.policy import Policy
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    ADMISSION_WAIT,
    DECISIONS,
    DISPATCH_CONFLICTS,
    DISPATCH_IN_FLIGHT,
    DISPATCH_WRITES,
    MOVE_DURATION,
    MOVES,
    STATUS_DEFERRED,
    WITHDRAWN,
)
from global_sched.shared.telemetry.registry import Metrics

Action = Admission | Withdrawal | Claiming
"""What is decided on one version of a binding, and counts as done before it is written."""

_AGAIN: Final = frozenset(
    {WriteResult.CONFLICT, WriteResult.GONE, WriteResult.FAILED, WriteResult.IN_DOUBT}
)
"""Ends of a write after which the next cycle would write the same again, at once and for ever."""
_OUTCOMES: Final = {WriteResult.OK: "committed", WriteResult.CONFLICT: "conflict"}

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """What is to be said of an action once it is written."""

    outcome: Outcome | None
    wait: tuple[QueueName, float] | None
    """The queue and the seconds until a first decision."""
    below: float | None = None
    """The seconds for which a gang that moves was below its minimum before it was withdrawn."""


class Dispatcher:
    """Takes plans and writes them with bounded concurrency.

    `wake` is called when something happened that no watch event will tell: a write was dropped and
    has to be decided again. `written` is called with each action and reason that the server has
    accepted, and the outcome of the action's workload: said before that, it could be untrue.
    """

    def __init__(
        self,
        writer: BindingWriter,
        source: Source,
        *,
        clock: Clock,
        term: LeaderTerm,
        metrics: Metrics,
        wake: Callable[[], None],
        written: Callable[[Action | ReasonWrite, Outcome | None], None],
        concurrency: int = 64,
    ) -> None:
        self._writer = writer
        self._source = source
        self._clock = clock
        self._term = term
        self._metrics = metrics
        self._wake = wake
        self._written = written
        self._concurrency = concurrency
        self._writes = WriteQueue()
        self._reasons = ReasonBook()
        self._queued_reasons: dict[WorkloadKey, ReasonWrite] = {}
        self._busy: set[WorkloadKey] = set()
        self._planned: dict[WorkloadKey, _Planned] = {}
        """Of the actions that are queued or under way."""
        self._write_backoff = WriteBackoff()
        self._missed: set[WorkloadKey] = set()
        self._followers: dict[WorkloadKey, list[Action]] = {}
        self._stopping = False
        self._doubts: set[asyncio.Task[None]] = set()

    # --- taking a plan --------------------------------------------------------------------

    def submit(self, plan: Plan, policy: Policy) -> None:
        """Assume what the plan admits and queue its writes; returns at once."""
        if self._stopping:
            return
        now = self._clock.monotonic()
        held = self._write_backoff.held(now)
        actions: tuple[Action, ...] = (*plan.claims, *plan.admissions, *plan.withdrawals)
        fresh = {one.workload for one in plan.claims}
        outcomes = {one.workload: one for one in plan.outcomes} if actions else {}
        for action in actions:
            claim = _claim_of(action)
            if claim in fresh and claim not in self._followers:
                continue
            if action.workload in self._busy:
                self._missed.add(action.workload)
            if held or not self._may_write(action.workload, action.uid, action.resource_version):
                continue
            self._planned[action.workload] = _Planned(
                outcome=outcomes.get(action.workload),
                wait=self._wait_of(action),
                below=self._below_of(action),
            )
            self._source.assume(action, self._clock.now())
            if claim is not None and claim in self._followers:
                self._follow(claim, action)
                continue
            if isinstance(action, Claiming):
                self._followers[action.workload] = []
            self._queue(PLACEMENT, action)
        for confirmation in plan.confirmations:
            key, version = confirmation.workload, confirmation.resource_version
            if not held and self._may_write(key, confirmation.uid, version):
                self._queue(STATUS, confirmation)
        self._queue_reasons(plan, policy, now)

    def _follow(self, claim: WorkloadKey, action: Action) -> None:
        """No victim leaves before the claim is written: else it would be for nothing."""
        self._followers[claim].append(action)
        self._busy.add(action.workload)
        self._writes.begin_placement()

    def _let_follow(self, claim: Claiming, result: WriteResult | None) -> None:
        """The claim was written, so its victims go; or it was not, and they stay."""
        for action in self._followers.pop(claim.workload, ()):
            if result is WriteResult.OK:
                self._queue(PLACEMENT, action)
            else:
                self._release(action)
            self._writes.end_placement()

    def _wait_of(self, action: Action) -> tuple[QueueName, float] | None:
        """How long a workload waited for its first decision: asked before that is assumed."""
        workload = self._source.workload(action.workload)
        first = isinstance(action, Admission) and bool(action.targets)
        if workload is None or workload.last_scheduled is not None or not first:
            return None
        return workload.queue, max(0, action.decision.at - workload.created) / SECOND

    def _below_of(self, action: Action) -> float | None:
        """How long a gang that moves was below its minimum: asked while its old grant is known."""
        workload = self._source.workload(action.workload)
        if workload is None or not isinstance(action, Withdrawal) or not _moves(action):
            return None
        progress = workload.progress_in(action.cluster)
        if progress is None or progress.below is None:
            return None
        return max(0, action.decision.at - progress.below) / SECOND

    def _may_write(self, key: WorkloadKey, uid: str, version: str) -> bool:
        """False when a write is under way, was refused lately, or the binding moved on."""
        workload = self._source.workload(key)
        if self._write_backoff.is_blocked(key, self._clock.monotonic()):
            return False
        return (
            key not in self._busy
            and workload is not None
            and workload.uid == uid
            and workload.resource_version == version
        )

    def _queue(self, rank: int, work: Work) -> None:
        self._busy.add(work.workload)
        if rank == PLACEMENT:
            self._writes.begin_placement()
        self._writes.push(rank, work)

    def _queue_reasons(self, plan: Plan, policy: Policy, now: float) -> None:
        pending = []
        for outcome in plan.outcomes:
            if not needs_reason(outcome):
                continue
            workload = self._source.workload(outcome.workload)
            if workload is None or workload.targets:
                continue
            pending.append((outcome, workload.reported))
        for write in self._reasons.choose(pending, policy, now):
            waits = write.workload in self._queued_reasons
            if write.workload in self._busy and not waits:
                self._missed.add(write.workload)
                continue
            self._queued_reasons[write.workload] = write
            if not waits:
                self._queue(REASON, write)
        self._metrics.set(STATUS_DEFERRED, self._reasons.deferred)

    def next_due(self) -> float | None:
        """When a cycle is wanted for what was put off (monotonic), None when nothing was."""
        dues = self._write_backoff.dues(self._clock.monotonic())
        if self._reasons.due is not None:
            dues.append(self._reasons.due)
        return min(dues, default=None)

    @property
    def in_flight(self) -> Mapping[str, int]:
        """Counts for people: queued and being written."""
        return {"queued": len(self._writes), "writing": self._writes.writing}

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
        """Take no more plans, drop what is not begun, and wait for what is.

        A placement that is written is begun: its status is still said.
        """
        self._stopping = True
        for work in self._writes.drop(unless=lambda one: isinstance(one, StatusUpdate)):
            if isinstance(work, Claiming):
                self._let_follow(work, None)
            self._ended(work)
            self._release(work)
        await self._writes.idle()

    async def settle(self) -> None:
        """Return when everything that was queued has been written."""
        await self._writes.idle()

    async def placed(self) -> None:
        """Return when every placement and withdrawal that was queued has been written."""
        await self._writes.placed()

    def deciding(self) -> AbstractContextManager[None]:
        """While a long cycle runs, only placements are written."""
        return self._writes.deciding()

    async def _worker(self) -> None:
        while True:
            work = await self._writes.pop()
            self._metrics.set(DISPATCH_IN_FLIGHT, self._writes.writing)
            try:
                await self._execute(work)
            finally:
                self._writes.done()
                self._metrics.set(DISPATCH_IN_FLIGHT, self._writes.writing)

    async def _execute(self, work: Work) -> None:
        if isinstance(work, ReasonWrite):
            work = self._queued_reasons.pop(work.workload, work)
        if not self._term.valid():
            self._ended(work)
            self._release(work)
            if isinstance(work, Claiming):
                self._let_follow(work, None)
            if isinstance(work, Action):
                self._metrics.inc(DECISIONS, kind=_kind(work), outcome="fenced")
            return
        then: StatusUpdate | None = None
        told: Withdrawal | None = None
        try:
            written = await self._writer.write(work)
            result, then, told = written.result, written.then, written.told
        except ApiError as error:
            result = self._failed(work, error)
        if isinstance(work, Claiming):
            self._let_follow(work, result)
        self._ended(work)
        self._count(work, result)
        if result is WriteResult.OK:
            self._say_written(told or work)
        if result in _AGAIN:
            self._put_off(work, result)
        elif then is not None:
            # The binding stays busy until its status is said; what is held is what was written.
            self._source.forget(work.workload)
            self._queue(STATUS, then)
        else:
            self._release(work)
            self._conclude(work, result)

    def _conclude(self, work: Work, result: WriteResult) -> None:
        if result is WriteResult.OK:
            self._write_backoff.clear(work.workload, _part(work))
            if isinstance(work, Withdrawal):
                self._wake()  # what it has left, and where it goes now, no event will ask
            if isinstance(work, ReasonWrite):
                self._reasons.written(work.workload, self._clock.monotonic())
        elif not isinstance(work, ReasonWrite):
            self._wake()

    def _say_written(self, work: Work) -> None:
        if isinstance(work, ReasonWrite):
            self._written(work, None)
        if not isinstance(work, Action):
            return
        planned = self._planned[work.workload]
        if planned.wait is not None:
            queue, seconds = planned.wait
            self._metrics.observe(ADMISSION_WAIT, seconds, queue=queue)
        if planned.below is not None:
            self._metrics.observe(MOVE_DURATION, planned.below, phase="below")
        decision = work.decision
        by_claim = decision.claimed == decision.at and decision.started is None
        if isinstance(work, Admission) and decision.moved is not None and by_claim:
            since = (decision.at - decision.moved) / SECOND
            self._metrics.observe(MOVE_DURATION, since, phase="placed")
        self._written(work, planned.outcome)

    def _ended(self, work: Work) -> None:
        """A placement or withdrawal is not under way any more."""
        if isinstance(work, Action):
            self._writes.end_placement()

    def _failed(self, work: Work, error: ApiError) -> WriteResult:
        result = result_of(error)
        log.warning("write_failed", workload=work.workload, result=result.value, error=str(error))
        if error.retry_after is not None:
            self._write_backoff.hold(self._clock.monotonic() + error.retry_after)
        elif result is WriteResult.INVALID:
            self._write_backoff.refused(work.workload, self._clock.monotonic())
        return result

    def _release(self, work: Work) -> None:
        self._busy.discard(work.workload)
        self._planned.pop(work.workload, None)
        self._queued_reasons.pop(work.workload, None)
        if isinstance(work, Action):
            self._source.forget(work.workload)
        if work.workload in self._missed:
            # A cycle wanted to write it meanwhile, and no event will tell that it still does.
            self._missed.discard(work.workload)
            self._wake()

    def _count(self, work: Work, result: WriteResult) -> None:
        self._metrics.inc(DISPATCH_WRITES, object=_part(work), verb="patch", outcome=result.value)
        if not isinstance(work, Action):
            return
        if result is WriteResult.CONFLICT:
            self._metrics.inc(DISPATCH_CONFLICTS)
        if isinstance(work, Withdrawal) and result is WriteResult.OK:
            self._metrics.inc(WITHDRAWN, cluster=work.cluster)
            if work.reason == Reason.CANNOT_BE_WHOLE:
                outcome = "released" if work.decision.claim is None else "moved"
                self._metrics.inc(MOVES, cluster=work.cluster, outcome=outcome)
        self._metrics.inc(
            DECISIONS,
            kind=_kind(work),
            outcome=_OUTCOMES.get(result, "failed"),
        )

    # --- writes that are tried again --------------------------------------------------------

    def _put_off(self, work: Work, result: WriteResult) -> None:
        """Nothing is written to the binding until its pause is over and its version is known.

        Where it is in doubt whether it was written, the room stays assumed until the server says.
        """
        if result is not WriteResult.IN_DOUBT and isinstance(work, Action):
            self._source.forget(work.workload)
        task = asyncio.ensure_future(self._catch_up(work, result))
        self._doubts.add(task)
        task.add_done_callback(self._doubts.discard)

    async def _catch_up(self, work: Work, result: WriteResult) -> None:
        key = work.workload
        if result is WriteResult.IN_DOUBT:
            await self._look_up(work)
            if isinstance(work, Action):
                self._source.forget(key)
                if self._was_written(work):
                    self._say_written(work)
        await self._clock.sleep(
            self._write_backoff.pause(key, _part(work), self._clock.monotonic())
        )
        if result is WriteResult.CONFLICT and isinstance(work, Action | Confirmation):
            known = self._source.workload(key)
            if known is not None and known.resource_version == work.resource_version:
                # The watch is behind: the same version would be refused again.
                await self._look_up(work)
        self._release(work)
        if not isinstance(work, ReasonWrite):
            self._wake()

    def _was_written(self, work: Action) -> bool:
        """Whether the binding, as it is known now, carries the decision."""
        known = self._source.workload(work.workload)
        return (
            known is not None
            and known.decision is not None
            and known.resource_version != work.resource_version
            and known.decision.id == work.decision.id
        )

    async def _look_up(self, work: Work) -> None:
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


def _claim_of(action: Action) -> WorkloadKey | None:
    """The claim that it makes room for."""
    return None if isinstance(action, Claiming) else action.makes_room_for


def _part(work: Work) -> str:
    """What of a binding it writes, in the words of the metrics."""
    return "binding" if isinstance(work, Action) else "binding_status"


def _moves(work: Withdrawal) -> bool:
    """Whether the gang goes to another cluster that its old one could not hold."""
    return work.reason == Reason.CANNOT_BE_WHOLE and work.decision.claim is not None


def _kind(work: Action) -> str:
    """The word of the metrics."""
    if isinstance(work, Claiming):
        return "claim"
    return "withdraw" if isinstance(work, Withdrawal) else "admit"
