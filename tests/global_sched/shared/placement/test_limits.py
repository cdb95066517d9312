"""Input that is absurd or hostile: bounded work, a clear verdict, and nothing else suffers."""

import time

import pytest

from global_sched.shared.api.base import LabelSelector, LabelSelectorRequirement, Meta
from global_sched.shared.api.reasons import Reason
from global_sched.shared.api.volcano import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    Member,
    MemberSelector,
    RegexMatch,
)
from global_sched.shared.model.verdict import Code
from global_sched.shared.placement import NotPlaced, Placed, Space, build_tree
from global_sched.shared.placement.tree import twins
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    domain,
    free,
    gang,
    hard,
    leaf,
    parts,
    pod_set,
    racks,
    shape,
    topology,
    workers,
)

SECONDS = 20
"""CPU seconds that nothing here may come near, on any machine."""


@pytest.fixture(autouse=True)
def bounded():
    """Every case ends in bounded CPU time."""
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def hypernode(name, tier, *selectors):
    members = [Member(type="Node", selector=selector) for selector in selectors]
    return HyperNode(metadata=Meta(name=name), spec=HyperNodeSpec(tier=tier, members=members))


@pytest.mark.slow
def test_more_hypernodes_than_are_read():
    """What is beyond the limit is set aside by name; the rest is a tree."""
    exact = MemberSelector(exact_match=ExactMatch(name="n0"))
    many = [hypernode(f"h{at:07}", 1, exact) for at in range(101_000)]

    tree = build_tree(many, {"n1": {}})

    assert len(tree.domains) == 100_000
    assert tree.problems["h0100000"].startswith("is set aside: there are more than 100000")


def test_members_that_match_everything():
    """Those with the very same nodes are one; a node that two different ones list is in neither."""
    every = [
        MemberSelector(regex_match=RegexMatch(pattern=".*")),
        MemberSelector(
            label_match=LabelSelector(
                match_expressions=[LabelSelectorRequirement(key="x", operator="DoesNotExist")]
            )
        ),
    ]
    nodes = {f"n{at}": {} for at in range(1, 1_000)} | {"n0": {"x": ""}}

    tree = build_tree([hypernode(f"h{at}", 1, every[at % 2]) for at in range(200)], nodes)

    assert {node for node, leaf in tree.leaf_of.items() if leaf} == {"n0"}
    assert sorted(tree.problems) == ["h0", "h1"]
    assert len(tree.notes) == 198


def test_absurdly_many_copies_are_not_merged(monkeypatch):
    """Beyond a bound of nodes in all, what is listed twice stays a contradiction."""
    monkeypatch.setattr(twins, "_MOST_COUNTED", 10)
    exact = [MemberSelector(exact_match=ExactMatch(name=f"n{at}")) for at in range(6)]
    nodes = {f"n{at}": {} for at in range(6)}

    tree = build_tree([hypernode("a", 1, *exact), hypernode("b", 1, *exact)], nodes)

    assert sorted(tree.problems) == ["a", "b"]


@pytest.mark.parametrize(
    ("tier", "want"),
    [
        pytest.param(2**31, "is set aside: its tier 2147483648 is out of range", id="too high"),
        pytest.param(-1, "is set aside: its tier -1 is out of range", id="negative"),
        pytest.param(2**31 - 1, None, id="the highest there is"),
    ],
)
def test_tiers_out_of_range(tier, want):
    """A tier that no program can count with sets its HyperNode aside."""
    exact = MemberSelector(exact_match=ExactMatch(name="n0"))

    tree = build_tree([hypernode("h", tier, exact), hypernode("good", 1)], {"n0": {}})

    assert tree.problems.get("h") == want
    assert "good" in {one.name for one in tree.domains}


@pytest.mark.parametrize(
    ("wanted", "want"),
    [
        pytest.param(gang(pod_set("none", 0)), 0, id="a pod set of no pods"),
        pytest.param(gang(pod_set("none", 0), pod_set("w", 2, cpu=1)), 2, id="one beside others"),
        pytest.param(gang(pod_set("w", 3, like=shape())), 3, id="requests of nothing but pods"),
        pytest.param(workers(3, 0, constraint=hard(1)), 3, id="a minimum of nothing"),
    ],
)
def test_requests_of_nothing(wanted, want):
    """Nothing is asked for: nothing or everything is placed."""
    placed = Space(racks(a=[4], b=[4])).place(wanted)

    assert placed.amounts.pods() == want


@pytest.mark.parametrize("constraint", [None, SOFT, hard(1), hard(9)])
def test_more_than_any_node(constraint):
    """A request beyond every node is no room, with the number that fits."""
    answer = Space(racks(a=[4], b=[4])).place(workers(2, cpu=2**60, constraint=constraint))

    assert isinstance(answer, NotPlaced)
    assert (answer.verdict.code, answer.verdict.holds, answer.proven) == (Code.NO_FIT, 0, True)


def large(nodes=2_000, cpu=64):
    domains = [domain("core", 3)]
    leaves = []
    for spine in range(10):
        domains.append(domain(f"s{spine}", 2, "core"))
        for rack in range(10):
            name = f"s{spine}-r{rack}"
            domains.append(domain(name, 1, f"s{spine}"))
            leaves.append(leaf(name, free(cpu, 0, 0, 110), count=nodes // 100))
    return topology(domains, leaves, label_keys=())


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        pytest.param(workers(100_000, constraint=SOFT), True, id="one shape"),
        pytest.param(workers(200_000, constraint=SOFT), False, id="one shape, too many"),
        pytest.param(
            workers(100_000, partition=parts(1000, 100, constraint=hard(1)), constraint=hard(3)),
            True,
            id="in groups of a thousand",
        ),
        pytest.param(
            gang(pod_set("a", 50_000, cpu=1), pod_set("b", 45_000, cpu=2), constraint=SOFT),
            False,
            id="two shapes that do not fit together",
        ),
        pytest.param(
            gang(pod_set("a", 50_000, cpu=1), pod_set("b", 30_000, cpu=2), constraint=hard(2)),
            False,
            id="two shapes under a tier that holds neither",
        ),
    ],
)
def test_a_gang_of_a_hundred_thousand(wanted, fits):
    """A huge gang is placed, or refused with how many fit; what is not sure is no refusal."""
    answer = Space(large()).place(wanted)

    assert isinstance(answer, Placed) is fits
    if isinstance(answer, NotPlaced):
        code = Code.NO_FIT if answer.proven else Code.WAIT
        assert answer.verdict.code == code
        assert answer.verdict.missing > 0


@pytest.mark.parametrize("groups", [None, parts(50, 2_000, constraint=hard(1))])
def test_a_hundred_thousand_pods_in_an_uneven_tree(groups):
    """Racks of all sizes under 250 spines: split at once, and the closest there is."""
    domains = [domain("core", 3), *(domain(f"s{at}", 2, "core") for at in range(250))]
    domains += [domain(f"r{at}", 1, f"s{at // 16}") for at in range(4_000)]
    leaves = [leaf(f"r{at}", free((at * 7919) % 251, 0, 0, 999)) for at in range(4_000)]
    answer = Space(topology(domains, leaves, label_keys=())).place(
        workers(100_000, partition=groups, constraint=hard(3))
    )

    assert isinstance(answer, Placed)
    assert answer.exact


@pytest.mark.parametrize(("pods", "exact"), [(2_000_000, True), (3_000_000, False)])
def test_millions_of_pods(pods, exact):
    """What is not proven closest is marked, where sums over pairs could overflow."""
    domains = [domain("core", 3), *(domain(f"s{at}", 2, "core") for at in range(4))]
    domains += [domain(f"r{at}", 1, f"s{at // 4}") for at in range(16)]
    leaves = [leaf(f"r{at}", free(200_000 + at * 7_919, 0, 0, 10**6)) for at in range(16)]
    answer = Space(topology(domains, leaves, label_keys=())).place(
        workers(pods, constraint=hard(3))
    )

    assert isinstance(answer, Placed)
    assert (answer.amounts.pods(), answer.exact) == (pods, exact)


def far_apart(middle):
    """Racks of all sizes under 50 spines, in tiers 1, `middle` and the highest there is."""
    domains = [domain("core", 2**31 - 1), *(domain(f"s{at}", middle, "core") for at in range(50))]
    domains += [domain(f"r{at}", 1, f"s{at // 16}") for at in range(800)]
    leaves = [leaf(f"r{at}", free((at * 7919) % 999, 0, 0, 9_999)) for at in range(800)]
    return topology(domains, leaves, label_keys=())


@pytest.mark.parametrize(
    ("middle", "spines"),
    [
        pytest.param(2, 12, id="spines are what is far apart: as few as hold the pods"),
        pytest.param(2**31 - 2, 50, id="racks are: the largest, in whatever spine"),
    ],
)
def test_many_pods_under_tiers_that_are_far_apart(middle, spines):
    """Sums over the pairs of a hundred thousand pods do not overflow."""
    world = far_apart(middle)
    answer = Space(world).place(workers(100_000, constraint=SOFT))

    assert isinstance(answer, Placed)
    assert (answer.exact, answer.tier) == (True, 2**31 - 1)
    used = {int(world.leaves[take.leaf].domain[1:]) // 16 for take in answer.takes}
    assert len(used) == spines


@pytest.mark.parametrize("middle", [2, 2**30, 2**31 - 2])
def test_several_shapes_under_tiers_that_are_far_apart(middle):
    """Two large roles are placed there, too, or wait because not every way was tried."""
    wanted = gang(pod_set("a", 50_000, cpu=1), pod_set("b", 50_000, cpu=2), constraint=SOFT)

    answer = Space(far_apart(middle)).place(wanted)

    assert isinstance(answer, Placed)
    assert answer.tier == 2**31 - 1


def test_the_search_limit_is_no_refusal():
    """When the search ends before a fit is ruled out, the gang waits; it is never called unfit."""
    sizes = [(8, 9), (7, 6), (4, 5)]
    nodes = [leaf("r", free(cpu, 0, memory), node=f"n{cpu}") for cpu, memory in sizes]
    world = topology([domain("r", 1)], nodes)
    wanted = gang(
        pod_set("a", 1, cpu=1, memory=2),
        pod_set("b", 2, cpu=2, memory=3),
        pod_set("c", 3, cpu=4, memory=3),
        constraint=hard(1),
    )

    answer = Space(world, search_limit=1).place(wanted)

    assert isinstance(answer, NotPlaced)
    assert not answer.proven
    assert answer.verdict.code == Code.WAIT
    assert answer.verdict.reason == Reason.TOPOLOGY_DOES_NOT_FIT
    assert (
        "it may fit: the search ended at the Policy's placement_search_limit"
        in answer.verdict.detail
    )
    assert isinstance(Space(world).place(wanted), Placed)
