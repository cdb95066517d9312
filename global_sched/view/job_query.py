"""Rows of jobs: which of them a list is about, and in what order."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

import click

from global_sched.view.text import Row, object_name

STATES: Final = (
    "Unreadable",
    "Suspended",
    "Pending",
    "Starting",
    "Running",
    "Placed",
    "Finished",
)
"""What a job can be, as a list shows it: what needs a person first, what is over last."""
_RANK: Final = {state: at for at, state in enumerate(STATES)}

SORT_FIELDS: Final = (
    "name",
    "namespace",
    "kind",
    "tenant",
    "queue",
    "position",
    "priority",
    "state",
    "clusters",
    "wait_seconds",
    "reason",
)
"""Fields of a row that a list can be sorted by."""

_UNKNOWN: Final = (
    "tenant",
    "queue",
    "position",
    "priority",
    "domain",
    "tier",
    "pods",
    "verdict",
    "reason",
)


def job_row(
    api_version: str, kind: str, namespace: str, name: str, binding: str, **known: Any
) -> Row:
    """A row of `gsched jobs`; a field that is not `known` is None."""
    return {
        "object": object_name(api_version, kind, name),
        "binding_key": f"{namespace}/{binding}".lstrip("/"),
        "binding": binding,
        "namespace": namespace,
        "name": name,
        "api_version": api_version,
        "kind": kind,
        **dict.fromkeys(_UNKNOWN),
        "clusters": [],
        "wait_seconds": 0,
        "detail": None,
        "uncounted": False,
        **known,
    }


def shown(rows: Iterable[Row], output: str) -> list[Row]:
    """The rows that this form shows: a table has jobs and what cannot be read as one."""
    return [
        row
        for row in rows
        if output not in ("table", "name")
        or row["pods"] is not None
        or row["uncounted"]
        or row["state"] in ("Unreadable", "Suspended")
    ]


Object = tuple[str, str, str, str]
"""apiVersion, kind, namespace and name of a template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """What the options ask for; nothing asked is every job."""

    names: tuple[str, ...] = ()
    """Names of jobs or of bindings."""
    namespace: str | None = None
    """None: every namespace."""
    selector: str = ""
    queue: str | None = None
    states: Collection[str] = ()
    sort_by: str | None = None
    labelled: Collection[Object] | None = field(default=None)
    """The objects that the label selector selects; None without a selector."""

    def chosen(self, rows: Iterable[Row]) -> list[Row]:
        """The rows that are asked for, in order.

        Raises:  click.ClickException for a name that no job has.
        """
        here = [row for row in rows if self.namespace in (None, row["namespace"])]
        if self.names:
            here = self._named(here)
        found = [row for row in here if self._takes(row)]
        return sorted(found, key=self._key)

    def _takes(self, row: Row) -> bool:
        template = (row["api_version"], row["kind"], row["namespace"], row["name"])
        return (
            (self.labelled is None or template in self.labelled)
            and self.queue in (None, row["queue"])
            and (not self.states or row["state"] in self.states)
        )

    def _named(self, rows: Sequence[Row]) -> list[Row]:
        known = {row["name"] for row in rows} | {row["binding"] for row in rows}
        for name in self.names:
            if name not in known:
                scope = f" in namespace {self.namespace}" if self.namespace else ""
                like = ", ".join(get_close_matches(name, sorted(known)))
                hint = f"; did you mean {like}?" if like else ""
                raise click.ClickException(f"no job {name!r}{scope}{hint}")
        return [row for row in rows if row["name"] in self.names or row["binding"] in self.names]

    def _key(self, row: Row) -> tuple[object, ...]:
        """What waits comes first and the longest wait before the others, or by one field."""
        same = (row["namespace"], row["name"], row["kind"])
        if self.sort_by is None:
            return (_RANK[row["state"]], -row["wait_seconds"], *same)
        value = row[self.sort_by]
        if self.sort_by == "state":
            value = _RANK[value]
        # Rows without the field come last; a list is compared by its parts.
        return (value is None, () if value is None else (value,), *same)
