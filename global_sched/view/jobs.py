"""Rows of jobs: where each stands, and why it waits."""

from collections.abc import Iterator

from global_sched.cache.stores.notices import Topic
from global_sched.shared.model.ids import split_key
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload
from global_sched.view.job_query import job_row
from global_sched.view.look import View
from global_sched.view.text import Row


def rows_of(view: View) -> Iterator[Row]:
    """One row per workload, by key, then one per binding of ours that cannot be read."""
    outcomes = {outcome.workload: outcome for outcome in view.plan.outcomes}
    known = set()
    for workload in sorted(view.state.workloads(), key=lambda one: one.key):
        known.add(workload.key)
        yield row_of(workload, outcomes.get(workload.key), view.now) | {
            "uncounted": workload.demand.uncounted(view.policy)
        }
    for notice in view.state.notices.standing():
        key = f"{notice.namespace}/{notice.name}"
        if (
            notice.topic == Topic.MALFORMED
            and notice.kind == "ResourceBinding"
            and (key not in known)
        ):
            yield unreadable_row(notice.namespace, notice.name, notice.text)


def unreadable_row(namespace: str, binding: str, why: str) -> Row:
    """A binding of which nothing but the name is known."""
    kind = ("work.karmada.io/v1alpha2", "ResourceBinding")
    known = {"state": "Unreadable", "reason": "InvalidSpec", "detail": why}
    return job_row(*kind, namespace, binding, binding, **known)


def row_of(workload: Workload, outcome: Outcome | None, now: Instant) -> Row:
    """Where one workload stands."""
    decision, demand = workload.decision, workload.demand
    grants = decision.grants if decision is not None and workload.targets else ()
    first = grants[0] if len(grants) == 1 else None
    gang = demand.gang
    until = decision.at if grants and decision is not None else now
    verdict = outcome.verdict if outcome is not None else workload.problem
    waits = not workload.targets and not workload.finished
    return job_row(
        demand.api_version,
        demand.kind,
        workload.namespace,
        workload.name,
        split_key(workload.key)[1],
        tenant=workload.tenant if workload.namespace else None,
        queue=workload.queue if gang is not None else None,
        priority=workload.priority if gang is not None else None,
        position=outcome.position or None if outcome is not None and waits else None,
        state=state_of(workload),
        clusters=[str(target.cluster) for target in workload.targets],
        domain=first.domain if first else None,
        tier=first.tier if first else None,
        pods=_pods(workload),
        wait_seconds=max(0, (until - workload.created) // SECOND),
        verdict=str(verdict.code) if verdict and waits else None,
        reason=str(verdict.reason) if verdict and waits else None,
        detail=verdict.detail if verdict and waits else _growth(workload),
    )


def state_of(workload: Workload) -> str:
    """One word of `job_query.STATES`; Placed is a workload in its clusters without pods to count.

    Where it runs comes first: what cannot be read any more goes on as it was.
    """
    if workload.finished:
        return "Finished"
    if not workload.targets:
        if workload.paused():
            return "Suspended"
        unreadable = workload.problem is not None and workload.problem.code == Code.NEVER
        return "Unreadable" if unreadable else "Pending"
    if workload.demand.gang is None or workload.decision is None:
        return "Placed"
    reached = all(workload.minimum_reached(grant) for grant in workload.decision.grants)
    return "Running" if reached else "Starting"


def _pods(workload: Workload) -> dict[str, int] | None:
    """Admitted pods and all pods."""
    gang = workload.demand.gang
    if gang is None:
        return None
    grants = workload.decision.grants if workload.decision and workload.targets else ()
    return {"admitted": sum(grant.amounts.pods() for grant in grants), "wanted": gang.pods()}


def _growth(workload: Workload) -> str | None:
    decision = workload.decision
    if workload.finished or decision is None or not workload.targets or not decision.pending.pods():
        return None
    more = counted(decision.pending.pods(), "more pod")
    return f"{more} asked for and not admitted yet"
