"""Verdicts per CPU second of one cycle, on one core, with reasons per cluster for every refusal.

The first cycle counts every shape in every cluster. The live controller's snapshots share what did
not change, and what was counted of an unchanged cluster is kept with it: later cycles are timed
apart, on the same snapshot.
"""

import statistics
from dataclasses import dataclass

from bench.harness import Figure, at_least, at_most, cpu_seconds, quiet_collector, shown
from bench.traces import TraceMissingError
from bench.worlds import NOW, Size, core_world, in_tree
from global_sched.core import run_cycle
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot

POLICY = Policy(admissions_per_cycle=1_000_000)
RUNS = 3
LONE_RUNS = 21
LONE = (
    ("100 clusters, 200 queues", Size(pending=1)),
    ("3 small clusters, 5 queues", Size(pending=1, clusters=3, queues=5, tenants=3, nodes=16)),
)
FILLS = ((0.0, "empty"), (0.9, "90 % full"), (1.0, "full"))


@dataclass(frozen=True, slots=True)
class Rates:
    """Verdicts per second in the first cycle and (median) in later ones, and what they were."""

    first: float
    later: float
    admitted: int
    refused: int


def _rates(world: Snapshot, runs: int) -> Rates:
    plans: list[Plan] = []
    with quiet_collector():
        rates = [_rate(world, plans) for _ in range(runs + 1)]
    plan = plans[-1]
    refused = sum(1 for one in plan.outcomes if len(one.clusters) > 1)
    return Rates(rates[0], statistics.median(rates[1:]), len(plan.admissions), refused)


def _rate(world: Snapshot, plans: list[Plan]) -> float:
    """One cycle; its plan is the last one in the list."""
    plans.clear()
    spent = cpu_seconds(lambda: plans.append(run_cycle(world, POLICY, NOW)))
    return len(plans[0].outcomes) / spent


def _lone(name: str, size: Size) -> Figure:
    """What a cycle costs for one job alone: the latency of a lone binding begins with it."""
    world = core_world(size)
    with quiet_collector():
        run_cycle(world, POLICY, NOW)
        spent = [cpu_seconds(lambda: run_cycle(world, POLICY, NOW)) for _ in range(LONE_RUNS)]
    title = f"run_cycle, 1 pending, {name}, later cycles: median"
    return shown("cycle", title, statistics.median(spent) * 1000, "ms", "CPU time")


def figures() -> list[Figure]:
    """Each fill at 10,000 pending, flat and in a tree, then 100,000 pending against it; one job."""
    found = []
    try:
        for filled, name in FILLS:
            world = core_world(Size(filled=filled))
            rates = _rates(world, RUNS)
            note = (
                f"100 clusters, 200 queues, 100 tenants; {rates.admitted} admitted,"
                f" {rates.refused} refused with reasons per cluster"
            )
            title = f"run_cycle, 10,000 pending, {name}"
            for which, rate in (("first cycle", rates.first), ("later cycles", rates.later)):
                figure = f"{title}, {which}"
                found.append(at_least("cycle", figure, rate, "verdicts/s", 10_000, note))
            tree = _rates(in_tree(world), RUNS)
            figure = f"{title}, queues in a tree of 4 levels, later cycles"
            found.append(at_least("cycle", figure, tree.later, "verdicts/s", 10_000, note))
            large = _rates(core_world(Size(filled=filled, pending=100_000)), 1)
            note = f"later cycles; {large.admitted} admitted, {large.refused} refused"
            title = f"time per verdict at 100,000 pending ÷ at 10,000, {name}"
            found.append(at_most("cycle", title, rates.later / large.later, "×", 1.15, note))
        found += [_lone(*world) for world in LONE]
    except TraceMissingError as error:
        found.append(shown("cycle", "run_cycle", None, "verdicts/s", str(error)))
    return found
