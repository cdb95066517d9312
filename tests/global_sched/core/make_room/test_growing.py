"""Growth of a gang that runs: a new request, for whose minimum others may leave."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue
from tests.builders import POLICY, gang, hard, ids, pod_set, workload
from tests.towns import Member, Town

QUIET = replace(POLICY, patience_seconds=0)
FOUR = Amounts.of({"main": 4})
TWO = Amounts.of({"main": 2})


def town(*jobs, racks=(4,), queues=("a", "b"), **settings):
    """Nodes of 1 CPU with these jobs on them, admitted one after the other."""
    found = Town(
        [Member("m", racks)], [Queue(name=QueueName(n), **settings.get(n, {})) for n in queues]
    )
    for one in jobs:
        found.add(one)
        found.execute(run_cycle(found.snapshot(), QUIET, found.now))
        found.now = Instant(found.now + 10 * SECOND)
    return found


def edit(found, name, pods, *, minimum=None, tier=None):
    """The template of a running job is edited."""
    key = f"jobs/{name}"
    asked = gang(
        pod_set(pods=pods, cpu=1),
        minimum=pods if minimum is None else minimum,
        constraint=None if tier is None else hard(tier),
    )
    one = found.workloads[key]
    found.workloads[key] = replace(one, demand=replace(one.demand, gang=asked))


def cycle(found, *, linger=True):
    """One cycle, carried out."""
    plan = run_cycle(found.snapshot(), QUIET, found.now)
    found.execute(plan, linger=linger)
    found.now = Instant(found.now + SECOND)
    return plan


def outcome(plan, name):
    """How a job left the cycle."""
    return next(one.verdict for one in plan.outcomes if one.workload == f"jobs/{name}")


def recorded(found):
    """The first cycle after an edit writes down what is asked for; the next ones act on it."""
    plan = cycle(found)
    assert not plan.withdrawals
    return plan


def test_growth_that_gets_less_while_others_leave_for_it_is_one_wave():
    """What leaves already is enough: there are no more victims."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a", priority=10),
        workload("l1", cpu=1, pods=2, queue="a"),
        workload("l2", cpu=1, pods=2, queue="a"),
        racks=(6,),
    )
    edit(found, "high", 4)
    recorded(found)
    assert ids(cycle(found).withdrawals) == ["l2"]
    edit(found, "high", 3)

    plans = [cycle(found), cycle(found)]

    assert not any(plan.withdrawals for plan in plans)
    assert found.workloads["jobs/high"].decision.claim.amounts == Amounts.of({"main": 1})
    found.leave()
    cycle(found)
    assert found.workloads["jobs/high"].decision.grants[0].amounts == Amounts.of({"main": 3})


def test_preemption_for_growth():
    """Lower priority leaves, its room is held while pods linger, and all of it comes at once."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a", priority=10),
        workload("low", cpu=1, pods=2, queue="a"),
    )
    edit(found, "high", 4)
    before = found.workloads["jobs/high"].decision
    recorded(found)

    plan = cycle(found)

    assert ids(plan.withdrawals) == ["low"]
    claimed = found.workloads["jobs/high"].decision
    assert claimed.id == before.id, "what was admitted is the same"
    assert claimed.grants == before.grants
    assert (claimed.claim.amounts, claimed.claim.first.cluster) == (TWO, "m")
    assert outcome(plan, "high").detail.startswith(
        "in place; 2 more pods wait: 1 gang is being evicted from m"
    )
    # While they linger nothing else gets the room.
    found.add(workload("other", cpu=1, pods=1, queue="a"))
    plan = cycle(found)
    assert plan.empty()
    found.leave()

    plan = cycle(found)

    assert ids(plan.admissions)[0] == "high"
    grown = found.workloads["jobs/high"].decision
    assert grown.grants[0].amounts == FOUR
    assert grown.claim is None
    assert cycle(found).empty()


def test_reclaim_for_growth():
    """A queue within its deserved takes back for growth, and no more than that."""
    four = {"deserved": (("cpu", 4000), ("pods", 4))}
    two = {"deserved": (("cpu", 2000), ("pods", 2))}
    found = town(
        workload("grows", cpu=1, pods=2, queue="a"),
        workload("b1", cpu=1, pods=2, queue="b"),
        workload("b2", cpu=1, pods=2, queue="b"),
        racks=(6,),
        a=four,
        b=two,
    )
    edit(found, "grows", 4)
    recorded(found)

    assert ids(cycle(found).withdrawals) == ["b2"]
    found.leave()
    assert ids(cycle(found).admissions) == ["grows"]
    edit(found, "grows", 6)
    recorded(found)
    assert cycle(found).empty(), "beyond what it deserves nobody gives"


def test_surplus_makes_nobody_leave():
    """Growth beyond the minimum waits for free room: it would be the first to leave again."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a", priority=10),
        workload("low", cpu=1, pods=2, queue="a"),
    )
    edit(found, "high", 4, minimum=2)
    recorded(found)

    plan = cycle(found)

    assert plan.empty()
    assert "2 more pods wait" in outcome(plan, "high").detail


@pytest.mark.parametrize(
    ("tier", "want"),
    [
        pytest.param(1, "near", id="in its rack, though lower priority runs in the other"),
        pytest.param(2, "far", id="in both racks, and the lower priority leaves"),
    ],
)
def test_beside_its_pods(tier, want):
    """Those leave who make room in the domain where the gang has to stay."""
    found = town(
        workload("high", cpu=1, pods=2, tier=tier, queue="a", priority=10),
        workload("far", cpu=1, pods=3, tier=1, queue="a", priority=1),
        workload("near", cpu=1, pods=1, tier=1, queue="a", priority=2),
        racks=(3, 3),
    )
    edit(found, "high", 3, tier=tier)
    recorded(found)

    assert ids(cycle(found).withdrawals) == [want]


def test_a_claim_that_fails():
    """It ends at its time with a back-off for the growth; what runs stays where it is."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a", priority=10),
        workload("low", cpu=1, pods=2, queue="a"),
    )
    edit(found, "high", 4)
    recorded(found)
    cycle(found)
    found.now = Instant(found.now + QUIET.hold_seconds * SECOND)

    plan = cycle(found)

    assert ids(plan.claims) == ["high"]
    left = found.workloads["jobs/high"].decision
    assert left.claim is None
    assert left.grants[0].amounts == TWO
    assert [one.cluster for one in left.backoffs] == ["m"]
    assert found.workloads["jobs/high"].targets
    assert cycle(found).empty()


def test_shrunk_again():
    """Growth that is no longer asked for keeps no room."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a", priority=10),
        workload("low", cpu=1, pods=2, queue="a"),
    )
    edit(found, "high", 4)
    recorded(found)
    cycle(found)
    edit(found, "high", 2)
    found.leave()

    for _ in range(3):
        cycle(found)

    left = found.workloads["jobs/high"].decision
    assert (left.claim, left.grants[0].amounts, left.backoffs) == (None, TWO, ())
    assert found.workloads["jobs/low"].targets, "the victim has its place again"
    assert cycle(found).empty()


def test_what_a_gang_needs_comes_whole():
    """Pods that a raised minimum lacks come all or not at all: alone they would not start."""
    found = town(
        workload("grows", cpu=1, pods=2, queue="a"), workload("b1", cpu=1, pods=1, queue="b")
    )
    edit(found, "grows", 4)
    recorded(found)

    plan = cycle(found)

    assert plan.empty(), "one node is free, and two are needed"
    assert outcome(plan, "grows").detail == (
        "in place; 2 more pods wait: no room for 2 more pods where it runs"
    )


def test_the_place_of_a_claim_in_the_order():
    """Room that growth claims comes after what was given before it in the same cycle."""
    found = town(
        workload("low", cpu=1, pods=2, queue="a"),
        workload("high", cpu=1, pods=1, queue="a", priority=10),
    )
    edit(found, "high", 3)
    recorded(found)
    found.add(workload("first", cpu=1, pods=1, queue="a", priority=20))

    plan = cycle(found)

    first = next(one.decision for one in plan.admissions if one.workload == "jobs/first")
    claim = found.workloads["jobs/high"].decision.claim
    assert (claim.since, claim.order) > (first.at, first.order)


def test_searches_are_counted():
    """Growth has its part of the searches of a cycle, and no more."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a", priority=10),
        workload("low", cpu=1, pods=2, queue="a"),
    )
    edit(found, "high", 4)
    recorded(found)

    plan = run_cycle(found.snapshot(), replace(QUIET, searches_per_cycle=0), found.now)

    assert plan.empty()


def test_nobody_leaves_for_itself():
    """A job whose class rises with its template is not of lower priority than itself."""
    found = town(workload("high", cpu=1, pods=3, queue="a"), racks=(3,))
    edit(found, "high", 5)
    found.workloads["jobs/high"] = replace(found.workloads["jobs/high"], priority=10)

    plans = [cycle(found) for _ in range(4)]

    assert not any(plan.withdrawals for plan in plans)
    assert found.workloads["jobs/high"].targets


def test_surplus_that_leaves_does_not_come_back_at_once():
    """A victim that gave up surplus grows again once that has left, and not on its old node."""
    found = town(
        workload("elastic", cpu=1, pods=2, minimum=1, tier=2, queue="a"),
        racks=(3, 1),
    )
    found.add(workload("high", cpu=1, pods=2, tier=1, queue="a", priority=10))
    plan = cycle(found)
    assert ids(plan.admissions) == ["elastic"]
    taken = found.workloads["jobs/elastic"].decision.give_up

    plan = cycle(found)

    assert taken
    assert plan.empty(), "there is a free node, but its pods are still there"
    found.leave()
    assert ids(cycle(found).admissions)[0] == "high"
