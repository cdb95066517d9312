"""Each advised change is tried in the order as it is: with it alone the job runs."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.explanation import Change
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue, Tenant
from tests.builders import NOW, POLICY, cluster, queue, snapshot, workload
from tests.towns import Member, Town

QUIET = replace(POLICY, patience_seconds=0)
PATIENT = replace(POLICY, patience_seconds=10)
C = cluster("c", nodes=2, gpus=1)


def told(world, name, policy=QUIET, now=NOW):
    """The changes with their sentences and whether each is enough."""
    found = explain_workload(world, policy, now, f"jobs/{name}")
    return [(one.change, one.text, one.enough) for one in found.remedies]


def town(*jobs, waiting=()):
    """Four nodes of 1 CPU with these jobs on them, and others that wait."""
    found = Town([Member("m", (4,))], [Queue(name=QueueName("q"))])
    found.run(*jobs, policy=QUIET)
    found.add(*waiting)
    found.now = Instant(found.now + 10 * SECOND)
    return found


BIG = workload("big", cpu=1, pods=4, queue="q", created=1)
SMALL = workload("small", cpu=1, queue="q", created=2)


def test_others_before_it_would_take_what_comes_free():
    """What ends makes room for the one before it in line, who needs all of it."""
    found = town(workload("low", cpu=1, pods=4, queue="q"), waiting=[BIG, SMALL])
    ending = "1 gang of queue q (4 pods: jobs/low) ends in m"

    assert told(found.snapshot(), "big", now=found.now)[0] == (Change.ENDING, ending, True)
    assert told(found.snapshot(), "small", now=found.now) == [
        (Change.ENDING, f"no other job is ahead of it in the queue order, and {ending}", True)
    ]


def test_room_that_is_kept_for_another():
    """Free room that is kept for another job is named as what it is."""
    found = town(workload("low", cpu=1, pods=2, queue="q"), waiting=[BIG])
    found.execute(run_cycle(found.snapshot(), PATIENT, found.now))
    found.add(SMALL)
    found.now = Instant(found.now + 10 * SECOND)
    world = found.snapshot()

    assert told(world, "small", PATIENT, found.now) == [
        (
            Change.HELD,
            (
                "no other job is ahead of it in the queue order and no room is kept for 1 other "
                "job: there is room now"
            ),
            True,
        )
    ]
    holds = explain_workload(world, PATIENT, found.now, "jobs/small").queue
    assert (holds.held.get("cpu"), holds.aside.get("cpu")) == (2000, 4000)


def test_its_own_room_is_not_kept_from_it():
    """What a reservation keeps counts as its own: the ending of the rest is enough."""
    found = town(workload("low", cpu=1, pods=2, queue="q"), waiting=[BIG])
    found.execute(run_cycle(found.snapshot(), PATIENT, found.now))
    found.now = Instant(found.now + 10 * SECOND)

    assert told(found.snapshot(), "big", PATIENT, found.now) == [
        (Change.ENDING, "1 gang of queue q (2 pods: jobs/low) ends in m", True),
        (
            Change.MINIMUM,
            "2 pods are enough to start (spec.minAvailable, now 4): there is room in r0 of m",
            True,
        ),
    ]


def test_its_own_ending_is_no_help():
    """The end of a gang is no advice for its own growth."""
    found = town(workload("j", cpu=1, pods=6, minimum=2, queue="q"))

    assert told(found.snapshot(), "j", now=found.now) == []


@pytest.mark.parametrize(
    ("job", "queues", "team", "want"),
    [
        pytest.param(
            workload("j", gpus=1, queue="new"),
            [queue("q")],
            {},
            [(Change.QUEUE, "there is a queue new", True)],
            id="its queue does not exist",
        ),
        pytest.param(
            workload("j", gpus=1, queue="bad"),
            [queue("bad", problem="weight: -1")],
            {},
            [
                (
                    Change.QUEUE,
                    (
                        "queue bad is put right: weight: -1; what then still stands against it is "
                        "not known"
                    ),
                    False,
                )
            ],
            id="its queue cannot be read",
        ),
        pytest.param(
            workload("j", gpus=1, queue="org"),
            [queue("org"), *(replace(queue(n), parent=QueueName("org")) for n in ("x", "y"))],
            {},
            [
                (Change.QUEUE, "it names queue x (spec.queue, now org)", True),
                (Change.QUEUE, "it names queue y (spec.queue, now org)", True),
            ],
            id="its queue has others below it",
        ),
        pytest.param(
            workload("j", gpus=1, queue="q"),
            [queue("q"), queue("shut", is_open=False), queue("mine")],
            {"queues": (QueueName("mine"), QueueName("shut"))},
            [
                (Change.QUEUE, "it names queue mine (spec.queue, now q)", True),
                (
                    Change.QUEUE,
                    "it names queue shut (spec.queue, now q); then still: queue shut is not open",
                    False,
                ),
            ],
            id="its tenant may use other queues only",
        ),
        pytest.param(
            workload("j", gpus=1, queue="q"),
            [queue("q")],
            {"problem": "limits: x"},
            [
                (
                    Change.TENANT,
                    (
                        "tenant team is put right: limits: x; what then still stands against it is "
                        "not known"
                    ),
                    False,
                )
            ],
            id="its tenant cannot be read",
        ),
        pytest.param(
            workload("j", gpus=1, queue="q", priority_class="high"),
            [queue("q")],
            {"priority_classes": ("low", "none")},
            [
                (
                    Change.TENANT,
                    f"its PriorityClass is {name} (spec.priorityClassName, now high)",
                    True,
                )
                for name in ("low", "none")
            ],
            id="its tenant may not use the PriorityClass",
        ),
        pytest.param(
            workload("j", gpus=1, pods=2, queue="q"),
            [
                replace(
                    queue("q"), cluster_capability=((ClusterName("c"), (("nvidia.com/gpu", 1),)),)
                )
            ],
            {},
            [
                (
                    Change.QUOTA,
                    (
                        "queue q may hold 1 nvidia.com/gpu more in c (spec.extendClusters, "
                        "1 left of 1)"
                    ),
                    True,
                ),
                (
                    Change.MINIMUM,
                    (
                        "1 pod is enough to start (spec.minAvailable, now 2): there is room "
                        "in rack-0 of c"
                    ),
                    True,
                ),
            ],
            id="its queue has a limit in the cluster",
        ),
    ],
)
def test_what_has_to_be_put_right(job, queues, team, want):
    """Every refusal before clusters are asked says what would end it."""
    world = snapshot([C], queues, [Tenant(name=TenantName("team"), **team)], pending=[job])
    world = replace(world, priorities=(("low", 1), ("none", 0)))

    assert told(world, "j") == want


@pytest.mark.parametrize(
    ("nodes", "want"),
    [
        pytest.param(
            3,
            ("tenant team may have 3 pending jobs (spec.pendingLimit, now 1)", True),
            id="there is room",
        ),
        pytest.param(
            2,
            (
                (
                    "tenant team may have 3 pending jobs (spec.pendingLimit, now 1); then still: "
                    "waits for a cluster with room for 1 pod; no cluster has room for it now"
                ),
                False,
            ),
            id="there is none",
        ),
    ],
)
def test_too_many_that_wait(nodes, want):
    """As many may wait as are before it, and itself."""
    world = snapshot(
        [cluster("c", nodes=nodes, gpus=1)],
        [queue("q")],
        [Tenant(name=TenantName("team"), pending_limit=1)],
        pending=[
            workload(name, gpus=1, queue="q", created=at)
            for at, name in enumerate(("one", "two", "j"))
        ],
    )

    assert told(world, "j") == [(Change.TENANT, *want)]


def test_too_many_that_wait_with_one_that_others_left_for():
    """That one is before its victim, though it is younger."""
    there = Town([Member("m", (1,))], [Queue(name=QueueName("q"))])
    there.run(workload("low", cpu=1, queue="q"), policy=QUIET)
    there.add(workload("high", cpu=1, queue="q", priority=9, created=100))
    there.execute(run_cycle(there.snapshot(), QUIET, there.now), linger=True)
    there.leave()
    limited = (Tenant(name=TenantName("team"), pending_limit=1),)

    found = told(replace(there.snapshot(), tenants=limited), "low", now=there.now)

    assert found[0][1].startswith("tenant team may have 2 pending jobs (spec.pendingLimit, now 1)")
