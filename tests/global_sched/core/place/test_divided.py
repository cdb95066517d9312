"""Divided workloads: split by what fits, in all at most what the template asks for."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.core.place.divided import dispense
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.placement_rule import (
    AffinityGroup,
    ClusterField,
    ClusterSelector,
    PlacementRule,
    Preference,
    SpreadRule,
    StaticWeight,
)
from global_sched.shared.model.workload import Division
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    cluster,
    decision,
    grant,
    hard,
    queue,
    snapshot,
    workload,
)
from tests.worlds import World, after


def members(**gpus):
    return [cluster(name, gpus=count) for name, count in gpus.items()]


def weights(**given):
    return tuple(
        StaticWeight(selector=ClusterSelector(names=(name,)), weight=weight)
        for name, weight in given.items()
    )


def job(pods, *, preference=Preference.AGGREGATED, given=(), spread=(), **fields):
    placement = PlacementRule(preference=preference, weights=given, spread=spread)
    return workload(
        "d", pods=pods, gpus=1, division=Division.DIVIDED, placement=placement, **fields
    )


def on(one, **pods):
    """The workload with that many replicas in clusters."""
    made = decision(*(grant(name, Amounts.of({"main": n}), replicas=n) for name, n in pods.items()))
    base = workload("d", on=list(pods), asks=one.demand)
    progress = tuple(
        replace(p, bound=Amounts.of({"main": pods[p.cluster]}), decision=made.id)
        for p in base.progress
    )
    targets = tuple(replace(t, replicas=pods[t.cluster]) for t in base.targets)
    return replace(base, decision=made, progress=progress, targets=targets)


def placed(world, policy=POLICY, now=NOW):
    """Replicas by cluster after a cycle, and the plan."""
    plan = run_cycle(world, policy, now)
    one = after(world, plan).workload("d")
    return {t.cluster: t.replicas for t in one.targets}, plan


@pytest.mark.parametrize(
    ("total", "shares", "want"),
    [
        pytest.param(10, [1, 1, 1], [4, 3, 3], id="the rest goes by order"),
        pytest.param(7, [3, 1], [5, 2], id="the largest remainder first"),
        pytest.param(1, [1, 2], [0, 1], id="the larger weight first"),
        pytest.param(5, [0, 0], [0, 0], id="no weight, nothing"),
    ],
)
def test_dispense(total, shares, want):
    """Whole parts that add up, each within one of its exact part."""
    assert dispense(total, shares) == want


@pytest.mark.parametrize(
    ("free", "one", "want"),
    [
        pytest.param({"c1": 4, "c2": 4}, job(3), {"c1": 3}, id="one cluster holds all"),
        pytest.param({"c1": 2, "c2": 4}, job(4), {"c2": 4}, id="the one that holds all"),
        pytest.param({"c1": 2, "c2": 4}, job(5), {"c1": 1, "c2": 4}, id="as few as it can"),
        pytest.param({"c1": 2, "c2": 4}, job(9), {"c1": 2, "c2": 4}, id="what fits is admitted"),
        pytest.param({"c1": 0, "c2": 0}, job(3), {}, id="not even one fits"),
        pytest.param(
            {"c1": 9, "c2": 9},
            job(6, preference=Preference.STATIC_WEIGHTS, given=weights(c1=2, c2=1)),
            {"c1": 4, "c2": 2},
            id="static weights keep the ratio",
        ),
        pytest.param(
            {"c1": 9, "c2": 9},
            job(6, preference=Preference.STATIC_WEIGHTS),
            {"c1": 3, "c2": 3},
            id="no listed weight: all alike",
        ),
        pytest.param(
            {"c1": 9, "c2": 9},
            job(6, preference=Preference.STATIC_WEIGHTS, given=weights(c2=1)),
            {"c2": 6},
            id="a cluster that is not listed gets none",
        ),
        pytest.param(
            {"c1": 1, "c2": 9},
            job(6, preference=Preference.STATIC_WEIGHTS, given=weights(c1=1, c2=1)),
            {"c1": 1, "c2": 3},
            id="static weights never exceed the room, and the ratio is not given up",
        ),
        pytest.param(
            {"c1": 2, "c2": 6},
            job(4, preference=Preference.DYNAMIC_WEIGHTS),
            {"c1": 1, "c2": 3},
            id="dynamic weights follow the room",
        ),
        pytest.param(
            {"c1": 100, "c2": 10},
            job(10, preference=Preference.DYNAMIC_WEIGHTS),
            {"c1": 9, "c2": 1},
            id="all the room counts, and not only that for the replicas asked for",
        ),
        pytest.param(
            {"c1": 10, "c2": 30, "c3": 60},
            job(10, preference=Preference.DYNAMIC_WEIGHTS),
            {"c1": 1, "c2": 3, "c3": 6},
            id="of three clusters, too",
        ),
        pytest.param(
            {"c1": 6, "c2": 9, "c3": 50, "c4": 40},
            job(
                5,
                preference=Preference.DYNAMIC_WEIGHTS,
                spread=(SpreadRule(by=ClusterField.CLUSTER, maximum=2),),
            ),
            {"c3": 3, "c4": 2},
            id="where not all clusters may be used, the roomiest are",
        ),
        pytest.param(
            {"c1": 2, "c2": 6},
            job(20, preference=Preference.DYNAMIC_WEIGHTS),
            {"c1": 2, "c2": 6},
            id="and fill it when it is short",
        ),
        pytest.param(
            {"c1": 9, "c2": 9, "c3": 9},
            job(6, spread=(SpreadRule(by=ClusterField.CLUSTER, minimum=2),)),
            {"c1": 5, "c2": 1},
            id="a minimum of clusters is used even when one would do",
        ),
        pytest.param(
            {"c1": 2, "c2": 3, "c3": 4},
            job(9, spread=(SpreadRule(by=ClusterField.CLUSTER, maximum=2),)),
            {"c2": 3, "c3": 4},
            id="a maximum of clusters takes the roomiest",
        ),
        pytest.param(
            {"c1": 9},
            job(6, spread=(SpreadRule(by=ClusterField.CLUSTER, minimum=2),)),
            {},
            id="fewer clusters than the minimum",
        ),
        pytest.param({"c1": 9, "c2": 9}, job(0), {"c1": 0}, id="no replicas need one cluster"),
    ],
)
def test_division(free, one, want):
    """How replicas are divided over clusters by what fits."""
    assert placed(snapshot(members(**free), pending=[one]))[0] == want


def test_pending_growth_is_named():
    """What does not fit is pending growth, and the entries sum to what is admitted."""
    _, plan = placed(snapshot(members(c1=2, c2=1), pending=[job(9)]))

    assert plan.admissions[0].decision.pending == Amounts.of({"main": 6})


@pytest.mark.parametrize(
    ("limit", "want", "reason"),
    [
        pytest.param(3, {"c1": 3}, "Admitted", id="cut to the capability"),
        pytest.param(0, {}, "QueueCapability", id="not one is allowed"),
    ],
)
def test_quota(limit, want, reason):
    """Replicas are cut to what the queue's capability allows, at least one."""
    world = snapshot(members(c1=9), [queue("default", gpus=limit)], pending=[job(6)])

    found, plan = placed(world)

    assert (found, plan.outcomes[0].verdict.reason) == (want, reason)


def test_groups_of_clusters():
    """The first group that holds all wins; without one, the group that holds most."""

    def choose(pods):
        groups = tuple(
            AffinityGroup(name=name, selector=ClusterSelector(names=names))
            for name, names in (("near", ("c1",)), ("far", ("c2", "c3")))
        )
        one = workload(
            "d",
            pods=pods,
            gpus=1,
            division=Division.DIVIDED,
            placement=PlacementRule(affinities=groups),
        )
        return placed(snapshot(members(c1=2, c2=2, c3=2), pending=[one]))[0]

    assert choose(2) == {"c1": 2}
    assert choose(3) == {"c2": 2, "c3": 1}
    assert choose(9) == {"c2": 2, "c3": 2}


@pytest.mark.parametrize(
    ("free", "one", "has", "want"),
    [
        pytest.param({"c1": 9, "c2": 9}, job(5), {"c2": 2}, {"c2": 5}, id="where it is already"),
        pytest.param(
            {"c1": 9, "c2": 3}, job(5), {"c2": 2}, {"c1": 2, "c2": 3}, id="then elsewhere"
        ),
        pytest.param(
            {"c1": 9, "c2": 9},
            job(8, preference=Preference.STATIC_WEIGHTS, given=weights(c1=1, c2=1)),
            {"c1": 1, "c2": 3},
            {"c1": 4, "c2": 4},
            id="towards the static ratio",
        ),
        pytest.param(
            {"c1": 4, "c2": 8},
            job(6, preference=Preference.DYNAMIC_WEIGHTS),
            {"c1": 2},
            {"c1": 2, "c2": 4},
            id="by room",
        ),
        pytest.param(
            {"c1": 100, "c2": 10},
            job(12, preference=Preference.DYNAMIC_WEIGHTS),
            {"c2": 2},
            {"c1": 10, "c2": 2},
            id="by all the room that there is",
        ),
        pytest.param({"c1": 2}, job(5), {"c1": 2}, {"c1": 2}, id="no room, nothing moves"),
    ],
)
def test_growth(free, one, has, want):
    """Growth comes on top of what is there and takes nothing away."""
    world = snapshot(members(**free), running=[on(one, **has)])

    found, plan = placed(world)

    assert found == want
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def test_what_growth_waits_for():
    """The pods that are not there wait for the room that any workload would wait for."""
    world = snapshot(members(c1=2), running=[on(job(5), c1=2)])

    _, plan = placed(world)

    assert plan.outcomes[0].verdict.detail == (
        "in place; 3 more pods wait for a cluster with room for 1 pod; no cluster has room for it "
        "now"
    )


@pytest.mark.parametrize(
    ("one", "has", "want"),
    [
        pytest.param(job(3), {"c1": 4, "c2": 1}, {"c1": 3}, id="the smallest part goes first"),
        pytest.param(
            job(3, preference=Preference.DYNAMIC_WEIGHTS),
            {"c1": 4, "c2": 2},
            {"c1": 2, "c2": 1},
            id="by weight from all",
        ),
        pytest.param(
            job(2, preference=Preference.STATIC_WEIGHTS),
            {"c1": 3, "c2": 1},
            {"c1": 2},
            id="a part of nothing is dropped",
        ),
        pytest.param(job(0), {"c1": 2, "c2": 1}, {"c1": 0}, id="to zero: one entry stays"),
    ],
)
def test_shrink(one, has, want):
    """Fewer replicas are an admission with less, at once."""
    world = snapshot(members(c1=9, c2=9), running=[on(one, **has)])

    found, plan = placed(world)

    assert found == want
    assert plan.admissions[0].decision.pending == Amounts()
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


@pytest.mark.parametrize(
    ("has", "want"),
    [
        pytest.param({"c1": 1, "c2": 3}, {"c1": 2, "c2": 2}, id="back to the ratio"),
        pytest.param({"c1": 2, "c2": 2}, {"c1": 2, "c2": 2}, id="nothing is better"),
        pytest.param({"c2": 4}, {"c1": 2, "c2": 2}, id="into a cluster that it was not in"),
    ],
)
def test_reschedule(has, want):
    """A reschedule divides afresh, with the room that the replicas have already."""
    one = job(4, preference=Preference.STATIC_WEIGHTS, given=weights(c1=1, c2=1))
    moved = replace(on(one, **has), reschedule_at=Instant(NOW + SECOND))
    world: World = snapshot(members(c1=4, c2=4), running=[moved])

    found, plan = placed(world)

    assert found == want
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def test_hard_constraint_holds_for_all_replicas_in_a_cluster():
    """Growth stays in the domain of the replicas that are there, or in another cluster."""
    rack = [cluster(name, racks=2, nodes=1, gpus=1) for name in ("c1", "c2")]
    one = workload("d", pods=3, gpus=1, tier=1, division=Division.DIVIDED)

    found, plan = placed(snapshot(rack, pending=[one]))

    assert found == {"c1": 1, "c2": 1}
    assert plan.admissions[0].decision.pending == Amounts.of({"main": 1})


def test_dynamic_weights_under_a_hard_constraint():
    """The measure of a cluster is its roomiest allowed domain, not the sum over all of them."""
    clusters = [cluster("c1", racks=1, gpus=90), cluster("c2", racks=9, gpus=10)]
    one = job(10, preference=Preference.DYNAMIC_WEIGHTS)
    gang = replace(one.demand.gang, constraint=hard(1))
    one = replace(one, demand=replace(one.demand, gang=gang))

    assert placed(snapshot(clusters, pending=[one]))[0] == {"c1": 9, "c2": 1}


def test_dynamic_weights_under_a_limit_in_a_cluster():
    """Room that the queue may not use in a cluster is none."""
    capped = replace(queue("default"), cluster_capability=((ClusterName("c1"), ((GPU, 5),)),))
    one = job(10, preference=Preference.DYNAMIC_WEIGHTS)

    found, _ = placed(snapshot(members(c1=100, c2=45), [capped], pending=[one]))

    assert found == {"c1": 1, "c2": 9}


def test_a_reschedule_by_dynamic_weights():
    """Its own replicas count as room where they are; all other room counts, too."""
    one = on(job(10, preference=Preference.DYNAMIC_WEIGHTS), c1=5, c2=5)
    moved = replace(one, reschedule_at=Instant(NOW + SECOND))

    found, _ = placed(snapshot(members(c1=100, c2=10), running=[moved]))

    assert found == {"c1": 9, "c2": 1}
