"""A Space while it is used: takes, versions, what remains, names."""

import pytest

from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.values import InvariantError
from global_sched.shared.placement import Space, assign, histogram
from tests.global_sched.shared.placement.worlds import (
    domain,
    free,
    gang,
    hard,
    leaf,
    pod_set,
    racks,
    topology,
    tree,
    workers,
)

COUNTED = topology(tree(r=(1, None)), [leaf("r", free(4), count=5)], label_keys=())


def test_a_take_splits_a_counted_leaf():
    """Pods on some of the alike nodes make two leaves, in canonical order."""
    space = Space(COUNTED)

    space.take(space.place(workers(9, constraint=hard(1))))

    assert [(x.free[0], x.free[3], x.count) for x in space.remaining().leaves] == [
        (0, 96, 2),
        (3, 99, 1),
        (4, 100, 2),
    ]


def test_giving_back_merges_it_again():
    """Room that comes back makes nodes alike again, whatever was taken meanwhile."""
    space = Space(COUNTED)
    first = space.place(workers(4))
    space.take(first)
    second = space.place(workers(3))
    space.take(second)

    space.give_back(first)
    assert [(x.free[0], x.count) for x in space.remaining().leaves] == [(1, 1), (4, 4)]
    space.give_back(second)
    assert space.remaining() == COUNTED


def test_versions_and_answers():
    """Every change has a new version; equal versions give the very same answer."""
    space = Space(COUNTED)
    wanted = workers(4)
    before = space.place(wanted)
    mark = space.mark()

    space.take(before)
    assert space.version == 1
    space.give_back(before)
    assert space.version == 2
    space.rollback(mark)

    assert space.version == 0
    assert space.place(wanted) is before


def test_equal_gangs_get_equal_answers():
    """Answers depend on the gang's value, not on which object it is."""
    space = Space(COUNTED)

    assert space.place(workers(3, constraint=hard(1))) == space.place(
        workers(3, constraint=hard(1))
    )


def test_what_is_not_there_cannot_be_taken():
    """Taking a placement twice where it fits once is a bug of the caller."""
    space = Space(racks(a=[1]))
    placed = space.place(workers(1))
    space.take(placed)

    with pytest.raises(InvariantError, match="not from this Space"):
        space.take(placed)
    assert space.free().get("cpu") == 0
    space.give_back(placed)
    with pytest.raises(InvariantError, match="was not taken"):
        space.give_back(placed)


def test_free():
    """Sums for scores follow the room."""
    space = Space(racks(a=[4, 4]))
    assert space.free().get("cpu") == 8

    space.take(space.place(workers(6)))

    assert space.free().get("cpu") == 2


def test_assign_goes_by_index_and_name():
    """Lower pod indexes first, lower node names first among alike nodes."""
    world = racks(a=[2, 2, 2])
    placed = Space(world).place(workers(3, constraint=hard(1)))

    nodes = assign(world, placed, {PodSetName("worker"): ["w-0", "w-1", "w-2", "w-3"]})

    assert nodes == {"w-0": "a-n0", "w-1": "a-n0", "w-2": "a-n1"}


def test_assign_needs_names_and_pods():
    """A counted topology has no names, and every placed pod must be given."""
    with pytest.raises(InvariantError, match="named"):
        assign(COUNTED, Space(COUNTED).place(workers(1)), {PodSetName("worker"): ["w"]})
    world = racks(a=[2])
    with pytest.raises(InvariantError, match="more pods"):
        assign(world, Space(world).place(workers(2)), {PodSetName("worker"): ["w"]})


def test_named_and_counted_agree_after_many_takes():
    """The same gangs leave equal room on nodes and on their histogram."""
    world = racks(a=[8, 8, 8, 4], b=[8, 8, 2], c=[6, 6, 6, 6])
    agent, federation = Space(world), Space(histogram(world, ()))
    for pods in (3, 8, 5, 8, 13, 2):
        wanted = gang(pod_set("l", 1, cpu=2), pod_set("w", pods, cpu=1), constraint=hard(2))
        here, there = agent.place(wanted), federation.place(wanted)
        assert here.domain == there.domain
        agent.take(here)
        federation.take(there)
    assert histogram(agent.remaining(), ()) == federation.remaining()


def test_hostile_topologies_are_bounded():
    """Cycles, absurd counts and amounts in a report neither hang nor overflow."""
    world = topology(
        [domain("a", 1, "b"), domain("b", 1, "a"), domain("c", 2, "nowhere"), domain("d", 1, "c")],
        [
            leaf("a", free(2**62, 0, 2**62, 2**62), count=2**62),
            leaf("d", free(2**62, 0, 2**62, 2**62), count=2**62),
            leaf("lost", free(1)),
        ],
        label_keys=(),
    )
    space = Space(world)

    assert space.place(workers(10**9, constraint=hard(1))).amounts.pods() == 10**9
    assert space.place(workers(3, cpu=2**62, constraint=hard(2))).amounts.pods() == 3
