"""The scheduling loop: change or timer, snapshot, cycle, dispatch."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from global_sched.cache import State
from global_sched.controllers.scheduling_timer import Pace, Wake, next_due
from global_sched.core import run_cycle
from global_sched.dispatch import DirectiveWriter, Dispatcher
from global_sched.dispatch.source import LeaderTerm
from global_sched.shared.api.reasons import Reason
from global_sched.shared.clock import Clock
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Plan, Stays
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    CYCLE_DURATION,
    CYCLES,
    GANGS_NOT_WHOLE,
    LOOP_FAILURES,
    PENDING,
    PENDING_REASONS,
    PLACEMENTS_UNPROVEN,
    VERDICTS,
)
from global_sched.shared.telemetry.registry import Metrics

STALE_RETRY: Final = 1.0
"""Seconds after which a cycle that was skipped for stale watches is tried again."""
FAILURE_PAUSE: Final = 5.0
"""Seconds after a cycle that failed."""
COMMIT_WAIT: Final = 1.0
"""Directives wait at most so many seconds for the decisions that they carry to be written."""
QUIET: Final = 0.05
"""Seconds without a cycle after which it is worked out when time alone demands one: the writes of
the last one go first, and in a burst the next one comes anyway."""
LOOK_AGAIN: Final = 1.0
"""Seconds for which the moment at which time alone matters is believed, news apart."""

log = get_logger(__name__)


class SchedulingLoop:
    """Runs one cycle after the other while there is a reason to.

    `staleness` gives the age of what we know and its kind; nothing is decided on anything older
    than `max_age` seconds. `confirm` asks the server whether our term is the present one.
    `debounce` and `budget` are those of `Pace`; a cycle after one that took longer than the budget
    runs in a thread.
    """

    def __init__(  # noqa: PLR0913 - what it reads, whom it hands to, and its pace
        self,
        state: State,
        dispatcher: Dispatcher,
        directives: DirectiveWriter,
        *,
        clock: Clock,
        wake: Wake,
        term: LeaderTerm,
        confirm: Callable[[], Awaitable[bool]],
        policy: Policy,
        metrics: Metrics,
        staleness: Callable[[], tuple[float, str]],
        after_cycle: Callable[[Plan], None] = lambda _plan: None,
        debounce: float = 0.005,
        budget: float = 0.05,
        max_age: float = 120.0,
    ) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._directives = directives
        self._clock = clock
        self._wake = wake
        self._term = term
        self._confirm = confirm
        self._policy = policy
        self._metrics = metrics
        self._staleness = staleness
        self._after_cycle = after_cycle
        self._pace = Pace(debounce=debounce, budget=budget)
        self._budget = budget
        self._max_age = max_age
        self._looked = 0.0
        self._planned = asyncio.Event()
        self._was_stale = False
        self._decided: Instant | None = None
        self._put_off: float | None = None
        self._shown: set[tuple[str, str]] = set()
        self._reasons: set[str] = set()
        self.cycles = 0
        """Cycles that were run, for tests and probes."""

    async def run(self) -> None:
        """Decide until cancelled; Directives are written behind."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_directives())
            await self._decide_on()

    async def _decide_on(self) -> None:
        due: float | None = self._clock.monotonic()
        while True:
            rung = await self._wake.wait(due)
            await self._clock.sleep(self._pace.pause(self._clock.monotonic()))
            try:
                # Read first: a timer that is due must not leave old news for another cycle.
                news, early = self._state.take_dirty(), rung and self._early(due)
                if news or self._decided is None or (not early and self._time_matters()):
                    due = await self._run_one_cycle()
                elif early:
                    again = self._looked + LOOK_AGAIN
                    due = again if due is None else min(due, again)
                else:
                    due = self._next_due()
            except Exception as error:  # the loop's guard: one bad cycle must not end scheduling
                self._metrics.inc(LOOP_FAILURES, loop="scheduling")
                self._metrics.inc(CYCLES, outcome="failed")
                log.exception("cycle_failed", error=str(error))
                due = self._clock.monotonic() + FAILURE_PAUSE
                self._decided = None

    def _early(self, due: float | None) -> bool:
        """Whether what is due was worked out just now: noise must not do it again each time."""
        now = self._clock.monotonic()
        return now < self._looked + LOOK_AGAIN and (due is None or now < due)

    def _time_matters(self) -> bool:
        """Whether a moment has come since the last cycle at which its result may change.

        Reports that arrived since then have moved the moments at which they go stale.
        """
        if self._put_off is not None and self._put_off <= self._clock.monotonic():
            return True
        assert self._decided is not None
        instant = next_due(self._state.snapshot(), self._policy, self._decided)
        return instant is not None and instant <= self._clock.now()

    def _next_due(self) -> float | None:
        """When to look again (monotonic) although nothing happens."""
        self._looked = self._clock.monotonic()
        dues = [] if self._put_off is None else [self._put_off]
        now = self._clock.now()
        instant = next_due(self._state.snapshot(), self._policy, now)
        if instant is not None:
            dues.append(self._clock.monotonic() + (instant - now) / SECOND)
        return min(dues, default=None)

    async def _run_one_cycle(self) -> float | None:
        """One cycle; the monotonic time at which to look again although nothing happens."""
        age, kind = self._staleness()
        if age > self._max_age or not self._term.valid():
            if not self._was_stale:
                log.warning("decisions_paused", kind=kind, age_seconds=round(age, 1))
            self._was_stale = True
            self._decided = None  # what was news is still to be decided on
            self._metrics.inc(CYCLES, outcome="skipped")
            return self._clock.monotonic() + STALE_RETRY
        self._was_stale = False
        started = self._clock.monotonic()
        self._state.settle()
        if self._state.beyond_term() and not await self._is_ours():
            return self._clock.monotonic() + STALE_RETRY
        snapshot = self._state.snapshot()
        decided = self._clock.monotonic()
        plan = await self._decide(snapshot)
        ended = self._clock.monotonic()
        self._pace.cycle(began=started, ended=ended)
        self._dispatcher.submit(plan, self._policy)
        self._planned.set()
        if plan.withdrawals:
            # Their room is given away only when they are written; placements need no such care,
            # because one that fails leaves room behind that was counted as taken.
            await self._wait_for_placements()
        self._after_cycle(plan)
        self._record_metrics(plan, decided - started, ended - decided)
        again = {Reason.CYCLE_LIMIT}
        if plan.claims:
            again.add(Reason.SEARCH_DEFERRED)  # the next searches may find what these did not
        if any(one.verdict.reason in again for one in plan.outcomes):
            self._state.request_cycle()
            self._wake.ring()
        self._put_off = self._dispatcher.next_due()
        return self._clock.monotonic() + QUIET

    async def _is_ours(self) -> bool:
        """Whether the Lease is still ours although a decision of a later term has appeared.

        A leader that was replaced must not judge its successor's decisions.
        """
        seen = self._state.beyond_term()
        if await self._confirm():
            self._state.disbelieve(seen)
            return True
        self._decided = None  # what was news is still to be decided on
        self._metrics.inc(CYCLES, outcome="skipped")
        return False

    async def _decide(self, snapshot: Snapshot) -> Plan:
        now = self._decided = self._clock.now()
        if self._pace.took <= self._budget:
            return run_cycle(snapshot, self._policy, now)
        with self._dispatcher.deciding():
            return await asyncio.to_thread(run_cycle, snapshot, self._policy, now)

    async def _write_directives(self) -> None:
        """Write Directives, once their decisions stand in the bindings."""
        while True:
            await self._planned.wait()
            self._planned.clear()
            await self._wait_for_placements()
            try:
                self._state.settle()
                if self._state.beyond_term():
                    continue  # the cycle that learns what they are is followed by the Directives
                self._directives.refresh(self._policy)
            except Exception as error:  # the loop's guard: Directives follow after the next cycle
                self._metrics.inc(LOOP_FAILURES, loop="directives")
                log.exception("directives_failed", error=str(error))

    async def _wait_for_placements(self) -> None:
        """Return when all placements are written, or when that takes too long."""
        try:
            async with asyncio.timeout(COMMIT_WAIT):
                await self._dispatcher.placed()
        except TimeoutError:
            log.debug("directives_ahead", in_flight=dict(self._dispatcher.in_flight))

    def _record_metrics(self, plan: Plan, snapshot: float, decide: float) -> None:
        self.cycles += 1
        self._metrics.inc(CYCLES, outcome="empty" if plan.empty() else "planned")
        self._metrics.observe(CYCLE_DURATION, snapshot, phase="snapshot")
        self._metrics.observe(CYCLE_DURATION, decide, phase="decide")
        if plan.unproven:
            self._metrics.inc(PLACEMENTS_UNPROVEN, len(plan.unproven))
        stays = Counter(str(brake) for _, brake in plan.stays)
        for brake in Stays:
            self._metrics.set(GANGS_NOT_WHOLE, stays[brake], stays=brake)
        verdicts = Counter(one.verdict.code.lower() for one in plan.outcomes)
        for code, number in verdicts.items():
            self._metrics.inc(VERDICTS, number, code=code)
        pending = Counter(
            (str(one.queue), one.verdict.code.lower())
            for one in plan.outcomes
            if one.verdict.code != "FIT"
        )
        for queue, code in self._shown - pending.keys():
            self._metrics.set(PENDING, 0, queue=queue, code=code)
        for (queue, code), number in pending.items():
            self._metrics.set(PENDING, number, queue=queue, code=code)
        self._shown = set(pending)
        reasons = Counter(
            str(one.verdict.reason) for one in plan.outcomes if one.verdict.code != "FIT"
        )
        for reason in self._reasons - reasons.keys():
            self._metrics.set(PENDING_REASONS, 0, reason=reason)
        for reason, number in reasons.items():
            self._metrics.set(PENDING_REASONS, number, reason=reason)
        self._reasons = set(reasons)
