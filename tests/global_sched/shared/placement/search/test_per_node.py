"""Limits per node: anti-affinity, spread over host names, host ports."""

import pytest

from global_sched.shared.api.base import LabelSelector
from global_sched.shared.api.core import (
    Affinity,
    Container,
    ContainerPort,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    TopologySpread,
)
from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.topology import NodeClass, Occupant
from global_sched.shared.placement import (
    NotPlaced,
    Placed,
    Space,
    SpecError,
    histogram,
    shape_of,
)
from tests.global_sched.shared.placement.worlds import (
    free,
    gang,
    hard,
    leaf,
    nodes_used,
    pod_set,
    shape,
    topology,
    tree,
)

HOST = "kubernetes.io/hostname"


def spec(ports=(), selector=None, spread=()):
    listed = [ContainerPort(host_port=port) for port in ports]
    terms = [PodAffinityTerm(topology_key=HOST, label_selector=selector)] if selector else None
    return PodSpec(
        containers=[Container(name="c", ports=listed)],
        affinity=Affinity(
            pod_anti_affinity=PodAntiAffinity(
                required_during_scheduling_ignored_during_execution=terms
            )
        ),
        topology_spread_constraints=[
            TopologySpread(max_skew=skew, topology_key=key, when_unsatisfiable=when)
            for skew, key, when in spread
        ],
    )


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(spec(), (0, "", ()), id="none"),
        pytest.param(spec(ports=(80, 8080)), (1, "", ("TCP/80", "TCP/8080")), id="host ports"),
        pytest.param(
            spec(selector=LabelSelector(match_labels={"b": "2", "a": "1"})),
            (1, "a=1, b=2", ()),
            id="anti-affinity, with its selector",
        ),
        pytest.param(spec(spread=[(1, HOST, "DoNotSchedule")]), (1, "", ()), id="skew of one"),
        pytest.param(
            spec(spread=[(3, HOST, ""), (2, HOST, "DoNotSchedule")]), (2, "", ()), id="least skew"
        ),
        pytest.param(spec(spread=[(1, HOST, "ScheduleAnyway")]), (0, "", ()), id="a wish only"),
        pytest.param(
            spec(spread=[(1, "zone", "DoNotSchedule")]), (0, "", ()), id="not over host names"
        ),
    ],
)
def test_limits_of_a_spec(pod, want):
    """What a pod spec says about how many pods of its set a node may have."""
    found = shape_of(pod)

    assert (found.most_per_node(), found.apart, found.ports) == want


def test_a_skew_of_nothing_is_refused():
    """The API server admits no such constraint."""
    with pytest.raises(SpecError, match="maxSkew"):
        shape_of(spec(spread=[(0, HOST, "DoNotSchedule")]))


def world(count=3, **more):
    domains = tree(r=(1, None))
    return topology(domains, [leaf("r", free(8), node=f"n{at}", **more) for at in range(count)])


@pytest.mark.parametrize(
    ("sets", "want"),
    [
        pytest.param([("a", 5, {"per_node": 2})], [2, 2, 1], id="at most two on a node"),
        pytest.param([("a", 7, {"per_node": 2})], None, id="seven do not fit on three nodes"),
        pytest.param([("a", 3, {"anti_affine": True})], [1, 1, 1], id="one on each"),
        pytest.param(
            [("a", 2, {"anti_affine": True}), ("b", 2, {"anti_affine": True})],
            [2, 2],
            id="two sets that each keep apart share nodes",
        ),
        pytest.param(
            [
                ("a", 2, {"anti_affine": True, "apart": "job=x"}),
                ("b", 2, {"anti_affine": True, "apart": "job=x"}),
            ],
            None,
            id="two sets with one selector do not, and four need four nodes",
        ),
        pytest.param(
            [
                ("a", 1, {"anti_affine": True, "apart": "job=x"}),
                ("b", 2, {"anti_affine": True, "apart": "job=x"}),
            ],
            [1, 1, 1],
            id="three have three",
        ),
        pytest.param(
            [
                ("a", 2, {"anti_affine": True, "ports": ("TCP/80",)}),
                ("b", 2, {"anti_affine": True, "ports": ("TCP/80", "TCP/81")}),
            ],
            None,
            id="nor do two sets that need one host port",
        ),
    ],
)
def test_pods_per_node(sets, want):
    """The limits hold on named nodes and on counted ones alike."""
    wanted = gang(*(pod_set(n, c, like=shape(1, **m)) for n, c, m in sets), constraint=hard(1))
    named = world()

    here, there = Space(named).place(wanted), Space(histogram(named, ())).place(wanted)

    if want is None:
        assert isinstance(here, NotPlaced)
        assert isinstance(there, NotPlaced)
        assert here.verdict.code == there.verdict.code
        return
    assert sorted(nodes_used(named, here).values(), reverse=True) == want
    assert isinstance(there, Placed)
    assert there.amounts == here.amounts


def test_pods_that_run_count():
    """A pod of the set that runs on a node is one of its pods there."""
    mine = Occupant(binding=BindingId("b"), pod_set=PodSetName("a"), pods=1)
    room = world(2, occupants=(mine,))
    wanted = gang(pod_set("a", 2, like=shape(1, per_node=2)))

    placed = Space(room).place(wanted, binding=BindingId("b"))

    assert nodes_used(room, placed) == {"n0": 1, "n1": 1}
    assert isinstance(
        Space(room).place(gang(pod_set("a", 3, like=shape(1, per_node=2))), binding=BindingId("b")),
        NotPlaced,
    )


def test_a_host_port_that_is_taken():
    """A node whose port another pod has is none for pods that need it; others may go there."""
    room = topology(
        tree(r=(1, None)),
        [
            leaf("r", free(8), node="n0", kind=NodeClass(ports=("TCP/80",))),
            leaf("r", free(8), node="n1"),
        ],
    )
    needs = shape(1, anti_affine=True, ports=("TCP/80",))

    assert nodes_used(room, Space(room).place(gang(pod_set("a", 1, like=needs)))) == {"n1": 1}
    answer = Space(room).place(gang(pod_set("a", 2, like=needs), constraint=hard(1)))
    assert isinstance(answer, NotPlaced)
    free_one = gang(pod_set("a", 9, like=shape(1)))
    assert set(nodes_used(room, Space(room).place(free_one))) == {"n0", "n1"}
