"""Pods that no report counts yet: deducted in the order in which members place them."""

from dataclasses import replace

from global_sched.cache.stores.assumed import AssumedPlacement, KeptRoom
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.model.last_resort import marked
from tests.builders import NOW, cluster, gang, pod_set

WHOLE = cluster("c", racks=2, nodes=1, gpus=4).capacity
assert WHOLE is not None


def taker(name, pods, *, order, minimum, gpus=1, domain=None):
    """So many pods that no report counts yet."""
    needs = gang(pod_set("worker", pods=pods, minimum=minimum, gpus=gpus, cpu=1), minimum=minimum)
    amounts, least = (Amounts.of({"worker": n}) for n in (pods, minimum))
    domain = None if domain is None else DomainId(domain)
    return AssumedPlacement(NOW, order, BindingId(name), amounts, needs, domain, least)


def at_gpu(capacity):
    """The position of GPUs in free vectors."""
    return capacity.topology.axis.index("nvidia.com/gpu")


def free_in(capacity):
    """GPUs that are free by node."""
    at = at_gpu(capacity)
    return [leaf.free[at] for leaf in capacity.topology.leaves for _ in range(leaf.count)]


def test_minimums_are_deducted_before_surplus():
    """The second's minimum has its node; the first has as much surplus as is left."""
    first = taker("first", 7, order=0, minimum=2)
    second = taker("second", 1, order=1, minimum=1, gpus=4)

    assert sorted(free_in(KeptRoom().deduct(WHOLE, (first, second)))) == [0, 0]


def test_one_that_comes_later_is_deducted_as_if_all_came_at_once():
    """What was placed before is placed anew where a minimum comes before its surplus."""
    first = taker("first", 3, order=0, minimum=1)
    second = taker("second", 1, order=1, minimum=1, gpus=3)
    room = KeptRoom()
    room.deduct(WHOLE, (first,))

    assert room.deduct(WHOLE, (first, second)) == KeptRoom().deduct(WHOLE, (first, second))


def test_pods_of_last_resort_are_deducted_there_once_the_sound_nodes_are_full():
    """Four pods on a sound node with four devices and a marked one: the fifth is on the marked."""
    sound, back = WHOLE.topology.leaves
    leaves = (sound, replace(back, node_class=marked(back.node_class)))
    whole = replace(WHOLE, topology=replace(WHOLE.topology, leaves=leaves))

    left = KeptRoom().deduct(whole, (taker("gang", 5, order=0, minimum=5),))

    assert {
        bool(leaf.node_class.taints): leaf.free[at_gpu(left)] for leaf in left.topology.leaves
    } == {
        False: 0,
        True: 3,
    }
