"""In a managed namespace no job walks around the queue, and each refusal says why.

Every write here is refused while its policy is there, and succeeds when the policy is gone: it is
the policy that refuses, not a missing right.
"""

import json
from dataclasses import dataclass
from functools import partial

from tests.e2e.admission import accepted, guarded, policies
from tests.e2e.waiting import until

BINDING = {
    "apiVersion": "work.karmada.io/v1alpha2",
    "kind": "ResourceBinding",
    "metadata": {
        "name": "web-deployment",
        "labels": {"team": "a"},
        "annotations": {
            "note": "x",
            "decision.global-sched.io/decision": '{"id":"d","epoch":7,"at":"","order":0}',
        },
    },
    "spec": {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "schedulerName": "global-sched",
        "replicas": 2,
        "placement": {"clusterAffinity": {"clusterNames": ["east"]}},
    },
}
WORK = {
    "apiVersion": "work.karmada.io/v1alpha1",
    "kind": "Work",
    "metadata": {"name": "mine"},
    "spec": {"workload": {"manifests": []}},
}
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "mine"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}],
        "placement": {"clusterAffinity": {"clusterNames": ["east"]}},
    },
}
OURS = "decision.global-sched.io"
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
MARKED = {**CONFIG, "metadata": {"name": "mine", "annotations": {f"{OURS}/plan": "{}"}}}
LABELLED = {**CONFIG, "metadata": {"name": "mine", "labels": {f"{OURS}/x": "y"}}}
SCHEDULER = "karmada-system:global-sched"
THERE = "resourcebinding/web-deployment"


def patch(*what, **body):
    """A merge patch on the command line."""
    return ("patch", *what, "--type=merge", "-p", json.dumps(body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Something that an account tries, and what the policy's message says."""

    policy: str
    who: str = "tenant"
    command: tuple[str, ...]
    body: dict | None = None
    message: str


ATTEMPTS = {
    "a tenant makes a binding": Attempt(
        policy="global-sched-bindings",
        command=("create", "-f", "-"),
        body={**BINDING, "metadata": {"name": "other-deployment"}},
        message="alice may not create resourcebindings in the managed namespace",
    ),
    "a tenant chooses a cluster": Attempt(
        policy="global-sched-bindings",
        command=patch(THERE, spec={"clusters": [{"name": "east", "replicas": 2}]}),
        message="submit a job and a PropagationPolicy instead",
    ),
    "a tenant writes a binding's status": Attempt(
        policy="global-sched-bindings",
        command=patch(THERE, "--subresource=status", status={"schedulerObservedGeneration": 9}),
        message="alice may not update resourcebindings",
    ),
    "a tenant makes a Work": Attempt(
        policy="global-sched-bindings",
        command=("create", "-f", "-"),
        body=WORK,
        message="alice may not create works",
    ),
    "a tenant forges a plan": Attempt(
        policy="global-sched-decisions",
        command=("create", "-f", "-"),
        body=MARKED,
        message="alice may not set, change or remove decision.global-sched.io/plan",
    ),
    "a tenant sets one of our labels": Attempt(
        policy="global-sched-decisions",
        command=("create", "-f", "-"),
        body=LABELLED,
        message="what users set is federation.global-sched.io/",
    ),
    "a tenant names Karmada's own scheduler": Attempt(
        policy="global-sched-propagation",
        command=("create", "-f", "-"),
        body=POLICY,
        message="spec.schedulerName is default-scheduler; in the managed namespace",
    ),
    "a tenant writes a waiting list": Attempt(
        policy="global-sched-waiting-lists",
        command=("create", "-f", "-"),
        body={
            "apiVersion": "federation.global-sched.io/v1alpha1",
            "kind": "WaitingList",
            "metadata": {"name": "mine"},
            "total": 1,
        },
        message="alice may not write WaitingLists: only global-sched does",
    ),
    "global-sched changes the demand of a binding": Attempt(
        policy="global-sched-own-writes",
        who=SCHEDULER,
        command=patch(THERE, spec={"replicas": 3}),
        message="global-sched may change spec.clusters and spec.gracefulEvictionTasks",
    ),
    "global-sched removes a field of a binding": Attempt(
        policy="global-sched-own-writes",
        who=SCHEDULER,
        command=patch(THERE, spec={"placement": None}),
        message="and no other field of its spec",
    ),
    "global-sched changes a user's annotation": Attempt(
        policy="global-sched-own-writes",
        who=SCHEDULER,
        command=patch(THERE, metadata={"annotations": {"note": None}}),
        message="global-sched may change policy.karmada.io/applied-placement",
    ),
    "global-sched changes labels": Attempt(
        policy="global-sched-own-writes",
        who=SCHEDULER,
        command=patch(THERE, metadata={"labels": {"team": "b"}}),
        message="global-sched may not change labels or finalizers",
    ),
    "a tenant removes a binding": Attempt(
        policy="global-sched-bindings",
        command=("delete", THERE, "--wait=false"),
        message="alice may not delete resourcebindings",
    ),
}


async def test_refused_with_a_reason_while_the_policy_is_there(federation, kubectl, space):
    """Each write is refused with a message that helps, and succeeds without the policy."""
    async with guarded(federation, kubectl, space) as managed:
        kubectl("create", "-n", space, "-f", "-", stdin=json.dumps(BINDING))
        for name, one in ATTEMPTS.items():
            said = managed.attempt(one.who, one.command, one.body)
            assert f"ValidatingAdmissionPolicy '{one.policy}'" in said, (name, said)
            assert one.message in said, (name, said)

        for policy in {one.policy for one in ATTEMPTS.values()}:
            managed.remove(policy)
        for name, one in ATTEMPTS.items():
            await until(partial(managed.passes, one.who, one.command, one.body), f"{name} works")
            done = managed.attempt(one.who, one.command, one.body)
            assert accepted(done), (name, done)
            if one.command[0] == "create":
                kubectl("-n", space, "delete", "-f", "-", stdin=json.dumps(one.body))


def test_every_policy_is_tried():
    """Those of reports and terms are tried in files of their own."""
    tried = {one.policy for one in ATTEMPTS.values()}

    assert tried | {"global-sched-reports", "global-sched-terms"} == set(policies())
