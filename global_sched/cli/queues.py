"""`gsched queues` and `gsched tenants`."""

from collections import Counter

from global_sched.cli.clusters import quantities
from global_sched.cli.output import Column, Row, amounts, percent, show_rows
from global_sched.cli.view import View, live
from global_sched.cli.where import Where
from global_sched.controllers.counts import count_tenants
from global_sched.controllers.queue_status import QueueReport, queue_reports
from global_sched.core import queue_views
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue_view import QueueView
from global_sched.shared.model.resources import PODS

QUEUE_COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="STATE", field="state"),
    Column(head="PRIORITY", field="priority", right=True),
    Column(head="WEIGHT", field="weight", right=True),
    Column(head="SHARE", text=lambda row: percent(row["share"]), right=True),
    Column(head="PENDING", field="pending", right=True),
    Column(head="STARTING", field="starting", right=True),
    Column(head="RUNNING", field="running", right=True),
    Column(head="ALLOCATED", text=lambda row: amounts(row["allocated"])),
    Column(head="CAPABILITY", text=lambda row: amounts(row["capability"])),
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
    Column(head="WEIGHT", field="weight", right=True),
    Column(head="SHARE", text=lambda row: percent(row["of_deserved"]), right=True),
    Column(head="PENDING", field="pending", right=True),
    Column(head="RUNNING", field="running", right=True),
    Column(head="DESERVED", text=lambda row: _main(row["deserved"])),
    Column(head="ALLOCATED", text=lambda row: _main(row["allocated"])),
    Column(head="BORROWED", text=lambda row: _main(row["borrowed"])),
    Column(head="GUARANTEE", text=lambda row: _main(row["guarantee"])),
    Column(head="CAPABILITY", text=lambda row: _main(row["capability"])),
    Column(head="CLUSTERS", text=lambda row: _clusters(row["clusters"]), wide=True),
    Column(head="PROBLEM", field="problem"),
)


def show_queues(where: Where, *, output: str, tree: bool = False) -> None:
    """Print every queue; as a tree, with what each deserves, holds and borrows."""
    view = live(where)
    if tree:
        rows = tree_rows(view)
        show_rows(rows, tree_columns(rows), output, nothing="No queues found.")
    else:
        show_rows(queue_rows(view), QUEUE_COLUMNS, output, nothing="No queues found.")


def queue_rows(view: View) -> list[Row]:
    """One row per queue that has an object, by name."""
    return sorted((row for row in tree_rows(view) if row["exists"]), key=lambda row: row["name"])


def tree_columns(rows: list[Row]) -> list[Column]:
    """The columns of the tree without those that nobody fills."""
    return [
        column
        for column in TREE_COLUMNS
        if column.head not in ("GUARANTEE", "CAPABILITY", "BORROWED", "PROBLEM")
        or any(row[column.head.lower()] for row in rows)
    ]


def tree_rows(view: View) -> list[Row]:
    """One row per queue, each before those below it; the root is there without an object, too."""
    counts = {one.name: one for one in queue_reports(view.snapshot, view.state.workloads())}
    rows: list[Row] = []
    for one in queue_views(view.snapshot):
        queue, counted = one.queue, counts.get(one.queue.name)
        rows.append(
            {
                "name": queue.name,
                "parent": "" if one.depth == 0 else str(queue.parent),
                "depth": one.depth,
                "exists": one.exists,
                "state": _state(one, counted),
                "problem": one.problem,
                "priority": queue.priority,
                "weight": queue.weight,
                "reclaimable": queue.reclaimable,
                "share": 0.0 if counted is None else counted.dominant,
                "of_deserved": one.share.held / one.share.total if one.share.total else 0.0,
                "pending": 0 if counted is None else counted.pending,
                "starting": 0 if counted is None else counted.starting,
                "running": 0 if counted is None else counted.running,
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
        if not row["exists"]:  # nobody writes a status for it
            below = [one for one in rows if one["parent"] == row["name"] != one["name"]]
            for count in ("pending", "starting", "running"):
                row[count] = sum(one[count] for one in below)
            row["pending"] += waiting[row["name"]]
    return rows


def _state(view: QueueView, counted: QueueReport | None) -> str:
    """What its status will say."""
    return view.queue.state.value if counted is None else counted.state().value


def _main(quantities: dict[str, str]) -> str:
    """Amounts without the pod count, which is only there to be complete."""
    shown = {name: value for name, value in quantities.items() if name != PODS}
    return amounts(shown or quantities)


def _clusters(clusters: dict[str, dict[str, str]]) -> str:
    return "; ".join(f"{name}: {_main(held)}" for name, held in clusters.items())


def show_tenants(where: Where, *, output: str) -> None:
    """Print every tenant, namespaces that are their own tenant included."""
    rows = tenant_rows(live(where))
    show_rows(rows, TENANT_COLUMNS, output, nothing="No tenants found.")


def tenant_rows(view: View) -> list[Row]:
    """One row per tenant, by name."""
    counts = {one.name: one for one in count_tenants(view.snapshot, view.state.workloads())}
    return [
        {
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
        if tenant.namespaces != ("",)  # where cluster-scoped objects are, which are nobody's
    ]
