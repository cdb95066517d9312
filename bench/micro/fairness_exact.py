"""Exactness under a million random steps: no limit is ever exceeded, and what is kept is right.

A step submits, finishes, deletes, grows or shrinks a workload, cuts or raises a quota, or changes a
priority, in a tree of 40 queues with limits, guarantees and limits in single clusters, and of 12
tenants with limits. Amounts are asked of the same ledger that a cycle uses; after every batch a new
ledger is made from what runs, as a cycle makes it, and compared with the one that was kept.
"""

import random
from dataclasses import dataclass, field, replace
from typing import Final

from bench.harness import Figure, at_most, cpu_seconds, shown
from global_sched.core.quota.ledger import Charge, Ledger
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.queue import Queue, Tenant, Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.topology import Topology

STEPS: Final = 1_000_000
BATCH: Final = 2_000
NAMES: Final = ("cpu", "memory", "nvidia.com/gpu")
CLUSTERS: Final = tuple(ClusterName(f"member-{i}") for i in range(4))
TENANTS: Final = tuple(TenantName(f"tenant-{i}") for i in range(12))


@dataclass(slots=True)
class Steps:
    """The world, and what was seen of it."""

    rng: random.Random
    queues: dict[QueueName, Queue] = field(default_factory=dict)
    tenants: dict[TenantName, Tenant] = field(default_factory=dict)
    running: list[Charge] = field(default_factory=list)
    admitted: int = 0
    refused: int = 0
    over: int = 0
    """Units over a limit after an admission."""
    wrong: int = 0
    """Amounts that differ from those of a ledger made anew."""

    def __post_init__(self) -> None:
        for at in range(40):
            parent = "root" if at < 4 else f"q{(at - 4) // 3:02d}"
            name = QueueName(f"q{at:02d}")
            self.queues[name] = Queue(name=name, parent=QueueName(parent))
        for name in self.queues:
            self._cut(name)
        for tenant in TENANTS:
            limits = self._amounts(3000) if self.rng.random() < 0.5 else ()
            self.tenants[tenant] = Tenant(name=tenant, limits=limits)

    def run(self, steps: int) -> None:
        """That many, in batches between which quotas change."""
        leaves = sorted(set(self.queues) - {one.parent for one in self.queues.values()})
        for _ in range(steps // BATCH):
            ledger = Ledger(self._snapshot())
            for _ in range(BATCH - 1):
                self._step(ledger, self.rng.choice(leaves))
            self._compare(ledger)
            self._cut(self.rng.choice(list(self.queues)))

    def _step(self, ledger: Ledger, queue: QueueName) -> None:
        """Something comes, grows, shrinks or goes."""
        kind = self.rng.random()
        if kind < 0.55 or not self.running:
            amount = Resources.of(dict(self._amounts(40)))
            one = Charge(queue, self.rng.choice(TENANTS), self.rng.choice(CLUSTERS), amount)
            self._ask(ledger, one)
            return
        at = self.rng.randrange(len(self.running))
        one = self.running[at]
        if kind < 0.65:
            self._ask(ledger, one._replace(amount=Resources.of(dict(self._amounts(10)))))
            return
        self.running[at] = self.running[-1]
        self.running.pop()
        ledger.charge(one, -1)

    def _ask(self, ledger: Ledger, one: Charge) -> None:
        bounds = ledger.bounds(one.queue, one.tenant, one.cluster)
        for bound in bounds:
            for name, amount in one.amount.entries:
                room = bound.room(name)
                if room is not None and amount > room:
                    self.refused += 1
                    return
        ledger.charge(one)
        self.running.append(one)
        self.admitted += 1
        self._check(ledger, one)

    def _check(self, ledger: Ledger, one: Charge) -> None:
        """Count what is over after an admission, from the queues' own words."""
        for name, _ in one.amount.entries:
            for node in ledger.node(one.queue).path:
                words = dict(node.queue.capability)
                if name in words:
                    self.over += max(0, node.held.get(name, 0) - words[name])
                here = dict(dict(node.queue.cluster_capability).get(one.cluster, ()))
                if name in here:
                    held = node.cluster_held[one.cluster].get(name, 0)
                    self.over += max(0, held - here[name])
            limits = dict(self.tenants[one.tenant].limits)
            if name in limits:
                self.over += max(0, ledger.tenant_held(one.tenant).get(name, 0) - limits[name])

    def _compare(self, ledger: Ledger) -> None:
        fresh = Ledger(self._snapshot())
        for name in self.queues:
            kept, made = ledger.node(name), fresh.node(name)
            pairs = [(kept.held, made.held), (kept.inner, made.inner)]
            pairs += [(kept.occupied, made.occupied)]
            pairs += [
                (kept.cluster_held.get(one, {}), made.cluster_held.get(one, {})) for one in CLUSTERS
            ]
            self.wrong += sum(_difference(one, other) for one, other in pairs)
        for tenant in TENANTS:
            self.wrong += _difference(ledger.tenant_held(tenant), fresh.tenant_held(tenant))

    def _cut(self, name: QueueName) -> None:
        """A quota, a guarantee and a priority change; use may be over it from now on."""
        rng = self.rng
        self.queues[name] = replace(
            self.queues[name],
            priority=rng.choice((0, 10)),
            capability=self._amounts(4000) if rng.random() < 0.6 else (),
            guarantee=(("cpu", rng.randint(0, 50)),) if rng.random() < 0.2 else (),
            cluster_capability=((rng.choice(CLUSTERS), self._amounts(2000)),)
            if rng.random() < 0.3
            else (),
        )

    def _amounts(self, most: int) -> tuple[tuple[str, int], ...]:
        return tuple((name, self.rng.randint(0, most)) for name in NAMES)

    def _snapshot(self) -> Snapshot:
        held: dict[tuple[QueueName, TenantName, ClusterName], list[Resources]] = {}
        for one in self.running:
            held.setdefault((one.queue, one.tenant, one.cluster), []).append(one.amount)
        empty = Topology(axis=NAMES, domains=(), leaves=(), label_keys=())
        total = Resources.of(dict.fromkeys(NAMES, 10_000))
        capacity = Capacity(topology=empty, total=total, observed=Instant(0))
        return Snapshot(
            clusters=tuple(Cluster(name=name, capacity=capacity) for name in CLUSTERS),
            queues=tuple(self.queues[name] for name in sorted(self.queues)),
            tenants=tuple(self.tenants[name] for name in sorted(self.tenants)),
            usage=tuple(
                Usage(queue=queue, tenant=tenant, cluster=cluster, amount=Resources.total(amounts))
                for (queue, tenant, cluster), amounts in sorted(held.items())
            ),
        )


def _difference(one: dict[str, int], other: dict[str, int]) -> int:
    return sum(abs(one.get(name, 0) - other.get(name, 0)) for name in one.keys() | other.keys())


def figures() -> list[Figure]:
    """Units over any limit, units that differ, and the pace."""
    steps = Steps(random.Random(1))
    spent = cpu_seconds(lambda: steps.run(STEPS))
    note = f"{steps.admitted:,} admitted, {steps.refused:,} refused, {STEPS // BATCH} quota changes"
    group = "fairness_exact"
    return [
        at_most(group, f"units over any limit in {STEPS:,} random steps", steps.over, "", 0, note),
        at_most(group, "usage kept against usage recomputed", steps.wrong, "units apart", 0),
        shown(group, "steps", STEPS / spent, "per CPU s"),
    ]
