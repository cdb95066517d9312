"""Filters that look at the one workload, and the summary that stands in for a report."""

import pytest

from global_sched.core import run_cycle
from global_sched.core.fit import filters
from global_sched.core.statement import Statement
from global_sched.shared.model.pods import Effect, Taint, Toleration
from global_sched.shared.model.policy import Policy
from tests.builders import (
    NOW,
    POLICY,
    backoff,
    cluster,
    decision,
    gang,
    hard,
    pod_set,
    resources,
    rule,
    snapshot,
    workload,
)

DOWN = Taint("down", "yes", Effect.NO_SCHEDULE)
TOLERATED = rule(tolerations=[Toleration(key="down", exists=True)])
RING = gang(pod_set(pods=2, gpus=1), constraint=hard(1))


def ask(name, one, member, policy=POLICY):
    """The filter's verdict as (code, reason, detail)."""
    view = Statement(snapshot(clusters=[member]), policy, NOW)
    verdict = getattr(filters, name)(one, member, view)
    return verdict.code.value, verdict.reason.value, verdict.detail


PASS = ("FIT", "Fits", "")


@pytest.mark.parametrize(
    ("name", "one", "want"),
    [
        pytest.param("leaving", workload("a"), PASS, id="it never was there"),
        pytest.param(
            "leaving",
            workload("a", leaving=("c1",)),
            ("WAIT", "BeingEvicted", "the workload is still being removed from this cluster"),
            id="its eviction task is still there",
        ),
        pytest.param("backing_off", workload("a"), PASS, id="no decision, no back-off"),
        pytest.param(
            "backing_off",
            workload("a", decision=decision(backoffs=[backoff("c1", seconds=59, reason="no IB")])),
            ("WAIT", "BackingOff", "the cluster could not place the workload: no IB; 59 s to go"),
            id="the back-off runs",
        ),
        pytest.param(
            "backing_off",
            workload("a", decision=decision(backoffs=[backoff("c1", seconds=1)])),
            ("WAIT", "BackingOff", "the cluster could not place the workload; 1 s to go"),
            id="the agent gave no reason",
        ),
        pytest.param(
            "backing_off",
            workload("a", decision=decision(backoffs=[backoff("c1", seconds=0)])),
            PASS,
            id="the back-off is over at its instant",
        ),
        pytest.param(
            "backing_off",
            workload("a", decision=decision(backoffs=[backoff("c2")])),
            PASS,
            id="another cluster backs off",
        ),
    ],
)
def test_workload_filters(name, one, want):
    """What happened to the one workload keeps it off a cluster for a while."""
    assert ask(name, one, cluster("c1")) == want


@pytest.mark.parametrize(
    ("one", "want"),
    [
        pytest.param(
            workload("a", leaving=("c1",)),
            ("WAIT", "BeingEvicted"),
            id="a cluster that is being left",
        ),
        pytest.param(
            workload("a", decision=decision(backoffs=[backoff("c1")])),
            ("WAIT", "BackingOff"),
            id="a cluster that backs off",
        ),
        pytest.param(
            workload("a", decision=decision(backoffs=[backoff("gone")]), leaving=("gone",)),
            ("FIT", "Admitted"),
            id="a cluster that no longer exists does not matter",
        ),
    ],
)
def test_in_the_cycle(one, want):
    """The workload's own filters count in the cycle beside those of its demand."""
    plan = run_cycle(snapshot(clusters=[cluster("c1")], pending=[one]), POLICY, NOW)

    verdict = plan.outcomes[0].verdict
    assert (verdict.code, verdict.reason) == want


def test_summary_is_one_node():
    """An allowed summary is counted as one big node, without labels or topology."""
    member = cluster("c1", agent=False, summary=resources(cpu=4, pods=10))
    world = snapshot(
        clusters=[member],
        pending=[
            workload("a", pods=3, cpu=1, scheduler=""),
            workload("b", pods=2, cpu=1, scheduler="", created=1),
        ],
    )

    plan = run_cycle(world, Policy(allow_summary=True), NOW)

    assert [a.workload for a in plan.admissions] == ["jobs/a"]
    assert (
        plan.outcomes[1].verdict.detail
        == "waits for a cluster with room for 2 pods; the largest has room for 1 (c1)"
    )
