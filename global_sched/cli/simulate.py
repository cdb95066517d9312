"""`gsched simulate`: an experiment or a user's own history through the shipped decisions."""

import gc
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import msgspec

from global_sched.cli.output import Column, echo, show_rows
from global_sched.shared.assets import asset
from global_sched.shared.model.instant import DAY, SECOND
from global_sched.sim.baselines import BASELINES
from global_sched.sim.errors import SimulationError, TraceAbsentError
from global_sched.sim.experiment import ArmSpec, Experiment, TraceSpec, parse
from global_sched.sim.files import Reader
from global_sched.sim.gates import GATES, Gate
from global_sched.sim.report import lines_of, result_json, runs_csv, table, tenants_csv
from global_sched.sim.run import Case, Prepared, Result, cases, prepare, reasons, simulate

ABSENT: Final = 3
"""The exit code where a trace that is needed is not there."""
_CLEAR: Final = "\r\x1b[K"
_KIB: Final = 1024
OWN: Final = "own-history.yaml"
"""The experiment for a user's own history, where none is given."""
COLUMNS: Final = (
    Column(head="ARM", field="arm"),
    Column(head="RUNS", field="runs", right=True, leaves=2),
    Column(head="UTILISATION", field="utilisation"),
    Column(head="GOODPUT", field="goodput", leaves=1),
    Column(head="GAIN", field="gain"),
    Column(head="MEAN WAIT s", field="wait"),
    Column(head="BIG GANGS s", field="wait_big"),
    Column(head="P99 s", field="wait_p99", leaves=3),
    Column(head="JCT s", field="jct", leaves=5),
    Column(head="JAIN", field="jain", leaves=4),
    Column(head="FRAGMENTED", field="fragmentation", leaves=6),
    Column(head="EVICTED", field="evictions", right=True, leaves=7),
    Column(head="MISPLACED", field="misplaced", right=True, leaves=8),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says."""

    file: Path | None
    history: Path | None
    out: Path | None
    arms: tuple[str, ...] = ()
    seeds: int | None = None
    check: bool = False
    plots: bool = True
    output: str = "table"


def run(options: Options) -> None:
    """Check, simulate, print, write. Exits with 1 where a gate fails, 3 where a trace is absent."""
    try:
        if options.check:
            _check()
        if options.plots and options.out is not None:
            _can_draw()
        file = options.file or (
            asset("examples") / "experiments" / OWN if options.history else None
        )
        if file is not None:
            experiment, folder = _experiment(file, options.history), file.parent
            experiment, texts = _with_arms(experiment, options)
            _simulate(prepare(experiment, Reader(folder, texts)), options)
    except TraceAbsentError as error:
        echo(f"Error: {error}", err=True)
        sys.exit(ABSENT)
    except SimulationError as error:
        raise click.ClickException(str(error)) from error


def _can_draw() -> None:
    """Say before a long run that plots cannot be drawn after it."""
    from global_sched.sim.plots import pyplot  # noqa: PLC0415 - matplotlib is an extra

    pyplot()


def _experiment(file: Path, history: Path | None) -> Experiment:
    """The file; with a history its trace is that, in the format `jobs`."""
    experiment = parse(_text(file), file.name)
    if history is None:
        return experiment
    trace = TraceSpec(file=str(history.absolute()), too_large=experiment.trace.too_large)
    return msgspec.structs.replace(experiment, trace=trace, windows=[])


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SimulationError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SimulationError(f"{file}: not a text file: {error}") from error


def _with_arms(experiment: Experiment, options: Options) -> tuple[Experiment, dict[str, str]]:
    """Only the arms that are asked for; a Policy file is an arm of its own, beside the others."""
    names = {arm.title: arm for arm in experiment.arms}
    chosen, files = [], {}
    for one in options.arms:
        if one in names:
            chosen.append(names[one])
        elif one in BASELINES:
            chosen.append(ArmSpec(baseline=one))
        elif Path(one).is_file():
            files[one] = _text(Path(one))
            chosen.append(ArmSpec(name=Path(one).stem, policy_file=one))
        else:
            known = ", ".join(dict.fromkeys((*names, *BASELINES)))
            raise SimulationError(
                f"--policy {one}: is no arm, no baseline and no file; use one of {known}"
            )
    only_files = chosen and len(files) == len(chosen)
    arms = [*experiment.arms, *chosen] if only_files else chosen or experiment.arms
    held_against = experiment.against if experiment.against in {arm.title for arm in arms} else ""
    seeds = experiment.seeds if options.seeds is None else options.seeds
    found = msgspec.structs.replace(experiment, arms=arms, against=held_against, seeds=seeds)
    return found, files


def _check() -> None:
    """Run every gate and print it."""
    failed = 0
    for make in GATES:
        for gate in make():
            failed += gate.met is False
            echo(_gate_line(gate))
    if failed:
        raise SimulationError(
            f"{failed} gates failed: no figure of this simulator counts until they hold"
        )


def _gate_line(gate: Gate) -> str:
    said = {True: "ok", False: "FAILED", None: "left out"}[gate.met]
    return f"{said:<9} {gate.name}: {gate.text}"


def _simulate(prepared: Prepared, options: Options) -> None:
    experiment = prepared.experiment
    echo(f"{experiment.experiment}\n", err=True)
    dropped = reasons(prepared.dropped)
    kinds = "; ".join(f"{count} {why}" for why, count in dropped.items())
    echo(
        f"{len(prepared.jobs):,} jobs, {len(prepared.dropped)} dropped from all arms"
        + (f" ({kinds})" if kinds else ""),
        err=True,
    )
    terminal = sys.stderr.isatty()
    results = []
    with _rare_collections():
        for case in cases(prepared, experiment.arms):
            began = _cpu_seconds()
            results.append(simulate(prepared, case, _show_progress if terminal else None))
            _show_ended(results[-1], _cpu_seconds() - began, clear=terminal)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB / 1e6
    echo(f"memory: {memory:.0f} MB at most\n", err=True)
    rows = table(prepared, lines_of(results))
    show_rows(rows, COLUMNS, options.output)
    if options.out is not None:
        _write(prepared, results, options.out, plots=options.plots)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """The collector as the leader has it: what was read stays, and is not scanned in every run."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _show_progress(case: Case, events: int, whole: int, now: int) -> None:
    """One line that is written over by the next."""
    window = "" if case.window is None else " days {:g}-{:g}".format(*case.window)
    day = now / SECOND / DAY
    click.echo(
        f"{_CLEAR}{case.arm.title}{window} load {case.load:g}: "
        f"{events:,} of {whole:,} events, day {day:.1f}",
        err=True,
        nl=False,
    )


def _show_ended(result: Result, seconds: float, *, clear: bool) -> None:
    """What a run took."""
    (line,), events = lines_of([result]), result.figures.events
    click.echo(
        f"{_CLEAR if clear else ''}{line.case.arm.title}, {line.place}: {events:,} events in "
        f"{seconds:.1f} s of CPU time, {events / max(seconds, 0.001):,.0f} a second",
        err=True,
    )


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _write(prepared: Prepared, results: Sequence[Result], folder: Path, *, plots: bool) -> None:
    """All files of a result."""
    lines = lines_of(results)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (
            ("result.json", result_json(prepared, lines)),
            ("runs.csv", runs_csv(lines)),
            ("tenants.csv", tenants_csv(lines)),
        ):
            (folder / name).write_text(text, encoding="utf-8")
        if plots:
            from global_sched.sim.plots import draw  # noqa: PLC0415 - matplotlib is an extra

            draw(prepared, results, folder)
    except OSError as error:
        raise SimulationError(f"{error.filename or folder}: {error.strerror}") from error
    echo(f"written to {folder}", err=True)
