"""Divided and duplicated workloads as victims: what they have in a cluster leaves it together."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Change
from global_sched.shared.model.ids import BindingId, ClusterName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division
from tests.builders import ids, workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=0)
DIVISIONS = pytest.mark.parametrize(
    "division",
    [
        pytest.param(Division.DIVIDED, id="divided over clusters"),
        pytest.param(Division.DUPLICATED, id="duplicated over clusters"),
    ],
)


def town_of(*running, clusters=(("m", 4),), queues=("a", "b")):
    """Members of nodes with one CPU, with these admitted one after the other."""
    named = [q if isinstance(q, Queue) else Queue(name=QueueName(q)) for q in queues]
    town = Town([Member(name, (nodes,)) for name, nodes in clusters], named)
    town.run(*running, policy=POLICY)
    return town


def service(name, pods, division=Division.DIVIDED, **more):
    return workload(name, cpu=1, pods=pods, division=division, queue="a", **more)


def job(name, pods=1, **more):
    return workload(name, cpu=1, pods=pods, **{"queue": "a", "priority": 10, **more})


def cycle(town, *, linger=True, policy=POLICY):
    """One cycle, carried out."""
    plan = run_cycle(town.snapshot(), policy, town.now)
    town.execute(plan, linger=linger)
    town.now = Instant(town.now + SECOND)
    return plan


def pods_of(town, name):
    """Pods by cluster."""
    one = town.workloads[f"jobs/{name}"]
    grants = one.decision.grants if one.targets else ()
    return {grant.cluster: grant.amounts.pods() for grant in grants}


@DIVISIONS
def test_a_service_makes_room_for_a_gang(division):
    """One of low priority leaves the cluster that a gang needs, once, and comes back after it."""
    town = town_of(service("web", 4, division))
    town.add(job("gang", 4))

    plan = cycle(town)

    (withdrawal,), (claiming,) = plan.withdrawals, plan.claims
    assert ids([withdrawal, claiming]) == ["web", "gang"]
    assert (withdrawal.reason, withdrawal.targets) == (Reason.PREEMPTED, ())
    town.leave()
    cycle(town)
    assert (pods_of(town, "gang"), pods_of(town, "web")) == ({"m": 4}, {})
    assert cycle(town).empty()
    gang = town.workloads.pop("jobs/gang")
    town.members[ClusterName("m")].remove(gang.binding_id)
    cycle(town)
    assert pods_of(town, "web") == {"m": 4}


@DIVISIONS
def test_only_the_cluster_that_is_needed(division):
    """What it has in another cluster stays, keeps its decision's place, and says so."""
    pods = 8 if division == Division.DIVIDED else 4
    town = town_of(service("web", pods, division), clusters=(("m", 4), ("n", 4)))
    assert pods_of(town, "web") == {"m": 4, "n": 4}
    before = town.workloads["jobs/web"].decision
    town.add(job("gang", 3, clusters=["n"]))

    plan = cycle(town)

    (withdrawal,) = plan.withdrawals
    assert withdrawal.cluster == "n"
    assert [target.cluster for target in withdrawal.targets] == ["m"]
    verdict = next(o.verdict for o in plan.outcomes if o.workload == "jobs/web")
    assert (verdict.code, verdict.reason) == (Code.FIT, Reason.PREEMPTED)
    after = town.workloads["jobs/web"].decision
    assert (after.at, after.order) == (before.at, before.order)
    assert after.evicted == withdrawal.decision.evicted
    town.leave()
    cycle(town)
    assert pods_of(town, "gang") == {"n": 3}
    for _ in range(4):
        plan = cycle(town)
    assert plan.empty()
    left = {"n": 1} if division == Division.DIVIDED else {}
    assert pods_of(town, "web") == {"m": 4} | left


def test_reclaim_from_a_service():
    """A queue within its deserved takes back from a service of one over its own."""
    two = {"deserved": (("cpu", 2000), ("pods", 2))}
    queues = [Queue(name=QueueName(name), **two) for name in ("a", "b")]
    town = town_of(service("web", 4), queues=queues)
    town.add(job("gang", 2, queue="b", priority=0))

    plan = cycle(town)

    assert ids(plan.withdrawals) == ["web"]
    assert plan.withdrawals[0].reason == Reason.RECLAIMED


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"preemptable": False}, id="one that refuses"),
        pytest.param({"priority": 10}, id="one of equal priority"),
    ],
)
def test_a_service_that_stays(more):
    """The rules for gangs hold for services."""
    town = town_of(service("web", 4, **more))
    town.add(job("gang", 4))

    assert cycle(town).empty()


def test_a_quota_in_two_clusters():
    """Where only a quota lacks it gives that back, and its pods that stay keep no node closed."""
    town = Town(
        [Member("m", (3,), cpu=2), Member("n", (2,), cpu=1)],
        [Queue(name=QueueName("a"), capability=(("cpu", 6000),))],
    )
    town.add(service("web", 5))
    cycle(town, linger=False)
    assert sum(pods_of(town, "web").values()) == 5
    town.add(job("gang", 3, clusters=["m"]))

    plan = cycle(town)

    assert len(plan.claims) == 1
    town.leave()
    cycle(town)
    assert pods_of(town, "gang") == {"m": 3}
    for _ in range(4):
        last = cycle(town)
    assert last.empty()
    assert sum(pods_of(town, "web").values()) == 3


def test_a_new_leader_goes_on():
    """A service whose eviction was not written leaves the clusters of the claim a cycle later."""
    town = town_of(service("web", 8), clusters=(("m", 4), ("n", 4)))
    town.add(job("gang", 3, clusters=["n"]))
    plan = run_cycle(town.snapshot(), POLICY, town.now)
    town.execute(replace(plan, withdrawals=()))

    again = cycle(town, policy=replace(POLICY, searches_per_cycle=0))

    assert [one.cluster for one in again.withdrawals] == ["n"]
    assert [target.cluster for target in again.withdrawals[0].targets] == ["m"]


def test_a_service_never_ends():
    """No reservation waits for one, and its end is no advice."""
    town = town_of(service("web", 4, preemptable=False))
    town.add(job("gang", 4))
    patient = Policy(patience_seconds=1)

    plan = run_cycle(town.snapshot(), patient, Instant(town.now + 3600 * SECOND))

    assert not plan.claims
    told = explain_workload(town.snapshot(), POLICY, town.now, town.workloads["jobs/gang"].key)
    assert Change.ENDING not in {remedy.change for remedy in told.remedies}


def test_victims_elsewhere_are_named_with_their_cluster():
    """A claim tells apart who makes room and who only gives back a quota."""
    queues = [Queue(name=QueueName("a"), capability=(("cpu", 4000),))]
    town = town_of(service("web", 4, clusters=["n"]), clusters=(("m", 4), ("n", 4)), queues=queues)
    town.add(job("gang", 2, clusters=["m"]))

    (claiming,) = cycle(town).claims

    (leaver,) = claiming.decision.claim.victims
    assert (leaver.binding, leaver.cluster) == (BindingId("id-web"), "n")
    assert claiming.decision.claim.first.cluster == "m"


@pytest.mark.parametrize(
    ("others", "want"),
    [
        pytest.param(0, 8, id="alone it gets all"),
        pytest.param(2, 6, id="what the other queue does not ask for is its own, too"),
        pytest.param(8, 4, id="half where both ask for all"),
    ],
)
def test_replicas_are_shared_as_queues_deserve(others, want):
    """Replicas beyond the first wait for queues that lack what they deserve; nothing stays idle."""
    town = town_of(clusters=(("m", 4), ("n", 4)))
    web = service("web", 8)
    town.add(replace(web, queue=QueueName("a")))
    town.add(*[job(f"b{at}", queue="b", priority=0, created=1 + at) for at in range(others)])

    for _ in range(3):
        last = cycle(town)

    assert last.empty()
    assert sum(pods_of(town, "web").values()) == want
    assert sum(1 for one in town.workloads.values() if one.targets) == 1 + min(others, 8 - want)
