"""Every key of the order, each decided by what comes before it being equal."""

import pytest

from global_sched.core import run_cycle
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from tests.builders import GPU, NOW, POLICY, cluster, ids, snapshot, workload

ROOM = [cluster("c1", nodes=4, gpus=8)]


def q(name, parent="root", *, deserved=None, **fields):
    """A queue that deserves so many GPUs."""
    said = () if deserved is None else ((GPU, deserved),)
    return Queue(name=name, parent=parent, deserved=said, **fields)


def runs(queue, gpus):
    """A running job of so many GPUs."""
    return workload(f"runs-{queue}", queue=queue, gpus=gpus, on="c1")


def waits(queue, **fields):
    """A waiting job of one GPU, named after its queue."""
    return workload(queue, queue=queue, gpus=1, **fields)


@pytest.mark.parametrize(
    ("queues", "running", "want"),
    [
        pytest.param(
            [q("a", deserved=8), q("b", deserved=8, priority=1)],
            [runs("b", 8)],
            ["a", "b"],
            id="what is owed, before priority",
        ),
        pytest.param(
            [q("a", deserved=4), q("b", deserved=4, priority=1)],
            [runs("a", 4), runs("b", 5)],
            ["b", "a"],
            id="priority among those that borrow, whoever is further over",
        ),
        pytest.param(
            [q("a", deserved=8), q("b", deserved=8, priority=1)],
            [runs("b", 7)],
            ["b", "a"],
            id="priority among those that are owed, whatever the share",
        ),
        pytest.param(
            [q("a", deserved=2, weight=9), q("b", deserved=8)],
            [runs("a", 2), runs("b", 7)],
            ["b", "a"],
            id="unsaturated before saturated, whatever the share",
        ),
        pytest.param(
            [q("a", deserved=8), q("b", deserved=16)],
            [runs("a", 5), runs("b", 8)],
            ["b", "a"],
            id="the share of the deserved: 8 of 16 is less than 5 of 8",
        ),
        pytest.param(
            [q("a", deserved=8), q("b", deserved=8, weight=2)],
            [runs("a", 3), runs("b", 5)],
            ["b", "a"],
            id="divided by the weight",
        ),
        pytest.param(
            [q("a", deserved=2), q("b", deserved=4)],
            [runs("a", 5), runs("b", 6)],
            ["b", "a"],
            id="once saturated, what is borrowed: 2 is less than 3",
        ),
        pytest.param(
            [q("a"), q("b", weight=2)],
            [runs("a", 2), runs("b", 3)],
            ["b", "a"],
            id="without a deserved, of the weight's part",
        ),
        pytest.param([q("b"), q("a")], [], ["a", "b"], id="the name"),
        pytest.param(
            [q("x"), q("y", priority=1), q("a", "x", priority=9), q("b", "y")],
            [],
            ["b", "a"],
            id="priority counts between brothers only: y before x, whatever is below",
        ),
        pytest.param(
            [q("x"), q("y"), q("a", "x"), q("b", "y"), q("c", "x")],
            [runs("c", 4), runs("b", 1)],
            ["b", "a"],
            id="what a brother holds counts for their parent",
        ),
        pytest.param(
            [q("a", deserved=0), q("b", deserved=1)],
            [],
            ["b", "a"],
            id="one that deserves nothing is saturated",
        ),
    ],
)
def test_between_brothers(queues, running, want):
    """Priority, unsaturated before saturated, share of deserved ÷ weight, name: at every level."""
    names = sorted({one.name for one in queues} - {one.parent for one in queues})
    pending = [waits(name) for name in names if name in want]
    world = snapshot(ROOM, queues, running=running, pending=pending)

    assert ids(run_cycle(world, POLICY, NOW).outcomes)[: len(want)] == want


AGEING = {"ageing_period_seconds": 60, "ageing_step": 2, "ageing_limit": 20}


@pytest.mark.parametrize(
    ("fields", "policy", "want"),
    [
        pytest.param(({"priority": 1}, {"created": -600}), {}, ["a", "b"], id="no ageing"),
        pytest.param(
            ({"priority": 19, "created": 3600}, {"created": 3000}),
            AGEING,
            ["b", "a"],
            id="ten minutes are ten periods: 20 is more than 19",
        ),
        pytest.param(
            ({"priority": 20, "created": 3600}, {"created": 3061}),
            AGEING,
            ["a", "b"],
            id="a period that is not over does not count",
        ),
        pytest.param(
            ({"priority": 21, "created": 3600}, {"created": -(10**6)}),
            AGEING,
            ["a", "b"],
            id="never by more than the limit",
        ),
    ],
)
def test_ageing(fields, policy, want):
    """Waiting raises a job within its queue, period by period, up to the stated bound."""
    pending = [workload(name, gpus=1, **one) for name, one in zip("ab", fields, strict=True)]
    world = snapshot(ROOM, [q("default")], pending=pending)

    assert ids(run_cycle(world, Policy(**policy), NOW).outcomes) == want


@pytest.mark.parametrize(
    ("running", "want"),
    [
        pytest.param(
            [
                workload("r", queue="default", tenant="x", gpus=1, on="c1"),
                workload("s", queue="other", tenant="y", gpus=8, on="c1"),
            ],
            ["y1", "x1"],
            id="what a tenant holds through this queue",
        ),
        pytest.param(
            [workload("s", queue="other", tenant="x", gpus=1, on="c1")],
            ["y1", "x1"],
            id="then what it holds in the federation",
        ),
    ],
)
def test_tenants_in_a_leaf(running, want):
    """Tenants are below their queue: its share decides before the federation's."""
    pending = [
        workload("x1", tenant="x", gpus=1, created=0),
        workload("y1", tenant="y", gpus=1, created=1),
    ]
    world = snapshot(ROOM, [q("default"), q("other")], running=running, pending=pending)

    assert ids(run_cycle(world, POLICY, NOW).outcomes) == want
