"""Shares of surplus, found out with sums."""

import pytest

from global_sched.core.place.rehearsal import rehearse
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Partition
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, cluster, gang, pod_set, queue, snapshot, workload

RIGID = workload("rigid", gpus=1, queue="q")


def elastic(name, pods, minimum=1, **fields):
    return workload(name, pods=pods, minimum=minimum, gpus=1, queue="q", **fields)


def shares(*waiting, gpus=10, growing=()):
    """Pods by name, with that many GPUs free."""
    world = snapshot(
        [cluster("c", racks=1, nodes=1, gpus=gpus)],
        [queue("q")],
        running=growing,
        pending=waiting,
    )
    statement = Statement(world, POLICY, NOW)
    found = rehearse(waiting, growing, statement)
    assert statement.ledger.queue_held("q").get("pods", 0) == sum(
        one.decision.grants[0].amounts.pods() for one in growing
    )
    return {key.removeprefix("jobs/"): dict(amounts.entries) for key, amounts in found.items()}


@pytest.mark.parametrize(
    ("waiting", "gpus"),
    [
        pytest.param([RIGID, workload("r2", gpus=1, queue="q")], 10, id="nobody wants surplus"),
        pytest.param([elastic("a", 20)], 10, id="nobody else waits"),
        pytest.param([elastic("a", 20), RIGID], 0, id="there is no room for any of those"),
    ],
)
def test_nothing_is_worked_out_where(waiting, gpus):
    """A workload without a share may have all that there is."""
    assert shares(*waiting, gpus=gpus) == {}


def test_copies_that_run_are_not_shared_out():
    """A duplicated workload that wants more clusters is no reason to go through the line."""
    copies = workload("d", pods=20, gpus=1, queue="q", division=Division.DUPLICATED, on="c")

    assert shares(RIGID, gpus=30, growing=[copies]) == {}


def test_one_that_does_not_fit_gets_its_minimum_at_most():
    """What the sums do not hold any more may still find room, but no surplus."""
    waiting = [elastic("a", 8, minimum=6), elastic("b", 8, minimum=6, created=1), RIGID]

    assert shares(*waiting) == {"a": {"main": 8}, "b": {}}


@pytest.mark.parametrize("turned", [False, True])
def test_what_never_fitted_has_no_share(turned):
    """It is refused now, so no share is to bound what others may leave for; in whatever order."""
    waiting = [elastic("large", 20, minimum=15), elastic("a", 8)]

    assert shares(*(reversed(waiting) if turned else waiting)) == {"a": {"main": 8}}


def test_a_part_is_what_grows_together():
    """Pods of a partition come in whole groups."""
    groups = Partition(size=3, total=4, minimum=1)
    sets = pod_set(pods=12, minimum=3, gpus=1, partition=groups)
    whole = workload("g", needs=gang(sets, minimum=3), queue="q", tenant="t1")

    found = shares(whole, elastic("e", 10, created=1, tenant="t2"), gpus=10)

    assert found == {"g": {"main": 6}, "e": {"main": 4}}


@pytest.mark.parametrize("turned", [False, True])
def test_without_a_minimum_one_pod_is_enough(turned):
    """In any order of the input."""
    waiting = [
        workload("none", needs=gang(pod_set(pods=2, minimum=0, gpus=1), minimum=0), queue="q"),
        elastic("b", 4, created=1, tenant="t2"),
    ]

    found = shares(*(reversed(waiting) if turned else waiting), gpus=4)

    assert found == {"none": {"main": 2}, "b": {"main": 2}}
