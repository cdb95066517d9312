"""Copies for members: what travels, what stays there, and what a template needs."""

import pytest

from global_sched.embedded.karmada.interpreter.copies import (
    completions_of,
    divide,
    prune_kind,
    retained,
    revise,
)
from global_sched.embedded.karmada.interpreter.dependencies import dependencies_of
from tests.global_sched.embedded.karmada.shapes import batch_job, deployment


@pytest.mark.parametrize(
    ("total", "weights", "want"),
    [
        pytest.param(10, [1, 1, 1], [4, 3, 3], id="the rest goes to the first ones"),
        pytest.param(10, [3, 1], [8, 2], id="by weight"),
        pytest.param(10, [0, 0], [0, 0], id="no weights, nothing"),
        pytest.param(5, [5], [5], id="one takes all"),
    ],
)
def test_divide(total, weights, want):
    """Completions are divided as replicas are."""
    assert divide(total, weights) == want


def test_revise():
    """Replicas or parallelism; kinds without a hook stay whole."""
    web, sweep = deployment(), batch_job(parallelism=3)
    train = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {"minAvailable": 3}}

    for template in (web, sweep, train):
        revise(template, 1)

    assert web["spec"]["replicas"] == 1
    assert sweep["spec"]["parallelism"] == 1
    assert train["spec"] == {"minAvailable": 3}
    assert completions_of(sweep) == 3
    assert completions_of(train) is None


def test_a_jobs_generated_labels_and_ttl_do_not_travel():
    """The selector names the control plane's uid, and a TTL would delete the copy."""
    job = batch_job()
    generated = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"}
    named = {"job-name": "sweep", "batch.kubernetes.io/job-name": "sweep", "mine": "1"}
    job["spec"] |= {"selector": {"matchLabels": dict(generated)}, "ttlSecondsAfterFinished": 5}
    job["spec"]["template"]["metadata"] = {"labels": generated | named}

    prune_kind(job)

    assert job["spec"]["selector"] == {"matchLabels": {}}
    assert job["spec"]["template"]["metadata"] == {"labels": {"mine": "1"}}
    assert "ttlSecondsAfterFinished" not in job["spec"]


def test_a_manual_selector_travels():
    """What the user has chosen is kept."""
    job = batch_job()
    job["spec"] |= {"manualSelector": True, "selector": {"matchLabels": {"controller-uid": "x"}}}

    prune_kind(job)

    assert job["spec"]["selector"] == {"matchLabels": {"controller-uid": "x"}}


def test_a_member_keeps_what_is_its_own():
    """Unmanaged labels and annotations, finalizers, owners, status and the version stay."""
    desired = deployment(app="new")
    desired["metadata"]["annotations"] = {
        "resourcetemplate.karmada.io/managed-labels": "app",
        "resourcetemplate.karmada.io/managed-annotations": "a",
        "a": "2",
    }
    observed = deployment(app="old", gone="1", local="1")
    observed["metadata"] |= {
        "resourceVersion": "7",
        "uid": "u",
        "finalizers": ["theirs"],
        "annotations": {
            "resourcetemplate.karmada.io/managed-labels": "app,gone",
            "resourcetemplate.karmada.io/managed-annotations": "a,b",
            "a": "1",
            "b": "1",
            "decision.global-sched.io/plan": "{}",
        },
    }
    observed["status"] = {"replicas": 1}

    done = retained(desired, observed)

    assert done["metadata"]["labels"] == {"app": "new", "local": "1"}
    assert done["metadata"]["annotations"]["decision.global-sched.io/plan"] == "{}"
    assert "b" not in done["metadata"]["annotations"]
    assert done["metadata"]["annotations"]["a"] == "2"
    assert done["metadata"]["resourceVersion"] == "7"
    assert done["metadata"]["finalizers"] == ["theirs"]
    assert done["status"] == {"replicas": 1}


def test_a_jobs_selector_is_the_members():
    """The member's API server generated it; it cannot be changed."""
    observed = batch_job()
    observed["metadata"]["resourceVersion"] = "7"
    observed["spec"]["selector"] = {"matchLabels": {"controller-uid": "member"}}
    observed["spec"]["template"]["metadata"] = {"labels": {"job-name": "sweep"}}

    done = retained(batch_job(), observed)

    assert done["spec"]["selector"] == {"matchLabels": {"controller-uid": "member"}}
    assert done["spec"]["template"]["metadata"] == {"labels": {"job-name": "sweep"}}


def test_dependencies():
    """Config maps, secrets, accounts and claims that pods name, each once, sorted."""
    pod = {
        "serviceAccountName": "runner",
        "imagePullSecrets": [{"name": "pull"}],
        "containers": [
            {
                "name": "c",
                "envFrom": [{"configMapRef": {"name": "env"}}, {"secretRef": {"name": "pull"}}],
                "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}}],
            }
        ],
        "volumes": [
            {"name": "a", "configMap": {"name": "conf"}},
            {"name": "b", "secret": {"secretName": "cert"}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "d", "projected": {"sources": [{"configMap": {"name": "conf"}}]}},
        ],
    }

    found = dependencies_of(deployment(pod=pod))

    assert [(one.kind, one.name) for one in found] == [
        ("ConfigMap", "conf"),
        ("ConfigMap", "env"),
        ("PersistentVolumeClaim", "data"),
        ("Secret", "cert"),
        ("Secret", "key"),
        ("Secret", "pull"),
        ("ServiceAccount", "runner"),
    ]
    assert {one.namespace for one in found} == {"team-a"}


@pytest.mark.parametrize(
    ("template", "want"),
    [
        pytest.param(deployment(), [], id="a Deployment that needs nothing"),
        pytest.param(
            deployment(pod={"serviceAccountName": "default"}),
            [],
            id="the default account exists everywhere",
        ),
        pytest.param(
            {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {}},
            None,
            id="nobody looks into a Volcano Job",
        ),
    ],
)
def test_templates_without_dependencies(template, want):
    """An empty list is recorded; None means that there is no hook."""
    assert dependencies_of(template) == want
