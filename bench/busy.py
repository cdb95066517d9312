"""Worlds in which gangs run: the nodes and sizes of `worlds`, seats as agents report them.

Gangs of Philly's sizes hold a part of the GPUs; up to the number that is asked for, the others are
pods of one CPU. Every queue deserves an equal part of what there is, and half of the queues hold
all of what runs: the other half is owed, so that cycles search for victims and reserve.
"""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from bench.micro.reclaim import admitted
from bench.worlds import (
    AXIS,
    GPU,
    KIND,
    NOW,
    RACK,
    Size,
    core_world,
    domains_of,
    openb_nodes_once,
    openb_pods_once,
    philly_gpus_once,
)
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.decision import Decision, Grant, decision_id
from global_sched.shared.model.gang import Gang, PodSet
from global_sched.shared.model.ids import (
    MAIN,
    BindingId,
    ClusterName,
    DomainId,
    QueueName,
    TenantName,
    workload_key,
)
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.queue import Usage
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.snapshot import Running, Snapshot
from global_sched.shared.model.topology import Leaf, NodeClass, Occupant, Topology
from global_sched.shared.model.usage_sums import summed
from global_sched.shared.model.workload import Demand, Progress, Workload

_MIB = 2**20
_LARGEST = 64
"""GPUs of the largest running gang: a cluster has some hundreds."""


def busy_world(size: Size, gangs: int = 20_000) -> Snapshot:
    """That world with gangs running in it, the same for the same size and number."""
    world = core_world(replace(size, filled=0.0, clusters=1))
    rng = random.Random(size.seed + 1)
    holders = [queue.name for queue in world.queues[::2]]
    tenants = [tenant.name for tenant in world.tenants]
    members = [
        _member(f"member-{at:04d}", size, gangs // size.clusters, holders, tenants, rng)
        for at in range(size.clusters)
    ]
    total = Resources.total(one.cluster.capacity.total for one in members if one.cluster.capacity)
    part = tuple((name, amount // len(world.queues)) for name, amount in total.entries)
    busy = replace(
        world,
        clusters=tuple(one.cluster for one in members),
        queues=tuple(replace(queue, deserved=part) for queue in world.queues),
        running=tuple(
            Running(cluster=one.cluster.name, workloads=tuple(one.gangs)) for one in members
        ),
        usage=tuple(
            sorted(
                (usage for one in members for usage in one.usage()),
                key=lambda usage: (usage.queue, usage.tenant, usage.cluster),
            )
        ),
    )
    return _with_sums(busy)


def with_usage(world: Snapshot, entries: int) -> Snapshot:
    """The same world with at least so many entries of usage: small amounts of other tenants."""
    rng = random.Random(entries)
    known = {(one.queue, one.tenant, one.cluster): one for one in world.usage}
    crumb = Resources.of({"cpu": 1, PODS: 1})
    while len(known) < entries:
        queue = rng.choice(world.queues).name
        cluster = rng.choice(world.clusters).name
        tenant = TenantName(f"tenant-{rng.randrange(max(100, entries // 50)):05d}")
        known.setdefault(
            (queue, tenant, cluster),
            Usage(queue=queue, tenant=tenant, cluster=cluster, amount=crumb),
        )
    return _with_sums(replace(world, usage=tuple(known[key] for key in sorted(known))))


def _with_sums(world: Snapshot) -> Snapshot:
    """The usage summed up, as the cache keeps it."""
    return replace(world, usage_sums=summed(world.usage))


@dataclass(slots=True)
class _Filling:
    """One member while gangs are put into it."""

    cluster: Cluster
    free: list[list[int]]
    seats: list[Counter[BindingId]]
    gangs: list[Workload] = field(default_factory=list)

    def usage(self) -> list[Usage]:
        """What the gangs hold, by queue and tenant."""
        held: dict[tuple[QueueName, TenantName], Resources] = {}
        for one in self.gangs:
            assert one.demand.gang is not None
            key = (one.queue, one.tenant)
            amount = one.demand.gang.requests(one.demand.gang.all_amounts())
            held[key] = held[key].plus(amount) if key in held else amount
        return [
            Usage(queue=queue, tenant=tenant, cluster=self.cluster.name, amount=amount)
            for (queue, tenant), amount in held.items()
        ]


def _member(
    name: str,
    size: Size,
    gangs: int,
    queues: list[QueueName],
    tenants: list[TenantName],
    rng: random.Random,
) -> _Filling:
    pool = [node for node in openb_nodes_once() if node[2]]
    nodes = [rng.choice(pool) for _ in range(size.nodes)]
    free = [[cpu, memory * _MIB, gpus, 110] for cpu, memory, gpus in nodes]
    total = Resources.total(Resources.of(dict(zip(AXIS, node, strict=True))) for node in free)
    cluster = Cluster(name=ClusterName(name), kinds=("/".join(KIND),))
    filling = _Filling(cluster, free, [Counter() for _ in free])
    target, used, misses = total.get(GPU) * size.filled, 0, 0
    while used < target and len(filling.gangs) < gangs and misses < 2_000:
        gpus = min(rng.choice(philly_gpus_once()), _LARGEST)
        pods, each = -(-gpus // 8), min(gpus, 8)
        if _seat(filling, _small(each), pods, rng.choice(queues), rng.choice(tenants), rng):
            used += pods * each
        else:
            misses += 1
    if size.filled >= 1:
        for node in free:
            node[2] = 0
    misses = 0
    while len(filling.gangs) < gangs and misses < 2_000:
        seated = _seat(
            filling, (1000, 1024 * _MIB, 0, 1), 1, rng.choice(queues), rng.choice(tenants), rng
        )
        misses += not seated
    filling.cluster = replace(
        cluster,
        capacity=Capacity(
            topology=_topology(filling),
            total=total,
            observed=Instant(NOW - 2 * SECOND),
            scheduler_names=("volcano",),
        ),
    )
    return filling


def _small(gpus: int) -> tuple[int, int, int, int]:
    """A pod with so many GPUs and what the smallest of openb's pods takes beside each."""
    cpu, memory, own = min(pod for pod in openb_pods_once() if pod[2] == 1)
    return (cpu * gpus // own, memory * _MIB * gpus // own, gpus, 1)


def _seat(
    filling: _Filling,
    pod: tuple[int, int, int, int],
    pods: int,
    queue: QueueName,
    tenant: TenantName,
    rng: random.Random,
) -> bool:
    """Put a gang on the first nodes that take it, from a random one on; whether it found all."""
    chosen: list[int] = []
    start, count = rng.randrange(len(filling.free)), len(filling.free)
    for step in range(count):
        at = (start + step) % count
        node, here = filling.free[at], 0
        while len(chosen) < pods and all(
            has >= (here + 1) * want for has, want in zip(node, pod, strict=True)
        ):
            chosen.append(at)
            here += 1
        if len(chosen) == pods:
            break
    else:
        return False
    one = _running(filling, pod, pods, queue, tenant, rng)
    for at in chosen:
        filling.seats[at][one.binding_id] += 1
        for axis, want in enumerate(pod):
            filling.free[at][axis] -= want
    filling.gangs.append(one)
    return True


def _running(
    filling: _Filling,
    pod: tuple[int, int, int, int],
    pods: int,
    queue: QueueName,
    tenant: TenantName,
    rng: random.Random,
) -> Workload:
    shape = PodShape(requests=Resources.of(dict(zip(AXIS, pod, strict=True))))
    pod_set = PodSet(name=MAIN, count=pods, minimum=pods, shape=shape)
    gang = Gang(pod_sets=(pod_set,), minimum=pods)
    cluster = filling.cluster.name
    number = len(filling.gangs)
    name = f"{cluster}-{number:03d}"
    since = Instant(NOW - rng.randint(600, 80_000) * SECOND)
    grant = Grant(cluster=cluster, amounts=gang.all_amounts())
    made = decision_id(BindingId(name), (grant,), since, number)
    waiting = Workload(
        key=workload_key(str(tenant), name),
        binding_id=BindingId(name),
        uid=f"uid-{name}",
        resource_version="1",
        namespace=str(tenant),
        name=name,
        created=Instant(since - 60 * SECOND),
        demand=Demand(api_version=KIND[0], kind=KIND[1], gang=gang, scheduler_name="volcano"),
        queue=queue,
        tenant=tenant,
        priority=rng.choice((0, 0, 10)),
    )
    return admitted(
        waiting,
        Decision(id=made, epoch=1, at=since, order=number, grants=(grant,)),
        Progress(cluster=cluster, bound=grant.amounts, minimum_reached=True, decision=made),
    )


def _topology(filling: _Filling) -> Topology:
    """As in `worlds`; nodes of a rack that a report shows alike, with their pods, are one row."""
    rows: Counter[tuple[int, tuple[int, ...], tuple[tuple[BindingId, int], ...]]] = Counter()
    for at, (vector, seats) in enumerate(zip(filling.free, filling.seats, strict=True)):
        rows[at // RACK, tuple(vector), tuple(sorted(seats.items()))] += 1
    leaves = tuple(
        Leaf(
            domain=DomainId(f"rack-{rack}"),
            node_class=NodeClass(),
            free=vector,
            count=count,
            occupants=tuple(
                Occupant(binding=binding, pod_set=MAIN, pods=pods) for binding, pods in seats
            ),
        )
        for (rack, vector, seats), count in sorted(rows.items())
    )
    return Topology(axis=AXIS, domains=domains_of(len(filling.free)), leaves=leaves, label_keys=())
