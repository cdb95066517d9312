"""Minimum and surplus, a preferred domain, and pods that run already."""

import pytest

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, DomainId, PodSetName
from global_sched.shared.model.topology import Occupant
from global_sched.shared.placement import NotPlaced, Placed, Space
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    amounts,
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

TWO_RACKS = topology(
    tree(s2=(2, None), s0=(1, "s2"), s1=(1, "s2")),
    [
        leaf("s0", free(1), node="n1"),
        leaf("s0", free(1), node="n2"),
        leaf("s1", free(1), node="n3"),
        leaf("s1", free(1), node="n4"),
    ],
)
"""E6 of the peers' suites: one pod per node."""


@pytest.mark.parametrize(
    ("count", "least", "constraint", "want"),
    [
        pytest.param(6, 2, hard(1), {"b": 3}, id="surplus decides between domains that hold it"),
        pytest.param(6, 2, hard(2), {"b": 3, "a": 2}, id="surplus spreads as far as allowed"),
        pytest.param(2, 1, hard(1), {"a": 2}, id="all of it in the tightest domain"),
        pytest.param(9, 1, SOFT, {"b": 3, "a": 2, None: 1}, id="soft surplus goes anywhere"),
    ],
)
def test_surplus(count, least, constraint, want):
    """The minimum sets the tier; surplus fills that domain and spreads under the constraint."""
    world = topology(
        tree(s=(2, None), a=(1, "s"), b=(1, "s")),
        [
            leaf("a", free(2), node="na"),
            leaf("b", free(3), node="nb"),
            leaf(None, free(1), node="x"),
        ],
    )

    placed = Space(world).place(workers(count, least, constraint=constraint))

    assert where(world, placed) == want


@pytest.mark.parametrize(
    ("constraint", "want"),
    [
        pytest.param(hard(1), 3, id="the largest rack"),
        pytest.param(hard(2), 5, id="the spine"),
        pytest.param(None, 5, id="anywhere"),
    ],
)
def test_as_many_as_fit(constraint, want):
    """An empty minimum asks for as many as the constraint allows."""
    placed = Space(racks(a=[2], b=[3])).place(workers(9, constraint=constraint), minimum=Amounts())

    assert placed.amounts == amounts(worker=want)


def test_amounts_cap_what_is_placed():
    """No more than the given amounts, and the minimum within them."""
    space = Space(racks(a=[4]))

    assert space.place(workers(4, 1), amounts=amounts(worker=2)).amounts == amounts(worker=2)
    assert space.place(workers(4), amounts=Amounts()).amounts == Amounts()


def test_minimum_of_the_gang_follows_the_template():
    """A gang's minimum below the sum of its pod sets' is made up in the template's order."""
    wanted = gang(pod_set("b", 2, cpu=1), pod_set("a", 2, cpu=1), minimum=3, constraint=hard(1))

    placed = Space(racks(r=[3])).place(wanted)

    assert placed.amounts == amounts(b=2, a=1)


@pytest.mark.parametrize(
    ("prefer", "constraint", "want"),
    [
        pytest.param("b", hard(1), {"b": 2}, id="taken when the minimum fits there"),
        pytest.param("c", hard(1), {"a": 2}, id="left when it does not"),
        pytest.param("gone", hard(1), {"a": 2}, id="one that no longer exists is no preference"),
        pytest.param("b", None, {"b": 2}, id="without a constraint, too"),
        pytest.param("spine", hard(1), {"a": 2}, id="the constraint holds inside it"),
    ],
)
def test_prefer(prefer, constraint, want):
    """A preferred domain comes first, else the usual choice."""
    world = racks(a=[2], b=[4], c=[1])

    placed = Space(world).place(workers(2, constraint=constraint), prefer=DomainId(prefer))

    assert where(world, placed) == want


@pytest.mark.parametrize(
    ("bound", "pods", "constraint", "want"),
    [
        pytest.param(("s0", "s0"), 1, hard(1), {"s0": 1}, id="beside its peers"),
        pytest.param(("s0",), 2, hard(1), {"s0": 2}, id="as many as its rack holds"),
        pytest.param(("s0",), 3, hard(1), None, id="never outside the allowed domain"),
        pytest.param(("s0",), 3, hard(2), {"s0": 2, "s1": 1}, id="as near as possible"),
        pytest.param(("s0", "s1"), 1, hard(1), None, id="peers that break the constraint already"),
        pytest.param(("s0", "s1"), 1, hard(2), {"s0": 1}, id="within the domain around all peers"),
        pytest.param(("s1",), 1, SOFT, {"s1": 1}, id="soft stays close"),
        pytest.param((None,), 1, hard(2), None, id="a peer outside every domain"),
        pytest.param((None,), 1, SOFT, {"s0": 1}, id="soft with a peer outside every domain"),
        pytest.param(("s1",), 1, None, {"s0": 1}, id="without a constraint scattered as ever"),
    ],
)
def test_bound_pods(bound, pods, constraint, want):
    """The enclosing domain of running and new pods obeys the constraint."""
    answer = Space(TWO_RACKS).place(
        workers(pods, constraint=constraint), bound=tuple(d and DomainId(d) for d in bound)
    )

    assert (where(TWO_RACKS, answer) if isinstance(answer, Placed) else None) == want


def test_the_reported_domain_encloses_bound_pods():
    """The domain of a placement includes the pods that ran before."""
    placed = Space(TWO_RACKS).place(
        workers(1, constraint=hard(2)), bound=(DomainId("s0"), DomainId("s1"))
    )

    assert (placed.domain, placed.tier) == ("s2", 2)


@pytest.mark.parametrize(
    ("taken", "pods", "constraint", "want"),
    [
        pytest.param((), 3, hard(1), 0, id="H1: three of tier 1 do not fit"),
        pytest.param((), 3, hard(2), 3, id="H2: three of tier 2 do"),
        pytest.param((), 2, hard(1), 2, id="H3: two in one rack"),
        pytest.param(("s0", "s0"), 1, hard(2), 1, id="H5: the third pod in the other rack"),
        pytest.param(("s0", "s0"), 1, hard(1), 0, id="H5: not under tier 1"),
        pytest.param((), 4, SOFT, 4, id="H7: soft takes the whole cluster"),
    ],
)
def test_hypernode_tiers(taken, pods, constraint, want):
    """The cases H1 to H7 of the peers' suites."""
    left = [leaf for leaf in TWO_RACKS.leaves if leaf.domain not in taken]
    bound = tuple(DomainId(name) for name in taken)
    answer = Space(topology(TWO_RACKS.domains, left)).place(
        workers(pods, constraint=constraint), bound=bound
    )

    assert (answer.amounts.pods() if isinstance(answer, Placed) else 0) == want


def test_occupants_of_the_same_gang():
    """With the binding given, nodes that hold a pod of a one-per-node pod set take no second."""
    mine = Occupant(binding=BindingId("b1"), pod_set=PodSetName("w"), pods=1)
    world = topology(
        tree(r=(1, None)),
        [leaf("r", free(1), node="n1", occupants=(mine,)), leaf("r", free(4), node="n2")],
    )
    wanted = gang(pod_set("w", 1, like=shape(1, anti_affine=True)))

    assert nodes_used(world, Space(world).place(wanted, binding=BindingId("b1"))) == {"n2": 1}
    assert nodes_used(world, Space(world).place(wanted, binding=BindingId("b2"))) == {"n1": 1}


def test_two_clusters_never_lend_each_other_room():
    """M6: jobs of 7, 7, 6, 3 on two clusters of 10; the 6 sees 3 and 3, not 6."""
    left, right = Space(racks(r=[10])), Space(racks(r=[10]))
    for space in (left, right):
        space.take(space.place(workers(7)))

    for space in (left, right):
        verdict = space.place(workers(6)).verdict
        assert (verdict.holds, verdict.wants) == (3, 6)
        assert isinstance(space.place(workers(3)), Placed)


@pytest.mark.parametrize(
    ("pods", "tier", "want_a", "want_b"),
    [
        pytest.param(4, 1, 3, None, id="gang of 4 in one rack: only B"),
        pytest.param(4, 2, None, None, id="gang of 4 in one spine: both"),
        pytest.param(5, 1, 3, 4, id="gang of 5 in one rack: none, B is nearer"),
    ],
)
def test_the_smaller_cluster_with_the_wider_rack(pods, tier, want_a, want_b):
    """M7: three racks of three free nodes against one rack of four."""
    clusters = Space(racks(a=[1] * 3, b=[1] * 3, c=[1] * 3)), Space(racks(a=[1] * 4))

    answers = [space.place(workers(pods, constraint=hard(tier))) for space in clusters]

    holds = [a.verdict.holds if isinstance(a, NotPlaced) else None for a in answers]
    assert holds == [want_a, want_b]
