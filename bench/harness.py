"""Figures: their type, how they are measured, and the report."""

import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "build" / "bench.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number. `target` None: for orientation only. `met` None: nothing to meet."""

    group: str
    figure: str
    value: float | None
    unit: str
    target: str = ""
    met: bool | None = None
    note: str = ""


def at_least(
    group: str, figure: str, value: float, unit: str, bound: float, note: str = ""
) -> Figure:
    """A figure that should not fall below a bound."""
    return Figure(
        group=group, figure=figure, value=value, unit=unit, target=f"≥ {bound:g}",
        met=value >= bound, note=note,
    )  # fmt: skip


def at_most(
    group: str, figure: str, value: float, unit: str, bound: float, note: str = ""
) -> Figure:
    """A figure that should not exceed a bound."""
    return Figure(
        group=group, figure=figure, value=value, unit=unit, target=f"≤ {bound:g}",
        met=value <= bound, note=note,
    )  # fmt: skip


def shown(group: str, figure: str, value: float | None, unit: str, note: str = "") -> Figure:
    """A figure without a target."""
    return Figure(group=group, figure=figure, value=value, unit=unit, note=note)


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes, with the collector run before it."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call on one core: what other processes do does not count."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def median_seconds(work: Callable[[], object], runs: int = 5) -> float:
    """The median of several calls, after one to warm up."""
    work()
    return statistics.median(seconds(work) for _ in range(runs))


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * share // 1).__int__() - 1))]


def rss_mb() -> float:
    """Resident memory of the process in MB."""
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def quiet_collector() -> Iterator[None]:
    """The thresholds that both programs run with."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def machine() -> str:
    """Where the figures are from."""
    cpu = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            x.split(":", 1)[1].strip()
            for x in info.read_text().splitlines()
            if x.startswith("model name")
        ]
        cpu = f"{len(names)} × {names[0]}" if names else cpu
    return f"{cpu}, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def commit() -> str:
    """The commit that is measured, marked where files differ from it."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=8"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"


def report(figures: list[Figure], output: Path = OUTPUT) -> None:
    """Print the table and write it as JSON: build/bench.json."""
    console = Console(width=150 if not sys.stdout.isatty() else None)
    table = Table(title=f"Figures on {machine()}", title_justify="left")
    for column in ("group", "figure", "value", "target", "met", "note"):
        table.add_column(column, overflow="fold")
    for item in figures:
        value = "-" if item.value is None else f"{item.value:,.4g} {item.unit}"
        met = "" if item.met is None else ("yes" if item.met else "NO")
        table.add_row(item.group, item.figure, value, item.target, met, item.note)
    console.print(table)
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps([asdict(item) for item in figures], indent=1) + "\n")
    console.print(f"written to {output.relative_to(ROOT)}")
