"""The order in which workloads get their turn."""

import pytest

from global_sched.core import run_cycle
from global_sched.core.order.queue_order import QueueOrder
from global_sched.core.statement import Statement
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.resources import Resources
from tests.builders import GPU, NOW, POLICY, cluster, ids, queue, snapshot, tenant, workload

ROOM = [cluster("c1", nodes=4, gpus=8)]


def order(world, policy=POLICY):
    """The names in the order in which they were considered."""
    return ids(run_cycle(world, policy, NOW).outcomes)


@pytest.mark.parametrize(
    ("queues", "running", "pending", "want"),
    [
        pytest.param(
            [queue("a"), queue("b", priority=1)],
            [],
            [workload("a1", queue="a", priority=100), workload("b1", queue="b")],
            ["b1", "a1"],
            id="queue priority beats job priority",
        ),
        pytest.param(
            [queue("a"), queue("b")],
            [workload("r", queue="a", gpus=1, on="c1")],
            [workload("a1", queue="a", priority=100), workload("b1", queue="b")],
            ["b1", "a1"],
            id="job priority does not compare across queues: the smaller share goes first",
        ),
        pytest.param(
            [queue("a", weight=3), queue("b")],
            [
                workload("r", queue="a", gpus=2, on="c1"),
                workload("s", queue="b", gpus=1, on="c1"),
            ],
            [workload("a1", queue="a"), workload("b1", queue="b")],
            ["a1", "b1"],
            id="shares are weighted: 2 of weight 3 is less than 1 of weight 1",
        ),
        pytest.param(
            [queue("a"), queue("b")],
            [],
            [workload("b1", queue="b"), workload("a1", queue="a", created=9)],
            ["a1", "b1"],
            id="equal shares go by the queue's name, not by age",
        ),
        pytest.param(
            [queue("a"), queue("b")],
            [],
            [
                workload("a1", queue="a", gpus=1),
                workload("a2", queue="a", gpus=1, created=1),
                workload("b1", queue="b", gpus=2),
                workload("b2", queue="b", gpus=2, created=1),
            ],
            ["a1", "b1", "a2", "b2"],
            id="a share grows with every admission in the cycle",
        ),
        pytest.param(
            [queue("a", weight=0), queue("b")],
            [workload("r", queue="b", gpus=4, on="c1")],
            [workload("a1", queue="a"), workload("b1", queue="b")],
            ["b1", "a1"],
            id="a queue of weight 0 is last",
        ),
    ],
)
def test_between_queues(queues, running, pending, want):
    """Queue priority, then the queue's weighted share, then its name."""
    assert order(snapshot(ROOM, queues, running=running, pending=pending)) == want


@pytest.mark.parametrize(
    ("running", "pending", "want"),
    [
        pytest.param(
            [workload("r", tenant="x", gpus=4, on="c1")],
            [workload("x1", tenant="x", priority=1), workload("y1", tenant="y")],
            ["x1", "y1"],
            id="job priority first",
        ),
        pytest.param(
            [workload("r", tenant="x", gpus=4, on="c1")],
            [workload("x1", tenant="x"), workload("y1", tenant="y", created=5)],
            ["y1", "x1"],
            id="then the tenant that holds less",
        ),
        pytest.param(
            [workload("r", tenant="x", queue="other", gpus=4, on="c1")],
            [workload("x1", tenant="x"), workload("y1", tenant="y", created=5)],
            ["y1", "x1"],
            id="what a tenant holds in other queues counts",
        ),
        pytest.param(
            [],
            [workload("x2", tenant="x", created=2), workload("y1", tenant="y", created=1)],
            ["y1", "x2"],
            id="then the older one",
        ),
        pytest.param(
            [],
            [workload("b", tenant="x"), workload("a", tenant="y")],
            ["a", "b"],
            id="then the UID",
        ),
        pytest.param(
            [],
            [
                workload("x1", tenant="x", gpus=3),
                workload("x2", tenant="x", gpus=1, created=1),
                workload("y1", tenant="y", gpus=1, created=2),
                workload("y2", tenant="y", gpus=1, created=3),
                workload("y3", tenant="y", gpus=1, created=4),
                workload("y4", tenant="y", gpus=1, created=5),
            ],
            ["x1", "y1", "y2", "y3", "x2", "y4"],
            id="a tenant's share grows with every admission in the cycle",
        ),
    ],
)
def test_inside_a_queue(running, pending, want):
    """Job priority, the tenant's weighted dominant share, creation, UID."""
    assert order(snapshot(ROOM, running=running, pending=pending)) == want


def test_tenant_weights():
    """A tenant of weight 2 is served as if it held half."""
    world = snapshot(
        ROOM,
        tenants=[tenant("x", weight=2), tenant("y")],
        running=[
            workload("r", tenant="x", gpus=3, on="c1"),
            workload("s", tenant="y", gpus=2, on="c1"),
        ],
        pending=[workload("x1", tenant="x", created=1), workload("y1", tenant="y")],
    )

    assert order(world) == ["x1", "y1"]


def test_a_tenant_that_moves_in_another_queue_moves_here():
    """A share that grew in one queue counts at the tenant's next turn in any other."""
    world = snapshot(
        ROOM,
        [queue("a", priority=1), queue("b")],
        pending=[
            workload("a1", queue="a", tenant="x", gpus=2),
            workload("b1", queue="b", tenant="x", gpus=1),
            workload("b2", queue="b", tenant="y", gpus=1, created=1),
        ],
    )

    assert order(world) == ["a1", "b2", "b1"]


def test_positions():
    """The position counts the queue's own workloads in their order, from 1."""
    world = snapshot(
        ROOM,
        [queue("a"), queue("b")],
        pending=[
            workload("a1", queue="a", gpus=99),
            workload("a2", queue="a", gpus=99, created=1),
            workload("b1", queue="b", gpus=99),
        ],
    )

    found = {o.workload: o.position for o in run_cycle(world, POLICY, NOW).outcomes}

    assert found == {"jobs/a1": 1, "jobs/a2": 2, "jobs/b1": 1}


def test_skipping():
    """What does not fit ends its turn and never blocks those behind it."""
    world = snapshot(
        [cluster("c1", gpus=8)],
        pending=[
            workload("big", gpus=9, priority=9),
            workload("one", gpus=4, created=1),
            workload("two", gpus=4, created=2),
            workload("late", gpus=1, created=3),
        ],
    )

    plan = run_cycle(world, POLICY, NOW)

    assert ids(plan.admissions) == ["one", "two"]
    assert [o.verdict.code.value for o in plan.outcomes] == ["NO_FIT", "FIT", "FIT", "NO_FIT"]


def test_cycle_limit():
    """After so many admissions the rest waits for the next cycle; each still gets its verdict."""
    world = snapshot(ROOM, pending=[workload(f"w{i}", gpus=1, created=i) for i in range(4)])

    plan = run_cycle(world, Policy(admissions_per_cycle=2), NOW)

    assert ids(plan.admissions) == ["w0", "w1"]
    assert [o.verdict.reason.value for o in plan.outcomes[2:]] == ["CycleLimit"] * 2


def test_finished_and_admitted_ones_are_not_considered():
    """Only what waits for a place is in line, even when a bucket lists something else."""
    world = snapshot(ROOM, running=[workload("r", gpus=1, on="c1", finished=True)])

    assert run_cycle(world, POLICY, NOW).outcomes == ()


def test_another_turn():
    """One that asks again is behind its tenant's others of its priority, and before lower ones."""
    of_a = [
        workload("a1", queue="q", tenant="a", priority=1, created=1),
        workload("a2", queue="q", tenant="a", priority=1, created=2),
        workload("a3", queue="q", tenant="a", created=3),
    ]
    waiting = [*of_a, workload("b1", queue="q", tenant="b", priority=1, created=4)]
    statement = Statement(snapshot(ROOM, [queue("q")], pending=waiting), POLICY, NOW)
    line = QueueOrder(waiting, statement)
    turns = []

    for _, one in line:
        turns.append(one.name)
        if one.name == "a1":
            statement.charge(one, ROOM[0].name, Resources.of({GPU: 1}))
            if turns.count("a1") < 3:
                line.again()

    assert turns == ["a1", "b1", "a2", "a1", "a1", "a3"]
    assert line.length("q") == 4
