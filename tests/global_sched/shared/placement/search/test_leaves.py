"""Roles in groups over domains whose children are leaves: provably closest, at any size."""

from bench.trees import gang, hard, synthetic, workers
from global_sched.shared.placement import Placed, Space


def test_two_roles_in_groups_are_proven_closest_among_thousands_of_nodes():
    """Gang after gang the answer is the closest there is, and not what a search limit left."""
    space = Space(synthetic(10_000))
    wanted = gang(
        workers(32, group=8),
        workers(32, gpus=2, name="decode", group=4),
        constraint=hard(3),
    )
    found = []
    for _ in range(12):
        placed = space.place(wanted)
        assert isinstance(placed, Placed)
        space.take(placed)
        found.append(placed.exact)

    assert all(found)
