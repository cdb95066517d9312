"""Gangs of several shapes, and partitions."""

import pytest

from global_sched.shared.model.ids import DomainId, PodSetName
from global_sched.shared.model.verdict import Code
from global_sched.shared.placement import Join, NotPlaced, Placed, Space, assign
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    amounts,
    free,
    gang,
    hard,
    leaf,
    nodes_used,
    parts,
    pod_set,
    racks,
    topology,
    tree,
    where,
    workers,
)


def test_leader_and_workers_together():
    """T14: a CPU leader and four GPU workers go to the one domain that holds all."""
    world = topology(
        tree(b1=(1, None), b2=(1, None), b3=(1, None)),
        [
            leaf("b1", free(2, 2), node="n1"),
            leaf("b2", free(5, 4), node="n2"),
            leaf("b3", free(2, 2), node="n3"),
        ],
    )
    wanted = gang(
        pod_set("leader", 1, cpu=1), pod_set("worker", 4, cpu=1, gpu=1), constraint=hard(1)
    )

    placed = Space(world).place(wanted)

    assert (placed.domain, placed.amounts) == ("b2", amounts(leader=1, worker=4))


def test_the_obvious_order_would_fail():
    """A small pod must not take the place that only fits the large one: exact, not greedy."""
    world = topology(
        tree(r=(1, None)), [leaf("r", free(4, 0), node="a"), leaf("r", free(3, 1), node="b")]
    )
    wanted = gang(
        pod_set("x", 1, cpu=3),
        pod_set("y", 1, cpu=3, gpu=1),
        pod_set("z", 1, cpu=1),
        constraint=hard(1),
    )

    placed = Space(world).place(wanted)

    assert nodes_used(world, placed) == {"a": 2, "b": 1}


def test_exact_where_scarcest_first_fails():
    """Two shapes that only fit when each node takes one of both."""
    world = topology(
        tree(r=(1, None)), [leaf("r", free(5, 0, 5), node="a"), leaf("r", free(5, 0, 5), node="b")]
    )
    wanted = gang(
        pod_set("wide", 2, cpu=4, memory=1),
        pod_set("deep", 2, cpu=1, memory=4),
        constraint=hard(1),
    )

    placed = Space(world).place(wanted)

    assert nodes_used(world, placed) == {"a": 2, "b": 2}


def test_equal_shapes_are_one():
    """Pod sets of one shape are placed as one, in the template's order."""
    world = racks(r=[2, 2])
    wanted = gang(pod_set("master", 1, cpu=1), pod_set("worker", 3, cpu=1), constraint=hard(1))

    placed = Space(world).place(wanted)

    assert assign(
        world, placed, {PodSetName("master"): ["m"], PodSetName("worker"): list("abc")}
    ) == {
        "m": "r-n0",
        "a": "r-n0",
        "b": "r-n1",
        "c": "r-n1",
    }


def test_refusal_counts_all_shapes_together():
    """The nearest domain is the one that holds most pods at once, not shape by shape."""
    world = topology(
        tree(a=(1, None), b=(1, None)),
        [leaf("a", free(2, 2), node="n1"), leaf("b", free(3, 1), node="n2")],
    )
    wanted = gang(pod_set("l", 2, cpu=1), pod_set("w", 2, cpu=1, gpu=1), constraint=hard(1))

    verdict = Space(world).place(wanted).verdict

    assert (verdict.code, verdict.nearest, verdict.holds, verdict.wants) == (
        Code.NO_FIT,
        "b",
        3,
        4,
    )


def test_unproven_is_not_no_fit():
    """Where counting exactly is beyond the budget, a miss is WAIT and says so."""
    world = topology(tree(r=(1, None)), [leaf("r", free(97, 0, 97), count=50)], label_keys=())
    wanted = gang(
        pod_set("a", 90, cpu=33, memory=1),
        pod_set("b", 90, cpu=1, memory=33),
        pod_set("c", 90, cpu=17, memory=16),
        constraint=hard(1),
    )

    verdict = Space(world).place(wanted).verdict

    assert verdict.code in (Code.WAIT, Code.NO_FIT)
    if verdict.code == Code.WAIT:
        assert "placement_search_limit" in verdict.detail


@pytest.mark.parametrize(
    ("sizes", "rule", "job", "want"),
    [
        pytest.param({"a": 4, "b": 4}, hard(1), hard(2), {"a": 4}, id="all in one rack if it fits"),
        pytest.param({"a": 3, "b": 3}, hard(1), hard(2), {"a": 2, "b": 2}, id="whole groups only"),
        pytest.param({"a": 3, "b": 1}, hard(1), hard(2), None, id="no half group anywhere"),
        pytest.param({"a": 3, "b": 1}, SOFT, hard(2), {"a": 3, "b": 1}, id="soft groups may split"),
        pytest.param({"a": 2, "b": 2}, hard(1), hard(1), None, id="the gang's own tier holds, too"),
        pytest.param({"a": 2, "b": 2}, hard(1), None, {"a": 2, "b": 2}, id="groups in a free gang"),
        pytest.param({"a": 2, "b": 2}, hard(1), SOFT, {"a": 2, "b": 2}, id="groups in a soft gang"),
    ],
)
def test_partitions(sizes, rule, job, want):
    """Four pods in two groups: each under one domain of its own constraint."""
    world = racks(**{name: [1] * n for name, n in sizes.items()})

    answer = Space(world).place(workers(4, constraint=job, partition=parts(2, 2, constraint=rule)))

    assert (where(world, answer) if isinstance(answer, Placed) else None) == want


def test_partition_groups_are_consecutive_pods():
    """Pods of one group are neighbours in the list, so index // size is the group."""
    world = racks(a=[1] * 3, b=[1] * 3, c=[1] * 3)
    wanted = workers(6, constraint=hard(2), partition=parts(2, 3, constraint=hard(1)))

    nodes = assign(world, Space(world).place(wanted), {PodSetName("worker"): list("012345")})

    assert [nodes[p][0] == nodes[q][0] for p, q in ("01", "23", "45")] == [True] * 3


@pytest.mark.parametrize(
    ("rack", "want"),
    [
        pytest.param([1, 1, 1], 2, id="one group as surplus of none"),
        pytest.param([1, 1, 1, 1, 1], 4, id="surplus groups whole"),
    ],
)
def test_surplus_groups_are_whole(rack, want):
    """A minimum of one group takes further groups only whole."""
    wanted = workers(6, 2, constraint=hard(1), partition=parts(2, 3, 1, hard(1)))

    assert Space(racks(r=rack)).place(wanted).amounts == amounts(worker=want)


def test_partition_refusal():
    """A gang whose groups fit nowhere whole names the topology."""
    wanted = workers(4, partition=parts(2, 2, constraint=hard(1)))

    verdict = Space(racks(a=[1], b=[1], c=[1] * 3)).place(wanted).verdict

    assert (verdict.reason, verdict.detail) == (
        "TopologyDoesNotFit",
        "the cluster has room for 2 of 4 pods in whole partitions",
    )


def test_a_group_is_joined_where_it_runs():
    """A pod that returns to its partition goes where the group is, or nowhere."""
    world = racks(a=[1], b=[1, 1, 1])
    wanted = workers(4, constraint=hard(2), partition=parts(2, 2, constraint=hard(1)))
    lost = Join(PodSetName("worker"), (DomainId("a"),), 1)

    placed = Space(world).place(
        wanted, amounts=amounts(worker=1), bound=(DomainId("a"), DomainId("b")), joins=(lost,)
    )
    assert where(world, placed) == {"a": 1}

    full = racks(a=[0], b=[1, 1, 1])
    answer = Space(full).place(
        wanted, amounts=amounts(worker=1), bound=(DomainId("a"),), joins=(lost,)
    )
    assert isinstance(answer, NotPlaced)
