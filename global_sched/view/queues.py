"""Rows of queues, as a list and as a tree, and of tenants."""

from collections import Counter
from collections.abc import Sequence

from global_sched.controllers.counts import count_tenants
from global_sched.controllers.queue_status import QueueReport, queue_reports
from global_sched.core import queue_views
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.queue_view import QueueView
from global_sched.view.clusters import quantities
from global_sched.view.look import View
from global_sched.view.text import Row


def queue_rows(view: View) -> list[Row]:
    """One row per queue that has an object or that a job names, by name."""
    rows = tree_rows(view)
    listed = [row for row in rows if row["exists"]]
    return sorted([*listed, *missing_rows(view, rows)], key=lambda row: row["name"])


def missing_rows(view: View, tree: Sequence[Row]) -> list[Row]:
    """Queues that jobs name and that are not in the tree."""
    known = {row["name"] for row in tree}
    waiting = Counter({str(q.queue): len(q.workloads) for q in view.snapshot.pending})
    return [missing_row(name, waiting[name]) for name in waiting if name not in known]


def missing_row(name: str, pending: int) -> Row:
    """A queue that jobs name and that has no object."""
    nothing: dict[str, str] = {}
    amounts_of = ("allocated", "asked", "deserved", "borrowed", "lent", "guarantee", "capability")
    return dict.fromkeys(amounts_of, nothing) | {
        "object": f"queue.scheduling.volcano.sh/{name}",
        "name": name,
        "parent": "",
        "depth": 0,
        "exists": False,
        "state": "Missing",
        "problem": f"named by {counted(pending, 'job')}: create the Queue, or correct the jobs",
        "priority": None,
        "weight": None,
        "reclaimable": None,
        "share": 0.0,
        "dominant_share": 0.0,
        "pending": pending,
        "starting": 0,
        "running": 0,
        "clusters": {},
    }


def tree_rows(view: View, views: Sequence[QueueView] | None = None) -> list[Row]:
    """One row per queue, each before those below it; the root is there without an object, too.

    views: the queues of the view's snapshot, where the caller has them already.
    """
    counts = {one.name: one for one in queue_reports(view.snapshot, view.state.workloads())}
    rows: list[Row] = []
    for one in queue_views(view.snapshot) if views is None else views:
        queue, report = one.queue, counts.get(one.queue.name)
        rows.append(
            {
                "object": f"queue.scheduling.volcano.sh/{queue.name}",
                "name": queue.name,
                "parent": "" if one.depth == 0 else str(queue.parent),
                "depth": one.depth,
                "exists": one.exists,
                "state": _state(one, report),
                "problem": one.problem,
                "priority": queue.priority,
                "weight": queue.weight,
                "reclaimable": queue.reclaimable,
                "share": one.share.held / one.share.total if one.share.total else 0.0,
                "dominant_share": 0.0 if report is None else report.dominant,
                "pending": 0 if report is None else report.pending,
                "starting": 0 if report is None else report.starting,
                "running": 0 if report is None else report.running,
                "allocated": quantities(one.held),
                "asked": quantities(one.asked),
                "deserved": quantities(one.deserved),
                "borrowed": quantities(one.borrowed),
                "lent": quantities(one.lent),
                "guarantee": quantities(one.guarantee),
                "capability": {name: format_quantity(v, name) for name, v in queue.capability},
                "clusters": {str(name): quantities(held) for name, held in one.clusters},
            }
        )
    waiting = Counter({str(one.queue): len(one.workloads) for one in view.snapshot.pending})
    for row in reversed(rows):
        if not row["exists"]:  # it has no status
            below = [one for one in rows if one["parent"] == row["name"] != one["name"]]
            for count in ("pending", "starting", "running"):
                row[count] = sum(one[count] for one in below)
            row["pending"] += waiting[row["name"]]
    return rows


def _state(view: QueueView, report: QueueReport | None) -> str:
    """What its status will say."""
    return view.queue.state.value if report is None else report.state().value


def _tenant_object(name: str) -> str:
    """The Tenant; the Namespace of one that stands for itself."""
    kind = "namespace" if name.startswith("ns/") else "tenant.federation.global-sched.io"
    return f"{kind}/{name.removeprefix('ns/')}"


def tenant_rows(view: View) -> list[Row]:
    """One row per tenant, by name."""
    counts = {one.name: one for one in count_tenants(view.snapshot, view.state.workloads())}
    return [
        {
            "object": _tenant_object(tenant.name),
            "name": tenant.name,
            "weight": tenant.weight,
            "share": float(counts[tenant.name].share),
            "admitted": counts[tenant.name].admitted,
            "pending": counts[tenant.name].pending,
            "namespaces": list(tenant.namespaces),
            "queues": [str(queue) for queue in tenant.queues],
            "priority_classes": list(tenant.priority_classes),
        }
        for tenant in view.snapshot.tenants
        if tenant.namespaces != ("",)  # where cluster-scoped objects are, which have no tenant
    ]
