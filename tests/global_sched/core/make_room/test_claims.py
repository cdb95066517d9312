"""The life of a claim: made with its proof, held, gone on with, ended."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import MAIN, ClusterName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Reported
from tests.builders import NOW, ids, workload
from tests.global_sched.core.claiming import POLICY, cycle, job, town_of, verdict_of

M = ClusterName("m")


def test_a_claim_is_made_with_its_victims():
    """The claimant gets the claim, the victim leaves for it, both say so; nothing is placed yet."""
    town = town_of(job("low", 4))
    town.add(job("high", 2, priority=10))

    plan = cycle(town)

    (withdrawal,), (claiming,) = plan.withdrawals, plan.claims
    claim = claiming.decision.claim
    assert ids([withdrawal, claiming]) == ["low", "high"]
    assert withdrawal.makes_room_for == claiming.workload
    assert withdrawal.decision.evicted == town.now
    assert (withdrawal.reason, withdrawal.targets) == (Reason.PREEMPTED, ())
    assert (claim.first.cluster, claim.amounts.pods(), claim.victims[0].whole) == ("m", 2, True)
    assert claim.until == town.now + POLICY.hold_seconds * SECOND
    assert verdict_of(plan, "high").reason == Reason.ROOM_BEING_MADE
    assert verdict_of(plan, "low").reason == Reason.PREEMPTED
    assert not plan.admissions


def test_a_new_leader_goes_on():
    """A claim that stands while its victim still runs: the victim leaves now, without a search."""
    town = town_of(job("low", 4))
    town.add(job("high", 2, priority=10))
    plan = cycle(town)
    town.execute(replace(plan, withdrawals=()))

    again = cycle(town, replace(POLICY, searches_per_cycle=0))

    assert ids(again.withdrawals) == ["low"]
    assert not again.claims


@pytest.mark.parametrize(
    ("now", "want"),
    [
        pytest.param({}, ["low"], id="as it was chosen"),
        pytest.param({"preemptable": False}, [], id="one that says it may not leave"),
        pytest.param({"priority_class": "system-node-critical"}, [], id="one of the system"),
        pytest.param({"queue": QueueName("c")}, [], id="one of a queue that gives nothing"),
        pytest.param({"priority": 9}, ["low"], id="one that is still below it"),
        pytest.param({"priority": 10}, [], id="one of its queue that is as high"),
    ],
)
def test_a_claim_makes_nothing_leave_that_no_proof_could_have_chosen(now, want):
    """Whatever a claim names: another writer may have made it."""
    shut = Queue(name=QueueName("c"), reclaimable=False)
    town = town_of(job("low", 4), queues=("a", "b", shut))
    town.add(job("high", 2, priority=10))
    plan = cycle(town)
    town.execute(replace(plan, withdrawals=()))
    [low] = [one for one in town.workloads.values() if one.name == "low"]
    town.workloads[low.key] = replace(low, **now)

    again = cycle(town, replace(POLICY, searches_per_cycle=0))

    assert ids(again.withdrawals) == want


@pytest.mark.parametrize(("more", "want"), [(300 * SECOND, ["low"]), (300 * SECOND + 1, [])])
def test_no_wave_lasts_longer_than_the_policy_lets_one_last(more, want):
    """A claim with a later end was written by another program, and makes nothing leave.

    Victims may be waited for as long as the Policy allows, five minutes, before its hold begins.
    """
    town = town_of(job("low", 4))
    town.add(job("high", 2, priority=10))
    plan = cycle(town)
    (claiming,) = plan.claims
    claim = claiming.decision.claim
    later = replace(claim, until=Instant(claim.until + more))
    forged = replace(claiming, decision=replace(claiming.decision, claim=later))
    town.execute(replace(plan, withdrawals=(), claims=(forged,)))

    again = cycle(town, replace(POLICY, searches_per_cycle=0))

    assert ids(again.withdrawals) == want


def test_a_claim_that_is_not_met_in_time_ends():
    """Then the cluster is left out for a while, and there were no other victims."""
    town = town_of(job("low", 4))
    town.add(job("high", 2, priority=10))
    town.execute(cycle(town), linger=True)
    town.now = Instant(town.now + (POLICY.hold_seconds + 1) * SECOND)

    plan = cycle(town)

    (claiming,) = plan.claims
    assert claiming.decision.claim is None
    assert [one.cluster for one in claiming.decision.backoffs] == ["m"]
    assert not plan.withdrawals


def test_a_claimant_that_is_made_smaller_keeps_the_room_that_is_left_for_it():
    """Its victims would come back to that room, and one would leave a second time."""
    town = town_of(job("l1", 2), job("l2", 2))
    high = job("high", 4, priority=10)
    town.add(high)
    town.execute(cycle(town), linger=True)
    waiting = town.workloads[high.key]
    town.workloads[high.key] = replace(waiting, demand=job("high", 2, priority=10).demand)

    plan = cycle(town)
    town.execute(plan, linger=True)
    town.leave()
    after = cycle(town)

    assert verdict_of(plan, "high").reason == Reason.ROOM_BEING_MADE
    assert not plan.claims
    assert not plan.withdrawals
    assert ids(after.admissions) == ["high", "l1"]


def test_a_claimant_that_is_made_larger_asks_again_when_all_have_left():
    """What was kept for it is too little for good, and keeps others out until the hold ends."""
    town = town_of(job("l1", 2), job("l2", 2))
    high = job("high", 2, priority=10)
    town.add(high)
    town.execute(cycle(town), linger=True)
    waiting = town.workloads[high.key]
    town.workloads[high.key] = replace(waiting, demand=job("high", 3, priority=10).demand)

    meanwhile = cycle(town)
    town.leave()
    plan = cycle(town)
    town.execute(plan)

    assert not meanwhile.withdrawals, "one wave at a time"
    assert ids(plan.withdrawals) == ["l1"]
    assert ids(cycle(town).admissions) == ["high"]


@pytest.mark.parametrize(
    ("change", "leaves"),
    [
        pytest.param({}, True, id="a plain one leaves"),
        pytest.param({"preemptable": False}, False, id="one that refuses stays"),
        pytest.param(
            {"priority_class": "system-cluster-critical"}, False, id="a system-critical one stays"
        ),
    ],
)
def test_who_may_leave(change, leaves):
    """`preemptable: false` and system-critical workloads never leave."""
    town = town_of(job("low", 4, **change))
    town.add(job("high", 2, priority=10))

    assert bool(cycle(town).withdrawals) == leaves


def test_one_search_for_equal_shapes_and_a_limit():
    """What is not searched waits, and says so; the next cycle looks at it."""
    town = town_of(job("l1"), job("l2"), job("l3"), job("l4"))
    demand = job("x").demand
    town.add(*[job(f"h{i}", priority=10, asks=demand, created=i) for i in range(3)])

    plan = cycle(town)
    none = cycle(town, replace(POLICY, searches_per_cycle=0))

    assert ids(plan.claims) == ["h0"]
    assert verdict_of(plan, "h1").reason == Reason.SEARCH_DEFERRED
    assert verdict_of(plan, "h1").code == Code.WAIT
    assert not none.claims
    assert verdict_of(none, "h0").reason == Reason.SEARCH_DEFERRED


def test_a_victim_evicts_nobody_for_a_while():
    """A victim of middle priority does not pass its eviction on at once."""
    town = town_of(job("low", 2), job("mid", 2, priority=5, preemptable=True))
    town.workloads = {
        key: replace(one, preemptable=one.name != "low") for key, one in town.workloads.items()
    }
    town.add(job("high", 2, priority=10))
    plan = cycle(town)
    assert ids(plan.withdrawals) == ["mid"]
    town.execute(plan, linger=True)
    town.leave()
    town.workloads = {key: replace(one, preemptable=True) for key, one in town.workloads.items()}
    town.execute(cycle(town), linger=True)

    quiet = cycle(town)
    town.now = Instant(town.now + (2 * POLICY.hold_seconds + 1) * SECOND)
    later = cycle(town)

    assert not quiet.withdrawals
    assert ids(later.withdrawals) == ["low"]


def test_a_quota_that_a_brother_borrows_is_taken_back():
    """Free room but no quota: a brother's borrower leaves, and its quota is free once it is."""
    queues = [
        Queue(name=QueueName("top"), capability=(("cpu", 2000),)),
        Queue(name=QueueName("a"), parent=QueueName("top"), deserved=(("cpu", 1000), ("pods", 1))),
        Queue(name=QueueName("b"), parent=QueueName("top"), deserved=(("cpu", 1000), ("pods", 1))),
    ]
    town = town_of(job("b1", queue="b"), job("b2", queue="b"), queues=queues)
    town.add(job("a1"))

    plan = cycle(town)
    town.execute(plan, linger=True)

    assert ids(plan.withdrawals) == ["b2"]
    assert cycle(town).empty()
    town.leave()
    assert ids(cycle(town).admissions) == ["a1"]


def test_surplus_leaves_in_turns():
    """Only as many surplus pods as are needed; the decision tells how many to delete."""
    town = town_of(job("low", 4, minimum=1))
    town.add(job("high", 2, priority=10))

    plan = cycle(town)

    (shrunk,) = plan.admissions
    assert shrunk.makes_room_for is not None
    assert shrunk.decision.grants[0].amounts.pods() == 2
    assert shrunk.decision.give_up == ((M, Amounts.of({MAIN: 2})),)
    assert verdict_of(plan, "low").reason == Reason.GAVE_UP_SURPLUS
    assert not plan.withdrawals


def test_explain_names_victims_to_their_own_tenant_only():
    """Who would have to leave, by queue and priority; another tenant's job has no name."""
    town = town_of(job("low", 2), job("other", 2, tenant="rival"))
    town.add(job("high", 4, priority=10))

    found = explain_workload(town.snapshot(), POLICY, town.now, workload("high").key)

    assert found is not None
    names = {one.workload and one.workload.partition("/")[2] for one in found.victims}
    assert names == {"low", None}
    assert {(one.queue, one.priority, one.pods, one.whole) for one in found.victims} == {
        ("a", 0, 2, True)
    }


def test_explain_says_why_nobody_leaves():
    """Without victims there is a sentence."""
    town = town_of(job("same", 4))
    town.add(job("new", 2))

    found = explain_workload(town.snapshot(), POLICY, town.now, workload("new").key)

    assert found is not None
    assert found.victims == ()
    assert found.no_victims.startswith("no victims")


def test_a_world_at_rest_is_not_searched():
    """Equal priority in one queue: no search, and the plan is empty."""
    town = town_of(job("same", 4))
    town.add(job("new", 2))

    plan = run_cycle(town.snapshot(), POLICY, NOW)

    assert plan.empty()
    assert verdict_of(plan, "new").code == Code.NO_FIT


def test_room_that_surplus_leaves_is_not_given_twice():
    """While its surplus leaves for one claimant, a gang is no victim for the next one."""
    town = town_of(job("low", 2, minimum=1), racks=(2,))
    town.add(job("first", priority=10))
    town.execute(cycle(town), linger=True)
    town.add(job("second", 2, priority=20, created=3602))

    waiting = cycle(town)

    assert (waiting.withdrawals, waiting.claims) == ((), ())
    town.leave()
    town.execute(cycle(town))
    assert town.workloads["jobs/first"].targets
    town.now = Instant(town.now + SECOND)
    assert sorted(ids(cycle(town).withdrawals)) == ["first", "low"]


def _tell(town, plan):
    """Every reason stands in the conditions, as after the writes."""
    for one in plan.outcomes:
        job = town.workloads[one.workload]
        told = Reported(code=one.verdict.code, reason=one.verdict.reason)
        town.workloads[one.workload] = replace(job, reported=told)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_who_was_put_off_has_its_turn(most):
    """However many before it search in vain: after one round each had its search."""
    policy = replace(POLICY, searches_per_cycle=most)
    town = town_of(job("stays", 3, preemptable=False), job("low"))
    in_vain = [job(f"vain{at}", 2, priority=20, created=at) for at in range(7)]
    town.add(*in_vain, job("last", priority=10, created=9))

    plan, cycles = cycle(town, policy), 1
    while not plan.claims and cycles < 20:
        _tell(town, plan)
        town.now = Instant(town.now + SECOND)
        plan, cycles = cycle(town, policy), cycles + 1

    assert ids(plan.claims) == ["last"]
    later = 8 - most  # half of each further cycle's searches are theirs, rounded up
    assert cycles <= 1 - (-later // (most - most // 2))
    town.execute(plan, linger=True)
    town.leave()
    assert ids(cycle(town, policy).admissions) == ["last"]


def test_who_was_looked_at_is_looked_at_again():
    """When none is put off any more, the next round begins with the first of the order."""
    policy = replace(POLICY, searches_per_cycle=2)
    town = town_of(job("stays", 3, preemptable=False), job("low", preemptable=False))
    town.add(*[job(f"j{at}", 1, priority=20, created=at) for at in range(3)])
    for _ in range(4):
        _tell(town, cycle(town, policy))
    low = town.workloads["jobs/low"]
    town.workloads[low.key] = replace(low, preemptable=True)

    plans = [cycle(town, policy)]
    _tell(town, plans[0])
    plans.append(cycle(town, policy))

    assert "j0" in ids(plans[0].claims) + ids(plans[1].claims)
