"""Surplus between queues: fair while both want it, and nothing idle at the end of one cycle."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Amounts
from tests.builders import NOW, POLICY, cluster, gang, pod_set, queue, snapshot, workload
from tests.worlds import after


def elastic(name, pods, *, in_queue, minimum=1, gpus=1):
    """A gang that runs from its minimum on and takes as many pods as it may."""
    sets = (pod_set(pods=pods, minimum=minimum, gpus=gpus),)
    return workload(name, needs=gang(*sets, minimum=minimum), queue=in_queue)


def ten_gpus(pending):
    """Two queues of equal weight over one node of ten GPUs."""
    node = cluster("c", racks=1, nodes=1, gpus=10)
    return snapshot([node], queues=[queue("one"), queue("two")], pending=pending)


@pytest.mark.parametrize(
    ("pending", "want"),
    [
        pytest.param(
            [elastic("a", 10, in_queue="one"), elastic("b", 10, in_queue="two")],
            {"a": 5, "b": 5},
            id="two that want everything get what their queues deserve",
        ),
        pytest.param(
            [elastic("a", 10, in_queue="one"), elastic("b", 3, in_queue="two")],
            {"a": 7, "b": 3},
            id="what the second does not want goes to the first in the same cycle",
        ),
        pytest.param(
            [elastic("a", 10, in_queue="one"), elastic("b", 4, in_queue="two", gpus=3)],
            {"a": 7, "b": 1},
            id="what the second cannot use for lack of a whole pod goes to the first",
        ),
        pytest.param(
            [elastic("a", 10, in_queue="one"), elastic("b", 20, in_queue="two", minimum=20)],
            {"a": 10},
            id="nothing is kept for one that does not fit",
        ),
    ],
)
def test_shares_of_surplus(pending, want):
    """Surplus is fair between queues, and what no other can use is given in the same cycle."""
    world = ten_gpus(pending)

    plan = run_cycle(world, POLICY, NOW)

    assert {one.workload: one.decision.grants[0].amounts.pods() for one in plan.admissions} == {
        f"jobs/{name}": pods for name, pods in want.items()
    }
    assert run_cycle(after(world, plan), POLICY, NOW).empty()


def test_explained_shares():
    """What is explained about a gang that gets what others leave is what the cycle decides."""
    pending = [elastic("a", 10, in_queue="one"), elastic("b", 3, in_queue="two")]
    world = ten_gpus(pending)
    plan = run_cycle(world, POLICY, NOW)

    for admission in plan.admissions:
        assert explain_workload(world, POLICY, NOW, admission.workload).admission == admission


@pytest.mark.parametrize(
    ("minimum", "want"),
    [
        pytest.param(2, True, id="surplus waits until the others had their turns"),
        pytest.param(4, False, id="what its minimum lacks does not"),
    ],
)
def test_growth_that_lets_others_go_first(minimum, want):
    """A running gang of a queue that has all it deserves, beside one that lacks some of its own."""
    grows = workload("a", pods=4, minimum=minimum, gpus=1, queue="one", on="c")
    half = replace(grows.decision.grants[0], amounts=Amounts.of({"main": 2}))
    grows = replace(grows, decision=replace(grows.decision, grants=(half,)))
    world = snapshot(
        [cluster("c", racks=1, nodes=1, gpus=4)],
        queues=[queue("one"), queue("two")],
        running=[grows],
        pending=[workload("b", pods=2, gpus=1, queue="two")],
    )
    statement = Statement(world, POLICY, NOW)

    assert statement.ledger.surplus.leaves_nothing(grows) is want
