"""The waiting list of one namespace, from the outcomes of a cycle."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from global_sched.core import next_step
from global_sched.shared.api.federation import WaitingJob, WaitingList
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import WorkloadKey, split_key
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.printable import printable
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload

ENTRIES: Final = 100
"""Jobs that a list names at most."""
NAMED: Final = 5
"""Jobs that the column THEN names at most."""
LONGEST: Final = 400
"""Characters of a sentence of an entry."""

SEEN_SOON: Final = 10 * SECOND
"""For so long a new job whose template has not been seen is in no list: it comes in a moment."""


def by_namespace(outcomes: Iterable[Outcome]) -> tuple[dict[str, list[Outcome]], set[str]]:
    """The outcomes of jobs that wait, by their namespace; cluster-scoped objects have none.

    And the namespaces of which the next cycle, which follows at once, decides more.
    """
    found: dict[str, list[Outcome]] = {}
    undecided = set()
    for outcome in outcomes:
        verdict = outcome.verdict
        if verdict.code == Code.FIT:
            continue
        namespace, _ = split_key(outcome.workload)
        if verdict.reason == Reason.CYCLE_LIMIT:
            undecided.add(namespace)
        elif namespace:
            found.setdefault(namespace, []).append(outcome)
    return found, undecided


def waiting_list(
    outcomes: Sequence[Outcome],
    workload_of: Callable[[WorkloadKey], Workload | None],
    now: Instant,
) -> WaitingList | None:
    """The list without its metadata; None where nothing waits.

    Order:  by place; jobs without a place of their own come last, by name.
    """
    known = [
        (workload, outcome)
        for outcome in outcomes
        if (workload := workload_of(outcome.workload)) is not None
        and not workload.targets
        and not _seen_soon(workload, outcome, now)
    ]
    known.sort(key=lambda one: (one[1].position or 2**62, one[1].queue, one[0].name, one[0].key))
    if not known:
        return None
    jobs = [_entry(workload, outcome) for workload, outcome in known[:ENTRIES]]
    return WaitingList(
        total=len(known), jobs=jobs, more=len(known) - len(jobs), then=_then(jobs, len(known))
    )


def _seen_soon(workload: Workload, outcome: Outcome, now: Instant) -> bool:
    unseen = outcome.verdict.reason == Reason.TEMPLATE_NOT_SEEN
    return unseen and now < workload.created + SEEN_SOON


def _entry(workload: Workload, outcome: Outcome) -> WaitingJob:
    decision = workload.decision
    evicted = None if decision is None else decision.evicted
    return WaitingJob(
        name=workload.name,
        kind=workload.demand.kind,
        queue=outcome.queue,
        position=outcome.position,
        reason=outcome.verdict.reason.value,
        message=_short(outcome.verdict.detail),
        runs_when=_short(next_step(workload, outcome)),
        since=format_instant(workload.created if evicted is None else evicted),
    )


def _then(jobs: Sequence[WaitingJob], total: int) -> str:
    """`prep (2), eval (7), 3 more`."""
    named = [f"{one.name} ({one.position or '-'})" for one in jobs[1 : NAMED + 1]]
    left = total - 1 - len(named)
    return ", ".join([*named, f"{left} more"] if left else named)


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
