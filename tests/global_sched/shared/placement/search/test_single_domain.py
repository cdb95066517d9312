"""A gang that one domain takes whole is placed where the general way places it."""

from hypothesis import event, given, settings
from hypothesis import strategies as st

from global_sched.shared.placement import Placed, Space
from global_sched.shared.placement.search.single_domain import place_in_single_domain
from tests.deep import examples
from tests.global_sched.shared.placement.drawing import gangs, topologies
from tests.global_sched.shared.placement.worlds import domain, free, hard, leaf, topology, workers

LIMIT = 10_000


def both(space, wanted):
    """The answer, and that of the general way, which is asked when amounts are named."""
    said = space.place(wanted, amounts=wanted.all_amounts(), minimum=wanted.minimum_amounts())
    return space.place(wanted), said


@settings(max_examples=examples(60), deadline=None)
@given(
    world=topologies(), wanted=st.lists(gangs(most_sets=1), min_size=1, max_size=6), data=st.data()
)
def test_the_same_place_in_any_room(world, wanted, data):
    """Whatever was taken and given back before, on the same nodes."""
    space = Space(world, search_limit=LIMIT)
    taken = []
    for one in wanted:
        found, said = both(space, one)
        assert found == said
        task = space.task(one)
        event(f"lone: {getattr(task, 'lone', None)}")
        if isinstance(found, Placed):
            space.take(found)
            taken.append(found)
        if taken and data.draw(st.booleans()):
            space.give_back(taken.pop(0))


def test_one_domain_is_found_without_a_search(monkeypatch):
    """A gang of one pod set in a small tree is placed so, constrained or not."""
    world = topology(
        [domain("rack-1", 1), domain("rack-2", 1)],
        [leaf("rack-1", free(cpu=8), count=2), leaf("rack-2", free(cpu=8), count=4)],
    )
    seen = []

    def watched(*asked):
        seen.append(place_in_single_domain(*asked))
        return seen[-1]

    monkeypatch.setattr("global_sched.shared.placement.space.place_in_single_domain", watched)
    space = Space(world, search_limit=LIMIT)
    for constraint in (None, hard(1)):
        one = workers(3, constraint=constraint, cpu=4)
        found, said = both(space, one)
        assert found == said
        assert seen.pop() == found
