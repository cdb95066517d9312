"""`python -m bench.simulated [EXPERIMENT|ARM …]`: run some experiments, or for hours all of them.

Every run is kept as one row of `build/simulated.csv` as soon as it has ended, and those that are
there or in `docs/benchmarks/simulated.csv` are left out: it can be stopped and started again.
`python -m bench.simulated_page` joins the two in the latter and writes the page from those rows.
"""

import csv
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache

from bench.harness import ROOT, commit, quiet_collector
from global_sched.sim.experiment import Experiment, parse
from global_sched.sim.files import Reader
from global_sched.sim.metrics import Figures
from global_sched.sim.run import Case, Prepared, prepare, simulate

EXPERIMENTS = ROOT / "examples" / "experiments"
PAGES = ROOT / "docs" / "benchmarks"
RUNS = ROOT / "build" / "simulated.csv"
KEPT = PAGES / "simulated.csv"
_NAMES = tuple(one.name for one in fields(Figures) if one.name != "tenants")
COLUMNS = (
    "experiment", "arm", "begin", "end", "load", "seed", *_NAMES, "dropped", "cpu", "memory",
    "commit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """Some cases of an experiment: arms by title, windows by their first day, all when None."""

    experiment: str
    loads: tuple[float, ...] = (1,)
    arms: tuple[str, ...] | None = None
    windows: tuple[int, ...] | None = None


MODELS = ("silos-like", "karmada-dynamic-like", "first-fit-like", "fifo-skip-like", "easy-like",
          "fifo-strict-like")  # fmt: skip
"""The models that the targets name; the others of the file come last."""
OURS = ("global-sched",)
WINDOWS = (91, 77, 63, 7, 49, 35, 21)
"""By their first day, those with few jobs first."""
PHILLY = "philly-windows"


def _windows(load: float, windows: Iterable[int]) -> list[Part]:
    """Window after window: the models, then ours."""
    return [Part(PHILLY, (load,), arms, (one,)) for one in windows for arms in (MODELS, OURS)]


PARTS = (
    *_windows(1, WINDOWS[:1]),
    Part(PHILLY, (1,), ("global-sched, no reclaim", "global-sched, no reservations"), WINDOWS[:1]),
    Part("reclaim"),
    Part("tiers", (6,)),
    *_windows(1, WINDOWS[1:]),
    Part("ablation", (6,)),
    *_windows(1.5, WINDOWS),
    Part("tiers", (4, 8)),
    Part(PHILLY, (1, 1.5)),
    Part(PHILLY, (1.25, 2)),
)
"""In the order in which they are run."""

Key = tuple[str, str, str, str, str, str]
Row = dict[str, str]


def key_of(experiment: str, case: Case) -> Key:
    """What a case is found by among the rows."""
    begin, end = ("", "") if case.window is None else (f"{x:g}" for x in case.window)
    return experiment, case.arm.title, begin, end, f"{case.load:g}", str(case.seed)


def rows() -> list[Row]:
    """The runs that are kept, those of the repository first."""
    found: dict[tuple[str, ...], Row] = {}
    for path in (KEPT, RUNS):
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                found |= {tuple(row[x] for x in COLUMNS[:6]): row for row in csv.DictReader(file)}
    return list(found.values())


@cache
def _experiment(name: str) -> Experiment:
    path = EXPERIMENTS / f"{name}.yaml"
    return parse(path.read_text(encoding="utf-8"), path.name)


@cache
def _prepared(name: str) -> Prepared:
    return prepare(_experiment(name), Reader(EXPERIMENTS))


def _cases(part: Part) -> Iterator[Case]:
    experiment = _experiment(part.experiment)
    windows = [one for one in experiment.windows if part.windows is None or one[0] in part.windows]
    arms = [arm for arm in experiment.arms if part.arms is None or arm.title in part.arms]
    for window in windows or [None]:
        for load in part.loads:
            for arm in arms:
                yield Case(arm, window, load, seed=0)


def planned() -> dict[Key, Case]:
    """Every run once, in order."""
    found: dict[Key, Case] = {}
    for part in PARTS:
        for case in _cases(part):
            found.setdefault(key_of(part.experiment, case), case)
    return found


def run(names: list[str]) -> None:
    """Run what is not kept yet, one after another; of named experiments or arms, where any is."""
    done = {tuple(row[name] for name in COLUMNS[:6]) for row in rows()}
    now = commit()
    for key, case in planned().items():
        if key in done or (names and not {*key[:2]} & {*names}):
            continue
        with quiet_collector():
            began = time.process_time()
            figures = simulate(_prepared(key[0]), case).figures
            cpu = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        values = [getattr(figures, name) for name in _NAMES]
        dropped = len(_prepared(key[0]).dropped)
        _keep([*key, *map(_cell, values), f"{dropped}", f"{cpu:.2f}", f"{memory:.0f}", now])
        print(*key, f"{figures.events} events, {cpu:.0f} s", flush=True)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _keep(cells: list[str]) -> None:
    fresh = not RUNS.exists()
    RUNS.parent.mkdir(exist_ok=True)
    with RUNS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(COLUMNS)
        writer.writerow(cells)


if __name__ == "__main__":
    run(sys.argv[1:])
