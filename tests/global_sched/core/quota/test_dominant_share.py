"""Dominant shares: exact fractions, and the published examples with their exact answers."""

from fractions import Fraction

import pytest

from global_sched.core import run_cycle
from global_sched.core.quota.dominant_share import Scale
from global_sched.core.quota.ledger import Ledger
from global_sched.shared.model.explanation import Share
from global_sched.shared.model.policy import Policy, ScoreWeights
from global_sched.shared.model.resources import Resources
from tests.builders import (
    NOW,
    POLICY,
    cluster,
    gang,
    ids,
    pod,
    pod_set,
    queue,
    snapshot,
    tenant,
    workload,
)
from tests.worlds import after

TOTALS = Resources.of({"cpu": 9, "memory": 18})


@pytest.mark.parametrize(
    ("held", "weight", "want"),
    [
        pytest.param({}, 1, Fraction(0), id="nothing held is no share"),
        pytest.param({"cpu": 3, "memory": 12}, 1, Fraction(2, 3), id="the larger part dominates"),
        pytest.param({"cpu": 6, "memory": 2}, 1, Fraction(2, 3), id="whichever resource it is"),
        pytest.param({"cpu": 6, "memory": 2}, 2, Fraction(1, 3), id="a weight of 2 halves it"),
        pytest.param({"gpu": 5, "cpu": 1}, 1, Fraction(1, 9), id="what nobody has does not count"),
    ],
)
def test_share(held, weight, want):
    """A share is the largest part of any resource, over the weight, as an exact fraction."""
    share = Scale(TOTALS, [1, 2, 3]).share(held, weight)

    assert Fraction(share.numerator, share.denominator) == want


def test_keys_order_like_fractions():
    """Keys over the common denominator order exactly as the fractions do, ties included."""
    scale = Scale(Resources.of({"cpu": 7, "memory": 3}), [2, 5, 11])
    cases = [
        ({"cpu": cpu, "memory": memory}, weight)
        for cpu in range(8)
        for memory in range(4)
        for weight in (2, 5, 11)
    ]

    def exact(case):
        held, weight = case
        return max(Fraction(held["cpu"], 7), Fraction(held["memory"], 3)) / weight

    keys = [scale.key(held, weight) for held, weight in cases]
    exacts = [exact(case) for case in cases]
    assert [a < b for a in keys for b in keys] == [a < b for a in exacts for b in exacts]


def test_no_weight_is_last():
    """Weight 0 never goes first while another waits, and its share is shown without a value."""
    scale = Scale(TOTALS, [0, 1])

    assert scale.key({}, 0) > scale.key({"cpu": 9}, 1)
    assert scale.share({"cpu": 3}, 0).denominator == 0


def test_nothing_is_there():
    """Without any capacity every share is 0 and nothing is divided by 0."""
    scale = Scale(Resources(), [])

    assert scale.key({"cpu": 5}, 1) == (False, 0)
    assert scale.share({"cpu": 5}, 1) == Share()
    assert scale.share({"cpu": 5}, 1).denominator == 1


def test_ties_between_resources_end_in_the_name():
    """Two resources with the same part: the first by name is shown."""
    scale = Scale(Resources.of({"b": 4, "a": 2}), [1])

    assert scale.share({"b": 2, "a": 1}, 1).resource == "a"
    assert scale.share({"a": 1, "b": 2}, 1).resource == "a"


def _tasks(name, count, created=0, **shape):
    """One-pod jobs of a tenant; older first."""
    return [
        workload(
            f"{name}{i}", tenant=name, created=created + i, needs=gang(pod_set(shape=pod(**shape)))
        )
        for i in range(count)
    ]


def _node(**amounts):
    return cluster("c1", pods=10_000, flat=True, **amounts)


def test_drf_nsdi():
    """NSDI'11: <9 CPU, 18 GB>, A asks <1, 4>, B <3, 1>: A gets 3 tasks, B 2, both shares 2/3."""
    world = snapshot(
        clusters=[_node(cpu=9, memory=18)],
        pending=_tasks("a", 9, cpu=1, memory=4) + _tasks("b", 9, cpu=3, memory=1),
    )

    plan = run_cycle(world, POLICY, NOW)

    assert sorted(one[0] for one in ids(plan.admissions)) == ["a", "a", "a", "b", "b"]
    used = Resources.total(usage.amount for usage in after(world, plan).usage)
    assert (used.get("cpu"), used.get("memory")) == (9000, 14 * 2**30)


def test_drf_order_from_equal_shares():
    """Equal shares go by creation; after that the one that holds less is next: A B A B A."""
    world = snapshot(
        clusters=[_node(cpu=9, memory=18)],
        pending=_tasks("a", 9, cpu=1, memory=4) + _tasks("b", 9, cpu=3, memory=1),
    )

    plan = run_cycle(world, POLICY, NOW)

    # a 2/9, b 3/9, a 4/9 (b holds more), b 6/9, a 6/9
    assert [one[0] for one in ids(plan.admissions)] == ["a", "b", "a", "b", "a"]


def test_drf_order_of_the_paper():
    """NSDI'11 begins with B: B A A B A."""
    older = _tasks("b", 9, created=-100, cpu=3, memory=1)
    world = snapshot(
        clusters=[_node(cpu=9, memory=18)],
        pending=_tasks("a", 9, cpu=1, memory=4) + older,
    )

    plan = run_cycle(world, POLICY, NOW)

    # b 3/9, a 2/9, a 4/9, b 6/9, a 6/9
    assert [one[0] for one in ids(plan.admissions)] == ["b", "a", "a", "b", "a"]


def test_drf_weights():
    """A tenant of weight 3 gets three times as much."""
    world = snapshot(
        clusters=[_node(cpu=8, memory=256)],
        tenants=[tenant("a"), tenant("b", weight=3)],
        pending=_tasks("a", 8, cpu=1) + _tasks("b", 8, cpu=1),
    )

    plan = run_cycle(world, POLICY, NOW)

    assert sorted(one[0] for one in ids(plan.admissions)) == ["a"] * 2 + ["b"] * 6


def test_sharing_incentive():
    """<30, 30>; <1, 3> and <1, 1>: neither gets less than with half of everything."""
    world = snapshot(
        clusters=[_node(cpu=30, memory=30)],
        pending=_tasks("a", 30, cpu=1, memory=3) + _tasks("b", 30, cpu=1, memory=1),
    )

    plan = run_cycle(world, POLICY, NOW)

    got = [one[0] for one in ids(plan.admissions)]
    assert got.count("a") >= 5
    assert got.count("b") >= 15


def test_drfh_over_two_servers():
    """DRFH: <2, 12> and <12, 2>, <0.2, 1> and <1, 0.2>: ten tasks each, by best fit."""
    world = snapshot(
        clusters=[
            cluster("s1", cpu=2, memory=12, pods=100, flat=True),
            cluster("s2", cpu=12, memory=2, pods=100, flat=True),
        ],
        pending=[
            workload(
                f"{name}{i}",
                tenant=name,
                created=i,
                needs=gang(pod_set(shape=pod(others=[("cpu", cpu), ("memory", memory)]))),
            )
            for name, cpu, memory in (
                ("a", 200, 2**30),
                ("b", 1000, 2**30 // 5),
            )
            for i in range(12)
        ],
    )

    plan = run_cycle(world, Policy(score_weights=ScoreWeights(balance=0)), NOW)

    got = [one[0] for one in ids(plan.admissions)]
    assert (got.count("a"), got.count("b")) == (10, 10)


def test_spread_of_shares():
    """Filled from empty, the shares of equal tenants differ by at most one task."""
    jobs = [job for name in "abcd" for job in _tasks(name, 30, cpu=1)]
    world = snapshot(clusters=[_node(cpu=50)], pending=jobs)

    plan = run_cycle(world, Policy(), NOW)

    got = [one[0] for one in ids(plan.admissions)]
    counts = [got.count(name) for name in "abcd"]
    assert sum(counts) == 50
    assert max(counts) - min(counts) <= 1


def test_totals_are_what_members_have():
    """Shares are parts of what the reports add up to; a member without a report adds nothing."""
    world = snapshot(
        clusters=[cluster("c1", gpus=4), cluster("c2", gpus=4), cluster("c3", agent=False)],
        queues=[queue("q")],
        running=[workload("r", queue="q", gpus=2, on="c1")],
        pending=[workload("p", queue="q", gpus=8)],
    )
    share = Ledger(world).shown_queue("q").share

    assert (share.resource, share.held, share.total) == ("nvidia.com/gpu", 2, 8)
