"""Moments at which time alone is a reason to look again."""

from dataclasses import replace

import pytest

from global_sched.controllers.scheduling_timer import next_due
from global_sched.shared.model.gang import Amounts, Elastic
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery_spec import BelowMinimum
from global_sched.shared.model.snapshot import Running
from tests.builders import NOW, POLICY, backoff, cluster, decision, queue, snapshot, workload


def with_claimed(ago, pending=()):
    """A world in which victims were evicted so many seconds ago for a job that runs."""
    one = workload("a", on="m1")
    at = Instant(NOW - ago * SECOND)
    job = replace(one, decision=replace(one.decision, claimed=at))
    world = snapshot(pending=pending)
    return replace(world, running=(Running(cluster=ClusterName("m1"), workloads=(job,)),))


def with_min_runtime(pending=()):
    """Three jobs that started 10, 60 and 700 s ago; their queue says ten minutes."""
    jobs = []
    for ago in (10, 60, 700):
        one = workload(f"a{ago}", on="m1", queue="q")
        at = Instant(NOW - ago * SECOND)
        jobs.append(replace(one, decision=replace(one.decision, at=at)))
    asks = replace(queue("q"), min_runtime_before_reclaim=600)
    world = snapshot(queues=[asks], pending=pending)
    return replace(world, running=(Running(cluster=ClusterName("m1"), workloads=tuple(jobs)),))


def below_its_minimum(seconds, **hold):
    """A gang in m1 that asked to move `hold` seconds after it is, 900 by default."""
    asked = BelowMinimum(moves=True, **hold)
    one = workload("a", on="m1", pods=2, bound=1, below_minimum=asked)
    seen = replace(one.progress[0], below=Instant(NOW - seconds * SECOND))
    return replace(one, progress=(seen,))


def short(seconds):
    """A gang in m1 that has had no seat for a pod for so long, and asked to go on with fewer."""
    asked = BelowMinimum(shrinks=True)
    one = workload("a", on="m1", pods=3, minimum=1, bound=2, below_minimum=asked)
    seen = replace(one.progress[0], short=Instant(NOW - seconds * SECOND))
    return replace(one, progress=(seen,))


def resting(ago):
    """An elastic gang in m1 with a cooldown of ten minutes, resized so long ago."""
    one = workload("a", on="m1", pods=3, minimum=1)
    gang = replace(one.demand.gang, elastic=Elastic(cooldown=600))
    at = Instant(NOW - ago * SECOND)
    made = replace(one.decision, at=at, pending=Amounts())
    return replace(one, demand=replace(one.demand, gang=gang), decision=made)


@pytest.mark.parametrize(
    ("world", "want"),
    [
        pytest.param(snapshot(), None, id="an empty world waits for events"),
        pytest.param(
            snapshot(clusters=[cluster("m1", report_age=12)]),
            18 * SECOND + 1,
            id="a report goes stale",
        ),
        pytest.param(
            snapshot(clusters=[cluster("m1", report_age=10, period=20)]),
            50 * SECOND + 1,
            id="a slow agent is trusted for three of its periods",
        ),
        pytest.param(
            snapshot(clusters=[cluster("m1", report_age=100)]), None, id="a stale report stays so"
        ),
        pytest.param(
            snapshot(
                pending=[workload("a", decision=decision(backoffs=[backoff("m1", seconds=7)]))]
            ),
            7 * SECOND,
            id="a back-off ends",
        ),
        pytest.param(
            with_claimed(20, pending=[workload("w", created=9)]),
            280 * SECOND,
            id="one for which others left may be taken from by who waited",
        ),
        pytest.param(with_claimed(20), None, id="and nobody waits"),
        pytest.param(
            with_min_runtime(pending=[workload("w", created=9)]),
            540 * SECOND,
            id="a minimum run time ends, of those that have not ended the first",
        ),
        pytest.param(with_min_runtime(), None, id="and nothing waits for that"),
        pytest.param(
            snapshot(
                running=[workload("a", on="m1", bound=0, reached=False)],
                clusters=[cluster("m1", report_age=0)],
            ),
            30 * SECOND + 1,
            id="a placement that timed out long ago is no moment to come",
        ),
        pytest.param(
            snapshot(running=[below_its_minimum(880)], clusters=[cluster("m1", report_age=0)]),
            20 * SECOND,
            id="a gang below its minimum may move",
        ),
        pytest.param(
            snapshot(
                running=[below_its_minimum(3580, hold=7200)],
                clusters=[cluster("m1", report_age=0)],
            ),
            20 * SECOND,
            id="and at the Policy's limit where it asked for a longer hold",
        ),
        pytest.param(
            snapshot(running=[short(50)], clusters=[cluster("m1", report_age=0)]),
            10 * SECOND,
            id="a gang without a seat for a pod goes on with fewer",
        ),
        pytest.param(
            replace(
                snapshot(pending=[workload("w", created=9)]),
                running=(Running(cluster=ClusterName("m1"), workloads=(resting(580),)),),
            ),
            20 * SECOND,
            id="a cooldown ends, and what waits may take surplus",
        ),
    ],
)
def test_next_due(world, want):
    """Only moments that are still to come count, and the first of them."""
    due = next_due(world, POLICY, NOW)

    assert (None if due is None else due - NOW) == want
