"""The reason why a job goes to one of the clusters that have room."""

import pytest

from global_sched.core import explain_workload
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, cluster, snapshot, soft, workload

GPUS = cluster("a-gpu", cpu=96, memory=768, gpus=8)
PLAIN = cluster("b-plain", cpu=64, memory=256)
TWIN = cluster("c-plain", cpu=64, memory=256)
WIDE = cluster("d-wide", cpu=16, memory=256)
WEB = workload("web", cpu=16, memory=64)
HELD = workload("old", cpu=32, memory=128, on="b-plain")
OTHERS = workload("theirs", cpu=32, memory=128, on="c-plain", tenant="other")
PAIR = workload("web", pods=2, gpus=1, constraint=soft())


@pytest.mark.parametrize(
    ("clusters", "running", "job", "want"),
    [
        pytest.param([PLAIN], [], WEB, {"b-plain": ""}, id="one cluster: nothing was chosen"),
        pytest.param(
            [GPUS, PLAIN, WIDE],
            [],
            WEB,
            {
                "a-gpu": "kept for jobs that ask for nvidia.com/gpu",
                "b-plain": "chosen: its resources go with what the job asks for",
                "d-wide": "its cpu would be used up long before the rest",
            },
            id="unlike clusters: the shape decides, and what is wrong with the others",
        ),
        pytest.param(
            [PLAIN, TWIN],
            [HELD, OTHERS],
            WEB,
            {
                "b-plain": "the tenant holds more there",
                "c-plain": "chosen: the tenant holds less there",
            },
            id="alike clusters, as full: the tenant's part decides",
        ),
        pytest.param(
            [PLAIN, TWIN],
            [OTHERS],
            WEB,
            {
                "b-plain": "less full",
                "c-plain": "chosen: fuller",
            },
            id="alike clusters of which the tenant holds nothing: the fuller one",
        ),
        pytest.param(
            [PLAIN, TWIN],
            [],
            WEB,
            {
                "b-plain": "chosen: as good as others, first by name",
                "c-plain": "as good, later by name",
            },
            id="equal clusters: the name",
        ),
        pytest.param(
            [cluster("a", racks=2, gpus=1), cluster("b", nodes=2, gpus=1)],
            [],
            PAIR,
            {
                "a": "a higher tier (2, not 1)",
                "b": "chosen: a lower tier (1, elsewhere 2)",
            },
            id="a gang with a constraint: the tier",
        ),
        pytest.param(
            [cluster("a", racks=2, nodes=4, gpus=1), cluster("b", racks=2, nodes=2, gpus=1)],
            [],
            PAIR,
            {"a": "a wider domain", "b": "chosen: a tighter domain"},
            id="a gang with a constraint: the domain that it fills more",
        ),
        pytest.param(
            [cluster("a", cpu=16, memory=256), cluster("b", cpu=16, memory=64)],
            [],
            workload("web", cpu=16, memory=64, constraint=soft()),
            {
                "a": "its resources go less well with the job",
                "b": "chosen: its resources go better with the job",
            },
            id="a gang with a constraint, alike tiers and domains: how even",
        ),
        pytest.param(
            [cluster("a", gpus=1), cluster("b", gpus=4)],
            [],
            workload("web", gpus=1, pods=3, division=Division.DIVIDED),
            {"a": "gets no replicas", "b": "chosen: 3 of 3 replicas"},
            id="replicas that are divided: how many each gets",
        ),
        pytest.param(
            [cluster("a", nodes=2, gpus=2), cluster("b", nodes=2, gpus=4)],
            [],
            workload("web", gpus=1, pods=3, division=Division.DUPLICATED),
            {"a": "chosen: 3 of 3 replicas", "b": "chosen: 3 of 3 replicas"},
            id="all replicas in each cluster",
        ),
    ],
)
def test_why_one_of_the_clusters_is_chosen(clusters, running, job, want):
    """Each cluster that fits says in what it is ahead of the others, or behind the best."""
    found = explain_workload(
        snapshot(clusters, running=running, pending=[job]), POLICY, NOW, "jobs/web"
    )

    assert {one.cluster: one.verdict.detail for one in found.outcome.clusters} == want
