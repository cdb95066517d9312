"""The room that is kept from round to round is the room made anew."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.model.gang import Gang, Mode, PodSet, TopologyConstraint
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Topology
from global_sched.shared.placement import Placed, Space
from member_agent.cache import Kind, LiveRoom, RoomQuery, live_room, room_of
from member_agent.cache.live_room import selected_keys
from member_agent.cache.units import units_of
from tests.deep import examples
from tests.member_agent.directives import directive
from tests.member_agent.member import AGENT, feed, hyper_node, member, node, pod, racks
from tests.wire import GPU

NAMES = [f"r{rack}-{at}" for rack in range(3) for at in range(3)]
HARD = TopologyConstraint(mode=Mode.HARD, highest_tier=1)


def shape(gpus, zone=""):
    selector = (("zone", zone),) if zone else ()
    return PodShape(requests=Resources.of({"cpu": 1000, GPU: gpus, "pods": 1}), selector=selector)


def gang(pods, gpus, constraint=None, zone=""):
    one = PodSet(name=PodSetName("main"), count=pods, minimum=pods, shape=shape(gpus, zone))
    return Gang(pod_sets=(one,), minimum=pods, constraint=constraint)


GANGS = [
    gang(1, 1),
    gang(3, 0),
    gang(2, 8, HARD),
    gang(5, 4, TopologyConstraint(mode=Mode.SOFT)),
    gang(40, 8),
    gang(2, 2, HARD, zone="a"),
]


@st.composite
def events(draw):
    name = draw(st.sampled_from(NAMES))
    kind = draw(
        st.sampled_from(["node", "node", "gone", "bind", "bind", "ask", "ask", "end", "tree"])
    )
    if kind == "node":
        return [
            node(
                name,
                gpus=draw(st.sampled_from([0, 4, 8])),
                labels={"zone": draw(st.sampled_from(["a", "b"])), "host": name},
                ready=draw(st.integers(0, 3)) > 0,
                cordoned=draw(st.integers(0, 4)) == 0,
            )
        ]
    if kind == "gone":
        return ("delete", Kind.NODE, ("", name))
    if kind == "bind":
        return [pod(f"p-{name}", node=name, gpus=draw(st.integers(0, 4)))]
    if kind == "ask":
        zone = {"nodeSelector": {"zone": draw(st.sampled_from(["a", "b"]))}}
        gpus, number = draw(st.sampled_from([0, 1, 8])), draw(st.integers(0, 3))
        return [pod(f"w-{number}", gpus=gpus, spec=zone if draw(st.booleans()) else None)]
    if kind == "end":
        return ("delete", Kind.POD, ("team", f"p-{name}"))
    return [hyper_node("r0", 1, nodes=[n for n in NAMES if draw(st.booleans())])]


rounds = st.lists(
    st.tuples(
        st.lists(events(), max_size=4),
        st.dictionaries(st.sampled_from(NAMES), st.just({GPU: 2}), max_size=2),
        st.frozensets(st.sampled_from(NAMES), max_size=1),
        st.sampled_from([frozenset(), frozenset({"zone"})]),
    ),
    min_size=1,
    max_size=8,
)


def told(topology: Topology, answer):
    """An answer by the names of nodes; those of equal rooms may be other leaves."""
    if not isinstance(answer, Placed):
        return answer
    takes = [(topology.leaves[t.leaf].node, t.pod_set, t.pods_per_node) for t in answer.takes]
    return takes, answer.amounts, answer.domain, answer.tier


@settings(max_examples=examples(30), deadline=None)
@given(rounds=rounds)
def test_from_round_to_round_is_the_same_as_anew(rounds):
    """What was held, closed, taken or true of a node in an earlier round leaves no trace."""
    cache = member(racks(3, 3, labels={"zone": "a"}))
    live = LiveRoom(cache)
    for changed, held, closed, keys in rounds:
        for event in changed:
            if isinstance(event, tuple):
                cache.delete(*event[1:])
            else:
                feed(cache, event)
        units = units_of(cache, frozenset({AGENT}))
        asked = RoomQuery(units=units, held=held, closed=closed, order_keys=keys)
        space = live.open(cache, asked)
        seen = keys | selected_keys(cache, units)
        anew = replace(
            room_of(cache, units, held=held, closed=closed, keys=seen, placing=True),
            demand=cache.demand(keys),
        )
        want = Space(anew, order_keys=sorted(keys))
        for one in GANGS:
            found, expected = space.place(one), want.place(one)
            assert told(space.topology, found) == told(anew, expected)
            if isinstance(found, Placed):
                space.take(found)
                want.take(expected)


def test_changed_nodes_change_the_room_in_place():
    """Pods that come and go, nodes that fail and return: none of it makes the room anew."""
    cache = member(racks(4, 8, labels={"zone": "a"}))
    live = live_room(cache)
    first = live.open(cache, RoomQuery(units=()))

    feed(cache, [pod("one", node="r1-1", gpus=4)])
    feed(cache, [node("r2-2", labels={"zone": "a"}, ready=False)])
    second = live.open(cache, RoomQuery(units=(), held={"r0-0": {GPU: 8}}))
    full = gang(30, 8)
    holds = second.holds(full, None)
    feed(cache, [node("r2-2", labels={"zone": "a"})])
    cache.delete(Kind.POD, ("team", "one"))
    third = live.open(cache, RoomQuery(units=()))

    assert first is second is third
    assert live.made == 1
    assert (holds, third.holds(full, None)) == (29, 32)


def test_the_mix_counts_pods_by_what_they_ask_for():
    """Waiting and bound pods count by shape and selector; ended ones and daemons do not."""
    cache = member(racks(1, 2, labels={"zone": "a"}))
    zoned = {"nodeSelector": {"zone": "a"}}
    daemons = {"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": "d", "uid": "d"}}
    feed(cache, [pod("one", node="r0-0", gpus=4, spec=zoned), pod("two", gpus=4, spec=zoned)])
    feed(cache, [pod("three", gpus=4), pod("four", node="r0-0", phase="Succeeded", gpus=1)])
    feed(cache, [pod("five", node="r0-1", owner=daemons)])

    counted = {(one.selector, one.requests.get(GPU)): n for one, n in cache.mix().items()}
    assert counted == {((("zone", "a"),), 4): 2, ((), 4): 1}

    cache.delete(Kind.POD, ("team", "two"))
    cache.delete(Kind.POD, ("team", "three"))
    assert list(cache.mix().values()) == [1]


def test_the_agent_places_by_the_mix_that_the_leader_placed_by():
    """What comes in between changes no choice; without a Directive its own pods make the mix."""
    cache = member(racks(1, 2), [pod("one", gpus=4)])
    (own,) = cache.demand(())
    assert own.shape.requests.get(GPU) == 4

    told = [{"shape": {"requests": {"entries": [["cpu", 1000], ["pods", 1]]}}, "pods": 8}]
    feed(cache, [directive(demand=told)])
    (theirs,) = cache.demand(())
    assert (theirs.shape.requests.get("cpu"), theirs.pods) == (1000, 8)
    space = live_room(cache).open(cache, RoomQuery(units=()))
    assert space.topology.demand == (theirs,)

    feed(cache, [directive()])
    assert cache.demand(()) == ()
    feed(cache, [directive(demand=[{"shape": {}, "pods": 1}])])
    assert cache.demand(()) == ()
    assert "demand[0].shape" in next(iter(cache.problems.values()))
