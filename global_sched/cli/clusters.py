"""`gsched clusters`."""

from global_sched.cli.output import Column, show_rows
from global_sched.cli.view import live
from global_sched.cli.where import Where
from global_sched.view.clusters import rows_of
from global_sched.view.text import Row, amounts, duration


def _report(row: Row) -> str:
    """The report's age, or why there is none."""
    age = row["report_age_seconds"]
    return row["problem"] or "no agent" if age is None else f"{duration(age)} ago"


def _devices_first(free: dict[str, str] | None) -> dict[str, str]:
    """What people look for first where a line is cut: GPUs, then CPUs and memory."""
    return dict(sorted((free or {}).items(), key=lambda entry: ("/" not in entry[0], entry[0])))


COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="READY", field="ready"),
    Column(head="REPORT", text=_report),
    Column(head="NODES", field="nodes", right=True),
    Column(head="DOMAINS", field="domains", right=True, leaves=1),
    Column(head="JOBS", field="jobs", right=True),
    Column(head="FREE", text=lambda row: amounts(_devices_first(row["free"])), sentences=True),
    Column(head="TOTAL", text=lambda row: amounts(row["total"] or {}), wide=True),
    Column(head="BINDS FOR", field="schedulers", wide=True),
    Column(head="TAINTS", field="taints", wide=True),
)


def show(where: Where, *, output: str, headers: bool = True) -> None:
    """Print every member cluster."""
    rows = list(rows_of(live(where)))
    show_rows(rows, COLUMNS, output, nothing="No member clusters found.", headers=headers)
