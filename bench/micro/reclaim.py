"""One search for victims in a full federation: who would have to leave for a gang, and where.

100 members of 5,000 nodes each in racks of 25 and spines of 10 racks, filled by 20,000 gangs whose
occupants are as reports give them. The claimants are gangs of 1 to 512 pods, with and without a
constraint, some by priority and some by what their queue deserves.
"""

import random
import time

from bench.harness import Figure, at_most, percentile, quiet_collector, shown
from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.search import RoomFound
from global_sched.core.statement import Statement
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.decision import Decision, Grant, decision_id
from global_sched.shared.model.gang import Gang, Mode, PodSet, TopologyConstraint
from global_sched.shared.model.ids import (
    MAIN,
    BindingId,
    ClusterName,
    DomainId,
    QueueName,
    TenantName,
    workload_key,
)
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue, Tenant, Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Running, Snapshot
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Occupant, Topology
from global_sched.shared.model.workload import Demand, Progress, Target, Workload

NOW = parse_instant("2026-01-31T12:00:00Z")
MEMBERS, NODES, GANGS, RACK, SPINE = 100, 5_000, 20_000, 25, 10
QUEUES, SEARCHES = 200, 200
GPU = "nvidia.com/gpu"
AXIS = ("cpu", "memory", GPU, "pods")
NODE = (64_000, 512 << 30, 8, 110)
POD = Resources.of({"cpu": 32_000, "memory": 256 << 30, GPU: 8, "pods": 1})
KIND = ("batch.volcano.sh/v1alpha1", "Job")


def gang_of(pods: int, tier: int | None, minimum: int | None = None) -> Gang:
    """Pods of whole nodes."""
    least = pods if minimum is None else minimum
    pod_set = PodSet(name=MAIN, count=pods, minimum=least, shape=PodShape(requests=POD))
    limit = None if tier is None else TopologyConstraint(mode=Mode.HARD, highest_tier=tier)
    return Gang(pod_sets=(pod_set,), minimum=least, constraint=limit)


def workload_of(name: str, gang: Gang, queue: str, priority: int, created: int) -> Workload:
    """A gang that waits."""
    return Workload(
        key=workload_key("bench", name),
        binding_id=BindingId(f"id-{name}"),
        uid=f"uid-{name}",
        resource_version="1",
        namespace="bench",
        name=name,
        created=Instant(NOW - created * SECOND),
        demand=Demand(api_version=KIND[0], kind=KIND[1], gang=gang, scheduler_name="volcano"),
        queue=QueueName(queue),
        tenant=TenantName("tenant"),
        priority=priority,
    )


def _running(rng: random.Random, member: int) -> tuple[list[Workload], list[Leaf]]:
    """The gangs of one member, on consecutive nodes, and the rows of its report."""
    cluster = ClusterName(f"member-{member:03d}")
    counts = _sizes(rng, GANGS // MEMBERS, NODES - NODES // 50)
    found, leaves, at = [], [], 0
    for number, pods in enumerate(counts):
        elastic = rng.random() < 0.2 and pods > 1
        gang = gang_of(pods, None, pods // 2 if elastic else None)
        name, queue = f"{member:03d}-{number:03d}", f"q{rng.randrange(QUEUES // 2)}"
        one = workload_of(name, gang, queue, rng.choice((0, 0, 10)), 9999)
        grant = Grant(cluster=cluster, amounts=gang.all_amounts())
        since = Instant(NOW - rng.randint(60, 80_000) * SECOND)
        made = decision_id(one.binding_id, (grant,), since, number)
        progress = Progress(
            cluster=cluster, bound=grant.amounts, minimum_reached=True, decision=made
        )
        decision = Decision(id=made, epoch=1, at=since, order=number, grants=(grant,))
        one = admitted(one, decision, progress)
        found.append(one)
        leaves += _seats(one.binding_id, at, pods, pods - gang.minimum)
        at += pods
    leaves += [
        Leaf(domain=_rack(node), node_class=NodeClass(), free=NODE, count=1)
        for node in range(at, NODES)
    ]
    return found, leaves


def admitted(one: Workload, decision: Decision, progress: Progress) -> Workload:
    """The same one once it runs in a cluster as its decision says."""
    values = {name: getattr(one, name) for name in one.__slots__}
    values |= {
        "decision": decision,
        "progress": (progress,),
        "targets": (Target(cluster=progress.cluster),),
        "placement_applied": True,
        "observed_generation": 1,
        "scheduled": True,
        "last_scheduled": decision.at,
    }
    return Workload(**values)


def _sizes(rng: random.Random, gangs: int, nodes: int) -> list[int]:
    """Sizes that add up, small ones many and large ones few."""
    weights = [rng.paretovariate(1.2) for _ in range(gangs)]
    scale = (nodes - gangs) / sum(weights)
    return [1 + int(weight * scale) for weight in weights]


def _rack(node: int) -> DomainId:
    return DomainId(f"rack-{node // RACK}")


def _seats(binding: BindingId, first: int, pods: int, spare: int) -> list[Leaf]:
    """Whole nodes of a gang: alike ones of a rack are one row, those with surplus are alone."""
    free = tuple(has - POD.get(name) for name, has in zip(AXIS, NODE, strict=True))
    alike: dict[DomainId, int] = {}
    leaves = []
    for at in range(pods):
        turn = pods - at
        rack = _rack(first + at)
        if turn > spare:
            alike[rack] = alike.get(rack, 0) + 1
            continue
        sits = Occupant(binding=binding, pod_set=MAIN, pods=1, surplus=(turn,))
        leaves.append(
            Leaf(domain=rack, node_class=NodeClass(), free=free, count=1, occupants=(sits,))
        )
    sits = Occupant(binding=binding, pod_set=MAIN, pods=1)
    leaves += [
        Leaf(domain=rack, node_class=NodeClass(), free=free, count=count, occupants=(sits,))
        for rack, count in alike.items()
    ]
    return leaves


def full_world(seed: int = 1) -> Snapshot:
    """The federation: half of the queues hold everything, the other half nothing yet."""
    rng = random.Random(seed)
    clusters, running, usage = [], [], []
    domains = [Domain(name=DomainId("core"), tier=3)]
    racks = NODES // RACK
    domains += [
        Domain(name=DomainId(f"spine-{i}"), tier=2, parent=DomainId("core"))
        for i in range(racks // SPINE)
    ]
    domains += [
        Domain(name=DomainId(f"rack-{i}"), tier=1, parent=DomainId(f"spine-{i // SPINE}"))
        for i in range(racks)
    ]
    tree = tuple(sorted(domains))
    total = Resources.of({n: amount * NODES for n, amount in zip(AXIS, NODE, strict=True)})
    for member in range(MEMBERS):
        gangs, leaves = _running(rng, member)
        name = ClusterName(f"member-{member:03d}")
        topology = Topology(axis=AXIS, domains=tree, leaves=tuple(leaves), label_keys=())
        capacity = Capacity(
            topology=topology,
            total=total,
            observed=Instant(NOW - 2 * SECOND),
            scheduler_names=("volcano",),
        )
        clusters.append(Cluster(name=name, kinds=("/".join(KIND),), capacity=capacity))
        running.append(Running(cluster=name, workloads=tuple(gangs)))
        usage += [
            Usage(
                queue=one.queue,
                tenant=one.tenant,
                cluster=name,
                amount=POD.times(one.demand.gang.pods() if one.demand.gang else 0),
            )
            for one in gangs
        ]
    deserved = _deserved()
    return Snapshot(
        clusters=tuple(clusters),
        queues=tuple(Queue(name=QueueName(f"q{i}"), deserved=deserved) for i in range(QUEUES)),
        tenants=(Tenant(name=TenantName("tenant")),),
        usage=tuple(usage),
        running=tuple(running),
        epoch=1,
    )


def _deserved() -> tuple[tuple[str, int], ...]:
    """Half of what there is for those that hold all of it, half for those that hold nothing."""
    nodes = MEMBERS * NODES // QUEUES
    return tuple(sorted((name, has * nodes) for name, has in zip(AXIS, NODE, strict=True)))


def _claimants(rng: random.Random) -> list[Workload]:
    found = []
    for number in range(SEARCHES):
        pods = rng.choice((1, 2, 4, 8, 16, 25, 64, 128, 512))
        tier = rng.choice((None, 1, 2, 3)) if pods <= RACK else rng.choice((None, 2, 3))
        tier = 3 if pods > RACK * SPINE and tier == 2 else tier
        reclaims = rng.random() < 0.5
        queue = f"q{rng.randrange(QUEUES // 2) + (QUEUES // 2 if reclaims else 0)}"
        gang = gang_of(pods, tier)
        found.append(workload_of(f"new-{number}", gang, queue, 0 if reclaims else 100, 60))
    return found


def figures() -> list[Figure]:
    """p99 of a search in CPU time, after the index of the reports was made once."""
    world = full_world()
    statement = Statement(world, Policy(), NOW)
    claims = Claims(statement)
    claimants = _claimants(random.Random(2))
    start = time.process_time()
    claims.search(claimants[0])
    first = (time.process_time() - start) * 1000
    start = time.process_time()
    again = Claims(Statement(world, Policy(), NOW))
    again.search(claimants[0])
    cycle = (time.process_time() - start) * 1000
    times, hits = [], 0
    with quiet_collector():
        for one in claimants:
            start = time.process_time()
            hits += isinstance(claims.search(one), RoomFound)
            times.append((time.process_time() - start) * 1000)
    note = (
        f"{MEMBERS} members × {NODES} nodes, {GANGS} gangs, {SEARCHES} searches, {hits} found "
        "victims, CPU time"
    )
    return [
        at_most("reclaim", "a search for victims: p99", percentile(times, 0.99), "ms", 50, note),
        shown("reclaim", "a search for victims: median", percentile(times, 0.5), "ms"),
        shown("reclaim", "first search of a cycle, reports known", cycle, "ms"),
        shown("reclaim", "first search of all: index of every report", first, "ms"),
    ]
