"""Advice for other waits: growth of jobs that run, members of groups."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.explanation import Change
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, cluster, gang, hard, pod_set, queue, snapshot, workload
from tests.towns import Member, Town

QUIET = replace(POLICY, patience_seconds=0)


def told(world, name, now=NOW):
    """The changes with their sentences and whether each is enough."""
    found = explain_workload(world, QUIET, now, f"jobs/{name}")
    assert found is not None
    return [(one.change, one.text, one.enough) for one in found.remedies]


# --- growth ---------------------------------------------------------------------------------


def town(*jobs, racks=(4,), **queues):
    """Nodes of 1 CPU with these jobs on them."""
    names = {one.queue for one in jobs} | set(queues)
    found = Town(
        [Member("m", racks)],
        [Queue(name=QueueName(name), **queues.get(name, {})) for name in sorted(names)],
    )
    for one in jobs:
        found.add(one)
        found.execute(run_cycle(found.snapshot(), QUIET, found.now))
        found.now = Instant(found.now + 10 * SECOND)
    return found


def edited(found, name, pods, *, minimum=None, tier=None):
    """The template of a running job is edited, and that is written down."""
    one = found.workloads[f"jobs/{name}"]
    asked = gang(
        pod_set(pods=pods, cpu=1),
        minimum=pods if minimum is None else minimum,
        constraint=None if tier is None else hard(tier),
    )
    found.workloads[one.key] = replace(one, demand=replace(one.demand, gang=asked))
    found.execute(run_cycle(found.snapshot(), replace(QUIET, searches_per_cycle=0), found.now))
    return found.snapshot(), found.now


def test_growth_for_which_others_leave():
    """Who has to leave is said, as of a job that waits."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a", priority=10),
        workload("low", cpu=1, pods=2, queue="a"),
    )
    world, now = edited(found, "high", 4)

    shown = explain_workload(world, QUIET, now, "jobs/high")

    assert [(one.pods, one.whole) for one in shown.victims] == [(2, True)]
    text = "1 gang of queue a (2 pods: jobs/low) leaves m"
    assert (Change.LEAVING, text, True) in told(world, "high", now)


def test_growth_for_which_nobody_leaves():
    """The ending that makes room is said, and neither another cluster nor a smaller minimum is."""
    found = town(
        workload("high", cpu=1, pods=2, queue="a"),
        workload("same", cpu=1, pods=2, queue="a"),
    )
    world, now = edited(found, "high", 4)

    remedies = told(world, "high", now)

    assert (Change.ENDING, "1 gang of queue a (2 pods: jobs/same) ends in m", True) in remedies
    assert {change for change, _, _ in remedies} == {Change.ENDING}


def test_growth_beyond_a_limit():
    """Which limit is too small, by how much."""
    found = town(workload("job", cpu=1, pods=2, queue="a"), a={"capability": (("cpu", 2000),)})
    world, now = edited(found, "job", 4)

    assert (
        Change.QUOTA,
        "queue a may hold 2 cpu more (spec.capability, 0 left of 2)",
        True,
    ) in told(world, "job", now)


def test_growth_beyond_its_rack():
    """The tier within which the further pods fit beside those that it has."""
    found = town(workload("job", cpu=1, pods=2, tier=1, queue="a"), racks=(2, 2))
    world, now = edited(found, "job", 4, tier=1)

    texts = [text for change, text, _ in told(world, "job", now) if change == Change.TIER]

    assert texts == [
        "spec.networkTopology.highestTierAllowed is 2 (now 1): there is room in spine of m"
    ]


def test_nothing_for_one_that_has_all():
    """Who lacks nothing waits for nothing."""
    found = town(workload("job", cpu=1, pods=2, queue="a"))

    shown = explain_workload(found.snapshot(), QUIET, found.now, "jobs/job")

    assert shown is None or not shown.remedies


# --- groups ---------------------------------------------------------------------------------


def member(name, gpus, size=2, **fields):
    return workload(name, gpus=gpus, group="g", group_size=size, **fields)


TWO = [cluster("c1", gpus=4), cluster("c2", gpus=4)]


def test_a_group_that_is_not_complete():
    """How many of its bindings are missing, and what then still stands against those there."""
    assert told(snapshot(TWO, pending=[member("a", 4)]), "a") == [
        (Change.GROUP, "1 more binding of group g is there", False)
    ]
    ((change, text, enough),) = told(snapshot(TWO, pending=[member("a", 5)]), "a")
    assert (change, enough) == (Change.GROUP, False)
    assert text.startswith("1 more binding of group g is there; then still: jobs/a: ")


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_group_that_comes_too_late(name):
    """Every member says that all of them fit when no job is ahead of them."""
    before = [workload(f"x{i}", gpus=2, created=-10) for i in range(2)]
    world = snapshot(TWO, pending=[*before, member("a", 4), member("b", 4)])

    assert (
        Change.TURN,
        "no other job is ahead of its group in the queue order: there is room",
        True,
    ) in told(world, name)


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_group_whose_quota_is_too_small(name):
    """What is lacking is for all members together."""
    queues = [queue("q", gpus=6)]
    world = snapshot(TWO, queues, pending=[member("a", 4, queue="q"), member("b", 4, queue="q")])

    texts = [text for change, text, enough in told(world, name) if change == Change.QUOTA]

    assert texts == ["queue q may hold 2 nvidia.com/gpu more (spec.capability, 2 left of 6)"]


def test_a_group_for_which_others_end():
    """All those whose ending gives every member its place."""
    found = Town(
        [Member("m", (2,)), Member("n", (2,))],
        [Queue(name=QueueName("q"))],
    )
    for name in ("one", "two"):
        found.add(workload(name, cpu=1, pods=2, queue="q", priority=5))
        found.execute(run_cycle(found.snapshot(), QUIET, found.now))
    members = [
        workload(name, cpu=1, pods=2, queue="q", group="g", group_size=2) for name in ("a", "b")
    ]
    found.add(*members)

    for name in ("a", "b"):
        remedies = told(found.snapshot(), name, found.now)
        text = "2 gangs of queue q (4 pods: jobs/one, jobs/two) end in m, n"
        assert (Change.ENDING, text, True) in remedies


def test_a_member_that_is_too_large():
    """What helps that member is enough only where it is the last one to be placed."""
    world = snapshot(TWO, pending=[member("a", 4), member("b", 2, size=2), member("big", 9, 3)])
    world = replace(
        world,
        pending=tuple(
            replace(b, workloads=tuple(replace(w, group_size=3) for w in b.workloads))
            for b in world.pending
        ),
    )

    assert explain_workload(world, QUIET, NOW, "jobs/a").outcome.verdict.reason == "GroupDoesNotFit"
    assert told(world, "a") == []


def test_explaining_a_group_changes_nothing():
    """The verdict is the one that the cycle gives, for every member."""
    world = snapshot(TWO, pending=[member("a", 4), member("b", 5), workload("c", gpus=1)])
    outcomes = {one.workload: one.verdict for one in run_cycle(world, QUIET, NOW).outcomes}

    for name in ("a", "b", "c"):
        assert (
            explain_workload(world, QUIET, NOW, f"jobs/{name}").outcome.verdict
            == outcomes[f"jobs/{name}"]
        )


def test_a_copy_in_a_group():
    """An object without demand waits for no other, whatever its group says."""
    copy = workload("c", division=Division.COPIED, group="g", group_size=2)

    shown = explain_workload(snapshot(TWO, pending=[copy]), QUIET, NOW, "jobs/c")

    assert shown.outcome.verdict.code == "FIT"
    assert shown.remedies == ()
