"""PodGroups that the agent places, against a plain search over everything that is possible."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from global_sched.scenario.format import parse_all
from global_sched.scenario.world import (
    ClusterSpec,
    GroupPodSpec,
    GroupSpec,
    HyperNodeSpec,
    NodesSpec,
    SubgroupSpec,
    TopologySpec,
)
from tools.scenarios.agents import ShippedAgents
from tools.scenarios.check import Watching, ground_of, reachable

SUITES = Path(__file__).parents[1] / "scenarios"
CASES = [
    pytest.param(case, id=f"{name}: {case.scenario}")
    for name in ("volcano-allocate", "elastic-subgroups")
    for case in parse_all((SUITES / f"{name}.yaml").read_text(encoding="utf-8"), name)
]
TEAM = "team"


def bound(cluster, groups):
    """How many pods the agent binds of each group, and which rules it breaks."""
    agents = Watching(ShippedAgents())
    found = agents.bind(cluster, groups, lambda _: "")
    return {name: len(lies.nodes) for name, lies in found.items()}, agents.violations


# --- every possible small world ---------------------------------------------------------------

topologies = st.none() | st.builds(
    TopologySpec, mode=st.just("hard"), highest_tier_allowed=st.integers(0, 4)
)
topologies |= st.just(TopologySpec(mode="soft"))
requests = st.sampled_from([1, 2, 2, 4]).map(lambda cpu: {"cpu": cpu})


@st.composite
def clusters(draw):
    """Up to three leaves of up to three nodes, one above them, and perhaps nodes in none."""
    leaves, nodes = [], []
    for at in range(draw(st.integers(1, 3))):
        own = [f"n{at}{i}" for i in range(draw(st.integers(1, 3)))]
        leaves.append(HyperNodeSpec(name=f"leaf{at}", tier=1, nodes=own))
        nodes += own
    names = [one.name for one in leaves]
    top = [HyperNodeSpec(name="top", tier=draw(st.sampled_from([2, 3])), children=names)]
    nodes += [f"out{at}" for at in range(draw(st.integers(0, 1)))]
    return ClusterSpec(
        name="member",
        hyper_nodes=[*leaves, *(top if draw(st.booleans()) else [])],
        nodes=[
            NodesSpec(name=name, allocatable={"cpu": draw(st.sampled_from([2, 2, 4]))})
            for name in nodes
        ],
    )


@st.composite
def gangs(draw):
    """A gang of up to five waiting pods, in teams of one pod or more."""
    pods = [
        GroupPodSpec(
            name=f"p{at}",
            requests=draw(requests),
            labels=draw(st.sampled_from([{}, {TEAM: "a"}, {TEAM: "b"}])),
        )
        for at in range(draw(st.integers(1, 5)))
    ]
    teams = SubgroupSpec(
        name="teams", keys=[TEAM], min_groups=draw(st.integers(0, 1)), topology=draw(topologies)
    )
    return GroupSpec(
        name="g",
        min_member=draw(st.integers(1, len(pods))),
        topology=draw(topologies),
        subgroups=[teams] if draw(st.booleans()) else [],
        pods=pods,
    )


@given(clusters(), gangs())
def test_a_gang_is_bound_when_it_can_be(cluster, gang):
    """What is bound keeps every rule, and nothing is bound only where its minimum fits nowhere."""
    found, violations = bound(cluster, [gang])

    most = reachable(ground_of(cluster, lambda _: ""), [gang], gang)

    assert violations == []
    assert most is None or (found["default/g"] > 0) == (most > 0)


# --- what must not matter ---------------------------------------------------------------------


def turned(cluster):
    """The same cluster, written the other way round."""
    return with_(
        cluster,
        nodes=cluster.nodes[::-1],
        hyper_nodes=[
            with_(one, nodes=one.nodes[::-1], children=one.children[::-1])
            for one in cluster.hyper_nodes[::-1]
        ],
    )


def with_(struct, **more):
    return msgspec.structs.replace(struct, **more)


@pytest.mark.parametrize("case", CASES)
def test_the_order_of_what_is_written_does_not_matter(case):
    """Nodes, HyperNodes and members in another order: as many pods are bound."""
    [cluster] = case.world.clusters

    assert bound(turned(cluster), case.world.groups) == bound(cluster, case.world.groups)


@pytest.mark.parametrize("case", CASES)
def test_a_spare_node_without_room_does_not_matter(case):
    """One more node that takes no pod changes nothing."""
    [cluster] = case.world.clusters
    spare = NodesSpec(name="zz-spare", allocatable={"cpu": 0, "memory": 0, "pods": 0})
    more = with_(cluster, nodes=[*cluster.nodes, spare])

    assert bound(more, case.world.groups) == bound(cluster, case.world.groups)
