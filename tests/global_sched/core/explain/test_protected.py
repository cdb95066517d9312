"""Gangs that may never be victims, and the reason that names them."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload
from tests.builders import POLICY, queue, workload
from tests.played import behind_patience, explained
from tests.towns import Member, Town

NOTHING = (
    "nothing else of lower priority runs in its queue, and there is nothing that it may reclaim "
    "from queues beyond their deserved share"
)
NO_VICTIMS = f"no victims: {NOTHING.replace('nothing else', 'nothing')}"


def world(queues, running, asks=1):
    return f"""\
world:
  clusters: [{{name: m, nodes: [{{count: 2, allocatable: {{cpu: 1}}}}]}}]
  queues: {queues}
  priorityClasses: {{crit: 2000000000, high: 50, low: 1}}
  jobs:
  - {{name: r1, created: 0, running: {{cluster: m}}, {running}}}
  - {{name: r2, created: 0, running: {{cluster: m}}, {running}}}
  - {{name: j, queue: a, created: 1, priorityClass: high,
     tasks: [{{replicas: {asks}, requests: {{cpu: 1}}}}]}}
"""


KEPT = 'tasks: [{requests: {cpu: 1}, annotations: {volcano.sh/preemptable: "false"}}]'
PLAIN = "tasks: [{requests: {cpu: 1}}]"
RECLAIM = "{name: a, deserved: {cpu: 1}}, {name: b, deserved: {cpu: 0}"


@pytest.mark.parametrize(
    ("queues", "running", "want"),
    [
        pytest.param(
            "[{name: a}]",
            f"queue: a, priorityClass: low, {KEPT}",
            "2 gangs of queue a are protected (preemptable: false)",
            id="lower ones in its queue that may not be preempted",
        ),
        pytest.param(
            f"[{RECLAIM}}}]",
            f"queue: b, {KEPT}",
            "2 gangs of queue b are protected (preemptable: false)",
            id="the same in a queue that is over its deserved",
        ),
        pytest.param(
            f"[{RECLAIM}, reclaimable: false}}]",
            f"queue: b, {PLAIN}",
            "2 gangs of queue b are protected (reclaimable: false)",
            id="a queue from which nothing is taken back",
        ),
        pytest.param(
            "[{name: a, deserved: {cpu: 1}}, {name: o, deserved: {cpu: 0}, reclaimable: false}, "
            "{name: b, parent: o}]",
            f"queue: b, {PLAIN}",
            "2 gangs of queue b are protected (reclaimable: false)",
            id="the same of the queue above it",
        ),
        pytest.param(
            f"[{RECLAIM}}}]",
            f"queue: b, priorityClass: crit, {PLAIN}",
            "2 gangs of queue b are protected (system-critical)",
            id="pods of the system",
        ),
    ],
)
def test_who_is_protected_by_what(queues, running, want):
    """Those that would have to leave otherwise are counted, by what protects them."""
    assert explained(world(queues, running), "j").no_victims == (f"no victims: {want}; {NOTHING}")


def test_what_a_queue_is_guaranteed():
    """Two gangs hold what their queue is guaranteed of memory; it is over its deserved CPUs."""
    queues = (
        "[{name: a, deserved: {cpu: 1}}, {name: b, deserved: {cpu: 0}, guarantee: {memory: 2Gi}}]"
    )
    running = "queue: b, tasks: [{requests: {cpu: 1, memory: 1Gi}}]"
    text = world(queues, running).replace("{cpu: 1}}]}]", "{cpu: 1, memory: 1Gi}}]}]", 1)

    told = explained(text, "j").no_victims

    assert told.endswith("; 2 gangs of queue b are protected (guarantee)")


def test_too_few_that_may_leave():
    """Who is protected is said beside why the others do not do."""
    text = world("[{name: a}]", f"queue: a, priorityClass: low, {PLAIN}", asks=2)
    text = text.replace(PLAIN, KEPT, 1)

    assert explained(text, "j").no_victims == (
        "no victims: no allowed domain would have room for it even without the 1 gang that "
        "could be evicted for it; 1 gang of queue a is protected (preemptable: false)"
    )


def test_nobody_is_protected():
    """The rights alone are in the way: equal priority, and no queue that is over."""
    text = world("[{name: a}]", f"queue: a, priorityClass: high, {PLAIN}")

    assert explained(text, "j").no_victims == NO_VICTIMS


def test_pods_that_no_report_locates():
    """They are no victims until it is known where they are."""
    town = Town([Member("m", (2,))], [queue("q")])
    town.run(workload("low", cpu=1, pods=2, queue="q"), policy=replace(POLICY, patience_seconds=0))
    town.add(workload("j", cpu=1, pods=2, queue="q", priority=5))
    world = town.snapshot()
    (running,) = world.running
    (low,) = running.workloads
    unseen = replace(running, workloads=(replace(low, progress=()),))

    told = explain_workload(replace(world, running=(unseen,)), POLICY, town.now, "jobs/j")

    safe = "1 gang of queue q is protected (no report locates its pods yet)"
    assert told.no_victims == f"no victims: {safe}; {NOTHING}"


LENT = """\
world:
  clusters: [{name: m, nodes: [{count: 1, allocatable: {cpu: 1}}]}]
  queues: [{name: a, deserved: {cpu: 1}}, {name: b, deserved: {cpu: 0}}]
  jobs:
  - {name: r, queue: b, created: 0, running: {cluster: m}, tasks: [{requests: {cpu: 1}}]}
steps:
- waitSeconds: 10
  submit: [{name: w, queue: a, tasks: [{requests: {cpu: 1}}]}]
"""


def test_those_that_came_lately_to_one_that_has_no_right_to_them():
    """The victim of a reclaim is not said to have a right against the claimant."""
    assert explained(LENT, "r").no_victims == NO_VICTIMS


def test_what_is_kept_for_a_patient_gang():
    """It has no victims, and a job behind it says so."""
    text = behind_patience("tasks: [{requests: {cpu: 1}}]")

    assert explained(text, "j").no_victims == (
        "no victims: the room is kept for a gang that waited longer than its patience"
    )
