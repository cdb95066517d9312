"""Searches for victims in a cycle: a limited number, in the queue order, and in turns.

A workload without victims has none in the next cycle either, as a rule. So that the first of the
order do not use up the searches of every cycle, workloads that were put off come first: while any
waits with that reason, those that were refused after a search have half of the searches at most.
They are not put off for that, so the others get fewer with every cycle. The reasons are read from
the objects: a new leader goes on with the turns.
"""

from enum import Enum, auto

from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.workload import Workload


class Turn(Enum):
    """What a workload gets that would like to search."""

    SEARCH = auto()
    LATER = auto()
    """It is put off, with that reason."""
    NOT_AGAIN = auto()
    """It had a search, and workloads that were put off come first."""


class SearchTurns:
    """The searches of one cycle."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._most = statement.policy.searches_per_cycle
        self._made = 0
        self._again = 0
        self._grown = 0
        self._surplus = 0
        self._put_off: bool | None = None

    def take(self, workload: Workload) -> Turn:
        """A search for a workload that waits; it counts if it is given."""
        again = workload.reported.reason not in (None, Reason.SEARCH_DEFERRED)
        if again and self._others_were_put_off():
            if self._made >= self._most or self._again >= self._most // 2:
                return Turn.NOT_AGAIN
            self._again += 1
        elif self._made >= self._most:
            return Turn.LATER
        self._made += 1
        return Turn.SEARCH

    def take_for_growth(self, *, surplus: bool) -> bool:
        """Whether one may be made for one that runs: half of all at most, for surplus a quarter."""
        if self._made >= self._most or self._grown >= max(1, self._most // 2):
            return False
        if surplus and self._surplus >= max(1, self._most // 4):
            return False
        self._made += 1
        self._grown += 1
        self._surplus += surplus
        return True

    def _others_were_put_off(self) -> bool:
        if self._put_off is None:
            self._put_off = any(
                one.reported.reason == Reason.SEARCH_DEFERRED
                for bucket in self._statement.snapshot.pending
                for one in bucket.workloads
            )
        return self._put_off
