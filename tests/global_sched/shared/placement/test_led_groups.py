"""Groups of a leader and its workers, each in one domain, for any room."""

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Mode
from global_sched.shared.placement import NotPlaced, Placed, Space, histogram
from tests.deep import examples
from tests.global_sched.shared.placement.brute import ancestors, lowest_tier
from tests.global_sched.shared.placement.drawing import REPORTED, gangs, led_groups, topologies


@settings(max_examples=examples(50), deadline=None)
@given(world=topologies(), wanted=led_groups())
def test_agrees_with_brute_force(world, wanted):
    """They are placed exactly when the least groups fit whole, in the lowest tier where they do."""
    answer = Space(world).place(wanted)
    if isinstance(answer, NotPlaced) and answer.verdict.reason == Reason.TIER_UNKNOWN:
        return
    minimum = wanted.minimum_amounts()
    want = lowest_tier(world, wanted, minimum)
    assert isinstance(answer, Placed) is (want is not None)
    if isinstance(answer, Placed):
        assert answer.exact
        if wanted.constraint is not None and answer.amounts == minimum:
            assert (float("inf") if answer.tier is None else answer.tier) == want


@settings(max_examples=examples(50), deadline=None)
@given(world=topologies(), wanted=led_groups())
def test_group_by_group(world, wanted):
    """Group i of the workers lies with leader i in one domain of the allowed tier."""
    placed = Space(world).place(wanted)
    rule = wanted.pod_sets[0].partition.constraint
    if not isinstance(placed, Placed) or rule is None or rule.mode == Mode.SOFT:
        return
    homes = {"leader": [], "worker": []}
    for take in placed.takes:
        homes[take.pod_set] += [world.leaves[take.leaf].domain] * take.pods_per_node
    above, tier = ancestors(world), {d.name: d.tier for d in world.domains}
    highest = max(tier.values(), default=0)
    size = wanted.pod_sets[1].partition.size
    assert len(homes["worker"]) == size * len(homes["leader"])
    if rule.highest_tier > highest:
        return
    for at, leader in enumerate(homes["leader"]):
        group = [leader, *homes["worker"][at * size : (at + 1) * size]]
        common = set.intersection(*({d for d in above[home] if d is not None} for home in group))
        assert any(tier[domain] <= rule.highest_tier for domain in common)


@settings(max_examples=examples(50), deadline=None)
@given(
    world=topologies(),
    wanted=st.lists(st.one_of(led_groups(), gangs()), min_size=1, max_size=4),
)
def test_both_sides_choose_alike(world, wanted):
    """Counted nodes and named nodes take the same gangs in the same domains and keep equal room."""
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
