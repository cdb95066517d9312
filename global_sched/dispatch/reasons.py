"""Conditions of pending workloads that are worth a write now.

A condition is written when its code or its nearest cluster changes, or its reason while the code is
NEVER, and at most once an interval when only its text does; never more than a budget per cycle.
With other codes reasons come and go with the turns of searches: they count as text. What is put off
is remembered only as a time to come back: the next cycle has the newer text anyway.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.scheduled_text import karmada_reason, render_reason
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Reported

PATIENCE: Final = 2.0
"""Seconds for which a template that has not been seen is no news."""
RETURN: Final = 1.0
"""Seconds after which reasons beyond the budget are looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonWrite:
    """One condition to write."""

    workload: WorkloadKey
    reason: str
    message: str
    outcome: Outcome | None = None
    """What the message says; None where no cycle has decided it."""


@dataclass(slots=True)
class _Seen:
    first: float
    written: float | None = None


class ReasonBook:
    """Remembers when each condition was written last.

    A new process has forgotten it: a text that changed meanwhile waits one interval longer.
    """

    def __init__(self) -> None:
        self._seen: dict[WorkloadKey, _Seen] = {}
        self.due: float | None = None
        """When to look again (monotonic), None when nothing was put off."""
        self.deferred = 0
        """How many writes were put off for the budget."""

    def choose(
        self,
        outcomes: Iterable[tuple[Outcome, Reported]],
        policy: Policy,
        now: float,
    ) -> tuple[ReasonWrite, ...]:
        """The writes of one cycle, from every pending outcome and what its condition says now."""
        self.due, self.deferred = None, 0
        chosen: list[ReasonWrite] = []
        seen: dict[WorkloadKey, _Seen] = {}
        for outcome, reported in outcomes:
            record = self._seen.get(outcome.workload) or _Seen(now)
            seen[outcome.workload] = record
            message = render_reason(outcome)
            if message == reported.message:
                continue
            wait = self._wait(outcome, reported, record, policy, now)
            if wait > 0:
                self._return_at(now + wait)
            elif len(chosen) >= policy.reason_writes_per_cycle:
                self.deferred += 1
            else:
                chosen.append(
                    ReasonWrite(
                        workload=outcome.workload,
                        reason=karmada_reason(outcome),
                        message=message,
                        outcome=outcome,
                    )
                )
        self._seen = seen
        if self.deferred:
            self._return_at(now + RETURN)
        return tuple(chosen)

    def written(self, key: WorkloadKey, now: float) -> None:
        """The condition was written."""
        record = self._seen.get(key)
        if record is not None:
            record.written = now

    def _return_at(self, when: float) -> None:
        self.due = when if self.due is None else min(self.due, when)

    @staticmethod
    def _wait(
        outcome: Outcome, reported: Reported, record: _Seen, policy: Policy, now: float
    ) -> float:
        """Seconds until this change may be written."""
        verdict = outcome.verdict
        if verdict.reason == Reason.TEMPLATE_NOT_SEEN and record.first + PATIENCE > now:
            return record.first + PATIENCE - now
        if (verdict.code, outcome.nearest) != (reported.code, reported.nearest):
            return 0.0
        if verdict.code == Code.NEVER and verdict.reason != reported.reason:
            return 0.0
        last = record.first if record.written is None else record.written
        return last + policy.reason_interval_seconds - now


def needs_reason(outcome: Outcome) -> bool:
    """Whether an outcome is a refusal that belongs in a condition."""
    return outcome.verdict.code != Code.FIT
