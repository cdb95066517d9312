"""Models of other schedulers: each starts what its rule says."""

import pytest

from global_sched.shared.model.instant import SECOND
from global_sched.sim.baselines import BASELINES
from global_sched.sim.engine import Stage
from global_sched.sim.gates import nodes, played
from global_sched.sim.jobs import Gangs, Job
from global_sched.sim.member import Member


def jobs(*rows, tenants=()):
    """Jobs of (submit, duration, pods, GPUs of a pod)."""
    return [
        Job(
            number=at,
            name=f"job-{at}",
            submit=submit * SECOND,
            duration=duration * SECOND,
            pods=pods,
            gpus=gpus,
            tenant=tenants[at] if tenants else "all",
        )
        for at, (submit, duration, pods, gpus) in enumerate(rows)
    ]


def starts(stage):
    """The second of each job's start."""
    return [one.started // SECOND for _, one in sorted(stage.history.items())]


HEAD = jobs((0, 100, 1, 6), (1, 50, 2, 8), (2, 30, 1, 2), (3, 500, 1, 8))
"""A job runs on one of two nodes; a gang of two nodes waits; a short and a long job come after."""


@pytest.mark.parametrize(
    ("baseline", "want"),
    [
        pytest.param("fifo-strict-like", [0, 100, 150, 150], id="strict FIFO lets nothing pass"),
        pytest.param("fifo-skip-like", [0, 503, 2, 3], id="skipping starves the gang"),
        pytest.param("easy-like", [0, 100, 2, 150], id="EASY lets pass what delays nothing"),
        pytest.param("sjf-oracle-like", [0, 503, 2, 3], id="shortest first skips as well"),
    ],
)
def test_one_queue_before_one_cluster(baseline, want):
    """A gang that does not fit: what passes it, and when it starts."""
    stage = played(HEAD, baseline, [nodes(2, 8)])

    assert starts(stage) == want
    assert stage.misplaced == 0


def test_shortest_first_is_in_the_order_of_durations():
    """Of two that wait the shorter starts first, though it came later."""
    stage = played(
        jobs((0, 10, 1, 8), (1, 100, 1, 8), (2, 5, 1, 8)), "sjf-oracle-like", [nodes(1, 8)]
    )

    assert starts(stage) == [0, 15, 10]


def test_late_binding_goes_where_most_is_free_and_first_fit_to_the_first():
    """Clusters of one and of three nodes."""
    made = jobs((0, 10, 1, 1))

    late = played(made, "fifo-skip-like", [nodes(1, 8), nodes(3, 8)])
    first = played(made, "first-fit-like", [nodes(1, 8), nodes(3, 8)])

    assert [late.history[0].member, first.history[0].member] == [1, 0]


def test_early_binding_waits_where_it_was_bound():
    """Two that come at once see the same room: the second waits behind the first."""
    made = jobs((0, 100, 1, 8), (0, 10, 1, 8), (1, 10, 1, 8), (1, 10, 1, 8))

    stage = played(made, "karmada-dynamic-like", [nodes(1, 8), nodes(1, 8)])

    assert starts(stage) == [0, 100, 1, 11]


def test_static_weights_take_turns():
    """One cluster after the other, however full they are."""
    stage = played(jobs(*[(0, 10, 1, 1)] * 4), "karmada-static-like", [nodes(1, 8), nodes(1, 8)])

    assert [one.member for _, one in sorted(stage.history.items())] == [0, 1, 0, 1]


def test_volcano_global_decides_at_whole_seconds_and_dispatches_what_no_node_holds():
    """Eight GPUs are free, four on each node: a pod of eight is dispatched and waits there."""
    made = [*jobs((0, 50, 2, 4)), *jobs((0, 1, 1, 1), (1, 10, 1, 8))[1:]]

    stage = played(made, "volcano-global-like", [nodes(2, 8)])

    assert stage.history[0].started == 0
    assert stage.history[1].started == 1 * SECOND


def test_silos_keep_every_tenant_in_its_own_cluster():
    """One waits while the other's cluster is empty."""
    made = jobs((0, 100, 1, 8), (1, 10, 1, 8), tenants=("red", "red"))
    stage = Stage(made, [Member("blue", nodes(1, 8)), Member("red", nodes(1, 8))], Gangs())

    stage.run(BASELINES["silos-like"](stage))

    assert starts(stage) == [0, 100]
    assert {one.member for one in stage.history.values()} == {1}


def test_remaining_time_pauses_the_longer_job():
    """The short one runs at once, and the long one goes on after it."""
    stage = played(jobs((0, 100, 1, 4), (10, 20, 1, 4)), "srtf-oracle-like", [nodes(1, 4)])

    assert [one.ended // SECOND for _, one in sorted(stage.history.items())] == [120, 30]


def test_remaining_service_counts_gpus():
    """Forty seconds on one GPU are less than twenty on four."""
    made = jobs((0, 20, 1, 4), (1, 40, 1, 1))

    by_time = played(made, "srtf-oracle-like", [nodes(1, 4)])
    by_service = played(made, "srsf-oracle-like", [nodes(1, 4)])

    assert [by_time.history[1].started, by_service.history[1].started] == [20 * SECOND, SECOND]
