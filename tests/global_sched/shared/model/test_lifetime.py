"""Answers live as long as what they were made of, whatever the number."""

import gc
import weakref

from global_sched.core import run_cycle
from global_sched.core.make_room.by_cluster import ByCluster
from global_sched.core.make_room.occupancy import Occupancies
from global_sched.shared.model.lifetime import WhileAlive
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Running
from global_sched.shared.placement.capacity.baseline import BaselineCache, build_baseline
from tests.builders import NOW, cluster, queue, snapshot, workload

MANY = 1500
"""More clusters than any bound there was."""


class Thing:
    """An object that may die."""


def test_an_answer_is_made_once_and_goes_with_what_it_was_made_of():
    """Of several objects the first that is gone takes it along."""
    kept, made = WhileAlive(), []

    def make():
        made.append(1)
        return len(made)

    a, b = Thing(), Thing()
    assert [kept.of((a, b), make), kept.of((a, b), make), kept.of((a,), make)] == [1, 1, 2]
    assert [kept.of((a,), make, "x"), kept.of((a,), make, "y")] == [3, 4]
    assert len(kept) == 4
    del b
    assert len(kept) == 3
    del a
    assert len(kept) == 0


def test_there_is_no_number_of_clusters_at_which_a_cycle_makes_all_anew():
    """Grounds, occupancies and what is read of running workloads: each is made once."""
    clusters = [cluster(f"c{i:04}", nodes=1, gpus=1) for i in range(MANY)]
    runnings = [Running(cluster=one.name, workloads=()) for one in clusters]
    built, read = [], []

    def build(topology, keys):
        built.append(topology.axis)
        return build_baseline(topology, keys)

    baselines, occupancies = BaselineCache(build), Occupancies()
    reader = ByCluster(lambda running: read.append(running.cluster))
    for _ in range(3):
        seen = []
        for one, running in zip(clusters, runnings, strict=True):
            baselines.of(one.capacity.topology, None)
            seen.append(id(occupancies.of(one, running)))
            reader.of(running)
    assert (len(built), len(read)) == (MANY, MANY)
    assert [id(occupancies.of(*pair)) for pair in zip(clusters, runnings, strict=True)] == seen

    del clusters, runnings, one, running
    gc.collect()
    assert not len(baselines._kept)
    assert not len(occupancies._kept)
    assert not len(reader._kept)


def test_there_is_no_number_of_shapes_at_which_a_cycle_fails():
    """Pods of 300 kinds at once: counts of some are forgotten while others are counted."""
    pending = [workload(f"p{i:03}", cpu=1 + i, gpus=0) for i in range(300)]
    world = snapshot([cluster("c1", nodes=1, gpus=8)], [queue("default", gpus=8)], pending=pending)

    plan = run_cycle(world, Policy(), NOW)

    assert len(plan.outcomes) == 300


def test_nothing_outlives_the_snapshot_that_used_it():
    """A cycle's answers about a report go with it: no answer refers to the report itself."""
    world = snapshot(
        [cluster("c1", nodes=2, gpus=8), cluster("c2", nodes=2, gpus=8)],
        [queue("default", gpus=8)],
        running=[workload("low", gpus=8, on="c1")],
        pending=[workload("high", gpus=8, priority=5), workload("other", gpus=4)],
    )
    alive = [weakref.ref(one.capacity.topology) for one in world.clusters]
    alive += [weakref.ref(one) for one in world.running]
    plan = run_cycle(world, Policy(), NOW)
    assert plan.outcomes

    del world, plan
    gc.collect()
    assert [one() for one in alive] == [None] * len(alive)
