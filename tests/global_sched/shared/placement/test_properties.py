"""Properties of placement for any room and any gang."""

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts, Mode
from global_sched.shared.model.verdict import Code
from global_sched.shared.placement import NotPlaced, Placed, Space, demand_of, histogram
from tests.deep import examples
from tests.global_sched.shared.placement.brute import ancestors, lowest_tier
from tests.global_sched.shared.placement.drawing import (
    REPORTED,
    gangs,
    led_groups,
    shapes,
    topologies,
)

mixes = st.dictionaries(shapes(), st.integers(1, 50), max_size=4)
"""What other pods ask for."""


def whole_minimum(gang, minimum):
    """The minimum with partitions rounded up to whole groups."""
    rounded = {}
    for pod_set in gang.pod_sets:
        pods = minimum.get(pod_set.name)
        size = pod_set.partition.size if pod_set.partition else 1
        rounded[pod_set.name] = -(-pods // size) * size
    return Amounts.of(rounded)


@settings(max_examples=examples(100), deadline=None)
@given(world=topologies(), wanted=gangs())
def test_agrees_with_brute_force(world, wanted):
    """A gang is placed exactly when its minimum fits, and in the lowest tier where it does."""
    minimum = whole_minimum(wanted, wanted.minimum_amounts())
    answer = Space(world).place(wanted)
    if isinstance(answer, NotPlaced) and answer.verdict.reason == Reason.TIER_UNKNOWN:
        return
    if not minimum.pods():
        return
    want = lowest_tier(world, wanted, minimum)
    if want is None:
        assert isinstance(answer, NotPlaced)
        assert answer.verdict.code in (Code.NO_FIT, Code.NEVER)
    else:
        assert isinstance(answer, Placed), answer
        if wanted.constraint is not None and answer.amounts == minimum:
            assert (float("inf") if answer.tier is None else answer.tier) == want


@settings(max_examples=examples(100), deadline=None)
@given(world=topologies(), wanted=st.lists(gangs(), min_size=1, max_size=5), mix=mixes)
def test_both_sides_choose_alike(world, wanted, mix):
    """Counted nodes and named nodes take the same gangs in the same domains and keep equal room."""
    world = replace(world, demand=demand_of(mix, REPORTED))
    agent = Space(world, order_keys=REPORTED)
    federation = Space(histogram(world, REPORTED))
    for gang in wanted:
        here, there = agent.place(gang), federation.place(gang)
        if isinstance(here, NotPlaced):
            assert here == there
            continue
        assert isinstance(there, Placed)
        assert (here.amounts, here.domain, here.tier) == (there.amounts, there.domain, there.tier)
        agent.take(here)
        federation.take(there)
        assert histogram(agent.remaining(), REPORTED) == federation.remaining()


@settings(max_examples=examples(80), deadline=None)
@given(
    world=topologies(),
    wanted=st.lists(gangs(), min_size=1, max_size=4),
    seed=st.integers(),
    mix=mixes,
)
def test_input_order_does_not_matter(world, wanted, seed, mix):
    """Leaves and domains in another order give the same answers, node by node."""
    shuffled = random.Random(seed)
    world = replace(world, demand=demand_of(mix))
    leaves = shuffled.sample(world.leaves, len(world.leaves))
    domains = shuffled.sample(world.domains, len(world.domains))
    other = replace(world, domains=tuple(domains), leaves=tuple(leaves))
    left, right = Space(world), Space(other)
    for gang in wanted:
        here, there = left.place(gang), right.place(gang)
        if isinstance(here, NotPlaced):
            assert here == there
            continue
        named = [(world.leaves[t.leaf].node, t.pod_set, t.pods_per_node) for t in here.takes]
        assert named == [(leaves[t.leaf].node, t.pod_set, t.pods_per_node) for t in there.takes]
        left.take(here)
        right.take(there)


@settings(max_examples=examples(80), deadline=None)
@given(world=topologies(), wanted=st.lists(gangs(), min_size=1, max_size=5), data=st.data())
def test_room_is_never_exceeded_and_comes_back(world, wanted, data):
    """Takes stay within free room and hold the minimum; undoing them in any order restores all."""
    for counted in (False, True):
        start = histogram(world, REPORTED) if counted else world
        space = Space(start)
        taken = []
        for gang in wanted:
            placed = space.place(gang)
            if isinstance(placed, NotPlaced):
                continue
            assert placed.amounts.covers(gang.minimum_amounts())
            assert gang.all_amounts().covers(placed.amounts)
            pods = {}
            for take in placed.takes:
                pods[take.pod_set] = pods.get(take.pod_set, 0) + take.nodes * take.pods_per_node
            assert Amounts.of(pods) == placed.amounts
            before = space.free()
            space.take(placed)
            assert space.free() == before.minus(gang.requests(placed.amounts))
            assert all(f >= 0 for leaf in space.remaining().leaves for f in leaf.free)
            taken.append(placed)
        for placed in data.draw(st.permutations(taken)):
            space.give_back(placed)
        assert space.remaining() == start


@settings(max_examples=examples(60), deadline=None)
@given(world=topologies(), wanted=st.lists(gangs(), min_size=2, max_size=5))
def test_rollback_restores_version_and_answers(world, wanted):
    """After a rollback the Space is what it was: version, room and answers."""
    space = Space(world)
    first = space.place(wanted[0])
    if isinstance(first, Placed):
        space.take(first)
    version, room = space.version, space.remaining()
    answers = [space.place(gang) for gang in wanted]
    mark = space.mark()
    for gang in wanted:
        placed = space.place(gang)
        if isinstance(placed, Placed):
            space.take(placed)
    if isinstance(first, Placed):
        space.give_back(first)
    space.rollback(mark)
    assert (space.version, space.remaining()) == (version, room)
    assert [space.place(gang) for gang in wanted] == answers


def around(world, domains):
    """The smallest domain around several; None for the whole cluster."""
    above = ancestors(world)
    common = set.intersection(*(set(above[d]) for d in domains)) - {None}
    return min(common, key=lambda d: len(set(above[d])) * -1, default=None)


@settings(max_examples=examples(100), deadline=None)
@given(world=topologies(), wanted=gangs())
def test_constraints_hold(world, wanted):
    """The reported domain is the smallest around all pods, and every hard tier is kept."""
    placed = Space(world).place(wanted)
    if isinstance(placed, NotPlaced) or not placed.takes:
        return
    tier = {d.name: d.tier for d in world.domains}
    assert placed.domain == around(world, [world.leaves[t.leaf].domain for t in placed.takes])
    assert placed.tier == (None if placed.domain is None else tier[placed.domain])
    rule = wanted.constraint
    top = max(tier.values(), default=0) + 1
    if rule is not None and rule.mode == Mode.HARD:
        assert (top if placed.tier is None else placed.tier) <= rule.highest_tier
    for pod_set in wanted.pod_sets:
        rule = pod_set.partition.constraint if pod_set.partition else None
        if rule is None or rule.mode == Mode.SOFT:
            continue
        homes = [
            world.leaves[take.leaf].domain
            for take in placed.takes
            if take.pod_set == pod_set.name
            for _ in range(take.pods_per_node)
        ]
        size = pod_set.partition.size
        for at in range(0, len(homes), size):
            home = around(world, homes[at : at + size])
            assert (top if home is None else tier[home]) <= rule.highest_tier


@settings(max_examples=examples(100), deadline=None)
@given(
    world=topologies(),
    wanted=st.one_of(gangs(), led_groups()),
    together=st.booleans(),
    any_number=st.booleans(),
)
def test_groups_start_whole_or_not_at_all(world, wanted, together, any_number):
    """With or without a tier of their own, surplus or not: no group starts with some of its pods.

    Groups of pod sets that belong together start together.
    """
    if together:
        sets = tuple(
            replace(one, partition=replace(one.partition, together="all")) if one.partition else one
            for one in wanted.pod_sets
        )
        wanted = replace(wanted, pod_sets=sets)
    minimum = Amounts() if any_number else None
    placed = Space(world).place(wanted, minimum=minimum)
    if isinstance(placed, NotPlaced):
        return
    groups = {}
    for one in wanted.pod_sets:
        if one.partition:
            whole, rest = divmod(placed.amounts.get(one.name), one.partition.size)
            assert rest == 0, one.name
            if one.partition.together:
                groups.setdefault(one.partition.together, set()).add(whole)
    assert all(len(counts) == 1 for counts in groups.values()) or not _same_number(wanted)


def _same_number(gang):
    """Whether all pod sets of partitions have equally many groups."""
    return len({one.count // one.partition.size for one in gang.pod_sets if one.partition}) == 1
