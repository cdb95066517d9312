"""Duplicated workloads: all replicas in every chosen cluster. Copies: an object everywhere."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.cluster import Readiness
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.placement_rule import (
    AffinityGroup,
    ClusterField,
    ClusterSelector,
    PlacementRule,
    SpreadRule,
)
from global_sched.shared.model.pods import Effect, Taint
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Division
from tests.builders import GPU, NOW, POLICY, cluster, queue, rule, snapshot, soft, tenant, workload
from tests.worlds import after

TWO_AT_MOST = PlacementRule(spread=(SpreadRule(by=ClusterField.CLUSTER, maximum=2),))
TWO_AT_LEAST = PlacementRule(spread=(SpreadRule(by=ClusterField.CLUSTER, minimum=2),))
DOWN = Taint("down", "", Effect.NO_SCHEDULE)


def members(**gpus):
    return [cluster(name, gpus=count) for name, count in gpus.items()]


def job(pods=2, **fields):
    return workload("d", pods=pods, gpus=1, division=Division.DUPLICATED, **fields)


def copy(**fields):
    return workload("d", division=Division.COPIED, **fields)


def placed(world):
    """Replicas by cluster after a cycle, and the plan."""
    plan = run_cycle(world, POLICY, NOW)
    return {t.cluster: t.replicas for t in after(world, plan).workload("d").targets}, plan


@pytest.mark.parametrize(
    ("free", "one", "want"),
    [
        pytest.param({"c1": 2, "c2": 2}, job(), {"c1": 2, "c2": 2}, id="everywhere with room"),
        pytest.param({"c1": 2, "c2": 1}, job(), {"c1": 2}, id="not where not all have room"),
        pytest.param({"c1": 1, "c2": 1}, job(), {}, id="never on summed room"),
        pytest.param(
            {"c1": 3, "c2": 3}, job(placement=rule("c2")), {"c2": 2}, id="where the policy says"
        ),
        pytest.param(
            {"c1": 9, "c2": 4, "c3": 2},
            job(placement=TWO_AT_MOST, constraint=soft()),
            {"c2": 2, "c3": 2},
            id="the best two, which are the tightest",
        ),
        pytest.param({"c1": 9, "c2": 1}, job(placement=TWO_AT_LEAST), {}, id="two or none"),
        pytest.param(
            {"c1": 1, "c2": 9},
            job(
                placement=PlacementRule(
                    affinities=tuple(
                        AffinityGroup(name=n, selector=ClusterSelector(names=(n,)))
                        for n in ("c1", "c2")
                    )
                )
            ),
            {"c2": 2},
            id="the next group when the first has no room",
        ),
    ],
)
def test_duplicated(free, one, want):
    """Every chosen cluster needs room for all replicas."""
    assert placed(snapshot(members(**free), pending=[one]))[0] == want


def test_charged_once_per_cluster():
    """A duplicate counts in every cluster that it runs in."""
    world = snapshot(members(c1=2, c2=2), pending=[job()])

    later = after(world, placed(world)[1])

    assert Resources.total(u.amount for u in later.usage).get(GPU) == 4


@pytest.mark.parametrize(
    ("limit", "one", "want"),
    [
        pytest.param(4, job(), {"c1": 2, "c2": 2}, id="both clusters are within it"),
        pytest.param(3, job(), {"c1": 2}, id="as many clusters as it allows"),
        pytest.param(1, job(), {}, id="not even one"),
        pytest.param(3, job(placement=TWO_AT_LEAST), {}, id="fewer than the policy wants"),
    ],
)
def test_quota(limit, one, want):
    """The capability limits how many clusters are used, never how many replicas in one."""
    world = snapshot(members(c1=2, c2=2), [queue("default", gpus=limit)], pending=[one])

    assert placed(world)[0] == want


@pytest.mark.parametrize(
    ("clusters", "running", "want"),
    [
        pytest.param(
            members(c1=4, c2=4), job(on="c1"), {"c1": 2, "c2": 2}, id="a cluster with room joins"
        ),
        pytest.param(
            members(c1=4, c2=4),
            job(4, on=["c1", "c2"], admitted=2),
            {"c1": 4, "c2": 4},
            id="more replicas in all of them",
        ),
        pytest.param(
            members(c1=4, c2=3),
            job(4, on=["c1", "c2"], admitted=2),
            {"c1": 4, "c2": 3},
            id="more where they fit, the rest is pending growth",
        ),
        pytest.param(
            members(c1=4, c2=4),
            job(1, on=["c1", "c2"], admitted=2),
            {"c1": 1, "c2": 1},
            id="fewer in all of them",
        ),
        pytest.param(
            [cluster("c1", gpus=4, terminating=True), *members(c2=4)],
            job(on=["c1", "c2"]),
            {"c2": 2},
            id="a cluster that is removed is left, the others stay",
        ),
        pytest.param(
            members(c1=4, c2=4),
            job(on=["c1", "c2"], placement=rule("c2")),
            {"c2": 2},
            id="a cluster that is no longer selected is left",
        ),
        pytest.param(
            [cluster("c1", gpus=4, taints=[DOWN]), *members(c2=4)],
            job(on="c1"),
            {"c1": 2, "c2": 2},
            id="a taint does not drive out what is there",
        ),
        pytest.param(
            [cluster("c1", gpus=4, readiness=Readiness.NOT_READY)],
            job(4, on="c1", admitted=2),
            {"c1": 2},
            id="a cluster that is not Ready keeps what it has and gets no more",
        ),
    ],
)
def test_upkeep(clusters, running, want):
    """Duplicates follow the clusters: they join, grow, shrink and leave without a reschedule."""
    world = snapshot(clusters, running=[running])

    found, plan = placed(world)

    assert found == want
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def test_growth_that_is_pending():
    """The replicas that the shortest cluster lacks are named."""
    world = snapshot(members(c1=4, c2=3), running=[job(4, on=["c1", "c2"], admitted=2)])

    _, plan = placed(world)

    assert plan.admissions[0].decision.pending == Amounts.of({"main": 1})
    again = run_cycle(after(world, plan), POLICY, NOW).outcomes[0].verdict
    assert (again.reason.value, again.missing) == ("GrowthPending", 1)


@pytest.mark.parametrize(
    ("clusters", "one", "want"),
    [
        pytest.param(
            [cluster("c1"), cluster("c2", agent=False)],
            copy(queue="missing"),
            {"c1": None, "c2": None},
            id="everywhere, without queue or report",
        ),
        pytest.param(
            [cluster("c1"), cluster("c2", readiness=Readiness.UNKNOWN)],
            copy(),
            {"c1": None},
            id="not where a filter says no",
        ),
        pytest.param(
            [cluster("c1"), cluster("c2"), cluster("c3")],
            copy(placement=TWO_AT_MOST),
            {"c1": None, "c2": None},
            id="at most as many as the policy says",
        ),
        pytest.param([cluster("c1")], copy(placement=TWO_AT_LEAST), {}, id="two or none"),
        pytest.param([cluster("c1", kinds=[])], copy(), {}, id="nowhere"),
        pytest.param([], copy(), {}, id="no cluster"),
    ],
)
def test_copied(clusters, one, want):
    """An object without demand goes to every cluster that the policy and the filters allow."""
    tenants = [tenant("team", queues=["none"])]

    assert placed(snapshot(clusters, [], tenants, pending=[one]))[0] == want


def test_copies_go_past_the_limit():
    """Copies are not held up by the cycle's limit or by anything in line."""
    world = snapshot([cluster("c1")], pending=[copy()])

    plan = run_cycle(world, replace(POLICY, admissions_per_cycle=0), NOW)

    assert len(plan.admissions) == 1
    assert plan.outcomes[0].position == 0


@pytest.mark.parametrize(
    ("clusters", "running", "want"),
    [
        pytest.param(
            [cluster("c1"), cluster("c2")], copy(on="c1"), {"c1": None, "c2": None}, id="it joins"
        ),
        pytest.param([cluster("c2")], copy(on=["c1", "c2"]), {"c2": None}, id="it leaves"),
        pytest.param([cluster("c2")], copy(on="c1"), {}, id="its only cluster is gone"),
        pytest.param([cluster("c1")], copy(on="c1"), {"c1": None}, id="nothing to do"),
    ],
)
def test_copies_follow_the_clusters(clusters, running, want):
    """A cluster that becomes usable gets its copy, and one that goes takes it along."""
    world = snapshot(clusters, running=[running])

    assert placed(world)[0] == want
