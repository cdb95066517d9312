"""The answer about one job in sentences: the screen of `gsched explain`, and its evidence."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from global_sched.core import next_step
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Explanation, Holding, RoomHolder
from global_sched.shared.model.gang import Mode, PodSet, TopologyConstraint
from global_sched.shared.model.instant import SECOND, format_instant
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.words import shortened
from global_sched.shared.model.workload import Workload
from global_sched.view.explain_screen import Screen
from global_sched.view.jobs import state_of
from global_sched.view.look import View
from global_sched.view.losses import loss_rows
from global_sched.view.text import duration, percent

LABEL: Final = 10
"""Columns that a label of the evidence takes."""


def screen_of(workload: Workload, found: Explanation | None, view: View) -> Screen:
    """What one screen says of a job."""
    facts = [*_facts(workload, found, view)]
    if not view.policy_note.startswith("policy "):
        facts.append(("policy", view.policy_note))
    if found is None:
        return Screen(title=title_of(workload, None), facts=facts)
    waits = found.outcome.verdict.code != Code.FIT and not workload.targets
    enough = [one.text for one in found.remedies if one.enough]
    against = [one.text for one in found.remedies if not one.enough]
    if waits and not enough and not against:
        enough = [next_step(workload, found.outcome)]
    place = ""
    if waits and found.position:
        place = f", {found.position} of {found.length} in queue {found.outcome.queue}"
    return Screen(
        title=title_of(workload, found, place),
        answer="; ".join(answer(found)),
        enough=enough,
        not_enough=against,
        closest=_closest(found) if waits else "",
        holders=[_holder(one) for one in found.occupants],
        facts=facts,
        more="More with -o wide: request, shares, victims, clusters and domains.",
    )


def _facts(workload: Workload, found: Explanation | None, view: View) -> Iterator[tuple[str, str]]:
    """Since when it is there, how it is ordered, and what was granted."""
    age = duration((view.now - workload.created) / SECOND)
    order = f", priority {workload.priority}, queue {workload.queue}, tenant {workload.tenant}"
    yield "submitted", f"{age} ago{order if workload.demand.gang is not None else ''}"
    for line in _placed(workload, view):
        yield line[:LABEL].strip(), line[LABEL:]
    if losses := loss_rows(workload):
        last = losses[-1]
        where = f"{last['pod']} on {last['node']} in {last['cluster']}: {last['cause']}"
        pods = counted(len(losses), "pod")
        yield "lost", f"{pods} within 24 h, the last at {last['at']}, {where}"
    for one in found.victims if found is not None else ():
        if one.leaves:
            pods = counted(one.pods, "pod")
            yield "leaving", f"{pods} of queue {one.queue}, priority {one.priority}, {one.cluster}"


def _closest(found: Explanation) -> str:
    """The cluster that came nearest, and what it lacks."""
    near = found.outcome.nearest
    one = next((one for one in found.outcome.clusters if one.cluster == near), None)
    if one is None or not one.verdict.detail:
        return ""
    return f"{one.cluster}: {one.verdict.detail}"


def _holder(one: RoomHolder) -> str:
    """A gang that holds room: how much, of which queue, where, and until when."""
    name = "" if one.workload is None else f" ({one.workload})"
    place = f"{one.cluster} {one.domain}" if one.domain else one.cluster
    until = "no run-time limit"
    if one.until is not None:
        until = f"until {format_instant(one.until)} at the latest"
    return (
        f"{counted(one.pods, 'pod')} of queue {one.queue}, priority {one.priority}{name}, in "
        f"{place}: {main_amounts(one.amount)}, {until}"
    )


def title_of(workload: Workload, found: Explanation | None, place: str = "") -> str:
    """The job, its state and its place in the order, in one line."""
    name = f"{workload.demand.kind} {job_name(workload)}"
    if found is None:
        return f"{name} is {state_of(workload).lower()}"
    verdict = found.outcome.verdict
    if workload.targets:
        grows = verdict.reason == Reason.GROWTH_PENDING
        return f"{name} is {state_of(workload).lower()}" + (", and more pods wait" if grows else "")
    if verdict.code == Code.FIT:
        return f"{name} is admitted in the next cycle"
    waits = "can never run as it is" if verdict.code == Code.NEVER else "waits"
    return f"{name} {waits}{place}: {verdict.reason}"


def answer(found: Explanation) -> Iterator[str]:
    """Why it is where it is."""
    verdict = found.outcome.verdict
    if verdict.code == Code.FIT and found.admission is not None:
        grants = found.admission.decision.grants
        places = [one.cluster + (f" {one.domain}" if one.domain else "") for one in grants]
        yield f"there is room for it in {', '.join(places)}" if places else "it is copied"
    elif verdict.detail:
        yield verdict.detail


def advice(found: Explanation) -> Iterator[str]:
    """What lets it run, and what is not enough alone."""
    enough = [one.text for one in found.remedies if one.enough]
    others = [one.text for one in found.remedies if not one.enough]
    if enough:
        yield ""
        yield "It runs when one of these holds:" if len(enough) > 1 else "It runs when this holds:"
        yield from (f"  - {text}" for text in enough)
    if others:
        yield ""
        yield "Not enough alone:"
        yield from (f"  - {text}" for text in others)


def head_of(workload: Workload, view: View) -> Iterator[str]:
    """The request, and where it stands."""
    demand = workload.demand
    yield f"binding   {workload.key.lstrip('/')}"
    if demand.gang is not None:
        yield f"asks for  {', '.join(_pod_set(one) for one in demand.gang.pod_sets)}"
        if demand.gang.constraint is not None:
            yield f"within    {_within(demand.gang.constraint)}"
        named = f" ({workload.priority_class})" if workload.priority_class else ""
        yield (
            f"ordered   queue {workload.queue}, tenant {workload.tenant}, "
            f"job priority {workload.priority}{named}"
        )
    age = duration((view.now - workload.created) / SECOND)
    yield f"state     {state_of(workload)}, submitted {age} ago"
    yield from _placed(workload, view)
    if workload.forged:
        yield f"warning   the decision annotation was not believed: {workload.forged}"


def job_name(workload: Workload) -> str:
    """`namespace/name`; the name alone of what has no namespace."""
    return f"{workload.namespace}/{workload.name}".lstrip("/")


def _placed(workload: Workload, view: View) -> Iterator[str]:
    """What was decided so far, and what the members say."""
    decision = workload.decision
    if decision is not None and workload.targets:
        for grant in decision.grants:
            where = f", domain {grant.domain} (tier {grant.tier})" if grant.domain else ""
            pods = ", ".join(f"{count} {name}" for name, count in grant.amounts.entries) or "a copy"
            after = duration((decision.at - workload.created) / SECOND)
            at = format_instant(decision.at)
            yield f"admitted  {pods} in {grant.cluster}{where}, at {at} after {after}"
        if decision.pending.pods():
            pods = counted(decision.pending.pods(), "more pod")
            yield f"growth    {pods} wait{'s' if decision.pending.pods() == 1 else ''}"
    for progress in workload.progress:
        said = f"; {progress.reason}" if progress.reason else ""
        yield f"agent     {progress.cluster}: {counted(progress.bound.pods(), 'pod')} bound{said}"
    if decision is not None:
        for backoff in decision.backoffs:
            if backoff.until > view.now:
                left = duration((backoff.until - view.now) / SECOND)
                yield f"avoids    {backoff.cluster} for {left}: {backoff.reason}"


def _pod_set(one: PodSet) -> str:
    least = f", at least {one.minimum}" if one.minimum < one.count else ""
    return f"{one.count} {one.name} (each {one.shape.requests.text()}{least})"


def _within(constraint: TopologyConstraint) -> str:
    """The topology constraint in words."""
    if constraint.mode == Mode.SOFT:
        return "the lowest tier that fits (soft)"
    tier = constraint.highest_tier_name or constraint.highest_tier
    return f"one domain of tier {tier} or below (hard)"


def standing(found: Explanation) -> Iterator[str]:
    """The verdict, what lets it run, and what shows that, without the clusters."""
    verdict = found.outcome.verdict
    if verdict.code == Code.FIT and found.admission is not None:
        yield "verdict   FIT: it would be admitted now"
    else:
        yield f"verdict   {verdict.code} {verdict.reason}: {verdict.detail}"
    for remedy in found.remedies:
        yield f"{'runs when' if remedy.enough else 'not when':<9} {remedy.text}"
    yield from evidence(found)


def evidence(found: Explanation) -> Iterator[str]:
    """The place in the queue order, the shares, the victims and the room that is kept."""
    if found.position:
        yield f"order     {found.position} of {found.length} in queue {found.outcome.queue}"
    if found.outcome.queue:
        yield f"queue     {_holding(found.queue)}"
        yield f"entitled  {_entitled(found.queue)}"
        yield f"tenant    {_holding(found.tenant, 'limits')}"
    yield from _victims(found)
    for kept in found.kept:
        yield f"kept      {kept}"


def _victims(found: Explanation) -> Iterator[str]:
    """The victims that leave or would have to, or why there are none."""
    for one in found.victims:
        pods = counted(one.pods, "pod" if one.whole else "surplus pod")
        why = "over its deserved" if one.reclaim else "of lower priority"
        name = one.workload or "a gang"
        yield (
            f"{'leaving' if one.leaves else 'victim '}   {'all ' if one.whole else ''}{pods} of "
            f"{name} in {one.cluster}, queue {one.queue}, priority {one.priority}: {why}"
        )
    if found.no_victims:
        yield f"victims   {found.no_victims.replace('no victims: ', 'none: ', 1)}"


def _entitled(queue: Holding) -> str:
    """What the queue has a right to, and what of it is left or borrowed."""
    text = f"{queue.name} deserves {queue.deserved.text()}"
    if main_amounts(queue.borrowed):
        text += f", borrows {main_amounts(queue.borrowed)}"
    if main_amounts(queue.unused):
        text += f", {main_amounts(queue.unused)} of it unused"
    return f"{text}; above it: {', '.join(shortened(queue.above))}" if queue.above else text


def main_amounts(amounts: Resources) -> str:
    """The amounts without the pod count, which is only there to be complete; empty for none."""
    main = Resources.of({name: value for name, value in amounts.entries if name != PODS})
    return main.text() if main else ""


def _holding(holding: Holding, limits: str = "capability") -> str:
    share = holding.share
    part = share.held / share.total if share.total else 0.0
    text = f"{holding.name}: weight {share.weight}, holds {holding.held.text()}"
    if holding.kept:
        text += f", {holding.kept.text()} of it kept for jobs that wait"
    if holding.leaving:
        text += f", {holding.leaving.text()} more used by pods that are leaving"
    if holding.aside:
        text += f", {holding.aside.text()} more set aside for gangs that wait"
    if share.resource and share.held:
        text += f"; dominant share {percent(part)} ({share.resource})"
    if holding.capability:
        most = ", ".join(f"{n} {format_quantity(v, n)}" for n, v in holding.capability)
        text += f"; {limits} {most}"
    if holding.past:
        text += f"; held on average before {holding.past.text()}"
    return text


def value_of(workload: Workload, found: Explanation | None, view: View) -> Any:
    """The same as plain values."""
    return msgspec.to_builtins(
        {
            "workload": workload.key,
            "job": job_name(workload),
            "kind": workload.demand.kind,
            "state": state_of(workload),
            "decision": workload.decision,
            "explanation": found,
            "losses": loss_rows(workload),
            "policy": view.policy_note,
        }
    )
