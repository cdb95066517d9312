"""`gsched queues` and `gsched tenants`."""

from pathlib import Path

from global_sched.cli.clusters import quantities
from global_sched.cli.output import Column, Row, amounts, percent, show_rows
from global_sched.cli.view import View, live
from global_sched.controllers.counts import count_queues, count_tenants
from global_sched.shared.model.quantity import format_quantity

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


def show_queues(kubeconfig: Path | None, context: str | None, *, output: str) -> None:
    """Print every queue."""
    rows = queue_rows(live(kubeconfig, context))
    show_rows(rows, QUEUE_COLUMNS, output, nothing="No queues found.")


def queue_rows(view: View) -> list[Row]:
    """One row per queue, by name."""
    counts = {one.name: one for one in count_queues(view.snapshot, view.state.workloads())}
    return [
        {
            "name": queue.name,
            "state": queue.problem or ("Open" if queue.open else "Closed"),
            "priority": queue.priority,
            "weight": queue.weight,
            "share": float(counts[queue.name].share),
            "pending": counts[queue.name].pending,
            "starting": counts[queue.name].starting,
            "running": counts[queue.name].running,
            "allocated": quantities(counts[queue.name].allocated),
            "capability": {name: format_quantity(v, name) for name, v in queue.capability},
        }
        for queue in view.snapshot.queues
    ]


def show_tenants(kubeconfig: Path | None, context: str | None, *, output: str) -> None:
    """Print every tenant, namespaces that are their own tenant included."""
    rows = tenant_rows(live(kubeconfig, context))
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
    ]
