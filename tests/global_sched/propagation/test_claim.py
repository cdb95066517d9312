"""The policy that claims a template."""

import pytest

from global_sched.propagation.admission import admitted_policy
from global_sched.propagation.claim import (
    choose,
    claim_of,
    claim_patch,
    preempts,
    unclaim_patch,
)
from global_sched.propagation.selectors import cluster_matches
from tests.global_sched.embedded.karmada.shapes import cluster_policy, deployment, policy

KIND = {"apiVersion": "apps/v1", "kind": "Deployment"}


def rule(**more):
    """A selector of Deployments."""
    return [KIND | more]


@pytest.mark.parametrize(
    ("policies", "want"),
    [
        pytest.param([policy("a"), policy("b")], "a", id="equals: by name"),
        pytest.param(
            [policy("a"), policy("b", selectors=rule(labelSelector={"matchLabels": {"x": "1"}}))],
            "b",
            id="labels say more than a kind",
        ),
        pytest.param(
            [
                policy("a", selectors=rule(labelSelector={"matchLabels": {"x": "1"}})),
                policy("b", selectors=rule(name="web")),
            ],
            "b",
            id="a name says more than labels",
        ),
        pytest.param(
            [policy("a", selectors=rule(name="web")), policy("b", priority=1)],
            "b",
            id="the explicit priority goes before everything",
        ),
        pytest.param([policy("a", selectors=rule(name="other"))], None, id="another name"),
        pytest.param(
            [policy("a", selectors=rule(namespace="team-b"))], None, id="another namespace"
        ),
        pytest.param(
            [policy("a", selectors=[{"apiVersion": "batch/v1", "kind": "Job"}])],
            None,
            id="another kind",
        ),
    ],
)
def test_choose(policies, want):
    """Explicit priority, then name over labels over all, then the policy's name."""
    found = choose(policies, deployment(x="1"))

    assert (found["metadata"]["name"] if found else None) == want


def test_a_policy_that_goes_away_claims_nothing():
    """A policy with a deletionTimestamp is not chosen."""
    going = policy("a")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert choose([going], deployment()) is None


@pytest.mark.parametrize(
    ("claimant", "other", "want"),
    [
        pytest.param(policy("a"), policy("b", priority=1), False, id="never, unless it says so"),
        pytest.param(
            policy("a"), policy("b", priority=1, preemption="Always"), True, id="higher priority"
        ),
        pytest.param(policy("a"), policy("b", preemption="Always"), False, id="the same priority"),
        pytest.param(
            cluster_policy("a", priority=9),
            policy("b", preemption="Always"),
            True,
            id="one of the namespace takes over from a cluster-wide one",
        ),
        pytest.param(
            policy("a"),
            cluster_policy("b", priority=9, preemption="Always"),
            False,
            id="a cluster-wide one never takes over from one of the namespace",
        ),
    ],
)
def test_preempts(claimant, other, want):
    """Only `preemption: Always` takes over, by scope and explicit priority."""
    assert preempts(other, claimant) is want


def test_claim_marks_replace_each_other():
    """A template carries the marks of one policy only."""
    wide = admitted_policy(cluster_policy("wide"), lambda: "wide-id")
    narrow = admitted_policy(policy("narrow"), lambda: "narrow-id")
    template = deployment()
    template["metadata"] |= {
        "labels": claim_of(wide).labels,
        "annotations": claim_of(wide).annotations,
    }

    patch = claim_patch(template, claim_of(narrow))

    assert patch == {
        "metadata": {
            "labels": {
                "clusterpropagationpolicy.karmada.io/permanent-id": None,
                "propagationpolicy.karmada.io/permanent-id": "narrow-id",
            },
            "annotations": {
                "clusterpropagationpolicy.karmada.io/name": None,
                "propagationpolicy.karmada.io/name": "narrow",
                "propagationpolicy.karmada.io/namespace": "team-a",
            },
        }
    }
    assert unclaim_patch(deployment()) == {}


def test_admitted_policy_fills_what_the_webhook_fills():
    """Id, finalizer, namespaces of selectors, Weighted, and a whole spread constraint."""
    given = policy(
        "p",
        placement={
            "replicaScheduling": {"replicaSchedulingType": "Divided"},
            "spreadConstraints": [{"maxGroups": 2}],
        },
    )

    done = admitted_policy(given, lambda: "new-id")

    assert done["metadata"] == {
        "name": "p",
        "namespace": "team-a",
        "labels": {"propagationpolicy.karmada.io/permanent-id": "new-id"},
        "finalizers": ["karmada.io/propagation-policy-controller"],
    }
    assert done["spec"] == {
        "schedulerName": "global-sched",
        "resourceSelectors": [KIND | {"namespace": "team-a"}],
        "placement": {
            "replicaScheduling": {
                "replicaSchedulingType": "Divided",
                "replicaDivisionPreference": "Weighted",
            },
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}],
        },
    }
    assert admitted_policy(done, lambda: "another") == done


@pytest.mark.parametrize(
    ("affinity", "want"),
    [
        pytest.param(None, True, id="none means every cluster"),
        pytest.param({"clusterNames": ["m1"]}, True, id="by name"),
        pytest.param({"clusterNames": ["m2"]}, False, id="by another name"),
        pytest.param({"exclude": ["m1"]}, False, id="excluded"),
        pytest.param({"clusterNames": ["m1"], "exclude": ["m1"]}, False, id="excluding wins"),
        pytest.param({"labelSelector": {"matchLabels": {"gpu": "h100"}}}, True, id="by label"),
        pytest.param(
            {
                "fieldSelector": {
                    "matchExpressions": [{"key": "region", "operator": "In", "values": ["north"]}]
                }
            },
            True,
            id="by region",
        ),
        pytest.param(
            {
                "fieldSelector": {
                    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]
                }
            },
            False,
            id="all zones must be among the values",
        ),
        pytest.param(
            {
                "fieldSelector": {
                    "matchExpressions": [{"key": "provider", "operator": "NotIn", "values": ["x"]}]
                }
            },
            True,
            id="an unknown provider is not in",
        ),
    ],
)
def test_cluster_matches(affinity, want):
    """A ClusterAffinity: all parts hold."""
    cluster = {
        "metadata": {"name": "m1", "labels": {"gpu": "h100"}},
        "spec": {"region": "north", "zones": ["a", "b"]},
    }

    assert cluster_matches(affinity, cluster) is want
