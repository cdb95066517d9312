"""Free amounts of clusters, as vectors: exact, and never counted twice."""

import numpy as np
import pytest

from global_sched.core.fit.fills import Fills, Free
from global_sched.core.fit.scores import BEST, NO_TIER, ScoreInput, fill_of, packing, topology
from global_sched.core.statement import Statement
from global_sched.shared.model.resources import Resources
from tests.builders import NOW, POLICY, cluster, snapshot, workload

VIEW = Statement(snapshot(), POLICY, NOW)


@pytest.mark.parametrize(
    "largest",
    [pytest.param(10, id="usual amounts"), pytest.param(2**70, id="amounts past 63 bits")],
)
def test_many_clusters_score_as_each_alone(largest):
    """Arrays say what numbers say, however large the amounts are."""
    totals = [Resources.of({"cpu": part * largest, "gpu": 4 - part}) for part in range(4)]
    each = [{"cpu": part * largest // 2, "gpu": 1} for part in range(4)]
    asked = Resources.of({"cpu": max(1, largest // 3), "gpu": 1})

    fill, free = Fills(asked, totals, Free(each, totals)).every()

    tiers, holds = np.array([1, 2, 30, NO_TIER]), np.array([4, 5, 6, 7])
    together = ScoreInput(tiers, 4, holds, fill, free)
    for at, (total, has) in enumerate(zip(totals, each, strict=True)):
        one = fill_of(asked, total)
        alone = ScoreInput(int(tiers[at]), 4, int(holds[at]), one, has.get(one.resource, 0))
        assert int(packing(together, VIEW)[at]) == int(packing(alone, VIEW)) <= BEST
        assert int(topology(together, VIEW)[at]) == int(topology(alone, VIEW)) <= BEST


def test_amounts_may_outgrow_their_numbers():
    """What is given is added exactly, past 63 bits too, and can be put back."""
    free = Free([{"cpu": 1}], [])
    before = free.kept(0)

    free.add(0, Resources.of({"cpu": 2**70, "unknown": 1}), 1)

    assert free.of(0) == {"cpu": 2**70 + 1}
    free.put_back(0, before)
    assert free.of(0) == {"cpu": 1}


def test_room_that_is_taken_before_anybody_asks_is_taken_once():
    """A claim holds its room before any request: what is left after that is what is free."""
    one = workload("a", cpu=4)
    statement = Statement(snapshot([cluster("c", cpu=16)], pending=[one]), POLICY, NOW)
    room = statement.rooms.rooms[0]
    placed = room.space.place(one.demand.gang)

    statement.rooms.take(0, placed, one.demand.gang.requests(placed.amounts))

    assert room.free["cpu"] == 12_000
    assert room.free == dict(room.space.free().entries)


def test_how_often_a_request_is_free():
    """By cluster, the scarcest resource counts; what no cluster has is free nowhere."""
    free = Free([{"cpu": 7, "gpu": 2}, {"cpu": 9}], [])
    asked = Resources.of({"cpu": 3, "gpu": 1})

    assert free.holds(asked).tolist() == [2, 0]
    assert [free.times(asked, at) for at in (0, 1)] == [2, 0]
    assert free.holds(Resources.of({"cpu": 1, "fpga": 1})).tolist() == [0, 0]
    assert (free.sum("cpu"), free.sum("gpu"), free.sum("fpga")) == (16, 2, 0)
