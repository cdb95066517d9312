"""Nodes and pods to a topology, and topologies to histograms."""

import pytest

from global_sched.shared.api.base import Condition, Meta
from global_sched.shared.api.core import (
    Container,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    TaintWire,
)
from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.pods import Effect, Taint
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import NodeClass, Occupant
from global_sched.shared.placement import (
    DomainTree,
    NodeUse,
    coarsen,
    histogram,
    node_topology,
    round_down,
    without_occupants,
)
from tests.global_sched.shared.placement.worlds import domain, free, leaf, topology

TREE = DomainTree(domains=(domain("r", 1),), leaf_of={"a": "r", "b": None}, problems={}, notes={})


def node(name, *, ready="True", cpu="4", labels=None, **more):
    return Node(
        metadata=Meta(name=name, labels=labels),
        spec=NodeSpec(**more),
        status=NodeStatus(
            allocatable={"cpu": cpu, "pods": "10"},
            conditions=[Condition(type="Ready", status=ready)],
        ),
    )


def pod(name, where, cpu, phase="Running"):
    return Pod(
        metadata=Meta(name=name, namespace="ns", uid=name),
        spec=PodSpec(
            node_name=where,
            containers=[Container(resources=ResourceRequirements(requests={"cpu": cpu}))],
        ),
        status=PodStatus(phase=phase),
    )


@pytest.mark.parametrize(
    ("pods", "want_free"),
    [
        pytest.param([], (4000, 10), id="an empty node"),
        pytest.param([pod("p", "a", "1")], (3000, 9), id="a running pod"),
        pytest.param([pod("p", "a", "1", "Pending")], (3000, 9), id="bound but not started"),
        pytest.param([pod("p", "a", "1", "Succeeded")], (4000, 10), id="ended pods use nothing"),
        pytest.param([pod("p", "a", "1", "Failed")], (4000, 10), id="failed ones neither"),
        pytest.param([pod("p", "", "1")], (4000, 10), id="an unbound pod"),
        pytest.param([pod("p", "gone", "1")], (4000, 10), id="a pod of another node"),
        pytest.param([pod("p", "a", "9")], (0, 9), id="overcommitted is 0, never negative"),
    ],
)
def test_free_room(pods, want_free):
    """Free is allocatable less what bound, unfinished pods request; of any scheduler."""
    world = node_topology(TREE, [node("a")], pods)

    assert (world.axis, world.leaves[0].free) == (("cpu", "pods"), want_free)


def test_leaves():
    """One leaf per ready node, by name, with whole labels; cordoned ones are marked."""
    world = node_topology(
        TREE,
        [
            node("b", unschedulable=True, labels={"z": "1", "a": "2"}),
            node("a", taints=[TaintWire(key="t", effect="NoSchedule")]),
            node("c", ready="Unknown"),
            node("d", ready="False"),
        ],
        [],
    )

    assert [(x.node, x.domain, x.node_class) for x in world.leaves] == [
        ("a", "r", NodeClass(taints=(Taint("t", "", Effect.NO_SCHEDULE),))),
        ("b", None, NodeClass(labels=(("a", "2"), ("z", "1")), schedulable=False)),
    ]
    assert world.label_keys is None


def test_unreadable_allocatable_is_no_room():
    """A quantity that cannot be read never becomes room."""
    world = node_topology(TREE, [node("a", cpu="lots")], [])

    assert (world.axis, world.leaves[0].free) == (("pods",), (10,))


def test_occupants():
    """Pods of gangs are counted by binding and pod set; others are only use."""
    owner = (BindingId("b1"), PodSetName("main"))
    world = node_topology(
        TREE,
        [node("a")],
        [pod("p", "a", "1"), pod("q", "a", "1"), pod("x", "a", "1")],
        owners={"p": owner, "q": owner},
    )

    assert world.leaves[0].occupants == (Occupant(binding=owner[0], pod_set=owner[1], pods=2),)


def test_node_use_follows_events():
    """Adding twice replaces; removing what is not there changes nothing."""
    use = NodeUse()
    owner = (BindingId("b"), PodSetName("m"))
    use.add("p", Resources.of({"cpu": 2, "pods": 1}), owner)
    use.add("p", Resources.of({"cpu": 3, "pods": 1}), owner)
    use.add("q", Resources.of({"cpu": 1, "pods": 1}))

    assert (use.used, use.owners) == ({"cpu": 4, "pods": 2}, {owner: 1})
    assert (use.remove("p"), use.remove("p"), use.remove("q")) == (True, False, True)
    assert (use.used, use.owners) == ({}, {})


def test_histogram_counts_alike_nodes():
    """Alike means equal domain, reduced class, free vector and occupants."""
    kinds = [NodeClass(labels=(("host", h), ("kind", "a"))) for h in "xyz"]
    mine = Occupant(binding=BindingId("b"), pod_set=PodSetName("m"), pods=1)
    world = topology(
        [domain("r", 1)],
        [
            leaf("r", free(2), node="n1", kind=kinds[0]),
            leaf("r", free(2), node="n2", kind=kinds[1]),
            leaf("r", free(2), node="n3", kind=kinds[2], occupants=(mine,)),
            leaf(None, free(2), node="n4", kind=kinds[0]),
        ],
    )
    kind = NodeClass(labels=(("kind", "a"),))

    counted = histogram(world, ("kind",))

    assert counted.label_keys == ("kind",)
    assert counted.leaves == (
        leaf(None, free(2), 1, kind=kind),
        leaf("r", free(2), 2, kind=kind),
        leaf("r", free(2), 1, kind=kind, occupants=(mine,)),
    )
    assert without_occupants(counted).leaves[1].count == 3


def test_round_down_never_up():
    """Rounding merges what becomes alike and only ever takes room away."""
    world = topology([], [leaf(None, free(n, 3), count=1) for n in (1000, 1999, 2000)])

    rounded = round_down(world, {"cpu": 1000})

    assert [(x.free[:2], x.count) for x in rounded.leaves] == [((1000, 3), 2), ((2000, 3), 1)]


def test_coarsen_names_its_resolution():
    """Past a number of leaves free vectors become coarser, devices stay exact."""
    world = topology([], [leaf(None, free(100 * n, n % 2)) for n in range(64)])

    coarse, resolution = coarsen(world, 8)

    assert len(coarse.leaves) <= 8
    assert resolution.get("cpu") == 2000
    assert {x.free[1] for x in coarse.leaves} == {0, 1}
    assert coarsen(world, 64) == (world, Resources())
