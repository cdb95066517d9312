"""Volcano's scoring vectors: the numbers of its formulas, and that our choice is the best of them.

Our engine does not score. It takes the lowest tier, then the closest, then the tightest domain; on
these vectors the domain with the highest score is the one that it takes, and when that is full the
next one. Where it is not, the case says why.
"""

import pytest

from global_sched.shared.model.gang import Gang, Mode, PodSet, TopologyConstraint
from global_sched.shared.model.ids import DomainId, PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology
from global_sched.shared.placement import NotPlaced, Placed, Space
from tests.global_sched.shared.placement.volcano_scores import (
    PARENTS,
    TIERS,
    DomainRoom,
    chain,
    near,
    near_with_tasks,
    packed,
    spared,
)

LEAVES = ("s3", "s4", "s5", "s6")
V8 = {"s3": (2, 4), "s4": (4, 4), "s5": (2, 8), "s6": (4, 8)}
"""CPUs and GiB of each of the two nodes of a leaf."""
AXIS = ("cpu", "foo", "memory", "pods")


def space(nodes, *, foo=None, full=()):
    """The tree of the vectors with two nodes in each leaf."""
    domains = tuple(
        Domain(
            name=DomainId(name),
            tier=tier,
            parent=DomainId(PARENTS[name]) if name in PARENTS else None,
        )
        for name, tier in sorted(TIERS.items())
    )
    leaves = tuple(
        Leaf(
            domain=DomainId(leaf),
            node_class=NodeClass(),
            free=(
                0 if leaf in full else nodes[leaf][0] * 1000,
                (foo or {}).get(leaf, (0, 0))[at],
                nodes[leaf][1],
                110,
            ),
            count=1,
            node=f"{leaf}-n{at + 1}",
        )
        for leaf in LEAVES
        for at in range(2)
    )
    return Space(Topology(axis=AXIS, domains=domains, leaves=leaves))


def gang(pods, cpu, memory, foo=0, *, constraint=None):
    """Equal pods."""
    requests = Resources.of({"cpu": cpu * 1000, "memory": memory, "foo": foo, "pods": 1})
    one = PodSet(
        name=PodSetName("task"), count=pods, minimum=pods, shape=PodShape(requests=requests)
    )
    return Gang(pod_sets=(one,), minimum=pods, constraint=constraint)


SOFT = TopologyConstraint(mode=Mode.SOFT)


def leaf_of(space_, placed):
    """The one leaf of a placement."""
    assert isinstance(placed, Placed), placed
    [leaf] = {space_.topology.leaves[take.leaf].domain for take in placed.takes}
    return str(leaf)


def order_of(make, wanted, bound=()):
    """The leaves in the order in which the engine takes them when the ones before are full."""
    found = []
    for _ in LEAVES:
        room = make(tuple(found))
        placed = room.place(wanted, bound=tuple(DomainId(name) for name in bound))
        if isinstance(placed, NotPlaced):
            break
        found.append(leaf_of(room, placed))
    return found


def room_of(name, nodes, foo=None, used=()):
    """What a HyperNode of the tree has in all; `used` are leaves that are full."""
    below = [leaf for leaf in LEAVES if name == "top" or name in chain(leaf, PARENTS)]

    def total(leaves):
        return {
            "cpu": sum(2 * nodes[leaf][0] for leaf in leaves),
            "memory": sum(2 * nodes[leaf][1] for leaf in leaves),
            "foo": sum(sum((foo or {}).get(leaf, (0, 0))) for leaf in leaves),
        }

    return DomainRoom(has=total(below), used=total([leaf for leaf in below if leaf in used]))


# --- closeness to what runs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "want"),
    [
        pytest.param(1, (100, 66.66, 33.33), id="V1 weight 1"),
        pytest.param(2, (200, 133.33, 66.66), id="V2 weight 2"),
    ],
)
def test_the_closest_leaf_goes_first(weight, want):
    """V1, V2: own leaf, then the sibling, then the other half; the engine goes in that order."""
    scores = [
        near(x, "s3", tiers=TIERS, parents=PARENTS, weight=weight) for x in ("s3", "s4", "s5")
    ]
    order = order_of(lambda full: space(V8, full=full), gang(1, 1, 1, constraint=SOFT), ["s3"])

    assert scores == pytest.approx(want, abs=0.01)
    assert order[:2] == ["s3", "s4"]
    assert sorted(order[2:]) == ["s5", "s6"]


def test_two_tiers_and_one():
    """V3, V4: a sibling counts half under a common parent, nothing where only the top is above."""
    two = {"s0": 2, "s1": 1, "s2": 1}
    above = {"s1": "s0", "s2": "s0"}
    one = {"s1": 1, "s2": 1}

    assert [near(x, "s1", tiers=two, parents=above) for x in ("s1", "s2")] == [100, 50]
    assert [near(x, "s1", tiers=one, parents={}) for x in ("s1", "s2")] == [100, 0]


@pytest.mark.parametrize(
    ("tasks", "want"),
    [
        pytest.param(
            {"s3": 2, "s4": 1},
            {"s3": 116.66, "s4": 91.66, "s5": 33.33, "s6": 33.33},
            id="V5 two of four tasks in s3 and one in s4",
        ),
        pytest.param(
            {"s4": 2},
            {"s3": 66.66, "s4": 116.66, "s5": 33.33, "s6": 33.33},
            id="V6 two of the four of a subgroup in s4",
        ),
    ],
)
def test_the_leaf_with_most_of_the_tasks_goes_first(tasks, want):
    """V5, V6: a job in s1 with tasks in its leaves; the engine stays inside s1 before it leaves it.

    Which of the two leaves it takes first goes by tightness here: the engine gets the domains
    of running pods, not their numbers.
    """
    scores = near_with_tasks(LEAVES, "s1", tasks, 4)
    order = order_of(lambda full: space(V8, full=full), gang(1, 1, 1, constraint=SOFT), tasks)

    assert scores == pytest.approx(want, abs=0.01)
    assert sorted(order[:2]) == ["s3", "s4"]
    if len(tasks) == 1:
        assert order[0] == max(scores, key=lambda name: scores[name])


def test_nothing_allocated_yet():
    """V7: all scores are 0, and the engine chooses by tightness and name alone."""
    assert [near(x, "", tiers=TIERS, parents=PARENTS) for x in LEAVES] == [0, 0, 0, 0]
    # s3 and s5 hold four such pods, s4 and s6 eight; of equal ones the one with less memory left.
    order = order_of(lambda full: space(V8, full=full), gang(1, 1, 1, constraint=SOFT))
    assert order == ["s3", "s5", "s4", "s6"]


# --- tightness ------------------------------------------------------------------------------------


def test_the_fullest_domain_is_taken():
    """V8: two pods of 4 CPUs and 4 GiB; s4 would be full, s6 three quarters."""
    asked = {"cpu": 8, "memory": 8}
    scores = {
        name: 100 * packed(room_of(name, V8), asked, {"cpu": 1, "memory": 1})
        for name in (*TIERS, "top")
    }
    wanted = gang(2, 4, 4, constraint=SOFT)

    assert scores == pytest.approx(
        {"s0": 25, "s1": 58.33, "s2": 45.83, "s3": 0, "s4": 100, "s5": 0, "s6": 75, "top": 25},
        abs=0.01,
    )
    assert order_of(lambda full: space(V8, full=full), wanted) == ["s4", "s6"]


def test_a_device_decides():
    """V9: a device that only s6 has enough of in one leaf."""
    foo = {"s3": (8, 0), "s4": (8, 0), "s5": (16, 0), "s6": (16, 0)}
    asked = {"cpu": 8, "memory": 8, "foo": 16}
    weights = {"cpu": 3, "memory": 4, "foo": 3}
    scores = {
        name: 1000 * packed(room_of(name, V8, foo), asked, weights) for name in (*TIERS, "top")
    }

    assert scores == pytest.approx(
        {
            "s0": 266.66, "s1": 700, "s2": 450, "s3": 0, "s4": 0, "s5": 0, "s6": 800, "top": 266.66,
        },
        abs=0.01,
    )  # fmt: skip
    # One pod of the gang per node of s6 has the devices on its first node only: both go there.
    both = {leaf: (nodes[0] * 2, nodes[1]) for leaf, nodes in V8.items()}
    room = space(both, foo=foo)
    assert leaf_of(room, room.place(gang(2, 4, 4, 8, constraint=SOFT))) == "s6"


@pytest.mark.parametrize(
    ("foo", "full", "weights", "fading", "scale", "want", "order"),
    [
        pytest.param(
            None, (), {"cpu": 1, "memory": 1}, 0.8, 100,
            (25.836, 21.603, 19.907, 15.673), ["s3", "s4", "s5", "s6"],
            id="V10 the smallest domain that the pod fills most",
        ),
        pytest.param(
            {"s3": (8, 8), "s4": (8, 8), "s5": (16, 16), "s6": (16, 16)}, (),
            {"cpu": 1, "memory": 4, "foo": 3}, 0, 1000,
            (500, 468.75, 281.25, 250), ["s3", "s4", "s5", "s6"],
            id="V11 with a device, the lowest tier alone",
        ),
        pytest.param(
            {"s3": (8, 8), "s4": (8, 8), "s5": (16, 16), "s6": (16, 16)}, ("s3",),
            {"cpu": 1, "memory": 4, "foo": 3}, 0, 1000,
            (0, 468.75, 281.25, 250), ["s4", "s5", "s6"],
            id="V12 the same with s3 full",
        ),
    ],
)  # fmt: skip
def test_pods_without_topology_keep_large_domains_free(
    foo, full, weights, fading, scale, want, order
):
    """V10-V12: small pods go where they leave least; the engine takes the same leaves."""
    asked = {"cpu": 2, "memory": 4, **({"foo": 8} if foo else {})}
    scores = [
        scale
        * spared(
            [room_of(x, V8, foo, full) for x in (*chain(leaf, PARENTS), "top")],
            asked, weights, fading,
        )
        for leaf in LEAVES
    ]  # fmt: skip
    wanted = gang(1, 2, 4, 8 if foo else 0)
    taken = order_of(lambda more: space(V8, foo=foo, full=(*full, *more)), wanted)

    assert scores == pytest.approx(want, abs=0.01)
    assert taken == order


# --- which domains are looked at ------------------------------------------------------------------


def test_no_domain_of_the_allowed_tier_is_no_domain_at_all():
    """V15: hard tier 1 and none of tier 1 fits: a refusal, never the whole cluster."""
    hard = TopologyConstraint(mode=Mode.HARD, highest_tier=1)

    placed = space(V8).place(gang(3, 4, 4, constraint=hard))

    assert isinstance(placed, NotPlaced)


@pytest.mark.parametrize(
    ("pods", "fits"),
    [
        pytest.param(2, True, id="V13 what comes free counts once it is free"),
        pytest.param(3, False, id="V14 what is short stays out, however much the cluster has"),
    ],
)
def test_what_is_free_decides(pods, fits):
    """V13, V14: no prefilter by sums: the room of a domain's nodes as it is decides."""
    hard = TopologyConstraint(mode=Mode.HARD, highest_tier=1)
    room = space(V8)
    first = room.place(gang(2, 4, 4, constraint=hard))
    room.take(first)
    second = room.place(gang(2, 4, 8, constraint=hard))
    room.take(second)
    assert isinstance(room.place(gang(2, 4, 4, constraint=hard)), NotPlaced)

    room.give_back(first)

    assert isinstance(room.place(gang(pods, 4, 4, constraint=hard)), Placed) == fits
