"""Verdicts per CPU second of one cycle, on one core, with reasons per cluster for every refusal."""

import statistics

from bench.harness import Figure, at_least, at_most, cpu_seconds, quiet_collector, shown
from bench.traces import TraceMissingError
from bench.worlds import NOW, Size, core_world
from global_sched.core import run_cycle
from global_sched.shared.model.policy import Policy

POLICY = Policy(admissions_per_cycle=1_000_000)
RUNS = 3
FILLS = ((0.0, "empty"), (0.9, "90 % full"), (1.0, "full"))


def _rate(size: Size, runs: int) -> tuple[float, int]:
    """Verdicts per second (median), and how many of them were refusals."""
    world = core_world(size)
    plan = run_cycle(world, POLICY, NOW)
    refused = sum(1 for one in plan.outcomes if one.clusters)
    with quiet_collector():
        rates = [
            len(plan.outcomes) / cpu_seconds(lambda: run_cycle(world, POLICY, NOW))
            for _ in range(runs)
        ]
    return statistics.median(rates), refused


def figures() -> list[Figure]:
    """Each fill at 10,000 pending, then 100,000 pending against it."""
    found = []
    try:
        for filled, name in FILLS:
            rate, refused = _rate(Size(filled=filled), RUNS)
            note = f"100 clusters, 200 queues, 100 tenants; {refused} outcomes with reasons"
            title = f"run_cycle, 10,000 pending, {name}"
            found.append(at_least("cycle", title, rate, "verdicts/s", 10_000, note))
            large, _ = _rate(Size(filled=filled, pending=100_000), 1)
            title = f"time per verdict at 100,000 pending ÷ at 10,000, {name}"
            found.append(at_most("cycle", title, rate / large, "×", 1.15))
    except TraceMissingError as error:
        found.append(shown("cycle", "run_cycle", None, "verdicts/s", str(error)))
    return found
