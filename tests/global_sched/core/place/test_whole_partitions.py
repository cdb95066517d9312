"""Whatever is cut, groups of a partition stay whole: by limits, guarantees, shares, minimums."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.core.quota.limits import capability_of, cut
from global_sched.shared.model.gang import Amounts, Partition
from global_sched.shared.model.ids import ClusterName
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    cluster,
    demand,
    gang,
    hard,
    pod_set,
    queue,
    snapshot,
    tenant,
    workload,
)
from tests.worlds import after

TWO = [cluster("a", gpus=8, nodes=4), cluster("b", gpus=8, nodes=2)]


def groups(name="main", *, size=3, total=4, minimum=None, gpus=1, tier=None, together="", least=0):
    """A pod set of `total` groups, of which one starts unless said otherwise."""
    constraint = None if tier is None else hard(tier)
    return pod_set(
        name,
        pods=size * total,
        minimum=size if minimum is None else minimum,
        gpus=gpus,
        partition=Partition(
            size=size, total=total, minimum=least, constraint=constraint, together=together
        ),
    )


def job(*sets, name="j", minimum=None, **fields):
    return workload(name, asks=demand(gang(*sets, minimum=minimum)), **fields)


def admitted(world, name="j"):
    """How many pods of each pod set a cycle admits; and nothing more in the next."""
    plan = run_cycle(world, POLICY, NOW)
    then = after(world, plan)
    assert run_cycle(then, POLICY, NOW).admissions == ()
    decision = then.workload(name).decision
    if decision is None or not decision.grants:
        return {}
    [grant] = decision.grants
    return dict(grant.amounts.entries)


@pytest.mark.parametrize(
    ("sets", "gpus", "want"),
    [
        pytest.param([groups()], 12, {"main": 12}, id="all of them"),
        pytest.param([groups()], 11, {"main": 9}, id="two pods of the last group would fit"),
        pytest.param([groups()], 10, {"main": 9}, id="one pod of it would"),
        pytest.param([groups()], 5, {"main": 3}, id="the minimum and two pods"),
        pytest.param([groups(tier=1)], 10, {"main": 9}, id="with a tier for each group"),
        pytest.param([groups(minimum=0)], 4, {"main": 3}, id="without a minimum"),
        pytest.param([groups(minimum=0)], 2, {}, id="not even one group"),
        pytest.param([groups(minimum=4)], 5, {}, id="a minimum inside a group is both groups"),
        pytest.param([groups(minimum=4)], 8, {"main": 6}, id="and those fit"),
        pytest.param(
            [groups(), groups("more", size=2, total=2, minimum=0)],
            11,
            {"main": 9, "more": 2},
            id="what is left over goes to the groups of the next pod set",
        ),
        pytest.param(
            [groups(), pod_set("single", pods=3, minimum=0, gpus=1)],
            11,
            {"main": 9, "single": 2},
            id="or to single pods",
        ),
        pytest.param(
            [groups(together="x"), groups("decode", size=2, minimum=2, together="x")],
            14,
            {"main": 6, "decode": 4},
            id="groups that lie together are left out together",
        ),
        pytest.param(
            [
                groups("decode", size=2, minimum=0, together="x"),
                groups(minimum=6, together="x"),
            ],
            9,
            {},
            id="and start together: the larger minimum is that of both",
        ),
    ],
)
@pytest.mark.parametrize("limit", ["queue", "cluster", "tenant", "guarantee"])
def test_a_limit(sets, gpus, want, limit):
    """Admitted is the largest number of whole groups within it, whatever the limit is."""
    queues, tenants = [queue("default")], [tenant("team")]
    clusters = TWO
    if limit == "queue":
        queues = [queue("default", gpus=gpus)]
    elif limit == "cluster":
        named = tuple((ClusterName(c), ((GPU, gpus),)) for c in ("a", "b"))
        queues = [replace(queues[0], cluster_capability=named)]
    elif limit == "tenant":
        tenants = [replace(tenants[0], limits=((GPU, gpus),))]
    else:
        there = sum(leaf.free[2] * leaf.count for c in TWO for leaf in c.capacity.topology.leaves)
        other = replace(queue("other"), guarantee=((GPU, there - gpus),))
        queues = [*queues, other]
    world = snapshot(clusters, queues, tenants, pending=[job(*sets, tenant="team")])

    assert admitted(world) == want


def test_what_is_left_out_of_growth_are_whole_groups():
    """Of what a gang that runs lacks, a limit lets in whole groups, those begun before first."""
    bounds = capability_of(queue("q", gpus=6), {GPU: 1})
    lacking = Amounts.of({"main": 8})  # of 12 pods 4 were admitted: the second group lacks two

    def grown(gpus):
        bounds = capability_of(queue("q", gpus=gpus), {})
        return cut(bounds, gang(groups()), Amounts(), lacking).get("main")

    assert cut(bounds, gang(groups()), Amounts(), lacking) == Amounts.of({"main": 5})
    assert [grown(gpus) for gpus in range(9)] == [0, 0, 2, 2, 2, 5, 5, 5, 8]


@pytest.mark.parametrize("apart", ["queues", "tenants"])
def test_shares_of_surplus(apart):
    """Two elastic gangs share what there is in whole groups."""
    by = [("q", "s"), ("r", "t")] if apart == "queues" else [("q", "s"), ("q", "t")]
    jobs = [
        job(groups(total=6), name=name, queue=q, tenant=t, created=at)
        for at, (name, (q, t)) in enumerate(zip("jk", by, strict=True))
    ]
    world = snapshot([cluster("a", gpus=16, nodes=1)], pending=jobs)
    plan = run_cycle(world, POLICY, NOW)
    then = after(world, plan)

    shares = [then.workload(name).decision.grants[0].amounts.get("main") for name in "jk"]
    assert [share % 3 for share in shares] == [0, 0]
    assert sorted(shares) == [6, 9]


def test_what_a_queue_deserves_ends_inside_a_group():
    """While a brother lacks something, surplus is given up to what is deserved, in whole groups."""
    elastic = job(groups(total=5), name="j", queue="q")
    rigid = workload("k", pods=8, gpus=1, queue="r", created=1)
    world = snapshot([cluster("a", gpus=16, nodes=1)], pending=[elastic, rigid])
    then = after(world, run_cycle(world, POLICY, NOW))

    held = {name: then.workload(name).decision.grants[0].amounts.pods() for name in "jk"}
    assert held == {"j": 6, "k": 8}
    assert run_cycle(then, POLICY, NOW).admissions == ()


@pytest.mark.parametrize(
    ("gpus", "want"),
    [
        pytest.param(8, {"a": 6}, id="more of what it needs, up to the limit"),
        pytest.param(9, {"a": 9}, id="all that it needs"),
        pytest.param(5, {"a": 3}, id="not a part of the next group"),
    ],
)
def test_growth_of_a_gang_that_runs(gpus, want):
    """What is admitted in addition are whole groups, too."""
    gone = job(groups(total=3), on="a", admitted=3)
    world = snapshot(TWO, [queue("default", gpus=gpus)], running=[gone])

    then = after(world, run_cycle(world, POLICY, NOW))

    grants = then.workload("j").decision.grants
    assert {one.cluster: one.amounts.pods() for one in grants} == want
    assert run_cycle(then, POLICY, NOW).admissions == ()


@pytest.mark.parametrize("together", ["", "x"])
def test_no_more_whole_groups_would_be_within_a_limit(together):
    """Of all ways to leave out whole groups, the one that leaves out fewest."""
    sets = [groups(size=2, total=3, together=together)]
    if together:
        sets.append(groups("z", size=3, total=3, gpus=2, together=together))
    one = gang(*sets)
    for lost in range(3):
        wanted = one.all_amounts().minus(Amounts.of({"main": lost}))
        for gpus in range(26):
            ways = [
                Amounts.of({p.name: wanted.get(p.name) - n * p.partition.size for p in sets})
                for n in range(4)
            ]
            within = [way for way in ways if one.requests(way).get(GPU) <= gpus]
            found = cut(capability_of(queue("q", gpus=gpus), {}), one, Amounts(), wanted)

            assert found == within[0], (lost, gpus)
