"""Checkpoint calls: a gang that asks for it is called before it has to leave, and waited for.

A call is an instant in the gang's decision, written by itself; nothing else of the decision
changes, so that the gang keeps its place and is charged for it. The wait ends when its member
reports the answer, at the latest after the grace. What leaves for a claim is called again by every
cycle in which that claim is open; a call that nothing wants any more is taken back.
"""

from dataclasses import replace
from typing import Final

from global_sched.core.make_room.annotations import write_annotation
from global_sched.core.statement import Statement
from global_sched.core.upkeep.running import Keeping, say
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.workload import Division, Workload

CALLED: Final = Reason.CHECKPOINT_CALLED


def called(until: Instant) -> str:
    """What is said of a gang that is waited for."""
    return f"it is called for a checkpoint, and waited for until {format_instant(until)}"


def grace_of(workload: Workload, statement: Statement) -> int:
    """For how many seconds it is waited for at most; 0: it leaves at once."""
    runs = any(one.bound.entries for one in workload.progress)
    if workload.demand.division != Division.WHOLE or not runs:
        return 0
    return min(workload.checkpoint_grace, statement.policy.checkpoint_grace_limit_seconds)


def waited_for(
    workload: Workload, statement: Statement, *, at_latest: Instant | None = None
) -> Instant | None:
    """Until when it is waited for, at the latest; None: it leaves now.

    Where it was not called yet, that is planned. Nothing else is decided about it in this cycle.
    """
    decision, grace = workload.decision, grace_of(workload, statement)
    if decision is None or not grace:
        return None
    until = Instant((decision.called or statement.now) + grace * SECOND)
    until = until if at_latest is None else min(until, at_latest)
    if statement.now >= until:
        return None
    if decision.called is None:
        write_annotation(workload, replace(decision, called=statement.now), statement)
        return until
    progress = workload.progress_in(decision.grants[0].cluster)
    if progress is not None and progress.answered == decision.called:
        return None
    statement.decided.add(workload.key)
    return until


def take_back(keeping: Keeping, statement: Statement) -> None:
    """End a call that nothing in this cycle wants any more: the gang stays."""
    workload = keeping.now
    decision = workload.decision
    if decision is None or decision.called is None or workload.key in statement.decided:
        return
    if decision != keeping.before.decision:
        return  # what has to be written about it goes first
    write_annotation(workload, replace(decision, called=None), statement)
    say(keeping, statement, None)
