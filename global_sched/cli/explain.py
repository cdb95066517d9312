"""`gsched explain JOB`: everything that `core.explain` says, as a person would read it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from global_sched.cli.jobs import state_of
from global_sched.cli.output import Column, duration, echo, percent, show_rows, show_value
from global_sched.cli.own import explain_own
from global_sched.cli.view import View, find_job, look, with_client
from global_sched.cli.where import Where
from global_sched.core import explain_workload
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden
from global_sched.shared.model.explanation import Explanation, Holding
from global_sched.shared.model.gang import Mode, PodSet, TopologyConstraint
from global_sched.shared.model.instant import SECOND, format_instant
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.words import shortened
from global_sched.shared.model.workload import Workload

_CLUSTERS = (
    Column(head="CLUSTER", field="cluster"),
    Column(head="VERDICT", field="verdict"),
    Column(head="REASON", field="reason"),
    Column(head="SCORE", field="score", right=True),
    Column(head="DETAIL", field="detail"),
)
_DOMAINS = (
    Column(head="  DOMAIN", field="domain"),
    Column(head="TIER", field="tier", right=True),
    Column(head="HOLDS", field="holds", right=True),
    Column(head="WHY NOT MORE", field="detail"),
)
_SHOWN_DOMAINS = 8


def show(
    where: Where,
    *,
    job: str,
    namespace: str | None,
    output: str,
) -> None:
    """Print why a job is where it is."""

    async def work(client: Client, clock: Clock) -> View | None:
        try:
            return await look(client, clock, leader_namespace=where.leader_namespace)
        except Forbidden as error:
            await explain_own(client, job=job, namespace=namespace, output=output, denied=error)
            return None

    view = with_client(where, work)
    if view is None:
        return
    workload = find_job(view.state, job, namespace)
    found = None
    if not workload.finished:
        found = explain_workload(view.snapshot, view.policy, view.now, workload.key)
    if output in ("json", "yaml"):
        show_value(_value(workload, found, view), output)
    else:
        print_explanation(workload, found, view, every_domain=output == "wide")


def print_explanation(
    workload: Workload, found: Explanation | None, view: View, *, every_domain: bool = False
) -> None:
    """The text form."""
    for line in _head(workload, view):
        echo(line)
    if found is None:
        echo(f"\n({view.policy_note})")
        return
    for line in standing(found):
        echo(line)
    print_clusters(found, every_domain=every_domain)
    echo(f"\n({view.policy_note})")


def print_clusters(found: Explanation, *, every_domain: bool = False) -> None:
    """What every cluster answered, then the domains of those without room."""
    if found.outcome.clusters:
        echo()
        show_rows(
            [
                {
                    "cluster": one.cluster,
                    "verdict": str(one.verdict.code),
                    "reason": str(one.verdict.reason),
                    "score": one.score,
                    "detail": one.verdict.detail,
                }
                for one in found.outcome.clusters
            ],
            _CLUSTERS,
            "table",
        )
    for cluster in found.domains:
        if not cluster.domains:
            continue
        shown = cluster.domains if every_domain else cluster.domains[:_SHOWN_DOMAINS]
        echo(f"\nDomains of {cluster.cluster}, nearest first:")
        show_rows(
            [
                {
                    "domain": f"  {one.domain or 'the cluster'}",
                    "tier": one.tier if one.domain else "-",
                    "holds": f"{one.holds} of {one.wants}",
                    "detail": one.detail,
                }
                for one in shown
            ],
            _DOMAINS,
            "table",
        )
        if more := len(cluster.domains) - len(shown):
            echo(f"  … {more} more with -o wide")


def _head(workload: Workload, view: View) -> Iterator[str]:
    """Who it is, and where it stands."""
    demand = workload.demand
    yield f"{demand.kind} {_job(workload)}  (binding {workload.key.lstrip('/')})"
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


def _job(workload: Workload) -> str:
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
    """The verdict, the place in the queue, the shares."""
    verdict = found.outcome.verdict
    if verdict.code != Code.FIT:
        yield f"verdict   {verdict.code} {verdict.reason}: {verdict.detail}"
    elif found.admission is not None:
        yield "verdict   FIT: it would be admitted now"
    else:
        yield f"verdict   FIT {verdict.reason}: {verdict.detail}"
    if found.position:
        yield f"in line   {found.position} of {found.length} in queue {found.outcome.queue}"
    if found.outcome.queue:
        yield f"queue     {_holding(found.queue)}"
        yield f"entitled  {_entitled(found.queue)}"
        yield f"tenant    {_holding(found.tenant, 'limits')}"
    yield from _victims(found)
    for kept in found.kept:
        yield f"kept      {kept}"
    for remedy in found.remedies:
        yield f"{'runs when' if remedy.enough else 'also needs'} {remedy.text}"


def _victims(found: Explanation) -> Iterator[str]:
    """The victims, actual or possible, or why there are none."""
    for one in found.victims:
        pods = counted(one.pods, "pod" if one.whole else "surplus pod")
        why = "over its deserved" if one.reclaim else "of lower priority"
        name = one.workload or "a gang"
        yield (
            f"{'leaving' if one.leaves else 'victim '}   {'all ' if one.whole else ''}{pods} of "
            f"{name} in {one.cluster}, queue {one.queue}, priority {one.priority}: {why}"
        )
    if found.no_victims:
        yield f"victims   {'' if found.victims else 'none: '}{found.no_victims}"


def _entitled(queue: Holding) -> str:
    """What the queue has a right to, and what of it is left or borrowed."""
    text = f"{queue.name} deserves {queue.deserved.text()}"
    if _main(queue.borrowed):
        text += f", borrows {_main(queue.borrowed)}"
    if _main(queue.unused):
        text += f", {_main(queue.unused)} of it unused"
    return f"{text}; above it: {', '.join(shortened(queue.above))}" if queue.above else text


def _main(amounts: Resources) -> str:
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


def _value(workload: Workload, found: Explanation | None, view: View) -> Any:
    """The same as plain values."""
    return msgspec.to_builtins(
        {
            "workload": workload.key,
            "job": _job(workload),
            "kind": workload.demand.kind,
            "state": state_of(workload),
            "decision": workload.decision,
            "explanation": found,
            "policy": view.policy_note,
        }
    )
