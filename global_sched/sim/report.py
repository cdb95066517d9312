"""Results as tables, `result.json` and `runs.csv`."""

import csv
import io
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from typing import Any, Final

from global_sched.sim.metrics import Figures, TenantFigures
from global_sched.sim.run import Case, Prepared, Result, reasons

Obj = dict[str, Any]
COLUMNS: Final = (
    "utilisation", "goodput", "wait", "wait_p99", "wait_big", "jct", "jain", "fragmentation",
    "evictions", "misplaced",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """The figures of one case."""

    case: Case
    figures: Figures

    @property
    def place(self) -> str:
        """Window, load and seed, as text."""
        window = "whole" if self.case.window is None else "{:g}-{:g} d".format(*self.case.window)
        seed = f", seed {self.case.seed}" if self.case.seed else ""
        return f"{window}, load {self.case.load:g}{seed}"


def lines_of(results: Sequence[Result]) -> list[Line]:
    """What reports need of results."""
    return [Line(one.case, one.figures) for one in results]


def against(prepared: Prepared) -> str:
    """The arm that gains are relative to: the file's, else its first baseline; empty for none."""
    experiment = prepared.experiment
    named = (arm.title for arm in experiment.arms if arm.baseline)
    return experiment.against or next(named, "")


def gains(prepared: Prepared, lines: Sequence[Line]) -> dict[str, list[float]]:
    """By arm: goodput ÷ that of the arm it is held against, less 1, one for each place.

    Goodput and not utilisation, in which work that evictions undid would count as a gain.
    """
    base = {
        one.place: one.figures.goodput for one in lines if one.case.arm.title == against(prepared)
    }
    found: dict[str, list[float]] = {}
    for one in lines:
        if base.get(one.place):
            gain = one.figures.goodput / base[one.place] - 1
            found.setdefault(one.case.arm.title, []).append(gain)
    return found


def table(prepared: Prepared, lines: Sequence[Line]) -> list[Obj]:
    """One row for each arm: the median over its runs, [lowest, highest] where there are several."""
    gained = gains(prepared, lines)
    rows = []
    for title in dict.fromkeys(one.case.arm.title for one in lines):
        own = [one.figures for one in lines if one.case.arm.title == title]
        row: Obj = {"arm": title, "runs": len(own), "jobs": sum(one.jobs for one in own)}
        for name in COLUMNS:
            values = [value for one in own if (value := getattr(one, name)) is not None]
            row[name] = _spread(values, name)
        row["gain"] = _percents(gained.get(title, []))
        rows.append(row)
    return rows


def _spread(values: Sequence[float], name: str) -> str:
    if not values:
        return "-"
    if name in ("evictions", "misplaced"):
        return f"{sum(values):,.0f}"
    form = "{:,.0f}" if name.startswith(("wait", "jct")) else "{:.3f}"
    text = form.format(statistics.median(values))
    if len(values) > 1:
        text += f" [{form.format(min(values))}, {form.format(max(values))}]"
    return text


def _percents(values: Sequence[float]) -> str:
    if not values:
        return "-"
    text = f"{statistics.median(values):+.1%}"
    if len(values) > 1:
        text += f" [{min(values):+.1%}, {max(values):+.1%}]"
    return text


def result_json(prepared: Prepared, lines: Sequence[Line]) -> str:
    """Everything, as JSON with the same bytes for the same run."""
    experiment = prepared.experiment
    value: Obj = {
        "experiment": experiment.experiment,
        "versions": {name: version(name) for name in ("global-sched", "numpy")},
        "trace": {
            "file": experiment.trace.file,
            "sha256": prepared.sha256,
            "jobs": len(prepared.jobs),
            "dropped": reasons(prepared.dropped),
            "dropped_jobs": [asdict(one) for one in prepared.dropped],
            "licence": experiment.trace.licence,
        },
        "tick_seconds": experiment.tick_seconds,
        "seeds": experiment.seeds,
        "against": against(prepared),
        "gains": gains(prepared, lines),
        "runs": [_run(one) for one in lines],
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _run(line: Line) -> Obj:
    case = line.case
    place = {"arm": case.arm.title, "window": case.window, "load": case.load, "seed": case.seed}
    return place | asdict(line.figures)


def runs_csv(lines: Sequence[Line]) -> str:
    """One row for each run, without the tenants."""
    names = [one.name for one in fields(Figures) if one.name != "tenants"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["arm", "window_begin", "window_end", "load", "seed", *names])
    for line in lines:
        begin, end = line.case.window or ("", "")
        figures = [_cell(getattr(line.figures, name)) for name in names]
        writer.writerow([line.case.arm.title, begin, end, line.case.load, line.case.seed, *figures])
    return text.getvalue()


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def tenants_csv(lines: Sequence[Line]) -> str:
    """One row for each run and tenant."""
    names = [one.name for one in fields(TenantFigures)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["arm", "place", *names])
    for line in lines:
        for one in line.figures.tenants:
            cells = [getattr(one, name) for name in names]
            writer.writerow(
                [
                    line.case.arm.title,
                    line.place,
                    *(c if isinstance(c, str) else _cell(c) for c in cells),
                ]
            )
    return text.getvalue()
