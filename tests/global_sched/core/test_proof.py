"""Uncertain answers of a plan, which the search limit ended."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.verdict import Code
from tests.builders import NOW, POLICY, cluster, snapshot, workload
from tests.global_sched.shared.placement.worlds import (
    domain,
    free,
    gang,
    hard,
    leaf,
    pod_set,
    topology,
)

SHORT = replace(POLICY, placement_search_limit=1)

# Made anew each time: proven answers are shared between questions about the same topology.


def tight():
    """A rack that holds `three`, in one way that is not found at once."""
    sizes = ((8, 9), (7, 6), (4, 5))
    return topology(
        [domain("r", 1)], [leaf("r", free(cpu, 0, mem), node=f"n{cpu}") for cpu, mem in sizes]
    )


def three():
    """Three shapes."""
    return gang(
        pod_set("a", 1, cpu=1, memory=2),
        pod_set("b", 2, cpu=2, memory=3),
        pod_set("c", 3, cpu=4, memory=3),
        constraint=hard(1),
    )


def spread():
    """Racks of which none holds `two`; how it lies closest takes a search."""
    sizes = ((2, 3), (3, 7), (4, 6), (6, 5), (2, 4), (8, 8))
    return topology(
        [domain("s", 2), *(domain(f"r{rack}", 1, "s") for rack in range(3))],
        [
            leaf(f"r{at // 2}", free(cpu, 0, mem), node=f"n{at}")
            for at, (cpu, mem) in enumerate(sizes)
        ],
    )


def two():
    """Two shapes."""
    return gang(
        pod_set("a", 3, cpu=2, memory=1), pod_set("b", 4, cpu=1, memory=3), constraint=hard(2)
    )


def small():
    """A node for none of it."""
    return topology([domain("r", 1)], [leaf("r", free(1, 0, 1), node="n")])


def world(needs, *trees):
    """One job that waits for clusters with these trees."""
    clusters = [cluster(f"c{at}", tree=tree) for at, tree in enumerate(trees)]
    return snapshot(clusters=clusters, pending=[workload("job", needs=needs)])


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param([tight], id="one cluster"),
        pytest.param([tight, small], id="another one refuses for certain"),
    ],
)
def test_a_refusal_that_is_not_proven_is_no_refusal(trees):
    """It waits whatever other clusters say, evicts nothing, and is counted by name."""
    plan = run_cycle(world(three(), *(tree() for tree in trees)), SHORT, NOW)

    [outcome] = plan.outcomes
    assert outcome.verdict.code == Code.WAIT
    assert not outcome.verdict.proven
    assert "placement_search_limit" in outcome.verdict.detail
    assert plan.unproven == ("jobs/job",)
    assert not plan.withdrawals
    assert not plan.claims


def test_a_place_that_may_not_be_the_closest_is_used_and_counted():
    """What was found is used; that it is not proven to be the closest is said."""
    plan = run_cycle(world(two(), spread()), SHORT, NOW)

    assert [one.workload for one in plan.admissions] == ["jobs/job"]
    assert plan.unproven == ("jobs/job",)


@pytest.mark.parametrize(("needs", "tree"), [(three, tight), (two, spread)])
def test_nothing_is_unproven_within_the_limit(needs, tree):
    """The same worlds under the limit that is shipped."""
    plan = run_cycle(world(needs(), tree()), POLICY, NOW)

    assert [one.workload for one in plan.admissions] == ["jobs/job"]
    assert plan.unproven == ()


def test_a_proven_refusal_is_not_counted():
    """Too little room is a certain answer."""
    plan = run_cycle(world(three(), small()), SHORT, NOW)

    assert plan.outcomes[0].verdict.code == Code.NO_FIT
    assert plan.unproven == ()
