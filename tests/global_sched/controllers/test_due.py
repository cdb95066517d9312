"""When time alone is a reason to look again."""

import pytest

from global_sched.controllers.due import next_due
from global_sched.shared.model.instant import SECOND
from tests.builders import NOW, POLICY, backoff, cluster, decision, snapshot, workload


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
            snapshot(
                running=[workload("a", on="m1", bound=0, reached=False)],
                clusters=[cluster("m1", report_age=0)],
            ),
            30 * SECOND + 1,
            id="a placement that timed out long ago is no moment to come",
        ),
    ],
)
def test_next_due(world, want):
    """Only moments that are still to come count, and the first of them."""
    due = next_due(world, POLICY, NOW)

    assert (None if due is None else due - NOW) == want
