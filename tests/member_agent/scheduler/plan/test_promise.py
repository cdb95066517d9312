"""The leader's promise: what it admits, the agent can place, whatever arrives first."""

from dataclasses import replace
from itertools import permutations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.placement import NotPlaced, Space, demand_of, encode_demand, histogram
from member_agent.cache import room_of, units_of
from tests.builders import gang, hard, pod_set, soft
from tests.deep import examples
from tests.member_agent.directives import directive, entry, hold
from tests.member_agent.member import feed, hyper_node, member, node, owner, pod, pod_group
from tests.member_agent.scheduler.rounds import OURS, bind, nodes_of, round_of
from tests.wire import GPU

SETS = ("worker", "master")


@st.composite
def clusters(draw):
    """Racks of nodes of different size, some nodes in no rack, some of them partly used."""
    objects, names = [], []
    for rack in range(draw(st.integers(1, 3))):
        own = [f"r{rack}-{at}" for at in range(draw(st.integers(1, 4)))]
        names += own
        objects.append(hyper_node(f"r{rack}", 1, nodes=own))
    children = [obj["metadata"]["name"] for obj in objects]
    objects.append(hyper_node("spine", 2, children=children))
    names += [f"lone-{at}" for at in range(draw(st.integers(0, 2)))]
    for name in names:
        zone = {"zone": draw(st.sampled_from(["x", "y"])), "only-here": name}
        objects.append(node(name, gpus=draw(st.sampled_from([4, 6, 8])), cpu="16", labels=zone))
    for at, name in enumerate(draw(st.lists(st.sampled_from(names), max_size=4, unique=True))):
        objects.append(
            pod(
                f"other-{at}",
                gpus=draw(st.integers(1, 2)),
                node=name,
                scheduler="default-scheduler",
            )
        )
    return objects


@st.composite
def gangs(draw):
    """One or two pod sets, elastic or not, under any constraint.

    The minimum of all may be less than those of the pod sets together, which then say nothing.
    """
    sets = []
    for name in SETS[: draw(st.integers(1, 2))]:
        pods = draw(st.integers(1, 4))
        sets.append(
            pod_set(
                name,
                pods=pods,
                minimum=draw(st.integers(1, pods)),
                gpus=draw(st.integers(1, 4)),
                cpu=1,
            )
        )
    constraint = draw(st.sampled_from([None, hard(1), hard(2), soft()]))
    floor = sum(one.minimum for one in sets)
    if draw(st.booleans()):
        floor = draw(st.integers(1, sum(one.count for one in sets)))
    return replace(gang(*sets, constraint=constraint), minimum=floor)


def mixed(gpus: int, zone: str) -> PodShape:
    """What other pods ask for."""
    requests = Resources.of({"cpu": 1000, GPU: gpus, "pods": 1})
    return PodShape(requests=requests, selector=(("zone", zone),) if zone else ())


mixes = st.dictionaries(
    st.builds(mixed, st.sampled_from([0, 1, 2, 8]), st.sampled_from(["", "x", "y"])),
    st.integers(1, 30),
    max_size=4,
)


def objects_of(name: str, needs: Gang):
    """The member's objects of a gang: root, PodGroup, pods."""
    root = owner("Job", name, api_version="batch.volcano.sh/v1alpha1", binding=name)
    topology = {}
    if needs.constraint is not None:
        topology["mode"] = needs.constraint.mode.value
        if needs.constraint.highest_tier is not None:
            topology["highestTierAllowed"] = needs.constraint.highest_tier
    group = pod_group(
        name,
        minimum=needs.minimum,
        tasks={str(one.name): one.minimum for one in needs.pod_sets},
        controller=root,
        **({"networkTopology": topology} if topology else {}),
    )
    pods = [
        pod(
            f"{name}-{one.name}-{at}",
            gpus=one.shape.requests.get("nvidia.com/gpu"),
            owner=root,
            group=name,
            task=str(one.name),
            index=at,
        )
        for one in needs.pod_sets
        for at in range(one.count)
    ]
    return [root, group, *pods]


def admit(cache, wanted, demand=()):
    """Admit as the leader does: on the reported histogram, one after the other."""
    seen = histogram(room_of(cache, units_of(cache, OURS)), ["zone"])
    space = Space(replace(seen, demand=demand))
    entries, admitted = [], {}
    for order, (name, needs) in enumerate(wanted.items()):
        placed = space.place(needs)
        if isinstance(placed, NotPlaced):
            continue
        space.take(placed)
        admitted[name] = placed.amounts
        amounts = {str(key): pods for key, pods in placed.amounts.entries}
        entries.append(entry(name, amounts, order=order, domain=placed.domain or "", gang=needs))
    return entries, admitted


def bound_of(cache, name):
    """Pods of a gang that have a node, by pod set."""
    counts = {}
    for one in cache.pods.values():
        if one.group == name and cache.node_of(one):
            counts[one.pod_set] = counts.get(one.pod_set, 0) + 1
    return Amounts.of(counts)


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None)
@given(base=clusters(), needs=st.lists(gangs(), min_size=1, max_size=6), mix=mixes, data=st.data())
def test_every_admitted_gang_is_placed_in_any_order(base, needs, mix, data):
    """All that was admitted between two reports is bound in full, in whatever order it arrives.

    Free pods that come in between get only what was not promised. The mix by which the leader
    chose places came back with the Directive; what pods have come since then is no matter.
    """
    cache = member(base)
    demand = demand_of(mix)
    entries, admitted = admit(cache, {f"g{at}": one for at, one in enumerate(needs)}, demand)
    told = msgspec.to_builtins(encode_demand(demand) or [])
    feed(cache, [directive(*entries, demand=told)])
    situation = bind(cache, round_of(cache))

    for at, name in enumerate(data.draw(st.permutations(sorted(admitted)))):
        feed(cache, [pod(f"free-{at}", gpus=1)])
        feed(cache, objects_of(name, needs[int(name[1:])]))
        round_ = round_of(cache, situation)
        for placement in round_.placements:
            assert "elsewhere" not in placement.where
        situation = bind(cache, round_)

    for name, amounts in admitted.items():
        assert bound_of(cache, name) == amounts
    check_limits(cache)


def check_limits(cache):
    """No node holds more than it has."""
    for name, record in cache.nodes.items():
        for resource, used in cache.used(name).items():
            assert used <= record.room.get(resource, 0), (name, resource)


def test_an_order_in_which_greedy_placement_would_fail():
    """Four gangs fill two nodes exactly in one way; every order of arrival finds it."""
    sizes = {"a": 4, "b": 3, "c": 2, "d": 3}
    needs = {name: gang(pod_set("worker", gpus=size, cpu=1)) for name, size in sizes.items()}
    for order in permutations(sizes):
        cache = member(node("n1", gpus=6), node("n2", gpus=6))
        entries, admitted = admit(cache, needs)
        assert len(admitted) == 4
        feed(cache, [directive(*entries)])
        situation = bind(cache, round_of(cache))
        for name in order:
            feed(cache, objects_of(name, needs[name]))
            situation = bind(cache, round_of(cache, situation))
        assert all(bound_of(cache, name).pods() == 1 for name in sizes), order


def test_a_minimum_has_its_place_before_surplus_of_an_earlier_one():
    """Where less is free than was admitted, surplus waits, whatever the order of the decisions."""
    first = gang(pod_set("worker", pods=4, minimum=1, gpus=1, cpu=1), minimum=1)
    second = gang(pod_set("worker", gpus=2, cpu=1))
    cache = member(node("n1", gpus=4))
    entries = [
        entry("first", {"worker": 4}, order=0, gang=first),
        entry("second", {"worker": 1}, order=1, gang=second),
    ]
    feed(cache, [directive(*entries), *objects_of("first", first), *objects_of("second", second)])

    bind(cache, round_of(cache))

    assert [bound_of(cache, name).pods() for name in ("first", "second")] == [2, 1]


def test_surplus_is_placed_in_the_order_of_the_decisions():
    """Behind all minimums the first of them gets what is free."""
    needs = gang(pod_set("worker", pods=3, minimum=1, gpus=1, cpu=1), minimum=1)
    cache = member(node("n1", gpus=4))
    entries = [entry(name, {"worker": 3}, order=at, gang=needs) for at, name in enumerate("ab")]
    feed(cache, [directive(*entries), *objects_of("b", needs), *objects_of("a", needs)])

    bind(cache, round_of(cache))

    assert [bound_of(cache, name).pods() for name in "ab"] == [3, 1]


def test_room_that_was_held_for_surplus_is_no_minimums():
    """Others left for it, so it is placed in its turn, before the minimum of a later decision."""
    needs = gang(pod_set("worker", pods=3, minimum=1, gpus=1, cpu=1), minimum=1)
    late = gang(pod_set("worker", gpus=2, cpu=1))
    cache = member(node("n1", gpus=4))
    feed(cache, [directive(hold("a", {"worker": 3}, gang=needs, at=-2))])
    situation = bind(cache, round_of(cache))
    entries = [
        entry("a", {"worker": 3}, gang=needs, at=-1),
        entry("late", {"worker": 1}, gang=late, order=1),
    ]
    feed(cache, [directive(*entries), *objects_of("a", needs), *objects_of("late", late)])

    bind(cache, round_of(cache, situation))

    assert [bound_of(cache, name).pods() for name in ("a", "late")] == [3, 0]


def test_places_are_chosen_by_the_mix_that_the_leader_chose_by():
    """The leader left the only node of zone x to pods that need it; the agent does the same."""
    base = [
        node("n1", gpus=1, labels={"zone": "x"}),
        node("n2", gpus=4, labels={"zone": "y"}),
    ]
    free = gang(pod_set("worker", gpus=1, cpu=1))
    bound = replace(free, pod_sets=(replace(free.pod_sets[0], shape=mixed(1, "x")),))
    demand = demand_of({mixed(1, "x"): 8})
    cache = member(base)
    entries, admitted = admit(cache, {"a": free, "b": bound}, demand)
    assert len(admitted) == 2
    told = msgspec.to_builtins(encode_demand(demand))
    feed(cache, [directive(*entries, demand=told, label_keys=["zone"])])
    feed(cache, objects_of("a", free))

    assert nodes_of(round_of(cache)) == {"a-worker-0": "n2"}


def test_equal_input_gives_an_equal_round():
    """A round depends on values only, not on the order in which objects arrived."""
    base = [node("n1"), node("n2"), hyper_node("r0", 1, nodes=["n1", "n2"])]
    needs = {name: gang(pod_set("worker", pods=2, gpus=2, cpu=1)) for name in "abc"}
    objects = [obj for name in needs for obj in objects_of(name, needs[name])]

    first = round_of(member(base, objects))
    second = round_of(member(list(reversed(objects)), base))

    assert nodes_of(first) == nodes_of(second)
