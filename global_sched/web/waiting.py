"""The page of jobs: which are asked for, in what order, and what would help each that waits."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from global_sched.core import next_step
from global_sched.shared.model.ids import WorkloadKey
from global_sched.view.job_query import STATES, JobQuery
from global_sched.view.look import View
from global_sched.view.text import Row

SHOWN: Final = 100
"""Jobs on one page."""
WAITS: Final = ("Unreadable", "Suspended", "Pending")
"""States of jobs that wait; the page begins with these."""
CHOICES: Final = ("waiting", "all", *STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a page of jobs is asked for; empty is no condition."""

    state: str = "waiting"
    queue: str = ""
    tenant: str = ""
    text: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filter":
        """As the address says it; what it says wrongly counts as not said."""
        state, page = query.get("state", ""), query.get("page", "")
        return cls(
            state=state if state in CHOICES else "waiting",
            queue=query.get("queue", ""),
            tenant=query.get("tenant", ""),
            text=query.get("text", "").strip(),
            page=max(1, int(page)) if page.isdecimal() and len(page) < 7 else 1,
        )

    def takes(self, row: Row) -> bool:
        """Whether a job is asked for."""
        states: Sequence[str] = WAITS if self.state == "waiting" else (self.state,)
        return (
            (self.state == "all" or row["state"] in states)
            and self.queue in ("", row["queue"])
            and self.tenant in ("", row["tenant"])
            and (not self.text or _says(row, self.text.lower()))
        )


def _says(row: Row, text: str) -> bool:
    """Whether its name, kind, place, reason or sentence has this text."""
    fields = ("namespace", "name", "kind", "domain", "reason", "detail")
    said = [str(row[name] or "") for name in fields] + row["clusters"]
    return any(text in one.lower() for one in said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What the page shows: the rows of one page, and how many there are."""

    rows: Sequence[Row]
    count: int
    pages: int
    queues: Sequence[str]
    tenants: Sequence[str]
    counts: Mapping[str, int]
    """How many jobs are in each state, whatever is asked for."""


def jobs_of(rows: Sequence[Row], asked: Filter, view: View | None) -> Jobs:
    """The jobs that are asked for: as `gsched jobs` has them, those with a place in its order.

    view: adds to each row that is shown what would help; a tenant's rows come without one.
    """
    found = JobQuery().chosen(row for row in rows if asked.takes(row))
    found.sort(key=lambda row: (STATES.index(row["state"]), row["position"] or math.inf))
    start = (asked.page - 1) * SHOWN
    counts = {state: sum(row["state"] == state for row in rows) for state in STATES}
    return Jobs(
        rows=[row | {"helps": _helps(row, view)} for row in found[start : start + SHOWN]],
        count=len(found),
        pages=max(1, -(-len(found) // SHOWN)),
        queues=_names(rows, "queue"),
        tenants=_names(rows, "tenant"),
        counts=counts | {"waiting": sum(counts[one] for one in WAITS), "all": len(rows)},
    )


def _names(rows: Iterable[Row], field: str) -> list[str]:
    return sorted({row[field] for row in rows if row[field]})


def _helps(row: Row, view: View | None) -> str:
    """What would let it run, in one sentence; empty for one that does not wait."""
    if view is None:
        return str(row.get("helps") or "")
    if row["state"] not in WAITS:
        return ""
    namespace, _, name = row["binding_key"].rpartition("/")
    key = WorkloadKey(f"{namespace}/{name}")
    workload, outcome = view.state.workload(key), view.outcome(key)
    return "" if workload is None or outcome is None else next_step(workload, outcome)
