"""The scores, and which cluster they choose together."""

from dataclasses import asdict

import numpy as np
import pytest

from global_sched.core import run_cycle
from global_sched.core.fit import scores
from global_sched.core.fit.scores import ScoreInput, fill_of
from global_sched.core.statement import Statement
from global_sched.shared.model.policy import Policy, ScoreWeights
from global_sched.shared.placement import NO_TIER
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    cluster,
    resources,
    snapshot,
    soft,
    workload,
)

VIEW = Statement(snapshot(), POLICY, NOW)


def subject(*, requests=None, total=None, free=None, **fields):
    """A subject of 8 GPUs in all, of which all are free unless given otherwise."""
    asked = resources(gpus=4) if requests is None else requests
    fill = fill_of(asked, resources(gpus=8) if total is None else total)
    left = {GPU: 8} if free is None else free
    base = {"tier": 1, "pods": 4, "holds": 4, "fill": fill, "free": left.get(fill.resource, 0)}
    return ScoreInput(**(base | fields))


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"tier": 1}, 100, id="a rack"),
        pytest.param({"tier": 0}, 100, id="tier 0 is as good as tier 1"),
        pytest.param({"tier": 2}, 89, id="a spine"),
        pytest.param({"tier": 30}, 12, id="high tiers are all alike"),
        pytest.param({"tier": NO_TIER}, 0, id="no domain around it"),
        pytest.param({"tier": None}, 0, id="a gang that does not care"),
    ],
)
def test_topology(fields, want):
    """The lowest tier first."""
    assert scores.topology(subject(**fields), VIEW) == want


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"holds": 4}, 100, id="a rack that it fills"),
        pytest.param({"holds": 8}, 50, id="a rack that it fills by half"),
        pytest.param({"tier": 2, "holds": 400}, 1, id="a huge spine"),
        pytest.param({"tier": NO_TIER}, 0, id="no domain around it"),
        pytest.param({"tier": None}, 0, id="a gang that does not care"),
        pytest.param({"pods": 0, "holds": 0}, 0, id="a gang without pods"),
    ],
)
def test_tightness(fields, want):
    """The domain which the gang fills most."""
    assert scores.tightness(subject(**fields), VIEW) == want


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({}, 50, id="an empty cluster"),
        pytest.param({"free": {GPU: 4}}, 75, id="half full"),
        pytest.param({"free": {GPU: 80}}, 50, id="more free than there is counts as all free"),
        pytest.param(
            {"requests": resources(pods=4), "total": resources(pods=8)}, 100, id="no pod left"
        ),
        pytest.param({"total": resources()}, 0, id="nothing known of the cluster"),
        pytest.param({"requests": resources(cpu=1)}, 0, id="nothing of what it asks for"),
        pytest.param(
            {
                "requests": resources(gpus=1, cpu=32),
                "total": resources(gpus=8, cpu=64),
                "free": {GPU: 0, "cpu": 64000},
            },
            31,
            id="full by the CPU, of which it takes a half; of the GPUs it takes a quarter of that",
        ),
        pytest.param(
            {
                "requests": resources(gpus=4, cpu=32),
                "total": resources(gpus=8, cpu=64),
                "free": {GPU: 8, "cpu": 0},
            },
            100,
            id="the same part of both, and full by the first name",
        ),
        pytest.param(
            {
                "requests": resources(cpu=8, memory=32),
                "total": resources(cpu=64, memory=256, gpus=8),
                "free": {"cpu": 64000},
            },
            12,
            id="the same part of both, and the devices idle: a quarter",
        ),
    ],
)
def test_packing(fields, want):
    """Fuller first, and where the gang takes an even part of each resource."""
    assert scores.packing(subject(**fields), VIEW) == want


@pytest.mark.parametrize(
    ("evenness", "fits", "want"),
    [
        pytest.param([91, 51], [True, True], [100, 0], id="DRFH's servers are unlike"),
        pytest.param([100, 80], [True, True], [100, 100], id="a fifth less is alike"),
        pytest.param([100, 79], [True, True], [100, 0], id="more than a fifth less is not"),
        pytest.param([100, 60, 50], [False, True, True], [100, 100, 100], id="the best is full"),
        pytest.param([100, 0], [True, True], [100, 0], id="a cluster of which nothing is known"),
        pytest.param([0, 0], [True, True], [100, 100], id="nothing is known of any"),
        pytest.param([], [], [], id="no cluster"),
    ],
)
def test_shape(evenness, fits, want):
    """All or nothing: about as even as in the best of those that fit."""
    found = scores.shape(np.array(evenness, dtype=np.int64), np.array(fits, dtype=np.bool_))

    assert found.tolist() == want
    if all(fits):
        assert scores.unlike(np.array(evenness)) == (len(set(want)) == 2)


def test_balance():
    """The tenant's largest part of the cluster is taken off 100."""
    world = snapshot(
        clusters=[cluster("c1", gpus=8), cluster("c2", gpus=8)],
        running=[workload("r", tenant="x", gpus=2, on="c1")],
    )
    view = Statement(world, POLICY, NOW)
    first, second = world.clusters
    ours, theirs = workload("a", tenant="x"), workload("b", tenant="y")

    assert scores.balance(ours, first, view) == 75
    assert scores.balance(ours, second, view) == 100
    assert scores.balance(theirs, first, view) == 100


def test_locality():
    """100 where the workload is, 0 elsewhere."""
    one = workload("a", on="c1")

    assert scores.locality(one, cluster("c1"), VIEW) == 100
    assert scores.locality(one, cluster("c2"), VIEW) == 0


def chosen(world, policy=POLICY):
    """The cluster of the first admission."""
    return run_cycle(world, policy, NOW).admissions[0].targets[0].cluster


DEFAULT = asdict(POLICY.score_weights)
ONLY = dict.fromkeys(DEFAULT, 0)


@pytest.mark.parametrize(
    ("clusters", "running", "weights", "want"),
    [
        pytest.param(
            [cluster("c1", racks=2, nodes=1, gpus=2), cluster("c2", nodes=2, gpus=2)],
            [],
            {"topology": 1},
            "c2",
            id="topology: one rack is closer than two",
        ),
        pytest.param(
            [cluster("c1", nodes=4, gpus=2), cluster("c2", nodes=2, gpus=2)],
            [],
            {"tightness": 1},
            "c2",
            id="tightness: the rack that it fills",
        ),
        pytest.param(
            [cluster("c1", nodes=4, gpus=2), cluster("c2", nodes=4, gpus=2)],
            [workload("r", gpus=2, on="c2")],
            {"packing": 1},
            "c2",
            id="packing: the fuller cluster",
        ),
        pytest.param(
            [cluster("c1", nodes=4, gpus=2), cluster("c2", nodes=4, gpus=2)],
            [workload("r", gpus=2, on="c1")],
            {"balance": 1},
            "c2",
            id="balance: where the tenant holds less",
        ),
        pytest.param(
            [cluster("c1", racks=10, nodes=1, gpus=2), cluster("c2", nodes=20, gpus=2)],
            [
                workload("r", tenant="other", pods=8, gpus=2, on="c1"),
                workload("s", pods=10, gpus=2, on="c2"),
            ],
            DEFAULT,
            "c2",
            id="a lower tier goes before a fuller cluster where the tenant holds less",
        ),
        pytest.param(
            [cluster("c2", nodes=4, gpus=2), cluster("c1", nodes=4, gpus=2)],
            [],
            {},
            "c1",
            id="ties end in the name",
        ),
    ],
)
def test_choice(clusters, running, weights, want):
    """The weighted sum decides, ties end in the name."""
    world = snapshot(
        clusters, running=running, pending=[workload("a", pods=2, gpus=2, constraint=soft())]
    )

    assert chosen(world, Policy(score_weights=ScoreWeights(**(ONLY | weights)))) == want


def test_score_is_shown():
    """The chosen cluster's outcome carries its weighted score."""
    one = workload("a", pods=2, gpus=2, constraint=soft())
    world = snapshot([cluster("c1", nodes=2, gpus=2)], pending=[one])

    verdict = run_cycle(world, POLICY, NOW).outcomes[0].clusters[0]

    assert (verdict.cluster, verdict.score) == ("c1", 400 * 100 + 10 * 100 + 20 * 50 + 10 * 100)


UNLIKE = (cluster("c1", cpu=64, memory=512), cluster("c2", cpu=64, memory=256))
JOB = {"cpu": 8, "memory": 32}


@pytest.mark.parametrize(
    ("one", "running", "want"),
    [
        pytest.param(
            workload("a", **JOB),
            [workload("r", cpu=48, memory=192, on="c2")],
            "c2",
            id="before what the tenant holds",
        ),
        pytest.param(
            workload("a", **JOB),
            [workload("r", cpu=64, memory=256, on="c2")],
            "c1",
            id="of those that have room",
        ),
        pytest.param(
            workload("a", **JOB, clusters=["c1"]),
            [],
            "c1",
            id="of those that are allowed",
        ),
    ],
)
def test_unlike_clusters(one, running, want):
    """A job goes where its shape does, among the clusters that may and can take it."""
    assert chosen(snapshot(UNLIKE, running=running, pending=[one])) == want
