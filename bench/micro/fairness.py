"""Kueue's scheduler test in process with a virtual clock: cohorts of queues, quota the only limit.

The baseline has 5 cohorts of 6 queues and 15,000 workloads, the large one 10 of 100 and 50,000.
Every queue deserves 20 CPUs and may borrow 100; arrivals, run times and priorities are Kueue's.
Everything goes through `run_cycle` with all that waits in every snapshot. Nothing is preempted: the
work that is lost so is lost to the drain, too. A cycle runs every 250 ms if anything came or
ended; the clock stands still meanwhile, so the virtual time says how good the decisions are and the
admissions per CPU second say how fast they are made.
"""

import heapq
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from bench.harness import Figure, at_least, at_most, quiet_collector
from global_sched.core import run_cycle
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.gang import Gang, PodSet
from global_sched.shared.model.ids import (
    MAIN,
    BindingId,
    ClusterName,
    QueueName,
    TenantName,
    WorkloadKey,
    workload_key,
)
from global_sched.shared.model.instant import Instant, parse_instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue, Usage
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.snapshot import Bucket, Snapshot
from global_sched.shared.model.topology import Leaf, NodeClass, Topology
from global_sched.shared.model.workload import Demand, Workload

BEGIN: Final = parse_instant("2026-01-31T12:00:00Z")
POOL: Final = ClusterName("pool")
TEAM: Final = TenantName("team")
KIND: Final = ("batch.volcano.sh/v1alpha1", "Job")
NOMINAL: Final = 20_000
TICK_MS: Final = 250
POLICY: Final = Policy(admissions_per_cycle=1_000_000, searches_per_cycle=0, patience_seconds=0)


@dataclass(frozen=True, slots=True)
class Kind:
    """One class of workloads of a queue: how many of how many CPUs, for how long, how often."""

    count: int
    cpus: int
    run_ms: int
    priority: int
    every_ms: int


@dataclass(frozen=True, slots=True)
class Shape:
    """One configuration of the test."""

    name: str
    cohorts: int
    queues: int
    kinds: tuple[Kind, ...]
    floor_seconds: float
    kueue_seconds: float


BASELINE = Shape(
    "baseline",
    5,
    6,
    (
        Kind(50, 20, 1000, 200, 1200),
        Kind(100, 5, 500, 100, 500),
        Kind(350, 1, 200, 50, 100),
    ),
    66.0,
    351.1,
)
LARGE = Shape(
    "large-scale",
    10,
    100,
    (Kind(4, 20, 700, 200, 700), Kind(11, 5, 350, 100, 300), Kind(35, 1, 150, 50, 60)),
    4.0,
    1179.4,
)


def _demand(cpus: int) -> Demand:
    shape = PodShape(requests=Resources.of({"cpu": cpus * 1000, PODS: 1}))
    pods = PodSet(name=MAIN, count=1, minimum=1, shape=shape)
    return Demand(
        api_version=KIND[0],
        kind=KIND[1],
        gang=Gang(pod_sets=(pods,), minimum=1),
        scheduler_name="volcano",
    )


@dataclass(slots=True)
class Drain:
    """The test while it runs; times are milliseconds since its begin."""

    shape: Shape
    now: int = 0
    cycles: int = 0
    spent: float = 0.0
    cpu: float = 0.0
    admitted: int = 0
    over: int = 0
    """Units over any limit that were seen."""
    waiting: dict[QueueName, tuple[deque[Workload], ...]] = field(default_factory=dict)
    held: Counter[QueueName] = field(default_factory=Counter)
    pods: Counter[QueueName] = field(default_factory=Counter)
    ends: list[tuple[int, str, QueueName, int]] = field(default_factory=list)
    class_of: dict[WorkloadKey, tuple[QueueName, int]] = field(default_factory=dict)

    def queues(self) -> tuple[Queue, ...]:
        """The tree: cohorts, and their queues."""
        cohorts = [QueueName(f"cohort-{i:02d}") for i in range(self.shape.cohorts)]
        total = NOMINAL * self.shape.queues
        found = [Queue(name=name, capability=(("cpu", total),)) for name in cohorts]
        found += [
            Queue(
                name=QueueName(f"{cohort}-queue-{i:03d}"),
                parent=cohort,
                deserved=(("cpu", NOMINAL),),
                capability=(("cpu", NOMINAL + 100_000),),
            )
            for cohort in cohorts
            for i in range(self.shape.queues)
        ]
        return tuple(sorted(found, key=lambda one: one.name))

    def run(self) -> None:
        """To the end of the last workload."""
        queues = self.queues()
        leaves = [one.name for one in queues if one.deserved]
        arrivals = deque(sorted(self._arrivals(leaves), key=lambda one: (one[0], one[2].uid)))
        for name in leaves:
            self.waiting[name] = tuple(deque() for _ in self.shape.kinds)
        while arrivals or self.ends or any(any(lanes) for lanes in self.waiting.values()):
            following = [arrivals[0][0]] if arrivals else []
            following += [self.ends[0][0]] if self.ends else []
            self.now = max(self.now, -(-min(following) // TICK_MS) * TICK_MS)
            while arrivals and arrivals[0][0] <= self.now:
                _, kind, one = arrivals.popleft()
                self.waiting[one.queue][kind].append(one)
            while self.ends and self.ends[0][0] <= self.now:
                _, _, queue, cpus = heapq.heappop(self.ends)
                self.held[queue] -= cpus
                self.pods[queue] -= 1
            self._cycle(queues)

    def _arrivals(self, leaves: list[QueueName]) -> Iterator[tuple[int, int, Workload]]:
        demands = [_demand(kind.cpus) for kind in self.shape.kinds]
        for queue in leaves:
            for at, kind in enumerate(self.shape.kinds):
                for number in range(kind.count):
                    name = f"{queue}-{at}-{number:03d}"
                    came = number * kind.every_ms
                    key = workload_key("jobs", name)
                    self.class_of[key] = (queue, at)
                    yield (
                        came,
                        at,
                        Workload(
                            key=key,
                            binding_id=BindingId(name),
                            uid=name,
                            resource_version="1",
                            namespace="jobs",
                            name=name,
                            created=Instant(BEGIN + came * 1000),
                            demand=demands[at],
                            queue=queue,
                            tenant=TEAM,
                            priority=kind.priority,
                        ),
                    )

    def _cycle(self, queues: tuple[Queue, ...]) -> None:
        snapshot = self._snapshot(queues)
        began, cpu = time.perf_counter(), time.process_time()
        plan = run_cycle(snapshot, POLICY, Instant(BEGIN + self.now * 1000))
        self.spent += time.perf_counter() - began
        self.cpu += time.process_time() - cpu
        self.cycles += 1
        gone: dict[tuple[QueueName, int], set[WorkloadKey]] = {}
        for one in plan.admissions:
            queue, at = self.class_of[one.workload]
            kind = self.shape.kinds[at]
            gone.setdefault((queue, at), set()).add(one.workload)
            self.held[queue] += kind.cpus * 1000
            self.pods[queue] += 1
            end = (self.now + kind.run_ms, str(one.workload), queue, kind.cpus * 1000)
            heapq.heappush(self.ends, end)
        for (queue, at), keys in gone.items():
            lane = self.waiting[queue][at]
            kept = [one for one in lane if one.key not in keys]
            lane.clear()
            lane.extend(kept)
            self.over += max(0, self.held[queue] - NOMINAL - 100_000)
        self.admitted += len(plan.admissions)

    def _snapshot(self, queues: tuple[Queue, ...]) -> Snapshot:
        total = NOMINAL * self.shape.queues * self.shape.cohorts
        room = total - sum(self.held.values())
        self.over += max(0, -room)
        pods = 10**6
        topology = Topology(
            axis=("cpu", PODS),
            domains=(),
            leaves=(Leaf(domain=None, node_class=NodeClass(), free=(room, pods), count=1),),
            label_keys=(),
        )
        cluster = Cluster(
            name=POOL,
            kinds=("/".join(KIND),),
            capacity=Capacity(
                topology=topology,
                total=Resources.of({"cpu": total, PODS: pods}),
                observed=Instant(BEGIN + self.now * 1000),
                scheduler_names=("volcano",),
            ),
        )
        return Snapshot(
            clusters=(cluster,),
            queues=queues,
            usage=tuple(
                Usage(
                    queue=name,
                    tenant=TEAM,
                    cluster=POOL,
                    amount=Resources.of({"cpu": cpu, PODS: self.pods[name]}),
                )
                for name, cpu in sorted(self.held.items())
                if cpu
            ),
            pending=tuple(
                Bucket(queue=name, tenant=TEAM, workloads=tuple(one for x in lanes for one in x))
                for name, lanes in self.waiting.items()
                if any(lanes)
            ),
            epoch=1,
        )


def figures() -> list[Figure]:
    """Virtual time to drain and admissions per CPU second, for both shapes."""
    found = []
    for shape in (BASELINE, LARGE):
        drain = Drain(shape)
        with quiet_collector():
            drain.run()
        virtual = drain.now / 1000
        title = f"Kueue's test, {shape.name}, {drain.admitted:,} workloads"
        floor = f"Kueue: {shape.kueue_seconds:g} s; the quota's floor is {shape.floor_seconds:g} s"
        note = f"{drain.cycles} cycles, {drain.over} units over a limit"
        found += [
            at_most(
                "fairness",
                f"{title}: drained ÷ floor",
                virtual / shape.floor_seconds,
                "×",
                1.5,
                f"{virtual:g} s of virtual time; {floor}",
            ),
            at_least(
                "fairness",
                f"{title}: admissions",
                drain.admitted / drain.cpu,
                "per CPU s",
                1000,
                f"{note}; {drain.admitted / drain.spent:,.0f} per s of real time",
            ),
        ]
    return found
