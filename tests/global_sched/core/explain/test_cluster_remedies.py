"""Clusters that a job may not use: all that stands against each, tried."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload
from global_sched.shared.model.cluster import Readiness
from global_sched.shared.model.explanation import Change
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.pods import Effect, Taint
from tests.builders import NOW, POLICY, backoff, cluster, decision, queue, snapshot, workload

QUIET = replace(POLICY, patience_seconds=0)
TAINT = Taint(key="k", value="v", effect=Effect.NO_SCHEDULE)
TAINTED = (
    "the policy does not tolerate the cluster's taint k=v:NoSchedule "
    "(spec.placement.clusterTolerations)"
)
AFFINITY = "the policy does not select this cluster (spec.placement.clusterAffinity)"
FULL = "then still: waits for a cluster with room for 1 pod; no cluster has room for it now"


def told(clusters, job, **fields):
    """The clusters that are named, and whether that is enough."""
    world = snapshot(clusters, [queue("q")], pending=[job], **fields)
    found = explain_workload(world, QUIET, NOW, "jobs/j")
    return [(one.text, one.enough) for one in found.remedies if one.change == Change.CLUSTER]


def job(**fields):
    return workload("j", cpu=2, queue="q", **fields)


@pytest.mark.parametrize(
    ("one", "asks", "want"),
    [
        pytest.param(
            cluster("n", cpu=4, taints=[TAINT]),
            job(clusters=["m"]),
            f"{AFFINITY}; {TAINTED}",
            id="the policy names others and does not tolerate its taint",
        ),
        pytest.param(
            cluster("n", cpu=4, readiness=Readiness.UNKNOWN),
            job(),
            "the cluster's Ready condition is Unknown",
            id="it is not ready",
        ),
        pytest.param(
            cluster("n", cpu=4, report_age=900),
            job(),
            "the capacity report is 900 s old, more than 30 s",
            id="its report is old",
        ),
        pytest.param(
            cluster("n", cpu=4, kinds=[]),
            job(),
            "the cluster does not serve batch.volcano.sh/v1alpha1/Job",
            id="it does not serve the kind",
        ),
        pytest.param(
            cluster("n", cpu=4),
            job(leaving=(ClusterName("n"),)),
            "the workload is still being removed from this cluster",
            id="the job is being evicted from it",
        ),
        pytest.param(
            cluster("n", cpu=4),
            job(decision=decision(backoffs=[backoff("n", seconds=60)])),
            "the cluster could not place the workload; 60 s to go",
            id="it failed to place the job",
        ),
    ],
)
def test_all_that_keeps_a_job_out(one, asks, want):
    """Every obstacle is named, and with all of them gone the job runs."""
    assert told([cluster("m", cpu=1), one], asks) == [
        (f"it may use cluster n, which has room for it: {want}", True)
    ]


def test_an_obstacle_that_cannot_be_tried():
    """What scheduler binds there is not known, so nor is what would stand against the job then."""
    one = cluster("n", cpu=4, schedulers=[])

    ((text, enough),) = told([cluster("m", cpu=1), one], job())

    assert not enough
    assert text.endswith("; what then still stands against it is not known")


def test_others_take_the_room_of_a_cluster_that_is_in_order_again():
    """Who is before it in the line may use the cluster then, too."""
    one = cluster("n", cpu=2, readiness=Readiness.UNKNOWN)
    first = workload("first", cpu=2, queue="q", created=-9)
    world = snapshot([one], [queue("q")], pending=[first, job()])

    (remedy,) = [
        r
        for r in explain_workload(world, QUIET, NOW, "jobs/j").remedies
        if r.change == Change.CLUSTER
    ]

    text = (
        "it may use cluster n, which has room for it: the cluster's Ready condition is Unknown; "
        f"{FULL}"
    )
    assert (remedy.text, remedy.enough) == (text, False)


def test_the_only_cluster_has_no_room_either():
    """One of the clusters has to let it in, so it is said, with what then still is lacking."""
    assert told([cluster("n", cpu=1, taints=[TAINT])], job()) == [
        (f"it may use cluster n: {TAINTED}; {FULL}", False)
    ]


def test_full_clusters_that_are_left_out_beside_one_that_is_not():
    """They would not help, and are not needed."""
    assert told([cluster("m", cpu=1), cluster("n", cpu=1, taints=[TAINT])], job()) == []


def test_a_cluster_that_is_removed():
    """It is no advice."""
    assert told([cluster("n", cpu=4, terminating=True, taints=[TAINT])], job()) == []


def test_many_clusters():
    """So many are tried, by name."""
    many = [cluster(f"n{i}", cpu=4, taints=[TAINT]) for i in range(6)]

    found = told(many, job())

    assert [text.partition(":")[0] for text, _ in found] == [
        f"it may use cluster n{at}, which has room for it" for at in range(4)
    ]


def test_a_limit_in_the_cluster_comes_after_its_taint():
    """With the taint tolerated the limit still stands against it."""
    limited = replace(queue("q"), cluster_capability=((ClusterName("n"), (("cpu", 1000),)),))
    one = cluster("n", cpu=4, taints=[TAINT])
    world = snapshot([one], [limited], pending=[job()])

    (remedy,) = explain_workload(world, QUIET, NOW, "jobs/j").remedies

    assert not remedy.enough
    assert remedy.text == (
        f"it may use cluster n, which has room for it: {TAINTED}; then still: n is nearest: "
        "queue q in cluster n: cpu 2 asked, 0 of 1 in use"
    )


def test_a_limit_in_all_clusters_is_told_once():
    """It stands against the job in each of them, and is no matter of one."""
    limited = replace(queue("q", cpu=1), cluster_capability=((ClusterName("n"), (("cpu", 8000),)),))
    world = snapshot([cluster("n", cpu=4)], [limited], pending=[job()])

    found = explain_workload(world, QUIET, NOW, "jobs/j").remedies

    assert [(one.text, one.enough) for one in found] == [
        ("queue q may hold 1 cpu more (spec.capability, 1 left of 1)", True)
    ]
