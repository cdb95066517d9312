"""The demo's tables, while it runs and at its end."""

from collections import Counter
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table

from global_sched.cli.jobs import pods_text
from global_sched.view.jobs import rows_of, state_of
from global_sched.view.look import View
from global_sched.view.text import duration

WIDE: Final = 150
"""Columns that the result may take."""
_SHOWN = 14
_FIRST = ("Starting", "Pending", "Running", "Placed", "Finished")


def summary(view: View) -> str:
    """How many jobs are in which state."""
    workloads = view.state.workloads()
    states = Counter(state_of(one) for one in workloads if one.demand.gang is not None)
    return ", ".join(f"{count} {state.lower()}" for state, count in sorted(states.items()))


def first_pending(view: View) -> str:
    """A job to explain, as `-n NAMESPACE JOB`; empty when none waits."""
    waiting = [row for row in rows_of(view) if row["state"] == "Pending"]
    return f"-n {waiting[-1]['namespace']} {waiting[-1]['name']}" if waiting else ""


def progress_table(view: View) -> RenderableType:
    """Counts by state and the first jobs, small enough to be redrawn."""
    table = Table(title=summary(view), title_justify="left", box=None, pad_edge=False)
    for column in ("job", "state", "cluster", "domain", "pods"):
        table.add_column(column)
    jobs = [row for row in rows_of(view) if row["queue"] is not None]
    rows = sorted(jobs, key=lambda row: _FIRST.index(row["state"]))
    for row in rows[:_SHOWN]:
        table.add_row(
            f"{row['namespace']}/{row['name']}",
            row["state"],
            ", ".join(row["clusters"]) or "-",
            row["domain"] or "-",
            pods_text(row),
        )
    if len(rows) > _SHOWN:
        table.add_row(f"… {len(rows) - _SHOWN} more", "", "", "", "")
    return table


def result_table(view: View) -> Table:
    """Every job: tenant, queue, priority, cluster, domain and tier, wait, verdict with reason."""
    table = Table(
        title="where every job went",
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for column in ("job", "tenant", "queue", "prio", "cluster", "domain (tier)", "pods", "wait"):
        table.add_column(column, no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for row in rows_of(view):
        if row["queue"] is None:
            continue
        table.add_row(
            f"{row['namespace']}/{row['name']}",
            row["tenant"],
            row["queue"],
            str(row["priority"]),
            ", ".join(row["clusters"]) or "-",
            f"{row['domain']} ({row['tier']})" if row["domain"] else "-",
            pods_text(row),
            duration(row["wait_seconds"]),
            f"{row['verdict']} {row['reason']}" if row["verdict"] else row["state"],
        )
    return table


def print_result(console: Console, view: View) -> None:
    """The result at its full width: a narrow terminal wraps it, and no word of it is cut off."""
    console.width = max(console.width, WIDE)
    console.print(result_table(view))


def reasons(view: View) -> list[str]:
    """Why each waiting job waits, a sentence each: too long for a column of the table."""
    return [
        f"{row['namespace']}/{row['name']}: {row['detail']}"
        for row in rows_of(view)
        if row["verdict"] and row["queue"] is not None
    ]
