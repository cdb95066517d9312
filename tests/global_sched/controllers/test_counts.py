"""Statuses of a Queue and a Tenant, counted."""

from fractions import Fraction

from global_sched.controllers.counts import count_queues, count_tenants
from tests.builders import GPU, cluster, queue, snapshot, tenant, workload

RUNS = workload("runs", pods=2, gpus=4, cpu=1, on="m1")
STARTS = workload("starts", pods=1, gpus=4, cpu=1, on="m1", bound=0, reached=False)
WAITS = workload("waits", pods=1, gpus=8)
WORLD = snapshot(
    clusters=[cluster("m1", nodes=4, gpus=8, cpu=64)],
    queues=[queue("default", weight=2), queue("empty")],
    tenants=[tenant("team"), tenant("idle")],
    running=[RUNS, STARTS],
    pending=[WAITS],
)


def test_queues():
    """Pending, starting and running; what is held; the dominant share over the weight."""
    default, empty = count_queues(WORLD, WORLD.workloads)

    assert (default.pending, default.starting, default.running) == (1, 1, 1)
    assert default.allocated.get(GPU) == 12
    assert default.share == Fraction(12, 32) / 2
    assert (empty.pending, empty.running, empty.share) == (0, 0, 0)


def test_tenants():
    """Admitted and pending workloads of all queues."""
    idle, team = count_tenants(WORLD, WORLD.workloads)

    assert (team.name, team.admitted, team.pending, team.share) == ("team", 2, 1, Fraction(3, 8))
    assert (idle.name, idle.admitted, idle.pending, idle.share) == ("idle", 0, 0, 0)
