"""The schedulerName that counts, after override policies."""

import pytest

from tests.global_sched.cache.worlds import feed, state_of, workload_in
from tests.wire import (
    binding,
    cluster_object,
    deployment,
    override_policy,
    plaintext,
    pod_template,
    task,
    vcjob,
)

APP = deployment("web", template=pod_template(schedulerName="default-scheduler"))
PATH = "/spec/template/spec/schedulerName"
SELECT = {"apiVersion": "apps/v1", "kind": "Deployment"}


def overrides(template, *policies, key="team-a/web-deployment"):
    state = state_of(
        cluster_object("m1", labels={"zone": "a"}), cluster_object("m2"), template, *policies
    )
    feed(state, binding(template))
    return dict(workload_in(state, key).demand.scheduler_overrides)


@pytest.mark.parametrize(
    ("policies", "want"),
    [
        pytest.param([], {}, id="no policy"),
        pytest.param(
            [override_policy("p", plaintext(PATH, "volcano"))],
            {"m1": "volcano", "m2": "volcano"},
            id="a policy that selects everything",
        ),
        pytest.param(
            [override_policy("p", plaintext(PATH, "volcano"), on={"clusterNames": ["m1"]})],
            {"m1": "volcano"},
            id="only in the clusters of its targetCluster",
        ),
        pytest.param(
            [
                override_policy(
                    "p", plaintext(PATH, "v"), on={"labelSelector": {"matchLabels": {"zone": "a"}}}
                )
            ],
            {"m1": "v"},
            id="clusters by label",
        ),
        pytest.param(
            [override_policy("p", plaintext(PATH, "volcano"), namespace="other")],
            {},
            id="another namespace's policy does not count",
        ),
        pytest.param(
            [
                override_policy(
                    f"of-{space}",
                    plaintext(PATH, space),
                    namespace="",
                    select=[SELECT | {"namespace": space}],
                )
                for space in ("team-a", "team-b")
            ],
            {"m1": "team-a", "m2": "team-a"},
            id="a cluster-wide policy that selects by namespace",
        ),
        pytest.param(
            [override_policy("p", plaintext(PATH, "x"), select=[SELECT | {"name": "other"}])],
            {},
            id="it selects another object",
        ),
        pytest.param(
            [
                override_policy("cluster", plaintext(PATH, "a"), namespace=""),
                override_policy("z", plaintext(PATH, "b")),
            ],
            {"m1": "b", "m2": "b"},
            id="the namespace's policy is applied after the cluster-wide one",
        ),
        pytest.param(
            [
                override_policy("z", plaintext(PATH, "all"), select=[SELECT]),
                override_policy("a", plaintext(PATH, "exact"), select=[SELECT | {"name": "web"}]),
            ],
            {"m1": "exact", "m2": "exact"},
            id="the more exact selection is applied last",
        ),
        pytest.param(
            [override_policy("p", plaintext(PATH, "default-scheduler"))],
            {},
            id="setting what is there already changes nothing",
        ),
        pytest.param(
            [override_policy("p", plaintext("/spec/template/spec", {"x": 1}))],
            {"m1": None, "m2": None},
            id="a change of the whole pod spec cannot be read",
        ),
        pytest.param(
            [override_policy("p", plaintext(PATH, 7))],
            {"m1": None, "m2": None},
            id="a value that is no text cannot be read",
        ),
        pytest.param(
            [override_policy("p", fields=[{"fieldPath": "/spec/template"}])],
            {"m1": None, "m2": None},
            id="a field overrider above the name cannot be read",
        ),
        pytest.param(
            [override_policy("p", fields=[{"fieldPath": "/metadata/annotations/config"}])],
            {},
            id="a field overrider elsewhere does not matter",
        ),
        pytest.param(
            [override_policy("p", plaintext("/spec/replicas", 3))],
            {},
            id="other plaintext overriders do not matter",
        ),
        pytest.param(
            [
                override_policy("a", plaintext("/spec/template/spec", {"x": 1})),
                override_policy("b", plaintext(PATH, "known")),
            ],
            {"m1": None, "m2": None},
            id="unknown stays unknown",
        ),
    ],
)
def test_deployment(policies, want):
    """Plaintext overriders on the name are followed per cluster; others make it unknown."""
    assert overrides(APP, *policies) == want


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param("/spec/schedulerName", "x", id="the Job's own name"),
        pytest.param("/spec/tasks/0/template/spec/schedulerName", "x", id="a task's name"),
        pytest.param("/spec/tasks/0", None, id="a whole task"),
        pytest.param("/spec/tasks/-", None, id="a task that is added"),
        pytest.param("/spec/tasks/0/replicas", "member-agent", id="something else of a task"),
    ],
)
def test_volcano_job(path, want):
    """The Job's name and each task's are followed; a change above them cannot be read."""
    job = vcjob("train", task("a", 1))
    found = overrides(job, override_policy("p", plaintext(path, "x")), key="team-a/train-job")

    assert found.get("m1", "member-agent") == want


def test_policy_changes_reach_workloads():
    """A policy that comes, changes or goes changes the demand of all that it selects."""
    state = state_of(cluster_object("m1"), APP, binding(APP))
    assert feed(state, override_policy("p", plaintext(PATH, "volcano")))
    assert workload_in(state, "team-a/web-deployment").demand.scheduler_in("m1") == "volcano"

    state.delete_override("team-a", "p")
    assert state.take_dirty()
    demand = workload_in(state, "team-a/web-deployment").demand
    assert demand.scheduler_in("m1") == "default-scheduler"
    state.delete_override("team-a", "p")
    assert not state.take_dirty()
