"""CPU time of one cycle on one core, in federations in which 20,000 gangs run.

A cycle is timed three times: as it is, with nothing that waits (its setup), and without searches.
What is over the setup is what verdicts cost; a refusal is measured where nothing is admitted, and
an admission is what is left where most are. The first cycle of a process counts every shape in
every cluster; the live controller keeps that with the clusters, so the cycles after it are timed.
Growth is the slope between logarithms of time and size: 1 is proportional.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bench.busy import busy_world, with_usage
from bench.harness import Figure, at_least, at_most, cpu_seconds, quiet_collector, shown
from bench.traces import TraceMissingError
from bench.worlds import NOW, Size, core_world
from global_sched.core import run_cycle
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot

POLICY: Final = Policy(admissions_per_cycle=1_000_000)
CALM: Final = replace(POLICY, searches_per_cycle=0)
"""Without searches for victims."""
RUNS: Final = 3
LONE_RUNS: Final = 21
FILLS: Final = ((0.0, "empty"), (0.9, "90 % full"), (1.0, "full"))
PENDING: Final = (1_000, 10_000, 100_000)
QUEUES: Final = (10, 100, 1_000, 5_000)
ENTRIES: Final = (2_000, 20_000, 100_000)
CLUSTERS: Final = (10, 100, 1_000)
LONE: Final = (
    ("100 clusters, 200 queues", Size(pending=1, filled=0.9), 20_000),
    ("3 small clusters, 5 queues", Size(pending=1, clusters=3, queues=5, tenants=3, nodes=16), 60),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of a later cycle (median), those of the same without anything that waits."""

    whole: float
    setup: float
    plan: Plan

    @property
    def verdicts(self) -> float:
        """Seconds beyond the setup."""
        return max(self.whole - self.setup, 1e-9)

    @property
    def each(self) -> float:
        """Seconds per verdict."""
        return self.verdicts / len(self.plan.outcomes)

    @property
    def said(self) -> str:
        """How the verdicts went."""
        admitted = len(self.plan.admissions)
        return f"{admitted} admitted, {len(self.plan.outcomes) - admitted} refused"


def cost(world: Snapshot, policy: Policy = CALM, runs: int = RUNS) -> Cost:
    """What a cycle of this world costs."""
    plans: list[Plan] = []

    def cycle() -> None:
        plans[:] = [run_cycle(world, policy, NOW)]

    with quiet_collector():
        cycle()
        whole = statistics.median(cpu_seconds(cycle) for _ in range(runs))
        return Cost(whole, setup(world, policy, runs), plans[0])


def setup(world: Snapshot, policy: Policy = CALM, runs: int = RUNS) -> float:
    """CPU seconds of a cycle in which nothing waits."""
    idle = replace(world, pending=())
    run_cycle(idle, policy, NOW)
    return statistics.median(cpu_seconds(lambda: run_cycle(idle, policy, NOW)) for _ in range(runs))


def slope(sizes: Iterable[int], seconds: Iterable[float]) -> float:
    """The least-squares slope between logarithms."""
    found, _ = np.polyfit(np.log(list(sizes)), np.log(list(seconds)), 1)
    return float(found)


def _verdicts() -> list[Figure]:
    """Refusals and admissions apart, at 10,000 pending."""
    costs = {name: cost(busy_world(Size(filled=filled))) for filled, name in FILLS}
    full, empty, crowded = (costs[name] for name in ("full", "empty", "90 % full"))

    def admission(one: Cost) -> float:
        """Microseconds of an admission: what refusals do not cost."""
        refused = len(one.plan.outcomes) - len(one.plan.admissions)
        return (one.verdicts - refused * full.each) / max(1, len(one.plan.admissions)) * 1e6

    found = [
        at_least("cycle", "refusals", 1 / full.each, "/s", 20_000, f"full: {full.said}"),
        at_most("cycle", "an admission", admission(empty), "µs", 500, f"empty: {empty.said}"),
        shown("cycle", "an admission, 90 % full", admission(crowded), "µs", crowded.said),
        shown("cycle", "verdicts, 90 % full", 1 / crowded.each, "/s", crowded.said),
    ]
    found += [
        shown("cycle", f"setup of a cycle, {name}", one.setup * 1000, "ms")
        for name, one in costs.items()
    ]
    return found


def _grown(name: str, sizes: tuple[int, ...], costs: list[Cost], *, whole: float) -> list[Figure]:
    """How a cycle and a verdict grow; the times are in the note."""
    times = ", ".join(
        f"{size:,}: {one.whole * 1000:,.0f} ms ({one.said})"
        for size, one in zip(sizes, costs, strict=True)
    )
    total = slope(sizes, [one.whole for one in costs])
    if name == "clusters":
        return [at_most("cycle", f"slope of a cycle over {name}", total, "", whole, times)]
    each = slope(sizes, [one.each for one in costs])
    found = [at_most("cycle", f"slope of a verdict over {name}", each, "", 0.15, times)]
    if name == "pending":
        found.insert(0, at_most("cycle", f"slope of a cycle over {name}", total, "", whole, times))
    return found


def _growth() -> list[Figure]:
    """A cycle of a full federation against each size, in which all are refused."""
    full = Size(filled=1.0)
    busy = busy_world(replace(full, pending=2_000))
    return [
        *_grown(
            "pending",
            PENDING,
            [cost(busy_world(replace(full, pending=one)), runs=1) for one in PENDING],
            whole=1.15,
        ),
        *_grown(
            "queues",
            QUEUES,
            [cost(busy_world(replace(full, pending=2_000, queues=one))) for one in QUEUES],
            whole=1.15,
        ),
        *_grown("usage", ENTRIES, [cost(with_usage(busy, one)) for one in ENTRIES], whole=1.15),
        *_grown(
            "clusters",
            CLUSTERS,
            [
                cost(
                    busy_world(replace(full, pending=2_000, clusters=one, nodes=32), 60 * one),
                    runs=1,
                )
                for one in CLUSTERS
            ],
            whole=1.0,
        ),
    ]


def _contention() -> list[Figure]:
    """What searches and reservations add."""
    world = busy_world(Size(filled=1.0, pending=2_000))
    calm, searched = cost(world), cost(world, POLICY)
    title = "a cycle with 16 searches ÷ without"
    note = f"{len(searched.plan.claims)} claims; {calm.whole * 1000:,.0f} ms without"
    found = [at_most("cycle", title, searched.whole / calm.whole, "×", 2, note)]
    small = busy_world(Size(filled=0.9, pending=2_000, clusters=10), 2_000)
    without, kept = cost(small, replace(CALM, patience_seconds=0)), cost(small)
    title = "10 clusters, 2,000 pending, 90 % full: with reservations ÷ without"
    note = f"{without.whole * 1000:,.0f} ms without"
    found.append(at_most("cycle", title, kept.whole / without.whole, "×", 1.3, note))
    tight = core_world(Size(filled=0.9, pending=2_000, clusters=10))
    without, kept = cost(tight, replace(CALM, patience_seconds=0)), cost(tight)
    title = "the same without running gangs, CPUs and memory full as well"
    note = f"{kept.said}; {without.whole * 1000:,.0f} ms without"
    found.append(at_most("cycle", title, kept.whole / without.whole, "×", 1.3, note))
    wide = with_usage(busy_world(Size(filled=0.9, pending=0, queues=1_000)), 100_000)
    title = "setup of a cycle: nothing pending, 100,000 usage entries, 1,000 queues"
    found.append(at_most("cycle", title, setup(wide) * 1000, "ms", 10))
    return found


def _lone(name: str, size: Size, gangs: int) -> Figure:
    """What a cycle costs for one job alone: the latency of a lone binding begins with it."""
    found = cost(busy_world(size, gangs), POLICY, LONE_RUNS)
    title = f"a cycle, 1 pending, {name}: median"
    return shown("cycle", title, found.whole * 1000, "ms", "CPU time")


def figures() -> list[Figure]:
    """Verdicts, growth, contention, and one job alone."""
    try:
        return [*_verdicts(), *_growth(), *_contention(), *(_lone(*one) for one in LONE)]
    except TraceMissingError as error:
        return [shown("cycle", "run_cycle", None, "/s", str(error))]
