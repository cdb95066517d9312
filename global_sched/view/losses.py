"""Losses of a job within 24 hours, as the members' agents report them."""

from collections.abc import Iterator

from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.workload import Workload
from global_sched.view.text import Row


def loss_rows(workload: Workload) -> list[Row]:
    """One row per lost pod, the earliest first."""
    rows = [
        {
            "at": one.at,
            "cluster": progress.cluster,
            "pod": one.pod,
            "node": one.node,
            "cause": one.cause,
            "detail": one.detail,
        }
        for progress in workload.progress
        for one in progress.losses
    ]
    return sorted(rows, key=lambda row: (row["at"], row["pod"]))


def loss_lines(workload: Workload) -> Iterator[str]:
    """The rows as lines with a head, and where the job cannot be whole; none for a sound job."""
    rows = loss_rows(workload)
    if rows:
        yield "Losses within 24 h"
    for row in rows:
        detail = f" {row['detail']}" if row["detail"] else ""
        where = f"{row['node']} in {row['cluster']}"
        yield f"  {row['at']}  {row['pod']} on {where}: {row['cause']}{detail}"
    for progress in sorted(workload.progress):
        if progress.below is not None:
            yield f"Below its minimum in {progress.cluster} since {format_instant(progress.below)}"
        if progress.waits_at:
            yield f"Its recovery in {progress.cluster} waits for the scope {progress.waits_at}"
