"""`gsched jobs`."""

from collections.abc import Iterator

from global_sched.cli.output import Column, Row, duration, show_rows
from global_sched.cli.own import jobs_own
from global_sched.cli.view import View, look, look_whole, with_client
from global_sched.cli.where import Where
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.workload import Workload


def pods_text(row: Row) -> str | None:
    """`3/4`: admitted pods of all pods; None for what has no pods to count."""
    pods = row["pods"]
    return None if pods is None else f"{pods['admitted']}/{pods['wanted']}"


COLUMNS = (
    Column(head="NAMESPACE", field="namespace"),
    Column(head="NAME", field="name"),
    Column(head="KIND", field="kind", wide=True),
    Column(head="TENANT", field="tenant"),
    Column(head="QUEUE", field="queue"),
    Column(head="PRIORITY", field="priority", right=True),
    Column(head="STATE", field="state"),
    Column(head="CLUSTER", field="clusters"),
    Column(head="DOMAIN", field="domain"),
    Column(head="TIER", field="tier", right=True),
    Column(head="PODS", text=pods_text, right=True),
    Column(head="WAIT", text=lambda row: duration(row["wait_seconds"]), right=True),
    Column(head="VERDICT", field="verdict"),
    Column(head="REASON", field="reason", wide=True),
    Column(head="DETAIL", field="detail"),
)


def show(where: Where, *, namespace: str | None, output: str) -> None:
    """Print every job of the federation, or of one namespace; what only is copied with wide.

    Kinds that make pods which nothing counts are jobs, too.
    """

    async def work(client: Client, clock: Clock) -> View | None:
        if namespace is None:
            return await look_whole(client, clock, where)
        try:
            return await look(client, clock, leader_namespace=where.leader_namespace)
        except Forbidden as error:
            await jobs_own(client, namespace=namespace, output=output, denied=error)
            return None

    view = with_client(where, work)
    if view is None:
        return
    rows = shown(view, namespace, output)
    scope = f" in namespace {namespace}" if namespace else ""
    show_rows(rows, COLUMNS, output, nothing=f"No jobs found{scope}.")


def shown(view: View, namespace: str | None, output: str) -> list[Row]:
    """The rows of a namespace (None: of all) that this form shows: a table has only jobs."""
    return [
        row
        for row in rows_of(view)
        if namespace in (None, row["namespace"])
        and (output != "table" or row["pods"] is not None or row["uncounted"])
    ]


def rows_of(view: View) -> Iterator[Row]:
    """One row per workload, by key."""
    outcomes = {outcome.workload: outcome for outcome in view.plan.outcomes}
    for workload in sorted(view.state.workloads(), key=lambda one: one.key):
        yield row_of(workload, outcomes.get(workload.key), view.now) | {
            "uncounted": workload.demand.uncounted(view.policy)
        }


def row_of(workload: Workload, outcome: Outcome | None, now: Instant) -> Row:
    """Where one workload stands."""
    decision = workload.decision
    grants = decision.grants if decision is not None and workload.targets else ()
    first = grants[0] if len(grants) == 1 else None
    gang = workload.demand.gang
    until = decision.at if grants and decision is not None else now
    verdict = outcome.verdict if outcome is not None else None
    waits = not workload.targets and not workload.finished
    return {
        "namespace": workload.namespace,
        "name": workload.name,
        "kind": workload.demand.kind,
        "tenant": workload.tenant if workload.namespace else None,
        "queue": workload.queue if gang is not None else None,
        "priority": workload.priority if gang is not None else None,
        "state": state_of(workload),
        "clusters": [str(target.cluster) for target in workload.targets],
        "domain": first.domain if first else None,
        "tier": first.tier if first else None,
        "pods": _pods(workload),
        "wait_seconds": max(0, (until - workload.created) // SECOND),
        "verdict": str(verdict.code) if verdict and waits else None,
        "reason": str(verdict.reason) if verdict and waits else None,
        "detail": verdict.detail if verdict and waits else _growth(workload),
    }


def state_of(workload: Workload) -> str:
    """One word: Finished, Running, Starting, Placed (no pods to count) or Pending."""
    if workload.finished:
        return "Finished"
    if not workload.targets:
        return "Pending"
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
