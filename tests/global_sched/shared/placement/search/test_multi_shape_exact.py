"""Pods of several shapes and partitions lie as close as possible: checked against every way."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.shared.model.gang import Mode
from global_sched.shared.placement import NotPlaced, Space
from tests.deep import examples
from tests.global_sched.shared.placement.brute import ancestors
from tests.global_sched.shared.placement.drawing import trees
from tests.global_sched.shared.placement.search.test_one_shape_exact import mean_tier
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    free,
    gang,
    hard,
    leaf,
    parts,
    pod_set,
    topology,
)

SIZES = [(1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]


@st.composite
def worlds(draw):
    domains = draw(trees())
    places = [d.name for d in domains] + [None]
    leaves = [
        leaf(
            draw(st.sampled_from(places)),
            free(draw(st.integers(0, 4)), draw(st.integers(0, 2))),
            node=f"n{at}",
        )
        for at in range(draw(st.integers(1, 5)))
    ]
    return topology(domains, leaves)


@st.composite
def gangs(draw):
    sets = []
    if draw(st.booleans()):
        total, rule = draw(st.integers(1, 2)), draw(st.sampled_from([hard(1), hard(2)]))
        for name in ("prefill", "decode"):
            cpu, gpu = draw(st.sampled_from(SIZES))
            size = draw(st.integers(1, 2))
            split = parts(size, total, constraint=rule, together="pair")
            sets.append(pod_set(name, size * total, partition=split, cpu=cpu, gpu=gpu))
    for at in range(draw(st.integers(0 if sets else 1, 1 if sets else 3))):
        cpu, gpu = draw(st.sampled_from(SIZES))
        if draw(st.booleans()):
            sets.append(pod_set(f"set{at}", draw(st.integers(1, 3)), cpu=cpu, gpu=gpu))
            continue
        size, total = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]))
        rule = draw(st.sampled_from([hard(1), hard(2), hard(3)]))
        split = parts(size, total, constraint=rule)
        sets.append(pod_set(f"set{at}", size * total, partition=split, cpu=cpu, gpu=gpu))
    return gang(*sets, constraint=draw(st.sampled_from([SOFT, hard(1), hard(2), hard(3), hard(5)])))


def ways(world, wanted):
    """Every way to put the whole gang on the nodes: per node the pods of each pod set."""
    asks = [tuple(p.shape.requests.get(name) for name in world.axis) for p in wanted.pod_sets]

    def on(node, left):
        for pods in product(*(range(n + 1) for n in left)):
            used = [sum(n * a[r] for n, a in zip(pods, asks, strict=True)) for r in range(4)]
            if all(u <= f for u, f in zip(used, node.free, strict=True)):
                yield pods

    def rest(at, left):
        if at == len(world.leaves):
            if not any(left):
                yield ()
            return
        for pods in on(world.leaves[at], left):
            for more in rest(at + 1, tuple(a - b for a, b in zip(left, pods, strict=True))):
                yield (pods, *more)

    return rest(0, tuple(p.count for p in wanted.pod_sets))


def keeps_groups(world, wanted, way):
    """Whether every group of a partition can lie under one domain of its tier."""
    above = ancestors(world)
    tier = {d.name: d.tier for d in world.domains}
    top = max(tier.values(), default=0) + 1
    shared = []
    for at, one in enumerate(wanted.pod_sets):
        rule = one.partition.constraint if one.partition else None
        if rule is None or rule.highest_tier >= top:
            continue
        held = {}
        for item, pods in zip(world.leaves, way, strict=True):
            allowed = [d for d in above[item.domain] if d and tier[d] <= rule.highest_tier]
            home = allowed[-1] if allowed else None
            held[home] = held.get(home, 0) + pods[at]
        if held.pop(None, 0) or any(n % one.partition.size for n in held.values()):
            return False
        if one.partition.together:
            groups = {home: n // one.partition.size for home, n in held.items() if n}
            shared.append(groups)
    return all(groups == shared[0] for groups in shared)


@settings(max_examples=examples(120), deadline=None)
@given(world=worlds(), wanted=gangs())
def test_least_mean_tier_of_several_shapes(world, wanted):
    """Lowest tier, then least mean tier over all pairs of pods, whatever they ask for."""
    above = ancestors(world)
    tier = {d.name: d.tier for d in world.domains}
    top = max(tier.values(), default=0) + 1
    rules = [p.partition.constraint for p in wanted.pod_sets if p.partition]
    rules += [wanted.constraint] if wanted.constraint.mode == Mode.HARD else []
    if any(rule.highest_tier < min(tier.values(), default=99) for rule in rules):
        return
    limit = wanted.constraint.highest_tier if wanted.constraint.mode == Mode.HARD else top
    best = None
    for way in ways(world, wanted):
        homes = [
            item.domain
            for item, pods in zip(world.leaves, way, strict=True)
            for _ in range(sum(pods))
        ]
        common = [d for d in above[homes[0]] if all(d in above[h] for h in homes)]
        reached = top if common[0] is None else tier[common[0]]
        if reached > limit or not keeps_groups(world, wanted, way):
            continue
        rank = (reached, mean_tier(world, homes))
        best = rank if best is None else min(best, rank)

    placed = Space(world).place(wanted)

    if best is None:
        assert isinstance(placed, NotPlaced)
        return
    homes = [world.leaves[t.leaf].domain for t in placed.takes for _ in range(t.pods_per_node)]
    assert (top if placed.tier is None else placed.tier, mean_tier(world, homes)) == best
