"""The time of the next cycle: on a change, after a rest, or when time alone changes a decision.

`Wake` collects changes, `Pace` says how long a cycle rests, `next_due` when a report, a back-off, a
claim, a hold or a timeout ends.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from global_sched.core import protected_until
from global_sched.shared.clock import Clock
from global_sched.shared.model.growth import cooldown_ends, shrinks_at
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot


class Wake:
    """Rings once for any number of changes between two looks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Something changed."""
        self._event.set()

    async def wait(self, due: float | None) -> bool:
        """Return when it rings (True) or at a monotonic time (False)."""
        try:
            async with asyncio.timeout(
                None if due is None else max(0.0, due - self._clock.monotonic())
            ):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


LONGEST: Final = 1.0
"""Seconds that a cycle rests at most."""


class Pace:
    """Collects changes for a moment, and leaves a large backlog half of the time.

    A cycle rests as long as those before it take. One slow cycle among quick ones (a shape that
    that is asked for first) is no backlog, unless it took longer than the `budget`.
    """

    def __init__(self, *, debounce: float, budget: float) -> None:
        self._debounce = debounce
        self._budget = budget
        self._ended = 0.0
        self._rest = 0.0
        self.took = 0.0
        """Seconds of the last cycle."""

    def cycle(self, *, began: float, ended: float) -> None:
        """A cycle has run (monotonic seconds)."""
        took, before = ended - began, self.took
        self.took, self._ended = took, ended
        self._rest = min(LONGEST, took if took > self._budget else min(took, before))

    def pause(self, now: float) -> float:
        """Seconds until the next cycle may begin; none after a quiet time."""
        return max(0.0, max(self._debounce, self._rest) - (now - self._ended))


def next_due(snapshot: Snapshot, policy: Policy, now: Instant) -> Instant | None:
    """The next moment at which time alone matters.

    A report goes stale, a back-off or a claim ends, a placement times out, a victim may search,
    a hold or a minimum run time of what runs ends, a gang below its minimum may move, a gang that
    was asked for a checkpoint leaves.
    """
    return min((due for due in _dues(snapshot, policy, now) if due > now), default=None)


def _dues(snapshot: Snapshot, policy: Policy, now: Instant) -> Iterator[Instant]:
    """Every such moment, passed ones among them."""
    for cluster in snapshot.clusters:
        if cluster.capacity is not None:
            trust = max(policy.report_trust_seconds, 3 * cluster.capacity.period_seconds)
            yield Instant(cluster.capacity.observed + trust * SECOND + 1)
    for workload in snapshot.unsettled:
        decision = workload.decision
        if decision is None:
            continue
        if not all(workload.minimum_reached(grant) for grant in decision.grants):
            yield Instant(decision.at + policy.placement_timeout_seconds * SECOND)
        for backoff in decision.backoffs:
            yield backoff.until
        if decision.claim is not None:
            yield decision.claim.until
        if (rests := cooldown_ends(workload, policy)) is not None:
            yield rests
        if decision.called is not None:
            grace = min(workload.checkpoint_grace, policy.checkpoint_grace_limit_seconds)
            yield Instant(decision.called + grace * SECOND)
        if (asked := workload.below_minimum) is not None:
            short = (one.short for one in workload.progress if one.short is not None)
            yield from (shrinks_at(decision, since, policy) for since in short)
            broken = (one.below for one in workload.progress if one.below is not None)
            hold = min(asked.hold, policy.recovery_hold_limit_seconds)
            yield from (Instant(since + hold * SECOND) for since in broken)
    if snapshot.pending:
        yield from protected_until(snapshot, policy, now)
    for bucket in snapshot.pending:
        for workload in bucket.workloads:
            decision = workload.decision
            if decision is None:
                continue
            for backoff in decision.backoffs:
                yield backoff.until
            if decision.claim is not None:
                yield decision.claim.until
            if decision.evicted is not None:
                yield Instant(decision.evicted + decision.hold(policy.hold_seconds))
