"""Plots of results as SVG and PNG, by matplotlib (extra `sim`), which is imported here alone."""

import importlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from global_sched.shared.model.instant import DAY, SECOND
from global_sched.sim.engine import Moment, Stage
from global_sched.sim.errors import SimulationError
from global_sched.sim.report import gains, lines_of
from global_sched.sim.run import Prepared, Result

_BINS: Final = 200
_SIZES: Final = ((1, 1), (2, 7), (8, 8), (9, 32), (33, 127), (128, 10**9))


def draw(prepared: Prepared, results: Sequence[Result], folder: Path) -> list[Path]:
    """Write every plot; those of single runs are of the first window, load and seed.

    Raises:  SimulationError where matplotlib is not installed.
    """
    plt = pyplot()
    first = (results[0].case.window, results[0].case.load, results[0].case.seed)
    own = [one for one in results if (one.case.window, one.case.load, one.case.seed) == first]
    written = []
    for name, figure in _figures(plt, prepared, results, own):
        figure.tight_layout()
        for kind in ("svg", "png"):
            path = folder / f"{name}.{kind}"
            # Without the date, the same results give the same bytes.
            metadata = {"Date": None} if kind == "svg" else {"Software": None}
            figure.savefig(path, metadata=metadata, dpi=110)
            written.append(path)
        plt.close(figure)
    return written


def pyplot() -> Any:
    """Give matplotlib without a display, with fixed ids in its SVGs. Raises SimulationError."""
    try:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        matplotlib.rcParams["svg.hashsalt"] = "global-sched"
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise SimulationError(
            "plots need matplotlib: pip install 'global-sched[sim]' (or --no-plots)"
        ) from error


def _figures(
    plt: Any, prepared: Prepared, results: Sequence[Result], own: Sequence[Result]
) -> Iterator[tuple[str, Any]]:
    yield "utilisation", _over_time(plt, own, "GPUs bound ÷ all", _bound)
    yield "fragmentation", _over_time(plt, own, "free GPUs of no use ÷ free", _useless)
    yield "waiting", _over_time(plt, own, "GPUs that waiting jobs ask for", _waiting)
    yield "waits", _waits(plt, own)
    yield "waits-by-size", _by_size(plt, own)
    yield "tenants", _tenants(plt, own)
    if any(gains(prepared, lines_of(results)).values()):
        yield "gains", _gains(plt, prepared, results)


def _over_time(plt: Any, own: Sequence[Result], label: str, value: Any) -> Any:
    figure, axes = plt.subplots(figsize=(8, 3.5))
    for one in own:
        days, values = _series(one.stage, value)
        axes.plot(days, values, label=one.case.arm.title, linewidth=1)
    axes.set_xlabel("days")
    axes.set_ylabel(label)
    axes.legend(fontsize=7)
    return figure


def _bound(stage: Stage, moment: Moment) -> float:
    return moment.bound / max(1, sum(member.gpus for member in stage.members))


def _useless(stage: Stage, moment: Moment) -> float:
    free = sum(member.gpus for member in stage.members) - moment.bound
    return moment.useless / free if free else 0.0


def _waiting(_: Stage, moment: Moment) -> float:
    return float(moment.waiting_gpus)


def _series(stage: Stage, value: Any) -> tuple[list[float], list[float]]:
    """Exact means over equal parts of the arrival window."""
    submits = [one.job.submit for one in stage.history.values()]
    begin, end = min(submits), max(submits)
    ats = [moment.at for moment in stage.moments]
    days, values = [], []
    for part in range(_BINS):
        low = begin + (end - begin) * part // _BINS
        high = begin + (end - begin) * (part + 1) // _BINS
        if high <= low:
            continue
        at = max(0, bisect_right(ats, low) - 1)
        area, since = 0.0, low
        while since < high:
            until = min(high, ats[at + 1] if at + 1 < len(ats) else high)
            area += (until - since) * value(stage, stage.moments[at])
            since, at = until, at + 1
        days.append((low + high) / 2 / SECOND / DAY)
        values.append(area / (high - low))
    return days, values


def _wait_seconds(stage: Stage, low: int = 0, high: int = 10**9) -> list[float]:
    return sorted(
        (one.started - one.job.submit) / SECOND
        for one in stage.history.values()
        if one.started is not None and low <= one.job.width <= high
    )


def _waits(plt: Any, own: Sequence[Result]) -> Any:
    figure, axes = plt.subplots(figsize=(8, 3.5))
    for one in own:
        waits = _wait_seconds(one.stage)
        shares = [(at + 1) / len(waits) for at in range(len(waits))]
        axes.step([max(1.0, wait) for wait in waits], shares, label=one.case.arm.title, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("wait, s (1 and less at 1)")
    axes.set_ylabel("share of jobs")
    axes.legend(fontsize=7)
    return figure


def _by_size(plt: Any, own: Sequence[Result]) -> Any:
    figure, axes = plt.subplots(figsize=(8, 3.5))
    width = 0.8 / len(own)
    for number, one in enumerate(own):
        means = []
        for low, high in _SIZES:
            waits = _wait_seconds(one.stage, low, high)
            means.append(sum(waits) / len(waits) if waits else 0.0)
        places = [at + number * width for at in range(len(_SIZES))]
        axes.bar(places, [max(1.0, mean) for mean in means], width, label=one.case.arm.title)
    names = ["1", "2-7", "8", "9-32", "33-127", "128 and more"]
    axes.set_xticks([at + 0.4 - width / 2 for at in range(len(_SIZES))], names)
    axes.set_yscale("log")
    axes.set_xlabel("GPUs of the gang")
    axes.set_ylabel("mean wait, s")
    axes.legend(fontsize=7)
    return figure


def _tenants(plt: Any, own: Sequence[Result]) -> Any:
    figure, axes = plt.subplots(figsize=(8, 3.5))
    names = [one.tenant for one in own[0].figures.tenants]
    width = 0.8 / len(own)
    for number, one in enumerate(own):
        served = [tenant.served for tenant in one.figures.tenants]
        places = [at + number * width for at in range(len(served))]
        axes.bar(places, served, width, label=one.case.arm.title)
    axes.set_xticks([at + 0.4 for at in range(len(names))], names, rotation=45, ha="right")
    axes.set_ylabel("received ÷ min(demand, entitled)")
    axes.legend(fontsize=7)
    return figure


def _gains(plt: Any, prepared: Prepared, results: Sequence[Result]) -> Any:
    found = {name: values for name, values in gains(prepared, lines_of(results)).items() if values}
    figure, axes = plt.subplots(figsize=(8, 3.5))
    axes.boxplot(
        [[100 * value for value in values] for values in found.values()], orientation="horizontal"
    )
    axes.set_yticks(range(1, len(found) + 1), list(found))
    axes.axvline(0, color="grey", linewidth=0.5)
    axes.set_xlabel("gain of goodput, % (one value for each window, load and seed)")
    return figure
