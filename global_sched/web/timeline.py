"""The life of a job as entries in their order: what happened, when, and what stands at the end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from global_sched.shared.api.base import Condition
from global_sched.shared.api.reasons import ConditionType
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.instant import Instant, InstantError, format_instant, parse_instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.scheduled_text import detail_of
from global_sched.shared.model.workload import Workload
from global_sched.view.losses import loss_rows

UNDATED: Final = ""
"""Of what is so, and of which no object says since when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One entry: `what` is a word for the eye, `text` the sentence. `at` empty: not known when."""

    at: str
    what: str
    text: str = ""


def moments(
    workload: Workload, conditions: Sequence[Condition], end: Instant | None
) -> list[Moment]:
    """The entries, the earliest first; what has no time stands where it belongs.

    end: when its copies say that it ended, None while they do not.
    """
    found = [*_considered(workload, conditions)]
    decision = workload.decision
    if decision is not None:
        found += _decided(workload, decision)
    found.sort(key=lambda one: (not one.at, one.at))
    found.insert(0, Moment(at=format_instant(workload.created), what="submitted"))
    found += _progress(workload)
    if workload.finished:
        at = UNDATED if end is None else format_instant(end)
        found.append(Moment(at=at, what="finished"))
    return found


def _considered(workload: Workload, conditions: Sequence[Condition]) -> Iterator[Moment]:
    said = next((one for one in conditions if one.type == ConditionType.SCHEDULED), None)
    if said is None or workload.targets or workload.finished:
        return
    try:
        at = format_instant(parse_instant(said.last_transition_time or ""))
    except InstantError:
        at = UNDATED
    yield Moment(at=at, what="considered", text=detail_of(said.message))


def _decided(workload: Workload, decision: Decision) -> Iterator[Moment]:
    if decision.evicted is not None:
        at = format_instant(decision.evicted)
        yield Moment(at=at, what="evicted", text="its room went to a job that was owed it")
    for left in workload.left:
        at = format_instant(left.at)
        yield Moment(at=at, what="leaving", text=f"withdrawn from {left.cluster}, pods may run on")
    if (claim := decision.claim) is not None:
        gone = counted(len(claim.victims), "job")
        leaves = f"; {gone} leave{'s' * (len(claim.victims) == 1)} for it" if claim.victims else ""
        where = claim.first.domain or claim.first.cluster
        text = f"in {where}, kept until {format_instant(claim.until)}{leaves}"
        yield Moment(at=format_instant(claim.since), what="room is being made", text=text)
    if workload.targets and decision.grants:
        places = ", ".join(
            f"{one.cluster}" + (f" {one.domain} (tier {one.tier})" if one.domain else "")
            for one in decision.grants
        )
        yield Moment(at=format_instant(decision.runs_since), what="placed", text=places)
    for row in loss_rows(workload):
        text = f"{row['pod']} on {row['node']} in {row['cluster']}: {row['cause']}"
        yield Moment(at=row["at"], what="lost", text=text)


def _progress(workload: Workload) -> Iterator[Moment]:
    """What the members report now."""
    decision = workload.decision
    if decision is None or workload.finished:
        return
    for grant in decision.grants if workload.targets else ():
        progress = workload.progress_in(grant.cluster)
        if progress is None:
            continue
        bound, wanted = progress.bound.pods(), grant.amounts.pods()
        whole = bound >= wanted
        what = "bound" if not progress.losses else ("recovered" if whole else "recovering")
        text = f"{bound} of {counted(wanted, 'pod')} in {grant.cluster}"
        yield Moment(
            at=UNDATED, what=what, text=text + f"; {progress.reason}" * bool(progress.reason)
        )
