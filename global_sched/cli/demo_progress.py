"""What the demo shows while it runs, and at its end."""

from collections import Counter

from rich.console import RenderableType
from rich.table import Table

from global_sched.cli.jobs import rows_of, state_of
from global_sched.cli.view import View

_SHOWN = 14


def summary(view: View) -> str:
    """How many jobs are in which state."""
    workloads = view.state.workloads()
    states = Counter(state_of(one) for one in workloads if one.demand.gang is not None)
    return ", ".join(f"{count} {state.lower()}" for state, count in sorted(states.items()))


def progress_table(view: View) -> RenderableType:
    """Counts by state and the first jobs, small enough to be redrawn."""
    table = Table(title=summary(view), title_justify="left", box=None, pad_edge=False)
    for column in ("job", "state", "cluster", "domain", "pods"):
        table.add_column(column)
    rows = [row for row in rows_of(view) if row["queue"] is not None]
    for row in rows[:_SHOWN]:
        table.add_row(
            f"{row['namespace']}/{row['name']}",
            row["state"],
            ", ".join(row["clusters"]) or "-",
            row["domain"] or "-",
            row["pods"],
        )
    if len(rows) > _SHOWN:
        table.add_row(f"… {len(rows) - _SHOWN} more", "", "", "", "")
    return table


def result_table(view: View) -> Table:
    """Every job: tenant, queue, priority, cluster, domain and tier, wait, verdict with reason."""
    table = Table(title="where every job went", title_justify="left")
    for column in ("job", "tenant", "queue", "prio", "cluster", "domain (tier)", "pods", "wait"):
        table.add_column(column, overflow="fold")
    table.add_column("verdict", overflow="fold", ratio=1)
    for row in rows_of(view):
        if row["queue"] is None:
            continue
        domain = f"{row['domain']} ({row['tier']})" if row["domain"] else "-"
        verdict = row["state"]
        if row["verdict"]:
            verdict = f"{row['verdict']} {row['reason']}: {row['detail']}"
        table.add_row(
            f"{row['namespace']}/{row['name']}",
            row["tenant"],
            row["queue"],
            str(row["priority"]),
            ", ".join(row["clusters"]) or "-",
            domain,
            row["pods"],
            row["wait"],
            verdict,
        )
    return table
