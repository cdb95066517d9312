"""Gangs: whole in one cluster, minimum first, never on summed capacity."""

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.workload import Division
from tests.builders import (
    NOW,
    POLICY,
    cluster,
    demand,
    gang,
    hard,
    ids,
    pod,
    pod_set,
    queue,
    rule,
    snapshot,
    workload,
)
from tests.worlds import after

A = cluster("a", racks=3, nodes=3, gpus=1)
B = cluster("b", racks=1, nodes=4, gpus=1)


def cycle(*pending, clusters=(A, B), **world):
    return run_cycle(snapshot(clusters, pending=pending, **world), POLICY, NOW)


@pytest.mark.parametrize(
    ("pods", "tier", "want"),
    [
        pytest.param(4, 1, "b", id="four in one rack fit only the smaller cluster"),
        pytest.param(4, "rack", "b", id="the same by the tier's name"),
        pytest.param(5, 2, "a", id="five under one spine fit only the larger cluster"),
        pytest.param(3, 1, "a", id="three fill a rack of the larger cluster"),
        pytest.param(9, None, "a", id="nine without a constraint"),
        pytest.param(10, None, None, id="ten fit nowhere, although thirteen are free in all"),
        pytest.param(5, 1, None, id="five in one rack fit nowhere"),
    ],
)
def test_topology_chooses(pods, tier, want):
    """The gang goes where one allowed domain holds all of it."""
    plan = cycle(workload("j", pods=pods, gpus=1, tier=tier))

    assert [a.targets[0].cluster for a in plan.admissions] == ([want] if want else [])


@pytest.mark.parametrize(
    ("pods", "tier", "want"),
    [
        pytest.param(
            5,
            1,
            "waits for a rack with room for 5 pods; the largest have room for 4 (rack-0 in b) "
            "and 3 (rack-0 to rack-2 in a)",
            id="the nearest cluster and domain, and by how much",
        ),
        pytest.param(
            10,
            None,
            "waits for a cluster with room for 10 pods; the largest have room for 9 (a) and 4 (b)",
            id="without a tree",
        ),
    ],
)
def test_refusal_names_the_nearest(pods, tier, want):
    """The verdict names the cluster that came closest and what it lacks."""
    outcome = cycle(workload("j", pods=pods, gpus=1, tier=tier)).outcomes[0]

    assert outcome.verdict.detail == want
    assert outcome.verdict.code.value == "NO_FIT"
    assert outcome.nearest == ("a" if tier is None else "b")
    assert [c.cluster for c in outcome.clusters] == ["a", "b"]


def test_never_on_summed_capacity():
    """Two clusters of 10, jobs 7, 7, 6, 3: the 6 waits although 3 + 3 are free; the 3 goes on."""
    clusters = [cluster(name, cpu=10) for name in ("a", "b")]
    jobs = [workload(f"j{cpu}-{i}", cpu=cpu, created=i) for i, cpu in enumerate((7, 7, 6, 3))]

    plan = cycle(*jobs, clusters=clusters)

    assert ids(plan.admissions) == ["j7-0", "j7-1", "j3-3"]
    assert plan.outcomes[2].verdict.detail == (
        "waits for a cluster with room for 1 pod; no cluster has room for it now"
    )


def test_a_large_gang_never_lands_on_the_small_cluster():
    """A gang of 8 one-node pods over clusters of 8 and 1 nodes goes to the large one."""
    clusters = [cluster("large", nodes=8, gpus=8), cluster("small", nodes=1, gpus=8)]

    plan = cycle(workload("j", pods=8, gpus=8), clusters=clusters)

    assert plan.admissions[0].targets[0].cluster == "large"


@pytest.mark.parametrize(
    ("pods", "minimum", "want", "pending"),
    [
        pytest.param(4, 4, {"main": 4}, {}, id="all of it"),
        pytest.param(6, 2, {"main": 4}, {"main": 2}, id="the minimum and what else fits"),
        pytest.param(6, 5, None, None, id="less than the minimum is nothing"),
    ],
)
def test_minimum_then_surplus(pods, minimum, want, pending):
    """Admission places the minimum first, then surplus as far as there is room."""
    plan = cycle(workload("j", pods=pods, minimum=minimum, gpus=1), clusters=[B])

    found = [(a.decision.grants[0].amounts, a.decision.pending) for a in plan.admissions]
    assert found == ([] if want is None else [(Amounts.of(want), Amounts.of(pending))])


def test_grant():
    """The grant names domain, tier and amounts; replicas only where the binding has some."""
    plan = cycle(workload("j", pods=4, gpus=1, tier=1), clusters=[B])
    bare = cycle(
        workload("j", asks=demand(gang(pod_set(pods=4, gpus=1)), carries_replicas=False)),
        clusters=[B],
    )

    grant = plan.admissions[0].decision.grants[0]
    assert (grant.domain, grant.tier, grant.tier_name, grant.replicas) == ("rack-0", 1, "rack", 4)
    assert bare.admissions[0].targets[0].replicas is None
    assert bare.admissions[0].decision.grants[0].replicas is None


def test_several_pod_sets():
    """All pod sets of a gang lie under the one domain."""
    needs = gang(
        pod_set("ps", pods=1, shape=pod(cpu=8)),
        pod_set("worker", pods=3, shape=pod(gpus=1, cpu=60)),
        constraint=hard(1),
    )

    plan = cycle(workload("j", needs=needs))

    assert plan.admissions[0].targets[0].cluster == "b"
    assert plan.admissions[0].decision.grants[0].amounts == Amounts.of({"ps": 1, "worker": 3})


def test_divided_component_sets_stay_whole():
    """A gang of several pod sets is never divided, whatever the policy says."""
    needs = gang(pod_set("ps", pods=1, gpus=1), pod_set("worker", pods=9, gpus=1))
    one = workload("j", asks=demand(needs, division="Divided"))

    assert cycle(one).outcomes[0].verdict.code.value == "NO_FIT"


@pytest.mark.parametrize(
    ("clusters", "tier", "want"),
    [
        pytest.param([], None, ("WAIT", "NoCluster", None), id="no cluster at all"),
        pytest.param(
            [cluster("c", agent=False, capacity_problem=""), cluster("d", gpus=1)],
            None,
            ("NO_FIT", "CapacityDoesNotFit", "d"),
            id="no room anywhere counts more than an unknown",
        ),
        pytest.param(
            [cluster("c", agent=False, capacity_problem=""), cluster("d", kinds=[])],
            None,
            ("WAIT", "NoReport", "c"),
            id="an unknown counts more than a never",
        ),
        pytest.param(
            [cluster("c", kinds=[]), cluster("d", schedulers=[])],
            None,
            ("NEVER", "NobodyBinds", "d"),
            id="the cluster that got furthest is nearest",
        ),
        pytest.param(
            [cluster("c", gpus=4)],
            "planet",
            ("NEVER", "TierUnknown", "c"),
            id="a tier name that does not exist is never no constraint",
        ),
    ],
)
def test_aggregated_verdict(clusters, tier, want):
    """NO_FIT if any cluster says so, else WAIT if any, else NEVER."""
    outcome = cycle(workload("j", gpus=4, tier=tier), clusters=clusters).outcomes[0]

    assert (outcome.verdict.code, outcome.verdict.reason, outcome.nearest) == want


def test_stale_cluster_is_excluded_until_it_reports():
    """A stale report excludes a cluster with that reason; a fresh one brings it back."""
    job = workload("j", pods=4, gpus=1, tier=1)
    stale = cluster("b", racks=1, nodes=4, gpus=1, report_age=120)

    refused = cycle(job, clusters=[A, stale]).outcomes[0]

    assert [c.verdict.reason.value for c in refused.clusters] == [
        "TopologyDoesNotFit",
        "ReportStale",
    ]
    assert ids(cycle(job).admissions) == ["j"]


@pytest.mark.parametrize("division", [Division.WHOLE, Division.DUPLICATED, Division.DIVIDED])
def test_equal_demands_share_their_refusal(division):
    """Workloads with the same demand get the same verdicts, one object for all."""
    asks = demand(gang(pod_set(pods=99, gpus=9)), division=division)
    plan = cycle(*(workload(f"j{i}", asks=asks, created=i) for i in range(3)))

    first, *others = (outcome.clusters for outcome in plan.outcomes)
    assert all(other is first for other in others)


def test_room_that_went_is_asked_again():
    """What fitted before others were admitted is asked again, with the room that is left."""
    plan = cycle(*(workload(f"j{i}", pods=2, gpus=1, created=i) for i in range(3)), clusters=[B])

    assert ids(plan.admissions) == ["j0", "j1"]
    assert plan.outcomes[2].verdict.holds == 0


def test_order_of_decisions():
    """Decisions of one cycle count up, carry its instant and the leader's epoch, and differ."""
    world = snapshot([B], pending=[workload(f"j{i}", gpus=1, created=i) for i in range(3)], epoch=7)

    decisions = [a.decision for a in run_cycle(world, POLICY, NOW).admissions]

    assert [d.order for d in decisions] == [0, 1, 2]
    assert {(d.at, d.epoch) for d in decisions} == {(NOW, 7)}
    assert len({d.id for d in decisions}) == 3


def test_scaled_to_zero():
    """A workload without pods is admitted where it may go, with no amounts."""
    plan = cycle(workload("j", pods=0), clusters=[B])

    assert plan.admissions[0].decision.grants[0].amounts == Amounts()
    assert plan.admissions[0].targets[0].replicas == 0


def test_growth_beside_the_others():
    """More pods of a running gang are admitted in its cluster, under its constraint."""
    world = snapshot(
        [A, B],
        running=[
            workload("j", pods=4, minimum=2, gpus=1, tier=1, on="b", domain="rack-0", admitted=2)
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert plan.admissions[0].decision.grants[0].amounts == Amounts.of({"main": 4})
    assert plan.outcomes[0].verdict.reason.value == "Admitted"
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


@pytest.mark.parametrize(
    ("queues", "clusters", "want"),
    [
        pytest.param(
            None,
            [A],
            "in place; 1 more pod waits: no room for 1 more pod where it runs",
            id="the rack is full",
        ),
        pytest.param(
            [queue("default", gpus=3)],
            [B],
            "in place; 1 more pod waits: queue default: nvidia.com/gpu 1 asked, 3 of 3 in use",
            id="the queue is full",
        ),
        pytest.param(
            None,
            [
                cluster("a", racks=3, nodes=3, gpus=1, report_age=99),
                cluster("b", nodes=4, gpus=1, report_age=99),
            ],
            "in place; 1 more pod waits: the capacity report is 99 s old, more than 30 s",
            id="the report is stale",
        ),
    ],
)
def test_growth_pending(queues, clusters, want):
    """Growth that is not admitted is named in decision and verdict, and evicts nothing."""
    name = clusters[0].name
    world = snapshot(
        clusters,
        queues,
        running=[
            workload("j", pods=4, minimum=2, gpus=1, tier=1, on=name, domain="rack-0", admitted=3)
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert plan.outcomes[0].verdict.detail == want
    assert plan.outcomes[0].verdict.reason.value == "GrowthPending"
    assert plan.admissions[0].decision.pending == Amounts.of({"main": 1})
    assert plan.admissions[0].decision.id == world.workload("j").decision.id
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def test_growth_stands_in_line():
    """Growth waits its turn: an older or more important workload goes first."""
    world = snapshot(
        [B],
        running=[workload("j", pods=4, minimum=2, gpus=1, on="b", domain="rack-0", admitted=2)],
        pending=[workload("k", gpus=1, priority=1, placement=rule("b"))],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert ids(plan.admissions) == ["k", "j"]
    assert plan.admissions[1].decision.grants[0].amounts == Amounts.of({"main": 3})
