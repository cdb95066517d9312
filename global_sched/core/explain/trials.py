"""Trials: a workload's turn in a world that differs in one thing, in full.

A cycle of its own runs up to the workload's turn. What is free then is offered as in that cycle; a
refusal is decided there like any other, so that others may leave for the workload, or what is kept
for others gives way to it. A search for victims that the Policy puts off to a later cycle is made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from global_sched.core.cycle import Cycle
from global_sched.core.explain.remedy_text import UNKNOWN, leaving_text
from global_sched.core.explain.shown_victims import victims_of
from global_sched.core.explain.variants import TABLE, Question, Row, Says, Variant
from global_sched.core.make_room.holds import give_back
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import growth_for, offer_for
from global_sched.core.statement import Statement
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.explanation import Change, Remedy, Victim
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload


def advice(question: Question, table: Sequence[Row] = TABLE) -> Iterator[tuple[Variant, Remedy]]:
    """All that lets the workload run, and what else it needs, in the order of the table."""
    if question.workload.demand.gang is None:
        return
    trials = Trials(question.workload, question.statement)
    for row in table:
        if row.when(question):
            yield from _said(row, question, trials)


def _said(row: Row, question: Question, trials: "Trials") -> Iterator[tuple[Variant, Remedy]]:
    """The variants of one row that are said."""
    failed: list[tuple[Variant, Remedy]] = []
    helps = False
    for variant in islice(row.variants(question), row.most):
        remedy = trials.judged(variant)
        if remedy.enough and variant.change in (Change.TURN, Change.HELD):
            question.alone = variant.text.partition(":")[0]
        question.ends |= remedy.enough and variant.change == Change.ENDING
        if remedy.enough or row.says == Says.EACH:
            yield variant, remedy
            helps = True
            if row.says in (Says.FIRST, Says.BEST):
                return
        else:
            failed.append((variant, remedy))
    if helps or row.says == Says.FIRST or not failed:
        return
    yield failed[-1] if row.says == Says.BEST else failed[0]


@dataclass(frozen=True, slots=True)
class Tried:
    """Why it still waits, None when it runs, and where; `victims` leave for it first."""

    refusal: Refusal | None = None
    victims: tuple[Victim, ...] = ()
    grants: tuple[Grant, ...] = ()


class Trials:
    """Trials for one workload that waits in the statement."""

    def __init__(self, workload: Workload, statement: Statement) -> None:
        self._workload, self._statement = workload, statement

    def judged(self, variant: Variant) -> Remedy:
        """The change, the victims that leave with it, or what still stands against the workload."""
        if variant.proved:
            return _remedy(variant, variant.text + _where(variant))
        if variant.snapshot is None:
            return _remedy(variant, variant.text + UNKNOWN, enough=False)
        found = self.tried(variant.snapshot, variant.policy)
        if found.refusal is not None:
            still = f"{variant.text}; then still: {found.refusal.verdict.detail}"
            return _remedy(variant, still, enough=False)
        if found.victims:
            still = f"{variant.text}, and {leaving_text(found.victims)}"
            return _remedy(variant, still, enough=not variant.alone)
        if found.grants:
            first = found.grants[0]
            placed = variant._replace(cluster=first.cluster, domain=first.domain)
            if variant.says_where:
                return _remedy(placed, variant.text + _where(placed))
        return _remedy(variant, variant.text)

    def tried(self, snapshot: Snapshot, policy: Policy | None = None) -> Tried:
        """What becomes of it there."""
        cycle = Cycle(snapshot, policy or self._statement.policy, self._statement.now)
        turn = cycle.run(until=self._workload.key)
        if turn is None:
            return self._decided(cycle)
        position, workload = turn
        mark = cycle.statement.mark()
        found = self._offered(workload, cycle)
        cycle.statement.rollback(mark)
        if isinstance(found, Offer):
            return Tried(grants=found.grants)
        cycle.resume(position, workload)
        if any(one.workload == workload.key for one in cycle.statement.admissions):
            return self._decided(cycle)
        victims, why = victims_of(workload, cycle)
        return Tried(victims=victims) if victims and not why else Tried(found)

    def _decided(self, cycle: Cycle) -> Tried:
        """What was decided about it before its own turn, or in it."""
        key = self._workload.key
        for one in cycle.statement.admissions:
            if one.workload == key:
                return Tried(grants=one.decision.grants)
        for outcome in cycle.statement.outcomes:
            if outcome.workload == key:
                return Tried(Refusal(outcome.verdict))
        return Tried()

    def _offered(self, workload: Workload, cycle: Cycle) -> Offer | Refusal:
        """What is free for it in its turn, and what is kept for it."""
        held = cycle.claims.kept_for(workload.key)
        if held is not None:
            give_back(held, cycle.statement)
        offered = growth_for if workload.targets else offer_for
        return offered(workload, cycle.statement)


def _where(variant: Variant) -> str:
    """Where it would be."""
    if not variant.says_where or variant.cluster is None:
        return ""
    place = f"{variant.domain} of " if variant.domain else ""
    return f": there is room in {place}{variant.cluster}"


def _remedy(variant: Variant, text: str, *, enough: bool = True) -> Remedy:
    return Remedy(
        change=variant.change,
        text=text,
        enough=enough,
        cluster=variant.cluster,
        domain=variant.domain,
        field=variant.field,
        value=variant.value,
    )
