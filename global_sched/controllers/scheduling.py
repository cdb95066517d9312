"""The scheduling loop: change or timer, snapshot, cycle, dispatch."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from global_sched.cache import State
from global_sched.controllers.due import next_due
from global_sched.controllers.wake import Wake
from global_sched.core import run_cycle
from global_sched.dispatch import DirectiveWriter, Dispatcher
from global_sched.dispatch.source import Term
from global_sched.shared.api.reasons import Reason
from global_sched.shared.clock import Clock
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    CYCLE_DURATION,
    CYCLES,
    LOOP_FAILURES,
    PENDING,
    PENDING_REASONS,
    VERDICTS,
)
from global_sched.shared.telemetry.registry import Metrics

STALE_RETRY: Final = 1.0
"""Seconds after which a cycle that was skipped for stale watches is tried again."""
FAILURE_PAUSE: Final = 5.0
"""Seconds after a cycle that failed."""
COMMIT_WAIT: Final = 1.0
"""Directives wait at most so many seconds for the decisions that they carry to be written."""

log = get_logger(__name__)


class SchedulingLoop:
    """Runs one cycle after the other while there is a reason to.

    `staleness` gives the age of what we know and its kind; nothing is decided on anything older
    than `max_age` seconds. `debounce` collects changes; a cycle is never started sooner after the
    last one than that took, so that a large backlog leaves half of the time to everything else.
    `budget` is the time above which cycles move to a thread.
    """

    def __init__(  # noqa: PLR0913 - what it reads, whom it hands to, and its pace
        self,
        state: State,
        dispatcher: Dispatcher,
        directives: DirectiveWriter,
        *,
        clock: Clock,
        wake: Wake,
        term: Term,
        policy: Policy,
        metrics: Metrics,
        staleness: Callable[[], tuple[float, str]],
        after_cycle: Callable[[Plan], None] = lambda _: None,
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
        self._policy = policy
        self._metrics = metrics
        self._staleness = staleness
        self._after_cycle = after_cycle
        self._debounce = debounce
        self._budget = budget
        self._max_age = max_age
        self._took = 0.0
        self._ended = 0.0
        self._was_stale = False
        self._decided: Instant | None = None
        self._put_off: float | None = None
        self._shown: set[tuple[str, str]] = set()
        self._reasons: set[str] = set()
        self.cycles = 0
        """Cycles that were run, for tests and probes."""

    async def run(self) -> None:
        """Decide until cancelled."""
        due: float | None = self._clock.monotonic()
        while True:
            await self._wake.wait(due)
            await self._clock.sleep(max(self._debounce, self._rest()))
            try:
                # Read first: a timer that is due must not leave old news for another cycle.
                if self._state.take_news() or self._time_matters():
                    due = await self._once()
                else:
                    due = self._next_due()
            except Exception as error:  # the loop's guard: one bad cycle must not end scheduling
                self._metrics.inc(LOOP_FAILURES, loop="scheduling")
                self._metrics.inc(CYCLES, outcome="failed")
                log.exception("cycle_failed", error=str(error))
                due = self._clock.monotonic() + FAILURE_PAUSE
                self._decided = None

    def _rest(self) -> float:
        """Seconds that everything else still has before the next cycle.

        Waiting for the last cycle's writes was such time, too.
        """
        return min(self._took, 1.0) - (self._clock.monotonic() - self._ended)

    def _time_matters(self) -> bool:
        """Whether a moment has come since the last cycle at which its result may change.

        Reports that arrived since then have moved the moments at which they go stale.
        """
        if self._decided is None:
            return True
        if self._put_off is not None and self._put_off <= self._clock.monotonic():
            return True
        instant = next_due(self._state.snapshot(), self._policy, self._decided)
        return instant is not None and instant <= self._clock.now()

    def _next_due(self) -> float | None:
        """When to look again (monotonic) although nothing happens."""
        dues = [] if self._put_off is None else [self._put_off]
        now = self._clock.now()
        instant = next_due(self._state.snapshot(), self._policy, now)
        if instant is not None:
            dues.append(self._clock.monotonic() + (instant - now) / SECOND)
        return min(dues, default=None)

    async def _once(self) -> float | None:
        """One cycle; the monotonic time of the next one that time alone demands."""
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
        snapshot = self._state.snapshot()
        decided = self._clock.monotonic()
        plan = await self._decide(snapshot)
        ended = self._clock.monotonic()
        self._took, self._ended = ended - started, ended
        self._dispatcher.submit(plan, self._policy)
        await self._direct(plan)
        self._after_cycle(plan)
        self._observe(plan, decided - started, ended - decided)
        if any(one.verdict.reason == Reason.CYCLE_LIMIT for one in plan.outcomes):
            self._state.nudge()
            self._wake.ring()
        self._put_off = self._dispatcher.next_due()
        return self._next_due()

    async def _decide(self, snapshot: Snapshot) -> Plan:
        now = self._decided = self._clock.now()
        if self._took <= self._budget:
            return run_cycle(snapshot, self._policy, now)
        return await asyncio.to_thread(run_cycle, snapshot, self._policy, now)

    async def _direct(self, plan: Plan) -> None:
        """Tell the members, when what they are told stands in the bindings."""
        if plan.admissions or plan.withdrawals:
            try:
                async with asyncio.timeout(COMMIT_WAIT):
                    await self._dispatcher.settle()
            except TimeoutError:
                log.debug("directives_ahead", in_flight=dict(self._dispatcher.in_flight))
        self._state.settle()
        self._directives.refresh(self._policy)

    def _observe(self, plan: Plan, snapshot: float, decide: float) -> None:
        self.cycles += 1
        self._metrics.inc(CYCLES, outcome="empty" if plan.empty() else "planned")
        self._metrics.observe(CYCLE_DURATION, snapshot, phase="snapshot")
        self._metrics.observe(CYCLE_DURATION, decide, phase="decide")
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
        for admission in plan.admissions:
            log.info(
                "admitted",
                workload=admission.workload,
                clusters=[t.cluster for t in admission.targets],
                decision=admission.decision.id,
            )
        for withdrawal in plan.withdrawals:
            log.info(
                "withdrawn",
                workload=withdrawal.workload,
                cluster=withdrawal.cluster,
                reason=withdrawal.reason,
            )
