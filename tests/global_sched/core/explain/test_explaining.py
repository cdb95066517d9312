"""Explain: the cycle's own answer for one workload, with everything that it looked at."""

from dataclasses import replace
from fractions import Fraction

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.workload import Division
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    cluster,
    queue,
    resources,
    snapshot,
    tenant,
    workload,
)

A = cluster("a", racks=3, nodes=3, gpus=1)
B = cluster("b", racks=1, nodes=4, gpus=1)
OFF = cluster("off", gpus=8, kinds=[])


def test_pending():
    """Every cluster with its reason, every domain with what it holds, the place in line."""
    world = snapshot(
        [A, B, OFF],
        [queue("default", gpus=20)],
        [tenant("team", weight=2)],
        running=[workload("r", gpus=1, on="a", domain="rack-0")],
        pending=[
            workload("first", gpus=1, priority=1, clusters=["a"]),
            workload("j", pods=5, gpus=1, tier=1),
            workload("last", gpus=1, created=1),
        ],
    )

    found = explain_workload(world, POLICY, NOW, "jobs/j")

    assert found is not None
    assert found.outcome.verdict.detail == (
        "waits for a rack with room for 5 pods; the largest have room for 4 (rack-0 in b) and 3 "
        "(rack-1 and rack-2 in a)"
    )
    assert [(c.cluster, c.verdict.reason.value) for c in found.outcome.clusters] == [
        ("a", "TopologyDoesNotFit"),
        ("b", "TopologyDoesNotFit"),
        ("off", "KindNotEnabled"),
    ]
    assert [d.cluster for d in found.domains] == ["a", "b"]
    assert [(d.domain, d.holds, d.wants) for d in found.domains[0].domains] == [
        ("rack-1", 3, 5),
        ("rack-2", 3, 5),
        ("rack-0", 1, 5),
    ]
    assert (found.position, found.length) == (2, 3)
    assert found.admission is None
    assert found.queue.held == resources(gpus=2, pods=2)
    assert found.queue.capability == ((GPU, 20),)
    share = found.tenant.share
    assert share.resource == GPU
    assert Fraction(share.numerator, share.denominator) == Fraction(2, 21 * 2)


def test_a_member_of_a_group():
    """What the whole group was refused for, with the number that the cycle tells."""
    group = {"group": "g", "group_size": 2, "gpus": 1}
    world = snapshot(
        [cluster("c1", gpus=3)],
        [queue("x"), queue("y")],
        pending=[
            workload("first", pods=1, minimum=0, queue="y", **group),
            workload("large", pods=4, queue="x", division=Division.DUPLICATED, **group),
        ],
    )

    found = explain_workload(world, POLICY, NOW, "jobs/large")

    assert found is not None
    assert found.outcome in run_cycle(world, POLICY, NOW).outcomes
    assert found.outcome.verdict.detail == (
        "waits for a cluster with room for 4 pods; the largest has room for 2 (c1)"
    )


def test_admitted():
    """What would be written, and the scores of all clusters that fit."""
    world = snapshot([A, B], pending=[workload("j", pods=3, gpus=1, tier=1)])

    found = explain_workload(world, POLICY, NOW, "jobs/j")

    assert found is not None
    assert found.admission == run_cycle(world, POLICY, NOW).admissions[0]
    scores = {c.cluster: c.score for c in found.outcome.clusters}
    assert set(scores) == {"a", "b"}
    assert scores["a"] > scores["b"]
    assert found.domains == ()


def test_refused_by_its_queue():
    """Clusters are asked even where the queue refuses, so that people see both."""
    world = snapshot([A, B], [queue("default", is_open=False)], pending=[workload("j", gpus=1)])

    found = explain_workload(world, POLICY, NOW, "jobs/j")

    assert found is not None
    assert found.outcome.verdict.reason.value == "QueueClosed"
    assert [c.verdict.reason.value for c in found.outcome.clusters] == ["Fits", "Fits"]


def test_all_divisions():
    """Each division asks its own question of the clusters."""
    world = snapshot(
        [A, B],
        pending=[
            workload("copy", division=Division.COPIED),
            workload("twice", pods=9, gpus=1, division=Division.DUPLICATED, created=1),
            workload("split", pods=40, gpus=1, division=Division.DIVIDED, created=2),
            workload("nowhere", gpus=1, clusters=["none"], created=3),
        ],
    )

    def reasons(name):
        found = explain_workload(world, POLICY, NOW, f"jobs/{name}")
        assert found is not None
        return [c.verdict.reason.value for c in found.outcome.clusters], found.position

    assert reasons("copy") == (["Fits", "Fits"], 0)
    assert reasons("twice") == (["Fits", "CapacityDoesNotFit"], 1)
    assert reasons("split") == (["CapacityDoesNotFit", "Fits"], 2)
    assert reasons("nowhere") == (["ClusterAffinity", "ClusterAffinity"], 3)


def test_growing():
    """An admitted workload that waits for more is explained too."""
    world = snapshot([B], running=[workload("j", pods=6, minimum=1, gpus=1, on="b", admitted=4)])

    found = explain_workload(world, POLICY, NOW, "jobs/j")

    assert found is not None
    assert found.outcome.verdict.reason.value == "GrowthPending"
    assert found.admission is not None
    assert found.admission.decision.pending == Amounts.of({"main": 2})
    assert (found.position, found.length) == (0, 1)


def test_nothing_to_decide():
    """In place, finished or unknown: there is nothing to explain."""
    world = snapshot([B], running=[workload("j", gpus=1, on="b")])

    assert explain_workload(world, POLICY, NOW, "jobs/j") is None
    assert explain_workload(world, POLICY, NOW, "jobs/other") is None


def test_upkeep():
    """A workload that has to leave its cluster is explained by that."""
    world = snapshot([A, B], running=[workload("j", gpus=1, on="b")])
    gone = world_without_b(world)

    found = explain_workload(gone, POLICY, NOW, "jobs/j")

    assert found is not None
    assert found.outcome.verdict.reason.value == "ClusterTerminating"
    assert found.position == 0


def world_without_b(world):
    """The world once cluster b is gone and its workload needs a look."""
    return replace(
        world,
        clusters=tuple(c for c in world.clusters if c.name != "b"),
        unsettled=world.workloads,
    )
