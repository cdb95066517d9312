"""`gsched queues` and `gsched tenants`."""

from collections import Counter
from collections.abc import Sequence

from global_sched.cli.clusters import quantities
from global_sched.cli.output import Column, Row, amounts, percent, show_rows
from global_sched.cli.view import View, live
from global_sched.cli.where import Where
from global_sched.controllers.counts import count_tenants
from global_sched.controllers.queue_status import QueueReport, queue_reports
from global_sched.core import queue_views
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.queue_view import QueueView
from global_sched.shared.model.resources import PODS

QUEUE_COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="PARENT", field="parent", leaves=3),
    Column(head="STATE", field="state"),
    Column(head="PRIORITY", field="priority", right=True, leaves=4),
    Column(head="WEIGHT", field="weight", right=True, leaves=4),
    Column(head="SHARE", text=lambda row: percent(row["share"]), right=True),
    Column(head="PENDING", field="pending", right=True),
    Column(head="STARTING", field="starting", right=True, leaves=5),
    Column(head="RUNNING", field="running", right=True),
    Column(head="ALLOCATED", text=lambda row: _main(row["allocated"]), sentences=True),
    Column(head="DESERVED", text=lambda row: _main(row["deserved"]), leaves=6),
    Column(head="BORROWED", text=lambda row: _main(row["borrowed"]), leaves=2),
    Column(head="GUARANTEE", text=lambda row: _main(row["guarantee"]), leaves=7),
    Column(head="CAPABILITY", text=lambda row: _main(row["capability"]), leaves=7),
    Column(head="PROBLEM", field="problem", leaves=1, sentences=True),
)
TENANT_COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="WEIGHT", field="weight", right=True),
    Column(head="SHARE", text=lambda row: percent(row["share"]), right=True),
    Column(head="ADMITTED", field="admitted", right=True),
    Column(head="PENDING", field="pending", right=True),
    Column(head="NAMESPACES", field="namespaces"),
    Column(head="QUEUES", field="queues", wide=True),
    Column(head="PRIORITY CLASSES", field="priority_classes", wide=True),
)


TREE_COLUMNS = (
    Column(head="QUEUE", text=lambda row: "  " * row["depth"] + row["name"]),
    Column(head="STATE", field="state"),
    Column(head="WEIGHT", field="weight", right=True, leaves=4),
    Column(head="SHARE", text=lambda row: percent(row["share"]), right=True),
    Column(head="PENDING", field="pending", right=True),
    Column(head="RUNNING", field="running", right=True),
    Column(head="DESERVED", text=lambda row: _main(row["deserved"]), leaves=6),
    Column(head="ALLOCATED", text=lambda row: _main(row["allocated"]), sentences=True),
    Column(head="BORROWED", text=lambda row: _main(row["borrowed"]), leaves=3),
    Column(head="GUARANTEE", text=lambda row: _main(row["guarantee"]), leaves=7),
    Column(head="CAPABILITY", text=lambda row: _main(row["capability"]), leaves=7),
    Column(head="CLUSTERS", text=lambda row: _clusters(row["clusters"]), wide=True),
    Column(head="PROBLEM", field="problem", leaves=2, sentences=True),
)


def show_queues(where: Where, *, output: str, tree: bool = False, headers: bool = True) -> None:
    """Print every queue; as a tree, with what each deserves, holds and borrows."""
    view = live(where)
    if tree:
        rows, columns = tree_rows(view), tree_columns
    else:
        rows, columns = queue_rows(view), list_columns
    show_rows(rows, columns(rows), output, nothing="No queues found.", headers=headers)


def queue_rows(view: View) -> list[Row]:
    """One row per queue that has an object or that a job names, by name."""
    rows = tree_rows(view)
    known = {row["name"] for row in rows}
    waiting = Counter({str(q.queue): len(q.workloads) for q in view.snapshot.pending})
    missing = [missing_row(name, waiting[name]) for name in waiting if name not in known]
    listed = [row for row in rows if row["exists"]]
    return sorted([*listed, *missing], key=lambda row: row["name"])


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


def list_columns(rows: list[Row]) -> list[Column]:
    """The columns of the list without empty ones."""
    return _filled(QUEUE_COLUMNS, rows)


def tree_columns(rows: list[Row]) -> list[Column]:
    """The columns of the tree without empty ones."""
    return _filled(TREE_COLUMNS, rows)


def _filled(columns: Sequence[Column], rows: list[Row]) -> list[Column]:
    return [
        column
        for column in columns
        if column.head not in ("GUARANTEE", "CAPABILITY", "BORROWED", "PROBLEM")
        or any(row[column.head.lower()] for row in rows)
    ]


def tree_rows(view: View) -> list[Row]:
    """One row per queue, each before those below it; the root is there without an object, too."""
    counts = {one.name: one for one in queue_reports(view.snapshot, view.state.workloads())}
    rows: list[Row] = []
    for one in queue_views(view.snapshot):
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


def _main(quantities: dict[str, str]) -> str:
    """Amounts without the pod count, which is only there to be complete."""
    shown = {name: value for name, value in quantities.items() if name != PODS}
    return amounts(shown or quantities)


def _clusters(clusters: dict[str, dict[str, str]]) -> str:
    return "; ".join(f"{name}: {_main(held)}" for name, held in clusters.items())


def show_tenants(where: Where, *, output: str, headers: bool = True) -> None:
    """Print every tenant, namespaces that are their own tenant included."""
    rows = tenant_rows(live(where))
    show_rows(rows, TENANT_COLUMNS, output, nothing="No tenants found.", headers=headers)


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
