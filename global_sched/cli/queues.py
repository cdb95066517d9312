"""`gsched queues` and `gsched tenants`."""

from fractions import Fraction
from pathlib import Path

from global_sched.cli.output import Column, show_rows
from global_sched.cli.view import live
from global_sched.controllers.counts import count_queues, count_tenants
from global_sched.shared.model.quantity import format_quantity

QUEUE_COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="STATE", field="state"),
    Column(head="PRIORITY", field="priority", right=True),
    Column(head="WEIGHT", field="weight", right=True),
    Column(head="SHARE", field="share", right=True),
    Column(head="PENDING", field="pending", right=True),
    Column(head="STARTING", field="starting", right=True),
    Column(head="RUNNING", field="running", right=True),
    Column(head="ALLOCATED", field="allocated"),
    Column(head="CAPABILITY", field="capability"),
)
TENANT_COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="WEIGHT", field="weight", right=True),
    Column(head="SHARE", field="share", right=True),
    Column(head="ADMITTED", field="admitted", right=True),
    Column(head="PENDING", field="pending", right=True),
    Column(head="NAMESPACES", field="namespaces"),
    Column(head="QUEUES", field="queues", wide=True),
    Column(head="PRIORITY CLASSES", field="priority_classes", wide=True),
)


def show_queues(kubeconfig: Path | None, context: str | None, *, output: str) -> None:
    """Print every queue."""
    view = live(kubeconfig, context)
    counts = {one.name: one for one in count_queues(view.snapshot, view.state.workloads())}
    rows = []
    for queue in view.snapshot.queues:
        count = counts[queue.name]
        limits = [f"{name} {format_quantity(value, name)}" for name, value in queue.capability]
        rows.append(
            {
                "name": queue.name,
                "state": queue.problem or ("Open" if queue.open else "Closed"),
                "priority": queue.priority,
                "weight": queue.weight,
                "share": percent(count.share),
                "pending": count.pending,
                "starting": count.starting,
                "running": count.running,
                "allocated": count.allocated.text() if count.allocated else None,
                "capability": ", ".join(limits),
            }
        )
    show_rows(rows, QUEUE_COLUMNS, output)


def show_tenants(kubeconfig: Path | None, context: str | None, *, output: str) -> None:
    """Print every tenant, namespaces that are their own tenant included."""
    view = live(kubeconfig, context)
    counts = {one.name: one for one in count_tenants(view.snapshot, view.state.workloads())}
    rows = [
        {
            "name": tenant.name,
            "weight": tenant.weight,
            "share": percent(counts[tenant.name].share),
            "admitted": counts[tenant.name].admitted,
            "pending": counts[tenant.name].pending,
            "namespaces": list(tenant.namespaces),
            "queues": [str(queue) for queue in tenant.queues],
            "priority_classes": list(tenant.priority_classes),
        }
        for tenant in view.snapshot.tenants
    ]
    show_rows(rows, TENANT_COLUMNS, output)


def percent(share: Fraction) -> str:
    """A share for people."""
    return f"{float(share) * 100:.2f}%"
