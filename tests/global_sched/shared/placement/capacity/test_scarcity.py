"""Scarcity: which of equal nodes unconstrained pods get, by what the other pods ask for."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.model.pods import Operator, PodShape, Requirement, Toleration
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import NodeClass
from global_sched.shared.placement import MOST_WANTED, Placed, Space, demand_of, node_class_admits
from tests.deep import examples
from tests.global_sched.shared.placement.drawing import shapes, topologies
from tests.global_sched.shared.placement.worlds import free, leaf, nodes_used, shape, topology
from tests.global_sched.shared.placement.worlds import workers as gang_of

OLD, NEW = NodeClass(labels=(("gpu", "old"),)), NodeClass(labels=(("gpu", "new"),))


def wants(model, **sizes):
    return shape(selector=(("gpu", model),), **sizes)


def asked(world, mix, *gangs):
    """The nodes of gangs that come one after the other."""
    space = Space(replace(world, demand=demand_of(mix)))
    found = []
    for one in gangs:
        placed = space.place(one)
        assert isinstance(placed, Placed), placed
        space.take(placed)
        found.append(next(iter(nodes_used(world, placed))))
    return found


def test_nodes_that_some_pods_need_are_left_to_them():
    """A pod that may go anywhere goes where fewest others have to, also to a larger node."""
    world = topology(
        (), [leaf(None, free(8, 1), node="a", kind=OLD), leaf(None, free(8, 4), node="b", kind=NEW)]
    )
    one = gang_of(1, cpu=1, gpu=1)
    assert asked(world, {}, one) == ["a"]
    assert asked(world, {wants("old", cpu=1, gpu=1): 5, shape(1, 1): 5}, one) == ["b"]
    assert asked(world, {wants("new", cpu=1, gpu=1): 5, shape(1, 1): 5}, one) == ["a"]


def test_whole_nodes_stay_whole_for_those_who_need_them():
    """While pods of whole nodes come, single devices are taken from broken nodes first."""
    world = topology((), [leaf(None, free(64, 8), node="a"), leaf(None, free(96, 7), node="b")])
    mix = {shape(8, 8): 1, shape(8, 1): 100}
    assert asked(world, mix, gang_of(1, cpu=8, gpu=1)) == ["b"]


def test_devices_keep_the_cpu_that_goes_with_them():
    """A pod of much CPU goes where the devices that it leaves keep enough of it."""
    world = topology((), [leaf(None, free(22, 3), node="a"), leaf(None, free(60, 4), node="b")])
    one = gang_of(1, cpu=20, gpu=1)
    assert asked(world, {}, one) == ["a"]
    assert asked(world, {shape(4, 1): 9}, one) == ["b"]


def test_pods_without_devices_leave_cpu_to_devices():
    """Where every node has devices, CPU is taken where it costs no place for a device."""
    world = topology((), [leaf(None, free(16, 2), node="a"), leaf(None, free(30, 2), node="b")])
    assert asked(world, {shape(8, 1): 9}, gang_of(1, cpu=8)) == ["b"]


def test_the_mix_changes_seldom():
    """Alike shapes are one, counts are powers of two, and what pods leave on nodes is no matter."""
    alike = {shape(1000, 1): 3, shape(1020, 1, anti_affine=True): 2, shape(1000, 1, per_node=2): 2}
    (only,) = demand_of(alike)
    assert (only.shape, only.pods) == (shape(1024, 1), 4)
    assert demand_of({shape(1000, 1): 6}) == demand_of({shape(1000, 1): 7})
    devices = demand_of({shape(1, gpu): 1 for gpu in range(9, 20)})
    assert sorted(one.shape.requests.get("gpu") for one in devices) == list(range(9, 20))


def test_the_mix_is_bounded():
    """The most frequent shapes, none of many words, none of keys that no report has."""
    many = {shape(gpu=gpu): gpu for gpu in range(1, 300)}
    kept = demand_of(many)
    assert len(kept) == MOST_WANTED
    assert min(one.shape.requests.get("gpu") for one in kept) == 300 - MOST_WANTED
    names = tuple(f"name-{at}" for at in range(100))
    wordy = shape(1, affinity=((Requirement("host", Operator.IN, names),),))
    tolerant = shape(1, tolerations=(Toleration("a", True), Toleration("a", False, "b")))
    assert [one.shape for one in demand_of({wordy: 9, tolerant: 1})] == [tolerant]
    assert demand_of({wants("old", cpu=1): 1, shape(2): 0}, keys=["zone"]) == ()
    assert len(demand_of({wants("old", cpu=1): 1}, keys=["gpu"])) == 1


def in_round_numbers(pods):
    """Three binary digits of it, the nearest."""
    digit = 2 ** max(0, len(f"{pods:b}") - 3)
    return int(pods / digit + 0.5) * digit


def room(world, one: PodShape, frees):
    """Pods of a shape, by itself, on all nodes."""
    found = 0
    for node, amounts in zip(world.leaves, frees, strict=True):
        if node_class_admits(node.node_class, one):
            have = dict(zip(world.axis, amounts, strict=True))
            found += min(have[name] // amount for name, amount in one.requests)
    return found


@settings(max_examples=examples(100), deadline=None)
@given(
    world=topologies(),
    mix=st.dictionaries(shapes(), st.integers(1, 9), max_size=4),
    one=shapes(),
)
def test_a_pod_goes_where_least_room_of_the_mix_is_lost(world, mix, one):
    """No other node costs less: by shape its share of the pods times the part of room that goes."""
    none = tuple(replace(one, domain=None) for one in world.leaves)
    flat = replace(world, domains=(), leaves=none, demand=demand_of(mix))
    gang = gang_of(1, like=replace(one, anti_affine=False))
    placed = Space(flat).place(gang)
    if not isinstance(placed, Placed) or not flat.demand:
        return
    at_first = [node.free for node in flat.leaves]
    shares = sum(w.pods for w in flat.demand)

    def cost(at):
        after = list(at_first)
        asks = dict(gang.pod_sets[0].shape.requests)
        names = zip(flat.axis, after[at], strict=True)
        after[at] = tuple(have - asks.get(name, 0) for name, have in names)
        if min(after[at]) < 0 or not node_class_admits(flat.leaves[at].node_class, one):
            return None
        lost = 0.0
        for wanted in flat.demand:
            before = room(flat, wanted.shape, at_first)
            gone = before - room(flat, wanted.shape, after)
            lost += wanted.pods / shares * gone / max(1, in_round_numbers(before))
        return lost

    idle = [
        at for at, node in enumerate(flat.leaves) if node.free[1] and not one.requests.get("gpu")
    ]
    costs = {at: c for at in range(len(flat.leaves)) if (c := cost(at)) is not None}
    device_free = {at: c for at, c in costs.items() if at not in idle} or costs
    assert device_free[placed.takes[0].leaf] <= min(device_free.values()) + 1e-4


def test_absurd_amounts_cost_something_finite():
    """Amounts and counts at their bounds neither overflow nor end the placement."""
    huge = 2**62
    world = topology(
        (),
        [
            leaf(None, (huge, huge, huge, huge), node="a", count=1),
            leaf(None, (huge, 1, huge, huge), node="b", count=1),
        ],
    )
    mix = {shape(1, 1): 2**40, shape(huge, 1): 1, PodShape(requests=Resources.of({"pods": 1})): 1}
    assert asked(world, mix, gang_of(1, cpu=1, gpu=1), gang_of(1, cpu=1, gpu=1)) == ["a", "a"]


@settings(max_examples=examples(50), deadline=None)
@given(
    world=topologies(),
    mix=st.dictionaries(shapes(), st.integers(1, 9), max_size=3),
    asks=st.lists(st.tuples(shapes(), st.integers(1, 4)), min_size=2, max_size=12),
    backs=st.sets(st.integers(0, 11)),
)
def test_nodes_that_stand_in_line_are_taken_as_if_sorted_anew(world, mix, asks, backs):
    """The order that is kept from pod to pod is what sorting the nodes for each would find."""
    flat = replace(world, domains=(), leaves=tuple(replace(x, domain=None) for x in world.leaves))
    flat = replace(flat, demand=demand_of(mix))

    def answers(few):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("global_sched.shared.placement.search.select_nodes._FEW_ROWS", few)
            space, taken, found = Space(flat), [], []
            for at, (one, pods) in enumerate(asks):
                if at in backs and taken:
                    space.give_back(taken.pop(0))
                placed = space.place(gang_of(pods, like=one))
                found.append(placed)
                if isinstance(placed, Placed):
                    space.take(placed)
                    taken.append(placed)
        return found

    assert answers(-1) == answers(1000)
