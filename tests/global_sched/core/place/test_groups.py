"""Groups: several bindings admitted all or none, in one cycle."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Division
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    after,
    backoff,
    cluster,
    decision,
    ids,
    queue,
    snapshot,
    tenant,
    workload,
)

ROOM = [cluster("c1", gpus=4), cluster("c2", gpus=4)]


def member(name, gpus, size=2, **fields):
    return workload(name, gpus=gpus, group="g", group_size=size, **fields)


def test_surplus_of_one_is_not_in_the_way_of_another():
    """First all minimums, then what is left over, in the same cycle."""
    group = {"group": "g", "group_size": 2}
    world = snapshot(
        [cluster("c1", gpus=4)],
        pending=[
            workload("a", gpus=1, pods=4, minimum=1, **group),
            workload("b", gpus=1, pods=2, created=1, **group),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    got = {one.workload: one.decision.grants[0].amounts.pods() for one in plan.admissions}
    assert got == {"jobs/a": 2, "jobs/b": 2}
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def test_a_group_borrows_where_all_of_it_together_would():
    """One member alone would stay within what its queue deserves; the other queue is owed."""
    said = ((GPU, 4), ("pods", 4))
    queues = [Queue(name=n, priority=p, deserved=said) for n, p in (("x", 9), ("y", 0))]
    others = workload("owed", gpus=4, created=1, queue="y")
    world = snapshot(
        [cluster("c1", gpus=8)],
        queues,
        pending=[member("a", 3, queue="x"), member("b", 2, queue="x"), others],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert ids(plan.admissions) == ["owed"]


def test_what_is_left_over_goes_to_a_group():
    """Where all of them fit only without surplus in their turn, some comes in the same cycle."""
    world = snapshot(
        [cluster("c1", racks=2, nodes=2, gpus=4)],
        [queue("x"), queue("y")],
        pending=[
            member("a", 3, pods=4, division=Division.DIVIDED, queue="x"),
            member("b", 2, tier=2, created=1, queue="x"),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    got = {one.workload: one.decision.grants[0].amounts.pods() for one in plan.admissions}
    assert got == {"jobs/a": 3, "jobs/b": 1}
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def reasons(plan):
    return {o.workload: o.verdict.reason.value for o in plan.outcomes}


@pytest.mark.parametrize(
    ("pending", "want"),
    [
        pytest.param([member("a", 4), member("b", 4)], ["a", "b"], id="all of them fit"),
        pytest.param(
            [member("a", 4), member("b", 5)],
            [],
            id="one does not, so none is admitted",
        ),
        pytest.param(
            [member("a", 3), member("b", 3), workload("c", gpus=1, created=1)],
            ["a", "b", "c"],
            id="others go on",
        ),
        pytest.param([member("a", 1, size=3), member("b", 1, size=3)], [], id="one is missing"),
        pytest.param(
            [member("a", 1), member("b", 1, namespace="other")],
            [],
            id="a group lives in one namespace",
        ),
        pytest.param(
            [
                member("a", 3),
                member("b", 3),
                member("c", 3, size=3),
                workload("d", gpus=4, created=1),
                workload("e", gpus=4, created=2),
            ],
            ["d", "e"],
            id="room that a failed group had tried is free again",
        ),
    ],
)
def test_all_or_none(pending, want):
    """A group is admitted when all of its bindings have a place, and else takes nothing."""
    pending = [replace(one, group_size=3) if len(pending) == 5 else one for one in pending]

    assert ids(run_cycle(snapshot(ROOM, pending=pending), POLICY, NOW).admissions) == want


def test_reasons():
    """The one without a place says why, the others name it; a missing one is waited for."""
    plan = run_cycle(snapshot(ROOM, pending=[member("a", 4), member("b", 5)]), POLICY, NOW)
    alone = run_cycle(snapshot(ROOM, pending=[member("a", 4)]), POLICY, NOW)

    assert reasons(plan) == {"jobs/a": "GroupDoesNotFit", "jobs/b": "CapacityDoesNotFit"}
    details = {o.workload: o.verdict.detail for o in plan.outcomes}
    assert details["jobs/a"] == (
        "group g is admitted all or none, and its binding jobs/b is refused: "
        "waits for a cluster with room for 1 pod; no cluster has room for it now"
    )
    assert alone.outcomes[0].verdict.detail == (
        "group g has 2 bindings, and not all of them exist yet"
    )


def test_quota_of_a_failed_group_is_free_again():
    """What a failed group had charged is given back to queue and tenant."""
    world = snapshot(
        ROOM,
        [queue("default", gpus=4)],
        pending=[member("a", 2), member("b", 3), workload("c", gpus=4, created=1)],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert ids(plan.admissions) == ["c"]
    assert [a.decision.order for a in plan.admissions] == [0]


def test_across_queues():
    """Members may stand in different queues; the first one's turn decides for all."""
    world = snapshot(
        ROOM,
        [queue("x", priority=1), queue("y")],
        pending=[member("a", 4, queue="x"), member("b", 4, queue="y")],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert ids(plan.admissions) == ["a", "b"]
    assert [(o.workload, o.position) for o in plan.outcomes] == [("jobs/a", 1), ("jobs/b", 0)]


def test_a_member_that_was_withdrawn():
    """A member that was admitted with its group and lost its place gets a new one alone."""
    back = member("a", 4, decision=decision(backoffs=[backoff("c1")]))

    plan = run_cycle(snapshot(ROOM, pending=[back]), POLICY, NOW)

    assert plan.admissions[0].targets[0].cluster == "c2"


def test_a_refused_member():
    """A member that may not use its queue keeps the others out."""
    world = snapshot(
        ROOM,
        tenants=[tenant("team"), tenant("other", queues=["none"])],
        pending=[member("a", 1), member("b", 1, tenant="other")],
    )

    assert reasons(run_cycle(world, POLICY, NOW)) == {
        "jobs/a": "GroupDoesNotFit",
        "jobs/b": "QueueNotAllowed",
    }
