"""Answers live as long as what they were made of, whatever the number."""

import gc
import weakref

from global_sched.core import run_cycle
from global_sched.core.make_room.by_cluster import ByCluster
from global_sched.core.make_room.occupancy import occupancy_of
from global_sched.shared.model.lifetime import KeepsAnswers
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Running
from global_sched.shared.placement.capacity.baseline import baseline_of, share_class_sets
from tests.builders import NOW, cluster, queue, snapshot, workload

MANY = 1500
"""More clusters than any bound there was."""


class Thing(KeepsAnswers):
    """An object that may die."""


def test_an_answer_is_made_once_and_goes_with_what_it_was_made_of():
    """Its owner takes it along, and so does the second object that it is about."""
    owner, other, made = Thing(), Thing(), []

    def make():
        made.append(1)
        return len(made)

    assert [owner.kept("x", make), owner.kept("x", make), owner.kept("y", make)] == [1, 1, 2]
    assert [owner.kept("x", make, other=other), owner.kept("x", make, other=other)] == [3, 3]
    assert len(owner._answers) == 3
    del other
    again = Thing()
    assert owner.kept("x", make, other=again) == 4
    assert len(owner._answers) == 3


def test_one_value_keeps_a_bounded_number_of_answers():
    """What it is asked about is written by users: beyond the bound all are made anew."""
    owner = Thing()
    for number in range(1000):
        owner.kept(number, lambda: None)

    assert len(owner._answers) <= 64


def test_there_is_no_number_of_clusters_at_which_a_cycle_makes_all_anew():
    """Baselines, occupancies and what is read of running workloads: each is made once."""
    clusters = [cluster(f"c{i:04}", nodes=1, gpus=1) for i in range(MANY)]
    runnings = [Running(cluster=one.name, workloads=()) for one in clusters]
    read = []
    reader = ByCluster(lambda running: read.append(running.cluster))
    rounds = []
    for _ in range(3):
        seen = []
        for one, running in zip(clusters, runnings, strict=True):
            baseline = baseline_of(one.capacity.topology, None)
            seen.append((id(baseline), id(occupancy_of(one, running))))
            reader.of(running)
        rounds.append(seen)
    assert rounds[0] == rounds[1] == rounds[2]
    assert len(read) == MANY


def test_clusters_alike_share_their_class_set():
    """What is worked out for one cluster serves all that are alike, for as long as they live."""
    first = [baseline_of(cluster(name).capacity.topology, None) for name in ("a", "b")]
    one, two = share_class_sets(first)
    late = baseline_of(cluster("c").capacity.topology, None)

    assert one is two
    assert share_class_sets([late, *first]) == [one, one, one]
    assert late.class_set is one


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
