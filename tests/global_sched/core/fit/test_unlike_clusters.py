"""Room given away over clusters of unlike shape, with and without regard to the shape."""

import random
from fractions import Fraction

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.policy import Policy, ScoreWeights
from tests.builders import NOW, cluster, resources, snapshot, workload

KINDS = {"lean": (64, 128, 0), "plain": (64, 256, 0), "wide": (64, 512, 0), "gpu": (64, 512, 8)}
"""CPUs, GiB and GPUs of a node."""
SHAPES = (
    {"cpu": 16, "memory": 32},
    {"cpu": 16, "memory": 64},
    {"cpu": 16, "memory": 128},
    {"cpu": 8, "memory": 64, "gpus": 1},
    {"cpu": 4, "memory": 64},
)
WORLDS = 40


def unlike(seed):
    """Two to four clusters, each of another kind, and two to four tenants, each with one shape."""
    rng = random.Random(seed)
    clusters = []
    for at, kind in enumerate(rng.sample(sorted(KINDS), rng.randint(2, 4))):
        cpu, memory, gpus = KINDS[kind]
        nodes = rng.choice((1, 2))
        clusters.append(cluster(f"c{at}", nodes=nodes, cpu=cpu, memory=memory, gpus=gpus))
    pending = []
    for at in range(rng.randint(2, 4)):
        shape = rng.choice(SHAPES)
        pending += [
            workload(f"t{at}-{i:02d}", tenant=f"t{at}", created=i, **shape) for i in range(40)
        ]
    return snapshot(clusters, pending=pending)


def given(world, weights):
    """The sum of the tenants' dominant shares after one cycle, and the smallest of them."""
    total = {}
    for one in world.clusters:
        for name, amount in one.capacity.total.entries:
            total[name] = total.get(name, 0) + amount
    jobs = {one.key: one for bucket in world.pending for one in bucket.workloads}
    held = {one.tenant: resources() for one in jobs.values()}
    for admission in run_cycle(world, Policy(score_weights=weights), NOW).admissions:
        one = jobs[admission.workload]
        gang = one.demand.gang
        held[one.tenant] = held[one.tenant].plus(gang.requests(gang.all_amounts()))
    shares = [
        max((Fraction(amount, total[name]) for name, amount in amounts.entries), default=0)
        for amounts in held.values()
    ]
    return sum(shares), min(shares)


@pytest.mark.slow
def test_more_is_given_away_where_the_shape_counts():
    """Over 40 random worlds of unlike clusters: in none less in sum or for who has least."""
    pairs = []
    for seed in range(WORLDS):
        world = unlike(seed)
        pairs.append((given(world, ScoreWeights(shape=0)), given(world, ScoreWeights())))

    sums = [(without[0], with_it[0]) for without, with_it in pairs]
    least = [(without[1], with_it[1]) for without, with_it in pairs]
    assert (sum(b > a for a, b in sums), sum(b < a for a, b in sums)) == (11, 0)
    assert (sum(b > a for a, b in least), sum(b < a for a, b in least)) == (7, 0)
    assert round(100 * (sum(b for _, b in sums) / sum(a for a, _ in sums) - 1), 2) == Fraction(
        298, 100
    )
