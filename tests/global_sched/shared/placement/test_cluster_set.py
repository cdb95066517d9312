"""Many clusters asked at once answer what each of them answers alone."""

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.placement import NO_TIER, ClusterSet, NotPlaced, Space
from tests.deep import examples
from tests.global_sched.shared.placement.drawing import gangs, topologies
from tests.global_sched.shared.placement.worlds import (
    domain,
    free,
    hard,
    leaf,
    topology,
    workers,
)

LIMIT = 10_000


def alone(world, taken):
    """A Space of its own in which the same was taken."""
    space = Space(world, search_limit=LIMIT)
    for placed in taken:
        space.take(placed)
    return space


def check(field, worlds, taken, wanted):
    """One question to all clusters, against a question to each."""
    question = field.question(wanted)
    everybody = list(range(len(worlds)))
    spaces = [alone(world, own) for world, own in zip(worlds, taken, strict=True)]
    glances = [space.glance(wanted) for space in spaces]
    assert question.plain == all(one is not None for one in glances)
    if not question.plain:
        return
    answers = question.answers(everybody)
    assert answers == [(one.tier, one.holds) if one.fits else None for one in glances]
    check_arrays(question, answers)
    refusing = [at for at in everybody if answers[at] is None]
    verdicts = question.verdicts(refusing)
    for at, verdict in zip(refusing, verdicts, strict=True):
        found = spaces[at].place(wanted)
        assert isinstance(found, NotPlaced)
        assert found.verdict == verdict
    for at in everybody:
        assert field.free(at) == dict(spaces[at].free().entries)


def check_arrays(question, answers):
    """As arrays the same is said."""
    near = question.nearby()
    tiers = [None] * len(answers) if near.tier is None else near.tier.tolist()
    said = zip(near.fits.tolist(), tiers, near.holds.tolist(), strict=True)
    assert answers == [
        (None if tier == NO_TIER else tier, holds) if fits else None for fits, tier, holds in said
    ]


@settings(max_examples=examples(40), deadline=None)
@given(
    worlds=st.lists(topologies(), min_size=1, max_size=4),
    wanted=st.lists(gangs(most_sets=2), min_size=1, max_size=6),
    data=st.data(),
)
def test_all_at_once(worlds, wanted, data):
    """Room that is taken, taken back and counted later makes no difference."""
    field = ClusterSet(worlds, search_limit=LIMIT)
    field.expect(data.draw(st.sampled_from((wanted, wanted[:1], []))))
    taken = [[] for _ in worlds]
    for gang in wanted:
        check(field, worlds, taken, gang)
        at = data.draw(st.integers(0, len(worlds) - 1))
        space = field.space(at)
        mark = space.mark()
        found = space.place(gang)
        field.touched(at)
        if isinstance(found, NotPlaced):
            continue
        space.take(found)
        if data.draw(st.booleans()):
            taken[at].append(found)
        else:
            space.rollback(mark)
    check(field, worlds, taken, wanted[0])


@settings(max_examples=examples(25), deadline=None)
@given(worlds=st.lists(topologies(), min_size=6, max_size=8), wanted=gangs(most_sets=1))
def test_counted_together_or_alone(worlds, wanted):
    """Counting all rows at once gives what each cluster's own count gives, and is kept."""
    together = ClusterSet(worlds, search_limit=LIMIT)
    check(together, worlds, [[] for _ in worlds], wanted)
    again = ClusterSet([*worlds[:2], *worlds], search_limit=LIMIT)
    check(again, [*worlds[:2], *worlds], [[] for _ in range(len(worlds) + 2)], wanted)


@settings(max_examples=examples(25), deadline=None)
@given(wanted=gangs(most_sets=1))
def test_clusters_with_other_resources(wanted):
    """A resource that one cluster does not have is not free there."""
    plain = topology([domain("rack", 1)], [leaf("rack", free(4, 2, 0, 4), node="n")])
    other = topology([], [leaf(None, (3, 4), node="m")], axis=("cpu", "pods"))
    worlds = [plain, other]
    check(ClusterSet(worlds, search_limit=LIMIT), worlds, [[], []], wanted)


def test_many_domains():
    """A cluster of more domains than are looked through one by one answers alike."""
    racks = [domain(f"rack{at:03d}", 1) for at in range(90)]
    leaves = [leaf(f"rack{at:03d}", free(4, at % 3, 0, 4), node=f"n{at:03d}") for at in range(90)]
    world = topology(racks, leaves)
    field = ClusterSet([world], search_limit=LIMIT)

    for pods, gpus in ((2, 1), (4, 1), (9, 2)):
        check(field, [world], [[]], workers(pods, constraint=hard(1), cpu=1, gpu=gpus))


def test_nodes_are_counted_together_as_alone():
    """A few in one go: plain ones, one that is full, one with more than any pod could use."""
    world = topology([domain("r0", 1)], [leaf("r0", free(8, 2, 9, 9), node="n")])
    nodes = [((8, 2, 0, 9), 0), ((0, 0, 0, 9), 0), ((2**50, 0, 1, 9), 0), ((3, 1, 5, 9), 0)]
    asked = [workers(2, cpu=3), workers(2, gpu=1), workers(1, cpu=1, memory=1)]

    def fit_counts():
        field = ClusterSet([world], search_limit=LIMIT)
        field.expect(asked)
        return field.fit_counts

    alone = [fit_counts().measure([node])[0].tolist() for node in nodes]
    for few in range(2, len(nodes) + 1):
        found = fit_counts().measure(nodes[:few])
        assert [one.tolist() for one in found] == alone[:few]
