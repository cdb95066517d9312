"""The topology engine: placing one gang under any constraint, rates, big trees, memory."""

import gc
import random
import time
import tracemalloc

from bench.harness import Figure, at_least, at_most, percentile, quiet_collector, shown
from bench.trees import SOFT, gang, hard, kinds_of_gangs, nested, synthetic, workers
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.topology import Topology
from global_sched.shared.placement import Placed, Space

LIMITS = ((1_000, 400, 1.0), (10_000, 300, 5.0), (100_000, 100, 50.0))
"""Nodes, tries per kind of constraint, and the target of p99 in ms."""
OUTSTANDING = 16
"""Gangs that stay placed, so that the room is never the same twice."""


def times_of(space: Space, wanted: Gang, tries: int) -> list[float]:
    """Milliseconds of CPU to place and take, each time after the room has changed."""
    stays = max(2, min(OUTSTANDING, len(space.topology.leaves) // (10 * wanted.pods())))
    times: list[float] = []
    taken: list[Placed] = []
    for _ in range(tries):
        _stir(space)
        start = time.process_time()
        placed = space.place(wanted)
        if isinstance(placed, Placed):
            space.take(placed)
            taken.append(placed)
        times.append((time.process_time() - start) * 1000)
        if len(taken) >= stays or (taken and not isinstance(placed, Placed)):
            space.give_back(taken.pop(0))
    for one in taken:
        space.give_back(one)
    return times


_ONE = gang(workers(1, gpus=1, cpu=1000))


def _stir(space: Space) -> None:
    """Let the room be another one, so that no answer is remembered."""
    placed = space.place(_ONE)
    if isinstance(placed, Placed):
        space.take(placed)
        space.give_back(placed)


def _latencies(nodes: int, tries: int, limit: float) -> list[Figure]:
    """The worst p99 of all kinds of constraints, with each of them shown."""
    space = Space(synthetic(nodes))
    found: dict[str, float] = {}
    with quiet_collector():
        for name, wanted in kinds_of_gangs().items():
            space.place(wanted)  # the tables of a shape are made once
            found[name] = percentile(times_of(space, wanted, tries), 0.99)
    worst = max(found, key=lambda name: found[name])
    ratios = "; ".join(f"{name} {value:.2f}" for name, value in found.items())
    note = f"worst of {len(found)} kinds ({worst}), {tries} tries each, CPU time; {ratios}"
    title = f"one gang of 64, any constraint, {nodes:,} nodes: p99"
    return [at_most("topology", title, found[worst], "ms", limit, note)]


def _one_shape() -> list[Figure]:
    """The row of its own: one shape of 64 pods at 10,000 nodes."""
    space = Space(synthetic(10_000))
    found = []
    for tier in (2, 3):
        wanted = gang(workers(64), constraint=hard(tier))
        space.place(wanted)
        with quiet_collector():
            times = times_of(space, wanted, 400)
        note = "10,000 nodes in 3 tiers, 400 tries, the room changes each time, CPU time"
        title = f"gang of 64, one shape, hard tier {tier}: p99"
        found.append(at_most("topology", title, percentile(times, 0.99), "ms", 2, note))
    return found


def _rate() -> Figure:
    """Place, commit and release, gangs of 8 to 64, one after the other."""
    space = Space(synthetic(10_000))
    draw = random.Random(1)
    sizes = [draw.randint(8, 64) for _ in range(1_500)]
    gangs = {size: gang(workers(size), constraint=SOFT) for size in sorted(set(sizes))}
    space.place(gangs[sizes[0]])
    taken: list[Placed] = []
    with quiet_collector():
        start = time.process_time()
        for size in sizes:
            placed = space.place(gangs[size])
            assert isinstance(placed, Placed), placed
            space.take(placed)
            taken.append(placed)
            if len(taken) >= OUTSTANDING:
                space.give_back(taken.pop(0))
        took = time.process_time() - start
    note = f"10,000 nodes, soft, {len(sizes)} gangs, {OUTSTANDING} stay placed, CPU time, seed 1"
    return at_least(
        "topology", "place + commit + release, gangs of 8-64", len(sizes) / took, "gangs/s",
        5_000, note,
    )  # fmt: skip


def _large() -> Figure:
    """A gang of 100,000 pods over racks that are hardly two alike."""
    space = Space(synthetic(100_000))
    wanted = gang(workers(100_000, gpus=1), constraint=hard(3))
    first = space.place(wanted)
    assert isinstance(first, Placed), first
    assert first.exact
    with quiet_collector():
        times = times_of(space, wanted, 5)
    note = f"100,000 nodes, closest and proven so, on {len(first.takes):,} nodes; median of 5, CPU"
    return shown("topology", "one gang of 100,000", percentile(times, 0.5), "ms", note)


def _scale_story() -> list[Figure]:
    """6,000 nodes under 9,600 HyperNodes: every node, every pair, and every ten have their own."""
    topology = nested(6_000, (1, 2, 10))
    start = time.process_time()
    space = Space(topology)
    first = space.place(gang(workers(64), constraint=SOFT))
    fresh = (time.process_time() - start) * 1000
    assert isinstance(first, Placed), first
    with quiet_collector():
        times = times_of(space, gang(workers(64), constraint=SOFT), 100)
    note = f"{len(topology.domains)} HyperNodes; Volcano: minutes, seconds after a fix; p99 of 100"
    return [
        at_most("topology", "6,000 nodes, 9,600 HyperNodes, one gang of 64",
                percentile(times, 0.99), "ms", 10, note),
        shown("topology", "the same, the tree and its tables made anew", fresh, "ms"),
    ]  # fmt: skip


def _node_change() -> list[Figure]:
    """One node of 100,000 changes its room, with 8 shapes counted; all counts are right again."""
    space = Space(synthetic(100_000))
    shapes = [gang(workers(8, gpus=gpus), constraint=hard(2)) for gpus in range(1, 9)]
    for wanted in (*shapes, _ONE):
        space.place(wanted)
    times: list[float] = []
    with quiet_collector():
        for _ in range(300):
            placed = space.place(_ONE)
            assert isinstance(placed, Placed), placed
            start = time.process_time()
            space.take(placed)
            for wanted in shapes:
                space.glance(wanted)
            times.append((time.process_time() - start) * 1e6)
    middle = percentile(times, 0.5)
    note = f"take on one node, then each of 8 shapes asked; median {middle:.0f}, 300 tries, CPU"
    title = "a node change, 100,000 nodes, 8 shapes: p99"
    return [at_most("topology", title, percentile(times, 0.99), "µs", 200, note)]


def kept_bytes(topology: Topology) -> float:
    """Bytes per node that a Space with 8 shapes keeps beside the topology itself."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    space = Space(topology)
    for gpus in range(1, 9):
        space.place(gang(workers(8, gpus=gpus), constraint=hard(2)))
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / len(space.topology.leaves)


def _memory() -> list[Figure]:
    """What the engine keeps per node; and what the nodes' own leaves take."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    topology = synthetic(100_000)
    gc.collect()
    leaves = (tracemalloc.get_traced_memory()[0] - before) / 100_000
    tracemalloc.stop()
    value = kept_bytes(topology)
    note = "100,000 nodes, 8 shapes counted; tracemalloc, beside the topology's own leaves"
    return [
        at_most("topology", "memory per node in the tree", value, "B", 400, note),
        shown("topology", "memory per node of the topology's leaves", leaves, "B"),
    ]


def figures() -> list[Figure]:
    """Every row of the engine."""
    found = _one_shape()
    for nodes, tries, limit in LIMITS:
        found += _latencies(nodes, tries, limit)
    found.append(_rate())
    found += _node_change()
    found += _scale_story()
    found.append(_large())
    found += _memory()
    return found
