"""Left-over room at the end of a cycle: given with the decisions that are there, at no cost."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.core.statement import Statement
from global_sched.shared.model.decision import Claim, ClaimPart
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, DomainId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, cluster, decision, queue, snapshot, workload
from tests.towns import Member, Town
from tests.worlds import after

QUEUES = [queue("q0"), queue("q1")]


def given(plan):
    """Who was admitted, with how many pods in which clusters."""
    return {
        one.workload.removeprefix("jobs/"): {
            str(grant.cluster): grant.amounts.pods() for grant in one.decision.grants
        }
        for one in plan.admissions
    }


def elastic(name, pods, in_queue, *, gpus=1, minimum=1, **fields):
    return workload(name, pods=pods, minimum=minimum, gpus=gpus, queue=in_queue, **fields)


def test_what_is_left_is_given():
    """What the other queue cannot use for lack of a whole pod is added to the decision."""
    world = snapshot(
        [cluster("c", racks=1, nodes=1, gpus=10)],
        QUEUES,
        pending=[elastic("a", 10, "q0"), elastic("b", 4, "q1", gpus=3)],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert given(plan) == {"a": {"c": 7}, "b": {"c": 1}}
    a = next(one for one in plan.admissions if one.workload == "jobs/a").decision
    assert (a.order, a.pending) == (0, Amounts.of({"main": 3}))
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def test_a_backlog_that_finds_no_room_takes_nothing():
    """However many others wait in vain, all that is free is given."""
    waiting = [workload(f"w{n}", pods=9, gpus=8, queue="q1", created=n) for n in range(50)]
    world = snapshot(
        [cluster("c", racks=1, nodes=2, gpus=8)], QUEUES, pending=[elastic("a", 20, "q0"), *waiting]
    )

    plan = run_cycle(world, POLICY, NOW)

    assert given(plan) == {"a": {"c": 16}}


def test_nobody_loses_its_place_for_it():
    """What is left goes to b, and c keeps what it has."""
    world = snapshot(
        [cluster("c0", nodes=1, gpus=3), cluster("c1", racks=2, nodes=1, gpus=3)],
        QUEUES,
        pending=[
            elastic("a", 4, "q0", gpus=2),
            workload("b", pods=8, gpus=1, queue="q1", division=Division.DIVIDED, created=1),
            elastic("c", 4, "q0", minimum=2, created=2),
            elastic("d", 8, "q1", gpus=2, tier=2, created=3),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert given(plan) == {"a": {"c0": 1}, "b": {"c0": 1, "c1": 3}, "c": {"c1": 3}}
    b = next(one for one in plan.outcomes if one.workload == "jobs/b")
    assert {one.cluster for one in b.clusters} == {"c0", "c1"}
    shown = explain_workload(world, POLICY, NOW, "jobs/b")
    assert shown.admission == next(one for one in plan.admissions if one.workload == "jobs/b")


def test_what_is_left_takes_the_node_of_no_minimum():
    """Members place both minimums first, so c may have four more pods, spread over both racks."""
    world = snapshot(
        [cluster("c0", racks=2, nodes=2, gpus=3)],
        QUEUES,
        pending=[
            elastic("a", 8, "q1", gpus=2, minimum=2),
            elastic("b", 8, "q1", gpus=2, created=1),
            elastic("c", 8, "q0", minimum=4, created=2),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert given(plan) == {"c": {"c0": 8}, "a": {"c0": 2}}
    orders = {one.workload: one.decision.order for one in plan.admissions}
    assert orders["jobs/c"] < orders["jobs/a"]
    assert run_cycle(after(world, plan), POLICY, Instant(NOW + SECOND)).empty()


def test_nothing_is_decided_again_for_what_is_left():
    """What a has no node for is c's at the end; b has its surplus in the other cluster."""
    world = snapshot(
        [cluster("c0", racks=2, nodes=2, gpus=3), cluster("c1", racks=1, nodes=2, gpus=2)],
        QUEUES,
        pending=[
            elastic("a", 2, "q0", gpus=2, tier=1),
            elastic("b", 4, "q0", created=1),
            elastic("c", 8, "q0", minimum=4, tier=1, created=2),
            workload("d", pods=2, queue="q1", created=3),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    want = {"a": {"c0": 2}, "b": {"c1": 4}, "c": {"c0": 6}, "d": {"c1": 2}}
    assert given(plan) == want
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


@pytest.mark.parametrize("capability", [None, 7])
def test_all_is_within_the_limits(capability):
    """Nothing that is left over goes beyond a queue's capability."""
    queues = [queue("q0", gpus=capability), queue("q1")]
    world = snapshot(
        [cluster("c", racks=2, nodes=1, gpus=10)],
        queues,
        pending=[
            elastic("a", 20, "q0"),
            elastic("b", 20, "q0", created=1),
            elastic("c", 4, "q1", gpus=11, created=2),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    total = sum(pods for one in given(plan).values() for pods in one.values())
    assert total == (20 if capability is None else 7)


def test_what_is_left_beside_a_reservation():
    """Its room is kept before surplus is placed, here and in the member: the rest is given."""
    claim = Claim(
        parts=(
            ClaimPart(
                cluster=ClusterName("c"),
                amounts=Amounts.of({"main": 2}),
                domain=DomainId("rack-0"),
                tier=1,
            ),
        ),
        since=NOW,
        until=Instant(NOW + 60 * SECOND),
    )
    waits = workload("waits", gpus=5, tier=1, queue="q2", pods=4)
    waits = replace(waits, decision=replace(decision(name="waits"), claim=claim))
    world = snapshot(
        [cluster("c", racks=2, nodes=2, gpus=5)],
        [*QUEUES, queue("q2")],
        pending=[
            elastic("a", 10, "q0", created=1),
            elastic("b", 4, "q1", gpus=6, created=2),
            waits,
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert given(plan) == {"a": {"c": 10}}
    shown = explain_workload(world, POLICY, NOW, "jobs/a")
    assert shown.admission == plan.admissions[0]


def test_a_trial_that_was_undone_holds_nobody_back():
    """The last reason of the workload counts."""
    one = elastic("a", 10, "q0")
    world = snapshot(
        [cluster("c", racks=1, nodes=1, gpus=10)], QUEUES, pending=[one, elastic("b", 10, "q1")]
    )
    statement = Statement(world, Policy(), NOW)
    surplus = statement.ledger.surplus
    minimum, wanted = Amounts.of({"main": 1}), Amounts.of({"main": 10})
    surplus.shares = {one.key: Amounts.of({"main": 5})}

    assert surplus.part(one, minimum, wanted) == Amounts.of({"main": 5})
    assert surplus.held_back == {one.key: one}
    assert surplus.part(one, minimum, minimum) == minimum
    assert surplus.held_back == {}


def test_what_is_left_comes_behind_the_others_where_it_would_be_in_their_way():
    """One free node in a third rack is no reason to take the nodes of a gang that came later."""
    town = Town([Member("m", [1, 2, 1])], [Queue(name="wide"), Queue(name="rack", weight=3)])
    town.add(
        workload("first", cpu=1, pods=3, minimum=1, tier=2, priority=10, queue="wide"),
        workload("waits", cpu=1, pods=5, minimum=2, queue="wide"),
        workload("rack", cpu=1, pods=3, minimum=1, tier=1, queue="rack"),
    )

    plan = run_cycle(town.snapshot(), POLICY, town.now)

    assert given(plan) == {"first": {"m": 2}, "rack": {"m": 2}}
    orders = {one.workload: one.decision.order for one in plan.admissions}
    assert orders["jobs/first"] > orders["jobs/rack"]
    town.execute(plan)
    assert run_cycle(town.snapshot(), POLICY, town.now).empty()
