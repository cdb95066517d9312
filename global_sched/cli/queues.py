"""`gsched queues` and `gsched tenants`."""

from collections.abc import Sequence

from global_sched.cli.output import Column, show_rows
from global_sched.cli.view import live
from global_sched.cli.where import Where
from global_sched.shared.model.resources import PODS
from global_sched.view.queues import queue_rows, tenant_rows, tree_rows
from global_sched.view.text import Row, amounts, percent

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
