"""Deployments and StatefulSets as claimants: the victims of their replicas, and how often."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.placement_rule import ClusterField, SpreadRule
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Division
from tests.builders import rule, workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)
HOLD = POLICY.hold_seconds


def cpus(number):
    """So many CPUs, and as many pods."""
    return (("cpu", number * 1000), ("pods", number))


def town(*running, a=4, b=0, members=(("m", 4),), policy=POLICY):
    """Two queues that deserve so many CPUs, in clusters of one-CPU nodes; these run already."""
    found = Town(
        [Member(name, [nodes]) for name, nodes in members],
        [
            Queue(name=QueueName("a"), deserved=cpus(a)),
            Queue(name=QueueName("b"), deserved=cpus(b)),
        ],
    )
    found.run(*running, policy=policy)
    return found


def job(name, pods=1, queue="b", **fields):
    """A gang of pods with one CPU each."""
    return workload(name, cpu=1, pods=pods, queue=queue, **fields)


def service(pods=4, queue="a", division=Division.DIVIDED, **fields):
    """A Deployment of such pods."""
    return workload("web", cpu=1, pods=pods, queue=queue, division=division, **fields)


def settle(found, seconds=0):
    """Cycles until nothing is left to do; what left for others, in order."""
    found.now = Instant(found.now + seconds * SECOND)
    left = []
    for _ in range(20):
        plan = run_cycle(found.snapshot(), POLICY, found.now)
        left += sorted(one.workload for one in plan.withdrawals if one.makes_room_for)
        found.execute(plan, linger=True)
        found.leave()
        found.now = Instant(found.now + SECOND)
        if plan.empty():
            return left
    raise AssertionError("it never ends")


def pods(found, name="web"):
    """Its pods by cluster."""
    one = found.workloads[f"jobs/{name}"]
    grants = one.decision.grants if one.targets and one.decision else ()
    return {grant.cluster: grant.amounts.pods() for grant in grants}


TWO_CLUSTERS = (SpreadRule(by=ClusterField.CLUSTER, minimum=2, maximum=3),)
FOUR = [job(f"b{at}") for at in range(4)]


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        pytest.param(4, 0, 4, id="all that its queue deserves"),
        pytest.param(3, 1, 3, id="and not more"),
        pytest.param(0, 4, 0, id="nothing where it deserves nothing"),
    ],
)
def test_replicas_that_its_queue_is_owed(a, b, want):
    """A pending Deployment gets its queue's deserved from others, with one claim."""
    found = town(*FOUR, a=a, b=b)
    found.add(service())

    left = settle(found)

    assert sum(pods(found).values()) == want
    assert len(left) == want


def test_a_duplicated_one_in_one_cluster_gets_all_or_nothing():
    """Its policy wants all replicas in the cluster: fewer would be none."""
    wants = {"division": Division.DUPLICATED}
    enough, short = town(*FOUR), town(*FOUR, a=3, b=1)
    enough.add(service(**wants))
    short.add(service(**wants))

    assert (settle(enough), settle(short)) == ([f"jobs/b{at}" for at in range(4)], [])
    assert (pods(enough), pods(short)) == ({"m": 4}, {})


@pytest.mark.parametrize(
    ("fields", "members"),
    [
        pytest.param(
            {"placement": replace(rule(), spread=TWO_CLUSTERS)},
            (("m", 2), ("n", 2)),
            id="a divided one that wants two clusters",
        ),
        pytest.param(
            {"division": Division.DUPLICATED}, (("m", 2), ("n", 2)), id="one that is in all of two"
        ),
    ],
)
def test_what_wants_several_clusters_claims_nothing(fields, members):
    """It takes room that is free."""
    found = town(*FOUR, members=members)
    found.add(service(2, **fields))

    assert settle(found) == []


@pytest.mark.parametrize("division", [Division.DIVIDED, Division.DUPLICATED])
def test_one_of_two_clusters_is_enough_where_the_policy_allows_one_at_most(division):
    """All replicas come to one of the two, and the jobs in the other one stay."""
    one = (SpreadRule(by=ClusterField.CLUSTER, minimum=1, maximum=1),)
    found = town(*FOUR, members=(("m", 2), ("n", 2)))
    found.add(service(2, division=division, placement=replace(rule(), spread=one)))

    assert len(settle(found)) == 2
    assert list(pods(found).values()) == [2]


def test_lower_priorities_of_its_own_queue_leave():
    """Also where its queue deserves no more: the place goes to the higher priority."""
    low = [job(f"a{at}", queue="a") for at in range(4)]
    found = town(*low, a=4)
    found.add(service(3, priority=10))

    assert len(settle(found)) == 3
    assert pods(found) == {"m": 3}


def test_equal_priorities_of_its_own_queue_stay():
    """Strictly higher priority only."""
    found = town(*[job(f"a{at}", queue="a") for at in range(4)], a=4)
    found.add(service(3))

    assert settle(found) == []


def test_no_gang_leaves_for_what_its_queue_would_borrow():
    """B is further over than a would be; a gang of a would take its place, replicas do not."""
    found = town(job("b0", 4), a=0, b=0)
    found.add(service(1, priority=10))

    assert settle(found) == []


def test_growth_claims_once_per_hold():
    """Each time all that is owed then; what is asked for within the hold waits for its end."""
    found = town(*FOUR)
    found.add(service(2))
    assert len(settle(found)) == 2
    assert pods(found) == {"m": 2}
    scaled(found, 4)

    assert settle(found) == []
    assert settle(found, HOLD - 60) == []
    assert len(settle(found, 60)) == 2
    assert pods(found) == {"m": 4}


def scaled(found, replicas):
    """The Deployment asks for so many by now."""
    one = found.workloads["jobs/web"]
    demand = replace(service(replicas), key=one.key).demand
    found.workloads["jobs/web"] = replace(one, demand=demand)


def test_growth_of_one_that_came_without_a_claim_claims_at_once():
    """Only a claim begins the hold."""
    found = town(*FOUR[:2], service(2))
    scaled(found, 4)

    assert len(settle(found)) == 2
    assert pods(found) == {"m": 4}


def test_surge_pods_of_a_rollout_claim_nothing():
    """More pods than replicas run for a while: the template asks for no more of them."""
    found = town(*FOUR[:2], service(2))
    one = found.workloads["jobs/web"]
    found.workloads["jobs/web"] = replace(
        one, progress=tuple(replace(p, bound=Amounts.of({"main": 3})) for p in one.progress)
    )

    assert not run_cycle(found.snapshot(), POLICY, found.now).claims


def test_one_that_had_to_leave_claims_nothing_for_its_hold():
    """Also where it still has replicas elsewhere: else two services would take turns."""
    found = town(service(4), members=(("m", 2), ("n", 2)), a=2)
    found.add(job("b", 2, "b", created=5))
    found.queues = tuple(
        replace(one, deserved=cpus(2)) if one.name == "b" else one for one in found.queues
    )
    left = settle(found)
    found.queues = tuple(
        replace(one, deserved=cpus(0)) if one.name == "b" else replace(one, deserved=cpus(4))
        for one in found.queues
    )

    assert left == ["jobs/web"]
    assert settle(found) == []
    assert settle(found, 2 * HOLD) == ["jobs/b"]
    assert sum(pods(found).values()) == 4


def test_room_is_kept_until_all_of_it_is_free():
    """A claim of two: while one victim is slow, neither node goes to another workload."""
    found = town(*FOUR, a=2, b=2)
    found.add(service(2))
    plan = run_cycle(found.snapshot(), POLICY, found.now)
    found.execute(plan, linger=True)
    (claiming,) = plan.claims
    first, _ = sorted(one.workload for one in plan.withdrawals)
    found.members[ClusterName("m")].remove(found.workloads[first].binding_id)
    found.add(job("late", queue="b", created=9))
    found.now = Instant(found.now + SECOND)

    between = run_cycle(found.snapshot(), POLICY, found.now)

    assert claiming.decision.claim.amounts.pods() == 2
    assert not between.admissions
