"""`python -m bench.simulated_page`: docs/benchmarks/simulated.md and its plots, from kept runs."""

import csv
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from bench.harness import machine
from bench.simulated import COLUMNS, KEPT, PAGES, PHILLY, Row, planned, rows
from global_sched.sim.plots import pyplot

SILOS, STRICT, EARLY = "silos-like", "fifo-strict-like", "karmada-dynamic-like"
OURS = "global-sched"
FEDERATED = ("first-fit-like", "fifo-skip-like", EARLY, "easy-like", "volcano-global-like")
"""Models that share all clusters and know no durations beyond their own estimates."""
COLOURS = (OURS, EARLY, "fifo-skip-like", "easy-like", STRICT, SILOS)
"""Arms of the plots, each in its own colour."""
POOLED = "one pool, fifo-skip-like"
BACKFILL = ("fifo-skip-like", "easy-like", "first-fit-like")
HEAD = """# The simulator's figures

What this scheduler does with public traces, beside models of others, in virtual time: see
[the simulator](../simulator.md) for what is modelled, and how it is held against known results
(`gsched simulate --check`). Baselines are models, hence "-like". Figures of single runs, without
another seed; every run is a row of [simulated.csv](simulated.csv).

- Command: `.venv/bin/python -m bench.simulated` (hours; it can be stopped and goes on where it
  was), then `.venv/bin/python -m bench.simulated_page`.
- Machine: {machine}. Times of the speed table are CPU times beside other programs.
- Commits: {commits}.
- Comparable in kind with iFlytek's figures, not a reproduction: their baseline is unknown.

"""

PHILLY_TEXT = """\
82,247 jobs of eleven virtual clusters of Microsoft (CC BY 4.0), cut into seven windows of fourteen
days from day 7 on; each starts empty and runs until its last job has ended. Four clusters of 16
nodes of 8 GPUs, 512 GPUs in all, against one cluster for each tenant: 65 nodes, 520 GPUs, in the
ratio of the virtual clusters' real sizes, so that 1.6 % of each gain over silos is one node more
that they have. Jobs that some arm can never run are dropped from all arms alike, so each row has
the same jobs in all columns. "Asked for" is GPU time that is asked for within the window ÷ what
there is. Gains are of goodput, in which work that evictions undid does not count. All arms decide
once a minute: a job waits for half a minute where there is room, too. Ours does not know how long
jobs run; EASY and SJF know it exactly. Big gangs have more than 8 GPUs.

"""
KALOS_TEXT = """\
The 319 jobs of the Kalos LLM cluster (CC BY 4.0) four to eight times as dense as they came, on two
clusters of 152 hosts in the racks of a Lingjun cluster (Apache-2.0). A gang of several pods must
lie in the lowest tier that can hold it. The trace names no tenants, so there are no silos: gains
are over early binding.

"""
ABLATION_TEXT = """\
Kalos at six times its density, with four tenants and elastic gangs of 16 pods and more
(`examples/experiments/ablation.yaml` says what of that is assumed). Each row has one part switched
off; the first is the model of early binding. Reclaim costs more here than any other part is worth:
gangs of hundreds of GPUs have no checkpoints, so that a few evictions undo more than a day of the
whole federation. Without it ours has the goodput of full sharing and waits little more than half as
long as early binding. With reclaim, a row with another part off is better than the one with all on
because less work is lost; the last rows have reclaim off, too. There late binding halves the mean
wait, and surplus brings 4 % of goodput. Hard tiers cost a fifth of the mean wait; reservations cost
a seventh and bring big gangs nothing here. Where reclaim may undo no more than 24 GPU hours of a
gang, it takes none of these: the goodput is that without it, and the mean wait a fifth longer.

"""
RECLAIM_TEXT = """\
One week of Philly (1,549 jobs) on the four clusters. Traces know of no checkpoints, so an evicted
job does all its work again. At the defaults reclaim brings the mean wait from minutes to seconds,
and loses goodput by it: ten jobs that ran for 100 to 280 hours and had borrowed their place for 33
to 88 of them make nine tenths of the GPU hours that are lost. The victim that has least to lose
goes first, but where only such jobs hold what others are owed, one of them goes. A minimum run time
makes it worse: it spares those that have just begun, and takes those that have run for long. With a
checkpoint each hour a hundredth of the goodput is lost, and the waits are as short. Where jobs
write none, a Queue can say that it gives nothing back (`spec.reclaimable: false`), or the Policy
that a gang with much to lose is not taken (`reclaimLossLimitGpuHours`). At 24 GPU hours goodput is
that without reclaim, and the mean wait lies between the two; big gangs wait as without reclaim.

"""
SPEED_TEXT = """\
A window takes 4 to 6 s where 1,562 jobs come in it, 38 to 209 s where 5,000 to 12,000 do, and 249
to 1,111 s where hundreds wait all the time (days 21, 35 and 49 on). Ours misses its targets on this
machine, where other programs took most of both cores: CPU times are up to twice those of an idle
one. Side by side on one core, with equal results, commits d447b9e8 and e9a134f3 took 1.5 and 1.3 s
for the first 600 events of the Philly week, and 8.2 and 5.5 s for 2,600 events of a burst in which
up to 400 jobs wait. Nearly all the time is the shipped cycle. Most cycles of a Philly week have one
job that waits and is admitted; such a cycle costs 3 to 5 ms here, spread over the tree of queues,
its division, the room of the clusters that changed, and the choice among them, without one function
that has a tenth. Where hundreds wait, a third of a cycle is the search for gangs that might leave,
and a tenth reads again which gang sits where. A core whose cost follows what changed would be
needed.

"""
MISSES_TEXT = """\
A target counts as met where every place that was run meets it. The misses:

- **Goodput.** Reclaim gives queues what they are owed, and jobs of this trace have no checkpoints:
  what an evicted one has done it does again. So ours has less goodput at its defaults than models
  that share and never evict, though its nodes are as busy; in the windows from days 21 and 49 at
  twice their load, where queues owe each other all the time, even less than one cluster for each
  tenant. Where reclaim may undo no more than 24 GPU hours of a gang (the Policy's
  `reclaimLossLimitGpuHours: 24`) it has the goodput of full sharing, or nearly so, in each window
  in which that was run (table below); big gangs wait longer for it in some and less in others. Set
  that, or let jobs write checkpoints.
- **Kalos at eight times its density.** Reservations hold room for big gangs, which lies idle until
  all of it is there, and ours does not know when jobs end. Without them goodput is 0.596 and the
  mean wait 26,618 s, below the best backfill's; at four and six times its density they change
  nothing. They bring the big gangs of this trace nothing.
- **Mean wait.** Ours waits longer than the best backfill in the window from day 91 at each load, in
  that from day 63 at load 1.25, and in Kalos at eight times its density. In the first it is one
  burst of 400 jobs on the fourth day. Most of that is reclaim, and not the work that its victims do
  again: with a sixth of this work (at most 24 GPU hours of a gang) the wait is as long. Without
  reclaim it is 1,672 s at load 1, beside 962 with first fit. The wait is more than half of early
  binding's in all these places, in the window from day 63 at higher loads, and in that from day 35
  at load 1 (0.51).
- **Big gangs.** In the window from day 77 at load 1 they wait longer than with skipping, which
  starves none there; and so they do in that from day 63 at loads 1.5 and 2, and in Kalos at eight
  times its density. Backfill in one pool of all nodes, which needs no rack and no cluster to be
  free, is quicker for them in seven places, six of them in the windows from days 63 and 77. Why was
  not looked into.

"""
Place = tuple[str, str, str]
"""Begin and end of the window, and the load."""
Runs = dict[str, Row]
"""The rows of one place, by arm."""


def number(row: Row | None, name: str) -> float | None:
    """A figure of a run; None where there is none."""
    return None if row is None or not row[name] else float(row[name])


def places(experiment: str) -> dict[Place, Runs]:
    """The runs of an experiment by place, those first that come first."""
    found: dict[Place, Runs] = {}
    for row in rows():
        if row["experiment"] == experiment:
            found.setdefault((row["begin"], row["end"], row["load"]), {})[row["arm"]] = row
    return dict(sorted(found.items(), key=lambda one: tuple(float(x or 0) for x in one[0][::-1])))


def best(runs: Runs, names: Sequence[str], figure: str, *, most: bool) -> tuple[str, float] | None:
    """The arm of these that does best."""
    values = [(v, n) for n in names if (v := number(runs.get(n), figure)) is not None]
    if not values:
        return None
    value, name = max(values) if most else min(values)
    return name, value


def gain(runs: Runs, arm: str, against: str, figure: str = "goodput") -> float | None:
    """How much more goodput than another arm's, or utilisation."""
    own, other = number(runs.get(arm), figure), number(runs.get(against), figure)
    return None if own is None or not other else own / other - 1


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; words in its place where it has no line."""
    if not lines:
        return "Not run yet.\n\n"
    text = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in text) + "\n\n"


def seconds(value: float | None) -> str:
    """A time."""
    return "-" if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A gain."""
    return "-" if value is None else f"{value:+.1%}"


def spread(values: Sequence[float], form: Callable[[float], str]) -> str:
    """Median, lowest and highest."""
    if not values:
        return "none was run"
    low, high = form(min(values)), form(max(values))
    return f"{form(median(values))} [{low}, {high}] of {len(values)}"


def shown(value: float | None, form: str = "{:.3f}") -> str:
    """Any figure."""
    return "-" if value is None else form.format(value)


# --- E1 ---------------------------------------------------------------------------------------


def _e1_line(place: Place, runs: Runs, base: str) -> list[str]:
    own = runs.get(OURS)
    federated = best(runs, FEDERATED, "goodput", most=True)
    backfill = best(runs, BACKFILL, "wait", most=False)
    some = next(iter(runs.values()))
    where = f"days {place[0]}-{place[1]}, " if place[0] else ""
    return [
        f"{where}load {place[2]}",
        f"{int(some['jobs']):,}",
        shown(number(some, "offered"), "{:.2f}"),
        shown(number(own, "goodput")),
        percent(gain(runs, OURS, base)),
        percent(gain(runs, OURS, base, "utilisation")),
        "-" if federated is None else f"{percent(gain(runs, federated[0], base))} {federated[0]}",
        seconds(number(own, "wait")),
        seconds(number(runs.get(EARLY), "wait")),
        "-" if backfill is None else f"{seconds(backfill[1])} {backfill[0]}",
        seconds(number(own, "wait_big")),
        seconds(number(runs.get("fifo-skip-like"), "wait_big")),
        seconds(number(runs.get(STRICT), "wait_big")),
        shown(number(own, "jain")),
        shown(number(own, "evictions"), "{:.0f}"),
    ]


E1 = ("place", "jobs", "asked for", "goodput, ours", "gain, ours", "of utilisation",
      "best federated model's gain", "mean wait s, ours", "early binding", "best backfill",
      "big gangs s, ours", "backfill", "strict FIFO", "Jain, ours", "evicted")  # fmt: skip


def e1(experiment: str, base: str) -> str:
    """One row for each place, and medians."""
    return table(E1, [_e1_line(place, runs, base) for place, runs in places(experiment).items()])


def headline() -> str:
    """The gain with its worst window and the best federated model beside it."""
    found = [runs for runs in places(PHILLY).values() if OURS in runs]
    own = [g for runs in found if (g := gain(runs, OURS, SILOS)) is not None]
    busy = [g for runs in found if (g := gain(runs, OURS, SILOS, "utilisation")) is not None]
    if not own:
        return ""
    federated = [
        g
        for runs in found
        if (one := best(runs, FEDERATED, "goodput", most=True))
        and (g := gain(runs, one[0], SILOS)) is not None
    ]
    return (
        f"**Goodput against one cluster for each tenant: {min(own):+.0%} in the worst of "
        f"{len(own)} windows and loads, {median(own):+.0%} in the median, {max(own):+.0%} in the "
        f"best; the best federated model of each: {min(federated):+.0%}, {median(federated):+.0%}, "
        f"{max(federated):+.0%}.** Nodes are as busy with ours: utilisation, in which work that "
        f"evictions undid counts, is {min(busy):+.0%}, {median(busy):+.0%}, {max(busy):+.0%}. "
        "Sharing gives the gain under any scheduler; waits and the order of tenants are what "
        "schedulers differ in.\n\n"
    )


# --- other tables -----------------------------------------------------------------------------

PLAIN = ("arm", "goodput", "utilisation", "mean wait s", "big gangs s", "mean JCT s", "Jain",
         "evicted", "GPU hours lost", "misplaced")  # fmt: skip


def plain(experiment: str) -> str:
    """One row for each arm of an experiment with one place."""
    lines = [
        [
            name,
            shown(number(row, "goodput")),
            shown(number(row, "utilisation")),
            seconds(number(row, "wait")),
            seconds(number(row, "wait_big")),
            seconds(number(row, "jct")),
            shown(number(row, "jain")),
            row["evictions"],
            seconds(number(row, "lost_gpu_hours")),
            row["misplaced"],
        ]
        for runs in places(experiment).values()
        for name, row in runs.items()
    ]
    return table(PLAIN, lines)


def variants() -> str:
    """Ours with one part off beside ours, in the windows in which both were run."""
    lines = [
        [
            f"days {begin}-{end}, load {load}",
            name,
            shown(number(row, "goodput")),
            seconds(number(row, "wait")),
            seconds(number(row, "wait_big")),
            row["evictions"],
            seconds(number(row, "lost_gpu_hours")),
        ]
        for (begin, end, load), runs in places(PHILLY).items()
        for name, row in sorted(runs.items())
        if name.startswith(OURS) and any(one.startswith(f"{OURS},") for one in runs)
    ]
    head = ("place", "arm", "goodput", "mean wait s", "big gangs s", "evicted", "GPU hours lost")
    return table(head, lines)


def _rate(row: Row) -> float:
    return float(row["events"]) / max(0.01, float(row["cpu"]))


def speed() -> str:
    """Events for each second of CPU time."""
    found = [row for row in rows() if int(row["events"]) > 1000]
    ours = [row for row in found if int(row["cycles"])]
    models = [row for row in found if not int(row["cycles"])]
    fortnights = [float(row["cpu"]) for row in ours if row["experiment"] == PHILLY]
    lines = [
        ["ours, events/s", spread([_rate(row) for row in ours], "{:,.0f}".format), "≥ 500"],
        ["models, events/s", spread([_rate(row) for row in models], "{:,.0f}".format), "≥ 5,000"],
        ["14 days of Philly, ours, s", spread(fortnights, "{:,.0f}".format), "≤ 60"],
        ["memory of the process, MB", f"{max((int(r['memory']) for r in found), default=0)}", ""],
    ]
    return table(("figure", "median [lowest, highest] of runs", "target"), lines)


def targets() -> str:
    """Each target against every place that was run."""
    found = [
        (place, runs)
        for name in (PHILLY, "tiers")
        for place, runs in places(name).items()
        if OURS in runs
    ]

    def ratio(names: Sequence[str], figure: str) -> list[float]:
        values = []
        for _, runs in found:
            other = best(runs, names, figure, most=False)
            own = number(runs[OURS], figure)
            if other and other[1] and own is not None:
                values.append(own / other[1])
        return values

    lines = []
    for text, values, limit, most in (
        ("mean wait ÷ early binding's", ratio((EARLY,), "wait"), 0.5, True),
        ("mean wait ÷ the best backfill's", ratio(BACKFILL, "wait"), 1.1, True),
        ("wait of big gangs ÷ pooled backfill's", ratio((POOLED,), "wait_big"), 1.0, True),
        ("wait of big gangs ÷ backfill's", ratio(("fifo-skip-like",), "wait_big"), 1.0, True),
        ("Jain's index", [v for _, r in found if (v := number(r[OURS], "jain")) is not None], 0.8,
         False),
    ):  # fmt: skip
        met = sum(v <= limit if most else v >= limit for v in values)
        sign = "≤" if most else "≥"
        said = "yes" if met == len(values) else f"**in {met} of {len(values)}**"
        said = said if values else "-"
        lines.append([text, spread(values, "{:.2f}".format), f"{sign} {limit:g}", said])
    ours = [row for row in rows() if int(row["cycles"])]
    misplaced = sum(int(row["misplaced"]) for row in ours)
    events = sum(int(row["events"]) for row in ours)
    lines.append(
        ["decisions that no member could bind", f"{misplaced} in {events:,} events", "0",
         "**no**" if misplaced else "yes"]
    )  # fmt: skip
    return table(("target", "median [lowest, highest] of places", "limit", "met"), lines)


def missing() -> str:
    """What was planned and not run, windows that lack the same arms together."""
    done = {tuple(row[name] for name in COLUMNS[:6]) for row in rows()}
    of_place: dict[tuple[str, str, str], list[str]] = {}
    for key in planned():
        if key not in done:
            window = f"{key[2]}-{key[3]}" if key[2] else ""
            of_place.setdefault((key[0], key[4], window), []).append(key[1])
    windows: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (experiment, load, window), arms in of_place.items():
        windows.setdefault((experiment, load, tuple(sorted(arms))), []).append(window)
    lines = []
    for (experiment, load, arms), those in sorted(windows.items()):
        days = f", days {', '.join(those)}" if those[0] else ""
        lines.append([experiment, f"load {load}{days}", "; ".join(arms)])
    return table(("experiment", "place", "arms"), lines) if lines else "Nothing.\n"


def dropped(experiment: str) -> str:
    """How many jobs of the whole trace no arm gets."""
    counts = {row["dropped"] for row in rows() if row["experiment"] == experiment}
    if not counts:
        return ""
    return f"Jobs of the whole trace that are dropped from all arms: {', '.join(counts)}.\n\n"


# --- plots ------------------------------------------------------------------------------------


def _bars(plt: Any, name: str, arms: Sequence[str], value: Callable[[Runs, str], Any]) -> None:
    """A panel for each load, and a group of bars in it for each window."""
    found = {place: runs for place, runs in places(PHILLY).items() if OURS in runs}
    loads = sorted({load for _, _, load in found}, key=float)
    figure, panels = plt.subplots(
        len(loads), 1, figsize=(9, 0.8 + 1.8 * len(loads)), sharey=True, squeeze=False
    )
    width = 0.8 / len(arms)
    for load, axes in zip(loads, panels[:, 0], strict=True):
        here = {place: runs for place, runs in found.items() if place[2] == load}
        for at, arm in enumerate(arms):
            spots = [one + at * width for one in range(len(here))]
            heights = [value(runs, arm) or 0 for runs in here.values()]
            axes.bar(spots, heights, width, label=arm, color=f"C{COLOURS.index(arm)}")
        labels = [f"days {begin}-{end}" for begin, end, _ in here]
        axes.set_xticks([one + 0.4 - width / 2 for one in range(len(here))], labels, fontsize=8)
        axes.set_ylabel(f"load {load}", fontsize=8)
        axes.set_axisbelow(True)
        axes.grid(axis="y", linewidth=0.4)
        if name == "waits":
            axes.set_yscale("log")
        else:
            axes.axhline(0, color="black", linewidth=0.8)
    title = "mean wait, s" if name == "waits" else "goodput, gain over silos-like, %"
    figure.suptitle(title, x=0.02, ha="left", fontsize=9)
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="upper right", ncols=len(arms), fontsize=7)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    path = PAGES / f"simulated-{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def pictures() -> str:
    """The plots, where any window was run with ours."""
    if not any(OURS in runs for runs in places(PHILLY).values()):
        return ""
    draw()
    return "![Gains](simulated-gains.svg)\n\n![Waits](simulated-waits.svg)\n\n"


def draw() -> None:
    """Gains and waits by window."""
    plt = pyplot()
    arms = COLOURS[:-1]
    _bars(plt, "gains", arms, lambda runs, arm: 100 * (gain(runs, arm, SILOS) or 0))
    _bars(plt, "waits", COLOURS, lambda runs, arm: number(runs.get(arm), "wait"))


# --- the page ---------------------------------------------------------------------------------


def page() -> str:
    """The whole page."""
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows()))
    parts = (
        HEAD.format(machine=machine(), commits=commits),
        headline(),
        "## Philly: seven windows of fourteen days\n\n",
        PHILLY_TEXT,
        e1(PHILLY, SILOS),
        dropped(PHILLY),
        pictures(),
        "## Kalos: large gangs on real racks, hard tiers\n\n",
        KALOS_TEXT,
        e1("tiers", EARLY),
        dropped("tiers"),
        "## Targets\n\n",
        targets(),
        MISSES_TEXT,
        variants(),
        "## What each part is worth\n\n",
        ABLATION_TEXT,
        plain("ablation"),
        "## Reclaim, and jobs without checkpoints\n\n",
        RECLAIM_TEXT,
        plain("reclaim"),
        "## Speed\n\n",
        speed(),
        SPEED_TEXT,
        "## What was not run\n\n",
        missing(),
    )
    return "".join(parts)


def keep() -> None:
    """Join the runs of `build` with those of the repository."""
    found = rows()
    with KEPT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    keep()
    (PAGES / "simulated.md").write_text(page(), encoding="utf-8")
