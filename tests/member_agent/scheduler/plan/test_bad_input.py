"""Input that is absurd or hostile, on the agent's own way: a verdict for it; nothing else waits."""

import msgspec
import pytest

from global_sched.shared.api.base import LabelSelector, Meta
from global_sched.shared.api.core import Pod
from global_sched.shared.api.volcano import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    Member,
    MemberSelector,
    RegexMatch,
)
from member_agent.cache import Kind, units_of
from member_agent.scheduler.plan.outcome import Situation
from member_agent.scheduler.plan.round import plan_round
from tests.deep import DEEP
from tests.member_agent.member import AGENT, feed, member, pod, pod_group, racks
from tests.wire import decode

MANY = 100_000 if DEEP else 10_000
EVERYTHING = {
    "a pattern": MemberSelector(regex_match=RegexMatch(pattern=".*")),
    "a label": MemberSelector(label_match=LabelSelector(match_labels={"os": "linux"})),
}


def decided(cache):
    """Pods with a node, and why others wait, by name."""
    found = plan_round(cache, units_of(cache, frozenset({AGENT})), Situation())
    placed = {one.name for placement in found.placements for one, _ in placement.nodes}
    waits = {one.name: wait.reason for wait in found.waits for one in wait.pods}
    return placed, waits


def hyper_node(name, tier, selector):
    members = [Member(type="Node", selector=selector)]
    return HyperNode(metadata=Meta(name=name), spec=HyperNodeSpec(tier=tier, members=members))


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"cpu": "0"}, "", id="a pod that asks for nothing is placed"),
        pytest.param(
            {"gpus": 9}, "the cluster has no room for the pod", id="more devices than any node has"
        ),
        pytest.param(
            {"cpu": "100k"}, "the cluster has no room for the pod", id="more CPU than there is"
        ),
    ],
)
def test_requests(fields, want):
    """A pod that fits on no node waits, and the one beside it is placed."""
    cache = member(racks(2, 2), [pod("odd", **fields), pod("good", gpus=1)])

    placed, waits = decided(cache)

    assert waits == ({"odd": want} if want else {})
    assert placed == {"good", "odd"} - waits.keys()


def test_a_request_beyond_all_numbers():
    """A pod whose requests cannot be read is named as a problem, and nothing else waits for it."""
    cache = member(racks(2, 2), [pod("odd", cpu="8E"), pod("good", gpus=1)])

    assert decided(cache) == ({"good"}, {})
    assert cache.problem(Kind.POD, ("team", "odd"))


def test_a_group_of_nothing():
    """A group that asks for no pods starts with those that it has."""
    cache = member(racks(1, 2), [pod_group("g", minimum=0), pod("one", group="g", gpus=1)])

    assert decided(cache) == ({"one"}, {})


@pytest.mark.slow
@pytest.mark.deep
def test_a_gang_of_very_many():
    """It waits with how many the cluster holds; a single pod beside it is placed."""
    cache = member(racks(4, 25), [pod_group("big", minimum=MANY), pod("good", gpus=1)])
    like = decode(pod("big", group="big", gpus=1), Pod)
    for at in range(MANY):
        meta = msgspec.structs.replace(like.metadata, name=f"big-{at}", uid=f"big-{at}")
        cache.upsert_pod(msgspec.structs.replace(like, metadata=meta))

    placed, waits = decided(cache)

    assert placed == {"good"}
    assert set(waits.values()) == {f"the cluster has room for 799 of {MANY} pods"}
    assert len(waits) == MANY


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(EVERYTHING))
def test_members_that_match_everything(kind):
    """HyperNodes that list too much are set aside by name; racks that list few nodes are not."""
    cache = member(racks(40, 25, labels={"os": "linux"}), [pod("good", gpus=1)])
    for at in range(2_000):
        cache.upsert_hyper_node(hyper_node(f"all-{at:04}", 1 + at % 7, EVERYTHING[kind]))

    tree = cache.tree()

    assert decided(cache) == ({"good"}, {})
    assert {f"r{at}" for at in range(40)} <= {domain.name for domain in tree.domains}
    assert tree.problems["all-1999"].startswith("is set aside: member 0: the tree's selectors list")


@pytest.mark.slow
@pytest.mark.deep
def test_far_more_hyper_nodes_than_are_read():
    """A hundred thousand of far more are read; pods are placed; a change does not read all anew.

    A thousand times all of them would not end within the time that a test has.
    """
    cache = member(racks(4, 25), [pod("good", gpus=1)])
    exact = MemberSelector(exact_match=ExactMatch(name="nobody"))
    spec = HyperNodeSpec(tier=1, members=[Member(type="Node", selector=exact)])
    for at in range(1_000_000 if DEEP else 120_000):
        cache.upsert_hyper_node(HyperNode(metadata=Meta(name=f"z{at:07}"), spec=spec))
    first = cache.tree()

    assert decided(cache) == ({"good"}, {})
    assert len(first.domains) == 100_000
    assert "more than 100000 HyperNodes" in first.problems["z0099995"]

    for at in range(1_000):
        cache.upsert_hyper_node(hyper_node(f"a{at:04}", 1, exact))
    tree = cache.tree()

    assert tree.domains[0].name == "a0000"
    assert "more than 100000 HyperNodes" in tree.problems["z0098996"]


def test_tiers_at_the_edge():
    """A tier that no number can be above is set aside; the others are the tree."""
    cache = member(racks(2, 2), [pod("good", gpus=1)])
    exact = MemberSelector(exact_match=ExactMatch(name="r0-0"))
    cache.upsert_hyper_node(hyper_node("over", 2**31, exact))

    assert cache.tree().problems == {"over": "is set aside: its tier 2147483648 is out of range"}
    assert decided(cache) == ({"good"}, {})


def test_feeding_goes_on_after_bad_objects():
    """What comes after bad input is placed as ever."""
    cache = member(racks(1, 2), [pod("odd", gpus=9)])
    assert decided(cache)[0] == set()

    feed(cache, [pod("later", gpus=8)])

    assert decided(cache)[0] == {"later"}
