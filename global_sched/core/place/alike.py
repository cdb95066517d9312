"""Turns that several workloads share: many waiting Jobs are copies of one template.

A workload behind a refused one in the order, and equal to it in all that is asked about, gets the
same answer as long as nothing has changed since; and so does one behind another that was put off.
Asking again would say so.
"""

from collections.abc import Callable
from dataclasses import dataclass

from global_sched.core.order.queue_order import QueueOrder
from global_sched.core.outcomes import outcome_of
from global_sched.core.statement import Statement
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload

Stamp = tuple[int, ...]
"""What differs after everything that a turn can do but refuse its workload, or put it off."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """How a turn ended that changed nothing."""

    stamp: Stamp
    like: Callable[[Workload], bool]
    level: int
    outcome: Outcome | None
    """Its refusal; None: it was put off."""


class EarlierTurns:
    """How the turns of a cycle ended that changed nothing, by demand, queue and tenant."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._known: dict[tuple[int, QueueName, TenantName], _Turn] = {}

    def note(self, workload: Workload, level: int, stamp: Stamp, *, put_off: bool) -> None:
        """A turn is over and changed nothing; `level` is what it ended with."""
        outcomes = self._statement.outcomes
        said = outcomes[-1] if outcomes and not put_off else None
        if said is None and not put_off:
            return  # growth behind the limit of the cycle: nothing is said of it yet
        if said and (said.verdict.code == Code.FIT or said.workload != workload.key):
            return
        if _plain(workload, self._statement):
            key = (id(workload.demand), workload.queue, workload.tenant)
            like = _like(workload, self._statement)
            self._known[key] = _Turn(stamp, like, level, said)

    def again(self, workload: Workload, position: int, stamp: Stamp) -> int | None:
        """End a turn as that of an equal workload ended, with its level; None: it has to be asked.

        None where there was no such turn, or anything has changed since.
        """
        known = self._known.get((id(workload.demand), workload.queue, workload.tenant))
        if known is None or known.stamp != stamp or not known.like(workload):
            return None
        said = known.outcome
        if said is not None:
            verdict, nearest, clusters = said.verdict, said.nearest, said.clusters
            self._statement.decided.add(workload.key)
            self._statement.outcomes.append(
                outcome_of(workload, verdict, nearest=nearest, clusters=clusters, position=position)
            )
        return known.level


def refuse_alike(workload: Workload, line: QueueOrder, statement: Statement) -> None:
    """Give those behind a workload, whose turn changed nothing, the refusal that it got."""
    said = statement.outcomes[-1]
    if said.verdict.code == Code.FIT or said.workload != workload.key:
        return
    if not _plain(workload, statement):
        return
    verdict, nearest, clusters = said.verdict, said.nearest, said.clusters
    following = line.take_while(_like(workload, statement))
    statement.decided.update([one.key for _, one in following])
    statement.outcomes += [
        outcome_of(one, verdict, nearest=nearest, clusters=clusters, position=position)
        for position, one in following
    ]


def _plain(one: Workload, statement: Statement) -> bool:
    """Whether nothing but what `_like` compares decides its refusal.

    Surplus is shared out by name, and a back-off, a claim or a group is the workload's own.
    """
    if one.demand.division != Division.WHOLE or one.demand.gang is None:
        return False
    if one.decision is not None or one.problem is not None or one.run_limit is not None:
        return False
    if one.group or one.leaving or one.key in statement.ledger.gates.beyond_pending_limit:
        return False
    return not statement.standings.of(one).elastic


def _like(workload: Workload, statement: Statement) -> Callable[[Workload], bool]:
    """Whether another one of its queue and tenant gets the refusal of a plain workload.

    Of the two that is not the older one: a patient gang gets more.
    """
    demand, priority, created = workload.demand, workload.priority, workload.created
    priority_class, affinity = workload.priority_class, workload.observed_affinity
    reason, decided = workload.reported.reason, statement.decided
    beyond = statement.ledger.gates.beyond_pending_limit

    def like(one: Workload) -> bool:
        return (
            one.demand is demand
            and one.priority == priority
            and one.created >= created
            and one.priority_class == priority_class
            and one.observed_affinity == affinity
            and one.reported.reason == reason
            and one.decision is None
            and one.problem is None
            and one.run_limit is None
            and not one.group
            and not one.leaving
            and one.key not in beyond
            and one.key not in decided
        )

    return like
