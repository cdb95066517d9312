"""Advice for a workload that waits: exact sentences, each tried and true."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.explanation import Change
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    cluster,
    queue,
    snapshot,
    tenant,
    workload,
)
from tests.towns import Member, Town

A = cluster("a", racks=3, nodes=3, gpus=1)
B = cluster("b", racks=1, nodes=4, gpus=1)
QUIET = replace(POLICY, patience_seconds=0)


def remedies(world, name, policy=QUIET, now=NOW):
    """The changes with their sentences; `enough` ones only say that they are."""
    found = explain_workload(world, policy, now, f"jobs/{name}")
    assert found is not None
    return [(one.change, one.text) for one in found.remedies if one.enough]


def test_the_first_in_line():
    """Those before it take the room: it would run if it were the first."""
    world = snapshot(
        [B],
        pending=[
            workload("before", pods=3, gpus=1),
            workload("j", pods=2, gpus=1, created=1),
            workload("after", pods=2, gpus=1, created=2),
        ],
    )

    found = remedies(world, "j")

    assert (
        Change.TURN,
        "no other job is ahead of it in the queue order: there is room now",
    ) in found
    assert (
        Change.MINIMUM,
        "1 pod is enough to start (spec.minAvailable, now 2): there is room in rack-0 of b",
    ) in found
    alone = replace(
        world,
        pending=tuple(
            replace(b, workloads=tuple(w for w in b.workloads if w.name == "j"))
            for b in world.pending
        ),
    )
    assert len(run_cycle(alone, QUIET, NOW).admissions) == 1


def test_a_quota_that_is_too_small():
    """Which queue lacks how much, on its whole path; and what then still stands against it."""
    queues = [
        queue("org", gpus=8),
        replace(queue("team", gpus=4), parent=QueueName("org")),
    ]
    running = [workload("r", queue="team", gpus=3, on="big")]
    big = cluster("big", racks=1, nodes=2, gpus=8)

    def told(gpus):
        world = snapshot(
            [big], queues, running=running, pending=[workload("j", queue="team", gpus=gpus)]
        )
        found = explain_workload(world, QUIET, NOW, "jobs/j")
        return [(r.text, r.enough) for r in found.remedies if r.change == Change.QUOTA]

    assert told(3) == [(f"queue team may hold 2 {GPU} more (spec.capability, 1 left of 4)", True)]
    lacks = [
        f"queue team may hold 5 {GPU} more (spec.capability, 1 left of 4)",
        f"queue org may hold 1 {GPU} more (spec.capability, 5 left of 8)",
    ]
    assert told(6) == [("; ".join(lacks), True)]
    ((text, enough),) = told(9)
    assert not enough
    assert text.startswith(
        f"queue team may hold 8 {GPU} more (spec.capability, 1 left of 4); queue org may hold 4 "
    )
    assert "; then still: " in text


def test_a_tenants_limits():
    """The tenant's own limits are named as such."""
    limited = replace(tenant("t"), limits=((GPU, 2),))
    world = snapshot([A], tenants=[limited], pending=[workload("j", pods=3, gpus=1, tenant="t")])

    found = explain_workload(world, QUIET, NOW, "jobs/j")

    assert [r.text for r in found.remedies if r.change == Change.QUOTA] == [
        f"tenant t may hold 1 {GPU} more (spec.limits, 2 left of 2)"
    ]


def test_a_closed_queue():
    """It runs when the queue is open; the one above it is named where that is the closed one."""
    queues = [queue("org", is_open=False), replace(queue("team"), parent=QueueName("org"))]
    world = snapshot([A], queues, pending=[workload("j", queue="team", gpus=1)])

    assert remedies(world, "j") == [(Change.QUEUE_OPEN, "queue org is open")]


def test_guarantees_of_others():
    """What others do not use of their guarantees, if it were lent."""
    kept = replace(queue("kept"), guarantee=((GPU, 7),))
    world = snapshot([A], [kept, queue("default")], pending=[workload("j", pods=3, gpus=1)])

    assert (
        Change.LENDING,
        "guarantees that other queues do not use are lent (policy.lend_guarantees)",
    ) in remedies(world, "j")


@pytest.mark.parametrize(
    ("pods", "tier", "want"),
    [
        pytest.param(
            5,
            1,
            "spec.networkTopology.highestTierAllowed is 2 (now 1): there is room in spine of a",
            id="the next tier",
        ),
        pytest.param(10, 1, None, id="no tier holds it"),
    ],
)
def test_a_wider_tier(pods, tier, want):
    """The lowest tier above its own within which it fits, and where."""
    world = snapshot([A, B], pending=[workload("j", pods=pods, gpus=1, tier=tier)])

    found = [text for change, text in remedies(world, "j") if change == Change.TIER]

    assert found == ([] if want is None else [want])


def test_a_smaller_minimum():
    """The largest that fits, under the same constraint."""
    world = snapshot([A, B], pending=[workload("j", pods=9, gpus=1, tier=1)])

    assert (
        Change.MINIMUM,
        "4 pods are enough to start (spec.minAvailable, now 9): there is room in rack-0 of b",
    ) in remedies(world, "j")


def test_a_cluster_that_is_left_out():
    """A cluster that would hold it is named with the reason for which it is left out."""
    world = snapshot([A, B], pending=[workload("j", pods=4, gpus=1, tier=1, clusters=["a"])])

    (text,) = [text for change, text in remedies(world, "j") if change == Change.CLUSTER]

    assert text.startswith("it may use cluster b, which has room for it: ")


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(queue("default", gpus=0), id="a quota of nothing"),
        pytest.param(queue("default", gpus=3), id="a quota that is too small"),
        pytest.param(queue("default", is_open=False), id="a closed queue"),
        pytest.param(queue("default", problem="it is its own parent"), id="a frozen queue"),
    ],
)
def test_no_other_cluster_helps_where_the_queue_lets_nothing_in(one):
    """Clusters that the policy leaves out are not named: the job would run in none of them."""
    jobs = [workload("j", pods=4, gpus=1, tier=1, clusters=["a"])]

    found = remedies(snapshot([A, B], queues=[one], pending=jobs), "j")

    assert [text for change, text in found if change == Change.CLUSTER] == []


def full_town(*queues):
    """Four nodes of 1 CPU in two racks, all taken by two gangs of two in queue b."""
    town = Town([Member("m", [2, 2])], [Queue(name=QueueName(n), **k) for n, k in queues])
    town.add(
        workload("b1", cpu=1, pods=2, tier=1, queue="b", tenant="own", created=1),
        workload("b2", cpu=1, pods=2, tier=1, queue="b", tenant="other", created=2),
    )
    town.execute(run_cycle(town.snapshot(), QUIET, town.now))
    town.now = Instant(town.now + 60 * SECOND)
    return town


def test_those_who_have_to_leave():
    """Who leaves, how many pods, where; names only of one's own tenant."""
    town = full_town(("a", {}), ("b", {}))
    town.add(workload("j", cpu=1, pods=2, tier=1, queue="a", tenant="other", created=9))

    found = explain_workload(town.snapshot(), QUIET, town.now, "jobs/j")

    (one,) = [r for r in found.remedies if r.change == Change.LEAVING]
    assert one.text == "1 gang of queue b (2 pods: jobs/b2) leaves m"
    assert one.cluster == ClusterName("m")


def test_those_who_would_have_to_end():
    """Without victims: the gangs whose end is enough, and until when where limits say so."""
    town = full_town(("b", {}))
    town.add(workload("j", cpu=1, pods=3, queue="b", tenant="own", created=9))

    found = remedies(town.snapshot(), "j", now=town.now)

    assert (Change.ENDING, "2 gangs of queue b (4 pods: jobs/b1) end in m") in found

    for key, one in town.workloads.items():
        if one.targets:
            town.workloads[key] = replace(one, run_limit=3600)
    (text,) = [
        text
        for change, text in remedies(town.snapshot(), "j", now=town.now)
        if change == Change.ENDING
    ]
    assert text.endswith("end in m, at 2026-01-31T13:00:00Z at the latest by their run-time limits")


def test_nothing_for_those_who_run():
    """What is admitted in this cycle, is in a group or waits for its victims needs no remedy."""
    world = snapshot([A], pending=[workload("j", gpus=1)])
    assert remedies(world, "j") == []

    town = full_town(("a", {}), ("b", {}))
    town.add(workload("j", cpu=1, pods=2, tier=1, queue="a", tenant="own", created=9))
    town.execute(run_cycle(town.snapshot(), QUIET, town.now), linger=True)
    assert remedies(town.snapshot(), "j", now=town.now) == []


def test_what_is_tried_changes_nothing():
    """The verdict, the place in line and the victims are what they are in the cycle."""
    town = full_town(("a", {}), ("b", {}))
    town.add(
        workload("first", cpu=1, pods=9, queue="a", created=3),
        workload("j", cpu=1, pods=2, tier=1, queue="a", created=9),
        workload("last", cpu=1, pods=2, tier=1, queue="a", created=10),
    )
    snap = town.snapshot()
    plan = run_cycle(snap, QUIET, town.now)

    for name in ("first", "j", "last"):
        found = explain_workload(snap, QUIET, town.now, f"jobs/{name}")
        live = next(one for one in plan.outcomes if one.workload == f"jobs/{name}")
        assert found.outcome.verdict == live.verdict
    assert run_cycle(snap, QUIET, town.now) == plan
