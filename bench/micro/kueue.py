"""Kueue's scheduler test with topology, in process and in virtual time.

640 nodes of 96 CPUs in 10 racks of one block; 5 cohorts of 6 queues with 20 CPUs each, borrowing
within the cohort; 15,000 workloads: small (2 × 500m), medium (4 × 1250m, slices of 2) and large
(8 × 2500m, slices of 4), each required, preferred or balanced over racks. Arrivals, run times and
priorities are Kueue's. Required is a hard constraint on the rack, preferred a soft one; balanced
keeps each slice in a rack. Quota is counted by cohort; everything about nodes is the engine's.
"""

import heapq
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from bench.harness import Figure, at_least, at_most, quiet_collector
from bench.trees import AXIS, SOFT, gang, hard
from global_sched.shared.model.gang import Gang, Partition, PodSet
from global_sched.shared.model.ids import DomainId, PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology
from global_sched.shared.placement import NotPlaced, Placed, Space

RACKS, NODES, COHORTS, QUEUES = 10, 64, 5, 6
NOMINAL = 20_000
"""Milli-CPU of a queue."""
KUEUE_RATE: Final = 37.4
TIMES: Final = 10


@dataclass(frozen=True, slots=True)
class Size:
    """A class of workloads."""

    pods: int
    cpu: int
    slices: int
    counts: tuple[int, int, int]
    """Per queue: required, preferred, balanced."""
    runs: int
    every: int
    """Milliseconds of a run, and between two arrivals."""
    priority: int


SIZES: Final = (
    Size(2, 500, 1, (120, 120, 110), 200, 100, 50),
    Size(4, 1250, 2, (34, 33, 33), 500, 500, 100),
    Size(8, 2500, 4, (17, 17, 16), 1000, 1200, 200),
)
KINDS: Final = ("required", "preferred", "balanced")


@dataclass(slots=True)
class Run:
    """One run of the whole test."""

    space: Space
    used: list[int] = field(default_factory=lambda: [0] * COHORTS)
    waiting: list[dict[int, deque[tuple[int, str]]]] = field(default_factory=list)
    """By cohort and priority: (size, kind), the oldest first."""
    ends: list[tuple[int, int, int, int, Placed]] = field(default_factory=list)
    admitted: int = 0
    last: int = 0
    violations: list[str] = field(default_factory=list)


def _topology() -> Topology:
    """One block of ten racks."""
    racks = [DomainId(f"rack-{rack}") for rack in range(RACKS)]
    block = DomainId("block")
    domains = [
        Domain(name=block, tier=2),
        *(Domain(name=name, tier=1, parent=block) for name in racks),
    ]
    leaves = tuple(
        Leaf(
            domain=name,
            node_class=NodeClass(),
            free=(96_000, 256 << 30, 0, 110),
            count=1,
            node=f"{name}-{node:02d}",
        )
        for name in racks
        for node in range(NODES)
    )
    return Topology(axis=AXIS, domains=tuple(domains), leaves=leaves)


def _gangs() -> dict[tuple[int, str], Gang]:
    found = {}
    for at, size in enumerate(SIZES):
        shape = PodShape(requests=Resources.of({"cpu": size.cpu, "pods": 1}))
        for kind in KINDS:
            partition = None
            if kind == "balanced" and size.slices > 1:
                partition = Partition(
                    size=size.slices, total=size.pods // size.slices, constraint=hard(1)
                )
            pods = PodSet(
                name=PodSetName("main"),
                count=size.pods,
                minimum=size.pods,
                shape=shape,
                partition=partition,
            )
            found[at, kind] = gang(pods, constraint=hard(1) if kind == "required" else SOFT)
    return found


def _arrivals() -> list[tuple[int, int, int, str]]:
    """(time, cohort, size, kind), in order; the kinds of a queue take turns."""
    found = []
    for cohort in range(COHORTS):
        for queue in range(QUEUES):
            for at, size in enumerate(SIZES):
                left = dict(zip(KINDS, size.counts, strict=True))
                number = 0
                while any(left.values()):
                    for kind in KINDS:
                        if left[kind]:
                            left[kind] -= 1
                            found.append((number * size.every, cohort, queue, at, kind))
                            number += 1
    return [(when, cohort, at, kind) for when, cohort, _, at, kind in sorted(found)]


def _admit(run: Run, now: int, gangs: dict[tuple[int, str], Gang]) -> None:
    """Whatever quota and nodes allow, the highest priority first."""
    for cohort, lines in enumerate(run.waiting):
        for priority in sorted(lines, reverse=True):
            line = lines[priority]
            while line:
                at, kind = line[0]
                size = SIZES[at]
                need = size.pods * size.cpu
                if run.used[cohort] + need > NOMINAL * QUEUES:
                    break
                placed = run.space.place(gangs[at, kind])
                if isinstance(placed, NotPlaced):
                    break
                line.popleft()
                run.space.take(placed)
                run.used[cohort] += need
                run.admitted += 1
                _check(run, at, kind, placed)
                end = (now + size.runs, run.admitted, cohort, need, placed)
                heapq.heappush(run.ends, end)


def _check(run: Run, at: int, kind: str, placed: Placed) -> None:
    """Hold a placement against its workload's rule."""
    size, leaves = SIZES[at], run.space.topology.leaves
    racks = [
        str(leaves[take.leaf].domain)
        for take in placed.takes
        for _ in range(take.nodes * take.pods_per_node)
    ]
    if len(racks) != size.pods:
        run.violations.append(f"{len(racks)} of {size.pods} pods")
    elif kind == "required" and len(set(racks)) > 1:
        run.violations.append(f"required in {sorted(set(racks))}")
    elif kind == "balanced" and any(n % size.slices for n in Counter(racks).values()):
        run.violations.append(f"slices of {size.slices} in {racks}")


def _drain() -> Run:
    """All arrivals, and until the last workload has ended."""
    gangs = _gangs()
    run = Run(space=Space(_topology()))
    run.waiting = [{size.priority: deque() for size in SIZES} for _ in range(COHORTS)]
    arrivals = deque(_arrivals())
    while arrivals or run.ends:
        times = [arrivals[0][0]] if arrivals else []
        now = min([*times, run.ends[0][0]] if run.ends else times)
        while arrivals and arrivals[0][0] == now:
            _, cohort, at, kind = arrivals.popleft()
            run.waiting[cohort][SIZES[at].priority].append((at, kind))
        while run.ends and run.ends[0][0] == now:
            _, _, cohort, need, placed = heapq.heappop(run.ends)
            run.space.give_back(placed)
            run.used[cohort] -= need
        _admit(run, now, gangs)
        run.last = now
    return run


def figures() -> list[Figure]:
    """Workloads per second of CPU time, and how often a rule was broken."""
    with quiet_collector():
        start = time.process_time()
        run = _drain()
        took = time.process_time() - start
    note = (
        f"{run.admitted} workloads placed and released on {RACKS * NODES} nodes in {took:.1f} s of "
        f"CPU; drained in {run.last / 1000:.0f} s of virtual time (Kueue: 401 s of real time)"
    )
    return [
        at_least("kueue", "Kueue's topology shape", run.admitted / took, "workloads/s",
                 KUEUE_RATE * TIMES, note),
        at_most("kueue", "Kueue's topology shape: broken rules", len(run.violations), "", 0,
                "; ".join(run.violations[:3])),
    ]  # fmt: skip
