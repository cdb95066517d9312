"""Traces: CSV files to jobs, with errors that name the line, the column and the remedy.

`jobs` is the format for a user's own history (docs/simulator.md lists its columns); the others are
public traces as their authors publish them. Nothing is left out silently.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from global_sched.shared.model.gang import Mode
from global_sched.shared.model.instant import DAY, SECOND
from global_sched.shared.model.quantity import QuantityError, parse_quantity
from global_sched.sim.errors import SimulationError
from global_sched.sim.jobs import Job, pods_of

COLUMNS: Final = (
    "id", "submit_s", "duration_s", "pods", "gpus_per_pod", "cpu", "memory", "tenant", "queue",
    "priority", "tier", "mode", "min_pods",
)  # fmt: skip
"""Of the format `jobs`; the first five are needed."""
_NEEDED: Final = 5
_LONGEST: Final = 3650 * DAY
_MOST: Final = 1_000_000
_MARK: Final = "\ufeff"
"""What spreadsheets put before a text."""
_KALOS_SECONDS: Final = 0.5
"""Seconds of one of its iterations."""


class Row:
    """One line of a CSV file."""

    def __init__(self, source: str, line: int, cells: Mapping[str, str]) -> None:
        self.source, self.line, self.cells = source, line, cells

    def refuse(self, column: str, why: str) -> SimulationError:
        """The error about one cell."""
        return SimulationError(f"{self.source}: line {self.line}: {column}: {why}")

    def text(self, column: str, default: str = "") -> str:
        """A cell, or the default where it is empty or there is no such column."""
        return (self.cells.get(column) or "").strip() or default

    def number(self, column: str, low: float, high: float, default: str = "") -> float:
        """A number in [low, high]."""
        text = self.text(column, default)
        if not text:
            raise self.refuse(column, f"is empty; give a number from {low:g} to {high:g}")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.refuse(column, f"{text[:40]!r} is no number; use one such as 3600")
        if not low <= value <= high:
            raise self.refuse(column, f"is {text[:40]}; use {low:g} to {high:g}")
        return value

    def whole(self, column: str, low: int, high: int, default: str = "") -> int:
        """A whole number in [low, high]."""
        value = self.number(column, low, high, default)
        if value != int(value):
            raise self.refuse(column, f"is {value:g}; use a whole number")
        return int(value)


def read_jobs(text: str, kind: str, source: str, per_node: int = 8) -> list[Job]:
    """The jobs of a trace in the order in which they come, from time 0.

    per_node:  GPUs of a node, where the trace says only how many GPUs a job has.

    Raises:  SimulationError.
    """
    reader = READERS.get(kind)
    if reader is None:
        known = ", ".join(sorted(READERS))
        raise SimulationError(f"{source}: format {kind!r} is not known; use one of: {known}")
    needed, maker, sort = reader
    make = maker()
    found = [make(row, number, per_node) for number, row in enumerate(_rows(text, source, needed))]
    if not found:
        raise SimulationError(f"{source}: has no jobs; give one line for each")
    if sort:
        found.sort(key=lambda job: (job.submit, job.duration, job.width, job.tenant))
    first, last = found[0], found[-1]
    if last.submit - first.submit > _LONGEST * SECOND:
        raise SimulationError(
            f"{source}: line {last.line}: timestamp: is more than ten years after that of line "
            f"{first.line}; correct one of them"
        )
    return [
        replace(job, number=number, submit=job.submit - first.submit)
        for number, job in enumerate(found)
    ]


def _rows(text: str, source: str, needed: tuple[str, ...]) -> Iterator[Row]:
    lines = text.removeprefix(_MARK).splitlines()
    kept = [(number, line) for number, line in enumerate(lines, 1) if line and line[0] != "#"]
    reader = csv.DictReader(io.StringIO("\n".join(line for _, line in kept)))
    columns = list(reader.fieldnames or ())
    missing = [name for name in needed if name not in columns]
    if missing:
        at = kept[0][0] if kept else 1
        raise SimulationError(
            f"{source}: line {at}: has no column {', '.join(missing)}; the first line names the "
            f"columns, and {', '.join(needed)} are needed"
        )
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise SimulationError(
            f"{source}: line {kept[0][0]}: names the column {twice[0]} twice; leave one of them"
        )
    for (number, _), cells in zip(kept[1:], reader, strict=False):
        if None in cells or None in cells.values():
            raise SimulationError(
                f"{source}: line {number}: has not the {len(columns)} cells of the first line; "
                "quote cells that hold commas"
            )
        yield Row(source, number, cells)


class _Own:
    """The format `jobs`: strict, since it is people's own."""

    def __init__(self) -> None:
        self._last = -1.0
        self._seen: dict[str, int] = {}

    def __call__(self, row: Row, number: int, _: int) -> Job:
        unknown = sorted(set(row.cells) - set(COLUMNS))
        if unknown:
            raise row.refuse(unknown[0], f"is no column; they are {', '.join(COLUMNS)}")
        name = row.text("id")
        if not name:
            raise row.refuse("id", "is empty; name each job")
        if name in self._seen:
            raise row.refuse("id", f"{name!r} is that of line {self._seen[name]}, too; rename one")
        self._seen[name] = row.line
        submit = row.number("submit_s", 0, _LONGEST)
        if submit < self._last:
            raise row.refuse(
                "submit_s", f"is {submit:g}, before the line above ({self._last:g}); sort by it"
            )
        self._last = submit
        pods = row.whole("pods", 1, _MOST)
        tier = row.whole("tier", 0, 100) if row.text("tier") else None
        return Job(
            number=number,
            line=row.line,
            name=name,
            submit=round(submit * SECOND),
            duration=round(row.number("duration_s", 0.001, _LONGEST) * SECOND),
            pods=pods,
            gpus=row.whole("gpus_per_pod", 1, 1024),
            cpu=_quantity(row, "cpu"),
            memory=_quantity(row, "memory"),
            tenant=row.text("tenant", "all"),
            queue=row.text("queue"),
            priority=row.whole("priority", -(2**31), 2**31 - 1, "0"),
            minimum=row.whole("min_pods", 1, pods, str(pods)),
            tier=tier,
            mode=_mode(row),
        )


def _quantity(row: Row, column: str) -> int:
    text = row.text(column)
    try:
        return parse_quantity(text, column) if text else 0
    except QuantityError as error:
        raise row.refuse(column, f"{text[:40]!r} is no quantity; use one such as 8 or 64Gi") from (
            error
        )


def _mode(row: Row) -> Mode:
    text = row.text("mode", Mode.HARD)
    if text not in (Mode.HARD, Mode.SOFT):
        raise row.refuse("mode", f"is {text[:40]!r}; use hard or soft")
    return Mode(text)


def _philly(row: Row, number: int, per_node: int) -> Job:
    text = row.text("timestamp")
    try:
        came = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise row.refuse(
            "timestamp", f"{text[:40]!r} is no time; use one such as 2017-10-09 07:01:55"
        ) from error
    pods, gpus = pods_of(row.whole("num_gpus", 1, _MOST), per_node)
    return Job(
        number=number,
        line=row.line,
        name=f"philly-{row.line}",
        submit=round(came * SECOND),
        duration=_at_least_a_second(row.number("duration", 0, _LONGEST)),
        pods=pods,
        gpus=gpus,
        tenant=row.text("cluster", "all"),
    )


def _kalos(row: Row, number: int, _: int) -> Job:
    return Job(
        number=number,
        line=row.line,
        name=f"kalos-{row.text('job_id')}",
        submit=round(row.number("arrival_time", 0, _LONGEST) * SECOND),
        duration=_at_least_a_second(row.number("num_iteration", 0, _LONGEST) * _KALOS_SECONDS),
        pods=row.whole("gpu_workers", 1, _MOST),
        gpus=row.whole("gpu_per_worker", 1, 1024),
    )


def _muri(row: Row, number: int, per_node: int) -> Job:
    pods, gpus = pods_of(row.whole("num_gpu", 1, _MOST), per_node)
    return Job(
        number=number,
        line=row.line,
        name=f"muri-{row.text('job_id')}",
        submit=round(row.number("submit_time", 0, _LONGEST * 1000) * 1000),
        duration=_at_least_a_second(row.number("duration", 0, _LONGEST * 1000) / 1000),
        pods=pods,
        gpus=gpus,
    )


def _at_least_a_second(seconds: float) -> int:
    return max(SECOND, round(seconds * SECOND))


_KALOS: Final = ("job_id", "arrival_time", "num_iteration", "gpu_workers", "gpu_per_worker")
_Make = Callable[[Row, int, int], Job]


_Reader = tuple[tuple[str, ...], Callable[[], _Make], bool]
READERS: Final[dict[str, _Reader]] = {
    "jobs": (COLUMNS[:_NEEDED], _Own, False),
    "philly": (("timestamp", "duration", "num_gpus", "cluster"), lambda: _philly, True),
    "kalos": (_KALOS, lambda: _kalos, True),
    "muri": (("job_id", "num_gpu", "submit_time", "duration"), lambda: _muri, True),
}
"""By format: needed columns, what makes the job of a row, and whether rows are sorted
by time (public files are not in order; the order of a user's own file is checked)."""
