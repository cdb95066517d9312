"""HyperNodes to a tree; what is wrong is set aside, and only that."""

import random

import msgspec
import pytest

from global_sched.shared.api.base import LabelSelector, LabelSelectorRequirement, Meta
from global_sched.shared.api.volcano import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    Member,
    MemberSelector,
    RegexMatch,
)
from global_sched.shared.model.topology import Domain
from global_sched.shared.placement import build_tree

NODES = {f"n{at}": {"rack": f"r{at // 2}", "host": f"n{at}"} for at in range(6)}


def exact(name, kind="Node"):
    return Member(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=name)))


def regex(pattern, kind="Node"):
    return Member(type=kind, selector=MemberSelector(regex_match=RegexMatch(pattern=pattern)))


def labelled(**labels):
    selector = LabelSelector(match_labels=labels or None)
    return Member(type="Node", selector=MemberSelector(label_match=selector))


def hypernode(name, tier, *members, tier_name=""):
    listed = [
        exact(m, "Node" if m in NODES else "HyperNode") if isinstance(m, str) else m
        for m in members
    ]
    return HyperNode(
        metadata=Meta(name=name), spec=HyperNodeSpec(tier=tier, tier_name=tier_name, members=listed)
    )


GOOD = [
    hypernode("spine", 2, "r0", "r1", tier_name="spine"),
    hypernode("r0", 1, "n0", "n1"),
    hypernode("r1", 1, "n2", "n3"),
]


def test_a_good_tree():
    """Domains with parents, and the smallest HyperNode of every node."""
    tree = build_tree(GOOD, NODES)

    assert tree.domains == (
        Domain(name="r0", tier=1, parent="spine"),
        Domain(name="r1", tier=1, parent="spine"),
        Domain(name="spine", tier=2, tier_name="spine"),
    )
    assert tree.leaf_of == {
        "n0": "r0", "n1": "r0", "n2": "r1", "n3": "r1", "n4": None, "n5": None,
    }  # fmt: skip
    assert (tree.problems, tree.notes) == ({}, {})


def leaves(*hypernodes):
    return {n: d for n, d in build_tree(hypernodes, NODES).leaf_of.items() if d}


@pytest.mark.parametrize(
    ("member", "want"),
    [
        pytest.param(regex("n[01]"), ["n0", "n1"], id="a pattern matches node names"),
        pytest.param(regex("[45]$"), ["n4", "n5"], id="a pattern is not anchored"),
        pytest.param(labelled(rack="r1"), ["n2", "n3"], id="labels"),
        pytest.param(labelled(rack="r1", host="n3"), ["n3"], id="all labels"),
        pytest.param(labelled(), [], id="an empty selector matches nothing"),
        pytest.param(labelled(rack="r9"), [], id="labels that no node has"),
        pytest.param(
            Member(
                type="Node",
                selector=MemberSelector(
                    label_match=LabelSelector(
                        match_labels={"rack": "r0"},
                        match_expressions=[
                            LabelSelectorRequirement(key="host", operator="NotIn", values=["n0"])
                        ],
                    )
                ),
            ),
            ["n1"],
            id="labels and expressions",
        ),
    ],
)
def test_node_members(member, want):
    """Volcano's three ways to list nodes."""
    assert sorted(leaves(hypernode("r", 1, member))) == want


def test_uneven_trees_roots_and_gaps():
    """Nodes may hang on any tier, tiers may leave gaps, and there may be several roots."""
    tree = build_tree(
        [hypernode("top", 9, "low", "n4"), hypernode("low", 1, "n0"), hypernode("x", 4, "n5")],
        NODES,
    )

    assert {n: d for n, d in tree.leaf_of.items() if d} == {"n0": "low", "n4": "top", "n5": "x"}
    assert tree.problems == {}


def test_a_node_listed_above_and_below_is_below():
    """The smallest HyperNode counts when an ancestor lists the node as well."""
    assert leaves(hypernode("s", 2, "r", "n0"), hypernode("r", 1, "n0")) == {"n0": "r"}


@pytest.mark.parametrize(
    ("bad", "want_problems", "want_kept"),
    [
        pytest.param(
            [hypernode("a", 3, "b"), hypernode("b", 2, "a", "c"), hypernode("c", 1, "n4")],
            {
                "a": "is set aside: it is in a cycle of a, b",
                "b": "is set aside: it is in a cycle of a, b",
                "c": "is set aside: b above it is set aside",
            },
            [],
            id="a cycle, with what is below",
        ),
        pytest.param(
            [hypernode("a", 1, "a")],
            {"a": "is set aside: it is in a cycle of a"},
            [],
            id="a HyperNode in itself",
        ),
        pytest.param(
            [hypernode("a", 2, "c"), hypernode("b", 2, "c", "n5"), hypernode("c", 1, "n4")],
            {"c": "is set aside: a, b both list it, so its place is not known"},
            ["a", "b"],
            id="a second parent",
        ),
        pytest.param(
            [hypernode("a", 1, "c"), hypernode("c", 1, "n4")],
            {"c": "is set aside: its tier 1 is not below tier 1 of its parent a"},
            ["a"],
            id="a tier that is not below its parent's",
        ),
        pytest.param(
            [hypernode("a", 2, "ghost", "n4")],
            {"a": "lists ghost, which does not exist"},
            ["a"],
            id="a dangling child",
        ),
        pytest.param(
            [hypernode("a", 1, "n4"), hypernode("b", 1, "n4", "n5")],
            {
                "a": "node n4 is left out of it, since b lists it, too",
                "b": "node n4 is left out of it, since a lists it, too",
            },
            ["a", "b"],
            id="a node in two unrelated HyperNodes",
        ),
        pytest.param(
            [hypernode("a", 2, regex("c", "HyperNode"), "c"), hypernode("c", 1, "n4")],
            {
                "a": "is set aside: member 0: a member of type HyperNode needs exactMatch and "
                "nothing else",
                "c": "is set aside: a above it is set aside",
            },
            [],
            id="a HyperNode member without exactMatch",
        ),
        pytest.param(
            [hypernode("a", 1, Member(type="Node"))],
            {
                "a": "is set aside: member 0: needs exactly one of exactMatch, regexMatch and "
                "labelMatch"
            },
            [],
            id="a member without a selector",
        ),
        pytest.param(
            [hypernode("a", 1, Member(type="Rack"))],
            {"a": "is set aside: member 0: its type 'Rack' is none of Node, HyperNode"},
            [],
            id="an unknown member type",
        ),
        pytest.param(
            [hypernode("a", -1, "n4")],
            {"a": "is set aside: its tier -1 is out of range"},
            [],
            id="a negative tier",
        ),
    ],
)
def test_only_the_bad_part_is_set_aside(bad, want_problems, want_kept):
    """Each fault has a sentence on its HyperNode; the good tree beside it is untouched."""
    tree = build_tree([*GOOD, *bad], NODES)

    assert dict(tree.problems) == want_problems
    assert [d.name for d in tree.domains] == sorted([*want_kept, "r0", "r1", "spine"])
    assert [tree.leaf_of[n] for n in ("n0", "n1", "n2", "n3")] == ["r0", "r0", "r1", "r1"]


@pytest.mark.parametrize(
    "pattern", [pytest.param("(", id="broken"), pytest.param("(?=x)", id="not RE2"),
                pytest.param("a" * 2000, id="too long"), pytest.param("", id="empty"),
                pytest.param("((a{1000}){1000}){1000}", id="huge")]
)  # fmt: skip
def test_bad_patterns(pattern):
    """A hostile or broken pattern sets its HyperNode aside, quickly."""
    tree = build_tree([hypernode("a", 1, regex(pattern)), *GOOD], NODES)

    assert tree.problems["a"].startswith("is set aside: member 0: regexMatch")
    assert len(tree.domains) == 3


def test_catastrophic_patterns_are_linear():
    """What would hang a backtracking engine is harmless."""
    names = {"a" * 200 + str(at): {} for at in range(100)}

    tree = build_tree([hypernode("r", 1, regex("(a*)*b"))], names)

    assert set(tree.leaf_of.values()) == {None}


def test_missing_nodes_are_only_noted():
    """Nodes come and go; a HyperNode that lists one that is not there is fine."""
    tree = build_tree([hypernode("r", 1, exact("later"), exact("n0"))], NODES)

    assert (tree.problems, tree.notes) == ({}, {"r": "lists later, which is no node now"})


def test_deep_chains_end():
    """A chain of thousands neither recurses nor takes long; what is too deep is set aside."""
    chain = [hypernode(f"h{at:05}", at + 1, f"h{at - 1:05}" if at else "n0") for at in range(3000)]

    tree = build_tree(chain, NODES)

    assert len(tree.domains) == 64
    assert tree.problems["h00000"] == "is set aside: it is more than 64 levels deep"


def merged(*hypernodes):
    """Where nodes hang, and name, tier and parent of every domain; nothing may be set aside."""
    tree = build_tree(hypernodes, NODES)
    assert dict(tree.problems) == {}
    places = {n: d for n, d in tree.leaf_of.items() if d}
    return places, [(d.name, d.tier, d.parent) for d in tree.domains]


RACKS = {"n0": "r0", "n1": "r0", "n2": "r1", "n3": "r1"}


@pytest.mark.parametrize(
    ("twin", "listed"),
    [
        pytest.param(hypernode("x", 1, "n0", "n1"), ["r0", "r1"], id="by the same names"),
        pytest.param(hypernode("x", 1, regex("^n[01]$")), ["r0", "r1"], id="by a pattern"),
        pytest.param(hypernode("x", 1, labelled(rack="r0")), ["r0", "r1"], id="by a label"),
        pytest.param(hypernode("x", 1, "n0", "n1"), ["x", "r1"], id="the spine lists the twin"),
        pytest.param(hypernode("x", 1, "n0", "n1"), ["r0", "r1", "x"], id="the spine lists both"),
    ],
)
def test_two_racks_with_the_same_nodes_are_one(twin, listed):
    """The first by name has the nodes; the other stays in the tree beside it, empty."""
    spine = hypernode("spine", 2, *listed)
    places, domains = merged(spine, *GOOD[1:], twin)

    assert places == RACKS
    assert domains == [
        ("r0", 1, "spine"),
        ("r1", 1, "spine"),
        ("spine", 2, None),
        ("x", 1, "spine"),
    ]


@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(hypernode("t", 2, "r0", "r1"), id="by the same racks"),
        pytest.param(hypernode("t", 2, "n0", "n1", "n2", "n3"), id="by nodes"),
        pytest.param(hypernode("t", 2, "r0", "n2", "n3"), id="by a rack and nodes"),
    ],
)
def test_two_spines_with_the_same_nodes_are_one(twin):
    """Also where what they list differs: the nodes below them are what counts."""
    places, domains = merged(*GOOD, twin)

    assert places == RACKS
    assert domains == [
        ("r0", 1, "spine"),
        ("r1", 1, "spine"),
        ("spine", 2, None),
        ("t", 2, None),
    ]


def test_the_same_nodes_at_two_tiers_lie_in_each_other():
    """A rack that is a whole row, too, written by two tools that know nothing of each other."""
    places, domains = merged(hypernode("rack", 1, "n0", "n1"), hypernode("row", 3, "n0", "n1"))

    assert places == {"n0": "rack", "n1": "rack"}
    assert domains == [("rack", 1, "row"), ("row", 3, None)]


def test_twins_in_twins():
    """Racks twice under spines twice, each tool with its own names."""
    second = [hypernode("a", 1, "n0", "n1"), hypernode("b", 1, "n2", "n3")]
    places, domains = merged(*GOOD, hypernode("top", 2, "a", "b"), *second)

    assert places == {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}
    assert {d[0]: d[2] for d in domains} == {
        "a": "spine",
        "b": "spine",
        "r0": "spine",
        "r1": "spine",
        "spine": None,
        "top": None,
    }


def test_a_node_more_is_a_contradiction():
    """Which of two different facts is right is not known: both are named."""
    tree = build_tree([*GOOD, hypernode("x", 1, "n0", "n1", "n4")], NODES)

    assert tree.problems == {
        "r0": "node n0 is left out of it, since x lists it, too",
        "x": "node n0 is left out of it, since r0 lists it, too",
    }
    assert (tree.leaf_of["n0"], tree.leaf_of["n4"]) == (None, "x")


def test_the_oldest_twin_has_the_nodes():
    """One that is written later moves no nodes, whatever its name."""
    old, new = (
        msgspec.structs.replace(one, metadata=Meta(name=name, creation_timestamp=at))
        for one, name, at in (
            (GOOD[1], "r0", "2026-01-01T00:00:00Z"),
            (GOOD[1], "a0", "2026-02-01T00:00:00Z"),
        )
    )

    assert build_tree([old, new], NODES).leaf_of["n0"] == "r0"


def test_twins_are_noted():
    """The one without nodes says where they are."""
    tree = build_tree([*GOOD, hypernode("x", 1, "n0", "n1")], NODES)

    assert tree.notes == {"x": "has the nodes of r0, in which they are"}


def test_order_does_not_matter():
    """The tree is a function of the set of HyperNodes."""
    bad = [hypernode("x", 2, "y", "r0"), hypernode("y", 1, "n4"), hypernode("z", 3, "y")]
    objects = [*GOOD, *bad]
    want = build_tree(objects, NODES)
    for seed in range(5):
        shuffled = random.Random(seed).sample(objects, len(objects))
        assert build_tree(shuffled, dict(reversed(NODES.items()))) == want
