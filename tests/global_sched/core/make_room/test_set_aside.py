"""Quota that comes free is kept for a gang that waited longer than its patience."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Change
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division
from tests.builders import ids, resources, workload
from tests.towns import Member, Town

POLICY = Policy(patience_seconds=60, reservations=1)
M = ClusterName("m")


def queue(name="q", cpu=3, **more):
    return Queue(name=QueueName(name), capability=resources(cpu=cpu), **more)


def town_of(*running, queues=None, nodes=6):
    """A member of nodes with one CPU each, and an hour that has passed since these came."""
    town = Town([Member("m", (nodes,))], [queue()] if queues is None else queues)
    town.run(*running, policy=POLICY)
    town.now = Instant(town.now + 3600 * SECOND)
    return town


def job(name, pods=1, queue="q", **more):
    return workload(name, cpu=1, pods=pods, queue=queue, **more)


def cycle(town, policy=POLICY):
    return run_cycle(town.snapshot(), policy, town.now)


def verdicts(plan):
    return {o.workload.split("/")[1]: (o.verdict.code, o.verdict.reason) for o in plan.outcomes}


NO_QUOTA = (Code.NO_FIT, Reason.QUEUE_CAPABILITY)
KEPT = (Code.WAIT, Reason.QUEUE_CAPABILITY)


def test_those_behind_it_wait():
    """One of three is free: the gang of two gets the next one, too, and a small job none."""
    town = town_of(job("a", 2))
    town.add(job("big", 2, created=1), job("small", created=town.now // SECOND))

    waiting = cycle(town)
    ended = town.workloads.pop("jobs/a")
    town.members[M].remove(ended.binding_id)
    after = cycle(town)

    assert not waiting.admissions
    assert verdicts(waiting) == {"big": NO_QUOTA, "small": KEPT}
    (big,) = [o.verdict for o in waiting.outcomes if o.workload == "jobs/big"]
    assert big.detail.endswith("; what comes free of that is kept for it")
    assert ids(after.admissions) == ["big", "small"]


@pytest.mark.parametrize(
    ("policy", "big"),
    [
        pytest.param(
            Policy(patience_seconds=2**40),
            job("big", 2, created=1),
            id="it has not waited enough",
        ),
        pytest.param(
            Policy(patience_seconds=0), job("big", 2, created=1), id="the Policy has no patience"
        ),
        pytest.param(
            Policy(patience_seconds=60, reservations=0),
            job("big", 2, created=1),
            id="the Policy has no reservations",
        ),
        pytest.param(POLICY, job("big", 4, created=1), id="the queue may never have so much"),
        pytest.param(
            POLICY,
            workload("big", cpu=2, pods=1, queue="q", created=1),
            id="no node would hold its pods",
        ),
    ],
)
def test_who_has_nothing_set_aside(policy, big):
    """Then a small job takes what is free."""
    town = town_of(job("a", 2))
    town.add(big, job("small", created=town.now // SECOND))

    assert ids(cycle(town, policy).admissions) == ["small"]


def test_a_service_that_stays_is_not_waited_for():
    """It holds two of three for good: what is left is not kept for a gang of two."""
    town = town_of(job("web", 2, division=Division.DIVIDED))
    town.add(job("big", 2, created=1), job("small", created=town.now // SECOND))

    assert ids(cycle(town).admissions) == ["small"]


def test_only_the_first_of_a_queue_has_it():
    """The second waits for the first: what both need together is not set aside."""
    town = town_of(job("a", 3))
    town.add(job("big", 2, created=1), job("next", 3, created=2))

    plan = cycle(town)

    assert verdicts(plan) == {"big": NO_QUOTA, "next": KEPT}


def test_nobody_leaves_for_those_behind_it():
    """Another queue below the same capability deserves more, but waits for the gang's turn."""
    above = queue("up", 3)
    low = Queue(name=QueueName("low"), parent=QueueName("up"), deserved=resources(cpu=0))
    mine = Queue(name=QueueName("q"), parent=QueueName("up"), deserved=resources(cpu=3), priority=1)
    own = Queue(name=QueueName("own"), parent=QueueName("up"), deserved=resources(cpu=3))
    town = town_of(
        job("a", 3, queue="low", preemptable=False), queues=(above, low, mine, own), nodes=6
    )
    town.add(job("big", 2, created=1), job("small", queue="own", created=town.now // SECOND))

    plan = cycle(town)

    assert not plan.withdrawals
    assert verdicts(plan) == {"big": NO_QUOTA, "small": KEPT}


def test_other_queues_use_the_room_meanwhile():
    """Only the quota is kept."""
    town = town_of(job("a", 2), queues=(queue(), Queue(name=QueueName("o"))), nodes=4)
    town.add(job("big", 2, created=1), job("other", 2, queue="o", created=town.now // SECOND))

    assert ids(cycle(town).admissions) == ["other"]


def test_what_both_are_told_would_help():
    """The gang does not wait for itself, and a job behind it is not said to be next."""
    town = town_of(job("a", 2))
    town.add(job("big", 2, created=1), job("small", created=town.now // SECOND))

    def helps(name):
        found = explain_workload(town.snapshot(), POLICY, town.now, f"jobs/{name}")
        return [(one.change, one.text) for one in found.remedies]

    assert helps("big") == [
        (Change.QUOTA, "queue q may hold 1 cpu more (spec.capability, 1 left of 3)"),
        (Change.ENDING, "1 gang of queue q (2 pods: jobs/a) ends in m"),
        (
            Change.MINIMUM,
            "1 pod is enough to start (spec.minAvailable, now 2): there is room in r0 of m",
        ),
    ]
    assert helps("small") == [
        (Change.TURN, "no other job is ahead of it in the queue order: there is room now"),
        (
            Change.QUOTA,
            "queue q may hold 2 cpu more (spec.capability, 0 left of 3 beside 2 set aside)",
        ),
        (Change.ENDING, "1 gang of queue q (2 pods: jobs/a) ends in m"),
    ]


def test_nothing_is_kept_where_the_tenants_limits_would_not_do():
    """Its service holds two of its three for good: a gang of two waits for no end of others."""
    web = job("web", 2, tenant="t", division=Division.DIVIDED)
    town = town_of(web, job("a", 3), queues=[queue(cpu=6)], nodes=9)
    town.add(job("big", 2, tenant="t", created=1), job("small", created=town.now // SECOND))
    limited = Tenant(name=TenantName("t"), limits=resources(cpu=3))

    plan = run_cycle(replace(town.snapshot(), tenants=(limited,)), POLICY, town.now)

    assert verdicts(plan)["big"] == NO_QUOTA
    assert ids(plan.admissions) == ["small"]
