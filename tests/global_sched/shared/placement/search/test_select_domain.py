"""Nodes that a gang of one shape gets."""

import pytest

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.pods import Operator, Requirement, Toleration
from global_sched.shared.placement import NotPlaced, Placed, Space
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    amounts,
    domain,
    free,
    gang,
    hard,
    leaf,
    nodes_used,
    pod_set,
    racks,
    shape,
    topology,
    tree,
    where,
    workers,
)

BLOCKS = topology(
    tree(
        b1=(2, None), b1r1=(1, "b1"), b1r2=(1, "b1"), b2=(2, None), b2r1=(1, "b2"), b2r2=(1, "b2")
    ),
    [
        leaf("b1r1", free(1), node="x3"),
        leaf("b1r2", free(1), node="x5"),
        leaf("b1r2", free(1), node="x1"),
        leaf("b1r2", free(1), node="x6"),
        leaf("b2r1", free(1), node="x2"),
        leaf("b2r2", free(2), node="x4"),
    ],
)
"""E5 of the peers' suites: two blocks of two racks."""


@pytest.mark.parametrize(
    ("pods", "constraint", "want_domain", "want_racks"),
    [
        pytest.param(1, hard(1), "b1r1", {"b1r1": 1}, id="one pod takes a rack that it fills"),
        pytest.param(2, hard(1), "b2r2", {"b2r2": 2}, id="best fit, not first fit"),
        pytest.param(3, hard(1), "b1r2", {"b1r2": 3}, id="the only rack that holds three"),
        pytest.param(4, hard(2), "b1", {"b1r2": 3, "b1r1": 1}, id="one block over two racks"),
        pytest.param(3, hard(2), "b1r2", {"b1r2": 3}, id="a lower tier than allowed wins"),
        pytest.param(4, SOFT, "b1", {"b1r2": 3, "b1r1": 1}, id="soft widens by one tier"),
        pytest.param(
            6, SOFT, None, {"b1r2": 3, "b1r1": 1, "b2r2": 2}, id="soft widens to the cluster"
        ),
        pytest.param(1, None, "b2r1", {"b2r1": 1}, id="no constraint still reports the domain"),
        pytest.param(
            4,
            None,
            None,
            {"b2r1": 1, "b2r2": 2, "b1r1": 1},
            id="no constraint fills the fullest domains and keeps the large one free",
        ),
    ],
)
def test_domain_and_racks(pods, constraint, want_domain, want_racks):
    """Lowest tier, then least distance, then the tightest domain, then the name."""
    placed = Space(BLOCKS).place(workers(pods, constraint=constraint))

    assert isinstance(placed, Placed)
    assert (placed.domain, where(BLOCKS, placed)) == (want_domain, want_racks)
    assert placed.amounts == amounts(worker=pods)


@pytest.mark.parametrize(
    ("nodes", "pods", "constraint", "want_nodes"),
    [
        pytest.param([2, 1, 1], 2, hard(1), {"r-n0": 2}, id="one node that suffices"),
        pytest.param([8, 4, 4], 4, hard(1), {"r-n1": 4}, id="the tightest node that suffices"),
        pytest.param([8, 4, 4], 9, hard(1), {"r-n0": 8, "r-n1": 1}, id="few nodes, the rest tight"),
        pytest.param([8, 1, 2], 4, None, {"r-n1": 1, "r-n2": 2, "r-n0": 1}, id="fullest first"),
        pytest.param([3, 3], 3, hard(1), {"r-n0": 3}, id="equal nodes go by name"),
    ],
)
def test_nodes_of_a_rack(nodes, pods, constraint, want_nodes):
    """Constrained gangs use few nodes; free pods mop up what is left over."""
    world = racks(r=nodes)

    placed = Space(world).place(workers(pods, constraint=constraint))

    assert nodes_used(world, placed) == want_nodes


def test_distance_comes_before_tightness():
    """Of two domains of a tier the one whose pods lie closer wins, even when it is larger."""
    world = topology(
        tree(
            a=(2, None),
            a1=(1, "a"),
            a2=(1, "a"),
            a3=(1, "a"),
            b=(2, None),
            b1=(1, "b"),
            b2=(1, "b"),
        ),
        [leaf(r, free(2), node=f"n-{r}") for r in ("a1", "a2", "a3")]
        + [leaf("b1", free(5), node="n-b1"), leaf("b2", free(5), node="n-b2")],
    )

    placed = Space(world).place(workers(6, constraint=hard(2)))

    assert where(world, placed) == {"b1": 5, "b2": 1}


def test_three_tiers_are_split_exactly():
    """Filling the largest rack first would cost more pairs across spines than the exact split."""
    world = topology(
        tree(
            c=(3, None),
            s1=(2, "c"),
            s1a=(1, "s1"),
            s1b=(1, "s1"),
            s2=(2, "c"),
            s2a=(1, "s2"),
            s2b=(1, "s2"),
            s2c=(1, "s2"),
        ),
        [
            leaf("s1a", free(4), node="n1"),
            leaf("s1b", free(1), node="n2"),
            leaf("s2a", free(3), node="n3"),
            leaf("s2b", free(2), node="n4"),
            leaf("s2c", free(2), node="n5"),
        ],
    )

    placed = Space(world).place(workers(8, constraint=hard(3)))

    assert where(world, placed) == {"s2a": 3, "s2b": 2, "s2c": 2, "s1b": 1}


def test_loose_nodes():
    """Nodes in no HyperNode are for soft and free gangs, and free gangs go there first."""
    world = topology(
        tree(r=(1, None)), [leaf("r", free(2), node="in"), leaf(None, free(4), node="out")]
    )
    space = Space(world)

    assert nodes_used(world, space.place(workers(2))) == {"out": 2}
    assert nodes_used(world, space.place(workers(2, constraint=SOFT))) == {"in": 2}
    assert nodes_used(world, space.place(workers(6, constraint=SOFT))) == {"in": 2, "out": 4}
    assert isinstance(space.place(workers(3, constraint=hard(1))), NotPlaced)


def test_uneven_trees():
    """A node whose smallest HyperNode is of a higher tier counts there, and only there."""
    world = topology(
        tree(spine=(2, None), rack=(1, "spine")),
        [leaf("rack", free(2), node="low"), leaf("spine", free(2), node="high")],
    )
    space = Space(world)

    assert space.place(workers(2, constraint=hard(1))).domain == "rack"
    placed = space.place(workers(3, constraint=hard(2)))
    assert (placed.domain, where(world, placed)) == ("spine", {"rack": 2, "spine": 1})
    assert isinstance(space.place(workers(3, constraint=hard(1))), NotPlaced)


def test_tier_names():
    """A tier name allows domains of that tier and below."""
    world = topology(
        [domain("s", 2, tier_name="spine"), domain("r", 1, "s", tier_name="rack")],
        [leaf("r", free(1), node="a"), leaf("s", free(1), node="b")],
    )
    space = Space(world)

    assert space.place(workers(1, constraint=hard(name="rack"))).tier_name == "rack"
    assert space.place(workers(2, constraint=hard(name="spine"))).tier_name == "spine"
    assert isinstance(space.place(workers(2, constraint=hard(name="rack"))), NotPlaced)


def test_a_tier_name_of_two_tiers_is_the_lower_one_of_its_tree():
    """A name means one tier in each tree; which one is no matter of order."""
    domains = [
        domain("s", 2, tier_name="rack"),
        domain("r", 1, "s", tier_name="rack"),
        domain("q", 3, tier_name="rack"),
    ]
    leaves = [
        leaf("r", free(1), node="a"),
        leaf("s", free(1), node="b"),
        leaf("q", free(9), node="c"),
    ]
    for listed in (domains, domains[::-1]):
        space = Space(topology(listed, leaves))
        assert space.place(workers(1, constraint=hard(name="rack"))).domain == "r"
        assert space.place(workers(2, constraint=hard(name="rack"))).domain == "q"
        refused = space.place(workers(10, constraint=hard(name="rack")))
        assert isinstance(refused, NotPlaced)
        assert refused.verdict.detail == "the largest rack has room for 9 of 10 pods (q)"


def test_a_tier_name_beside_pods_that_run():
    """It means what it means in the tree where they are, and so does the domain tried first."""
    domains = [
        domain("s", 2, tier_name="spine"),
        domain("r", 1, "s", tier_name="rack"),
        domain("q", 2, tier_name="rack"),
        domain("b", 1, "q", tier_name="blade"),
    ]
    leaves = [
        leaf("r", free(2), node="a"),
        leaf("s", free(9), node="b"),
        leaf("b", free(1), node="c"),
        leaf("q", free(9), node="d"),
    ]
    space = Space(topology(domains, leaves))
    gang = workers(3, constraint=hard(name="rack"))

    assert space.place(gang, bound=("b",)).domain == "q"
    assert isinstance(space.place(gang, bound=("r",)), NotPlaced)
    assert space.place(gang, minimum=Amounts(), bound=("b",)).amounts.pods() == 3
    assert space.place(gang, minimum=Amounts()).domain == "q"
    assert (space.room(gang), space.room(gang, ("r",)), space.room(gang, ("b",))) == (10, 2, 10)
    two = workers(2, constraint=hard(name="rack"))
    assert space.place(two).domain == "r"
    assert space.place(two, prefer="q").domain == "q"
    assert [one.domain for one in space.explain(gang)] == ["q", "r", "b"]


def test_clusters_with_equal_tiers_read_a_name_each_by_itself():
    """What one cluster's tree means says nothing about another's with the same tiers and names."""
    leaves = [leaf("r", free(1), node="a"), leaf("q", free(2), node="b")]
    one_tree = [domain("q", 2, tier_name="rack"), domain("r", 1, "q", tier_name="rack")]
    two_trees = [domain("q", 2, tier_name="rack"), domain("r", 1, tier_name="rack")]
    gang = workers(2, constraint=hard(name="rack"))

    assert isinstance(Space(topology(one_tree, leaves)).place(gang), NotPlaced)
    assert Space(topology(two_trees, leaves)).place(gang).domain == "q"


def test_pods_without_devices_leave_devices_alone():
    """CPU pods go to nodes without free devices while those suffice."""
    world = topology(
        tree(a=(1, None), b=(1, None)),
        [leaf("a", free(2, 8), node="gpu"), leaf("b", free(3), node="plain")],
    )
    space = Space(world)

    assert nodes_used(world, space.place(workers(2, constraint=hard(1)))) == {"plain": 2}
    assert nodes_used(world, space.place(workers(2))) == {"plain": 2}
    assert nodes_used(world, space.place(workers(5))) == {"gpu": 2, "plain": 3}


def test_one_pod_per_node():
    """A one-per-node pod set counts nodes, not room; surplus spreads likewise."""
    world = racks(a=[4, 4], b=[4, 4, 4])
    spread = shape(1, anti_affine=True)
    wanted = gang(pod_set("w", 3, like=spread), constraint=hard(1))

    placed = Space(world).place(wanted)

    assert nodes_used(world, placed) == {"b-n0": 1, "b-n1": 1, "b-n2": 1}
    four = gang(pod_set("w", 4, 2, like=spread), constraint=hard(1))
    assert Space(world).place(four).amounts == amounts(w=3)


@pytest.mark.parametrize(
    ("more", "want_nodes"),
    [
        pytest.param({"selector": (("kind", "b"),)}, {"nb": 1}, id="node selector"),
        pytest.param({}, {"na": 1}, id="a taint that is not tolerated"),
        pytest.param(
            {"affinity": ((Requirement("kind", Operator.NOT_IN, ("a",)),),)},
            {"nb": 1},
            id="required node affinity",
        ),
        pytest.param(
            {
                "affinity": (
                    (
                        Requirement("kind", Operator.IN, ("a", "b")),
                        Requirement("disk", Operator.EXISTS),
                    ),
                    (Requirement("kind", Operator.IN, ("b",)),),
                )
            },
            {"nb": 1},
            id="any of its terms, with all requirements of that",
        ),
        pytest.param(
            {"selector": (("kind", "t"),), "tolerations": (Toleration(exists=True),)},
            {"nt": 1},
            id="a taint that is tolerated",
        ),
    ],
)
def test_classes(more, want_nodes, kinds):
    """Only nodes whose class takes the pod count."""
    assert nodes_used(kinds, Space(kinds).place(gang(pod_set("w", 1, cpu=1, **more)))) == want_nodes


@pytest.mark.parametrize(
    ("pods", "tier", "want"),
    [
        pytest.param(2, 2, ("a", 1), id="still the lowest tier that holds it"),
        pytest.param(4, 2, (None, None), id="the whole cluster lies one tier above the highest"),
        pytest.param(4, 9, (None, None), id="and under every tier beyond"),
        pytest.param(4, 1, None, id="a tier that exists is no such thing"),
    ],
)
def test_above_the_highest_tier_is_the_whole_cluster(pods, tier, want):
    """A hard tier above the highest that exists admits the cluster, as Volcano's virtual top."""
    world = topology(
        tree(a=(1, None), b=(1, None)),
        [leaf("a", free(2), node="n1"), leaf("b", free(3), node="n2"), leaf(None, free(1))],
    )

    placed = Space(world).place(workers(pods, constraint=hard(tier)))

    found = (placed.domain, placed.tier) if isinstance(placed, Placed) else None
    assert found == want
