"""The shipped Roles suffice for everything that the suite does, and give nothing besides.

This file runs last, when all federations have been asked for all that they are asked for. That
every right is used is only looked at when all of the suite has run.
"""

import json
from contextlib import AsyncExitStack

import pytest

from global_sched.shared.api.names import execution_namespace
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from tools.local_karmada.access import (
    AGENT_CONTROL_PLANE,
    AGENT_JOBS,
    AGENT_MEMBER,
    GLOBAL_SCHED,
    rights,
)

CONTROL, MEMBER = "control-plane", "member"
FILES = (
    ("global-sched", CONTROL, GLOBAL_SCHED),
    ("member-agent", CONTROL, AGENT_CONTROL_PLANE),
    ("member-agent", MEMBER, AGENT_MEMBER),
    ("member-agent", MEMBER, AGENT_JOBS),
)

IDLE = {
    ("global-sched", CONTROL, "delete", "directives.federation.global-sched.io"): (
        "when a Directive has fewer slices than before"
    ),
    ("member-agent", CONTROL, "delete", "capacityreports.federation.global-sched.io"): (
        "when a report has fewer slices than before"
    ),
    ("member-agent", MEMBER, "get", "leases.coordination.k8s.io"): (
        "Volcano's Lease is looked at where Volcano runs; its own by the Role"
    ),
    ("member-agent", MEMBER, "patch", "leaderworkersets.leaderworkerset.x-k8s.io"): (
        "when it binds a group's pods: no controller makes LeaderWorkerSet pods in these members"
    ),
    ("member-agent", MEMBER, "update", "jobs.batch.volcano.sh/finalizers"): (
        "asked for by the admission plugin OwnerReferencesPermissionEnforcement, not by a request"
    ),
}
"""Rights that no request of this suite needs, and when they are needed."""


def granted():
    """Every right that a shipped manifest gives: account, server, verb, resource with its group."""
    for account, server, path in FILES:
        for obj in rights(path, "MEMBER"):
            for rule in obj.get("rules") or ():
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        plural, slash, sub = resource.partition("/")
                        name = (f"{plural}.{group}" if group else plural) + slash + sub
                        for verb in rule["verbs"]:
                            yield account, server, verb, name


def test_nothing_was_denied(requests):
    """No program of ours asked for anything that its Role does not give."""
    denied = sorted({one for one in requests.counted() if not one.allowed and not one.host})
    assert denied == []


async def test_what_was_denied_too_early_is_allowed(requests):
    """Servers that tests start again deny everything until they are ready: now they allow it."""
    refused = []
    async with AsyncExitStack() as stack:
        clients = {}
        for federation, one in requests.early():
            where = (federation.state, one.host)
            if where not in clients:
                clients[where] = await federation.client(one.host)
                stack.push_async_callback(clients[where].close)
            if not await _may(clients[where], one):
                refused.append(one)
    assert refused == []


async def _may(client, one):
    """Whether the server would allow a request now."""
    return await _allowed(client, "SubjectAccessReview", _attributes(one), user=one.user)


def _attributes(one):
    whole, _, sub = one.resource.partition("/")
    plural, _, group = whole.partition(".")
    return {
        "verb": one.verb,
        "group": group,
        "resource": plural,
        "subresource": sub,
        "namespace": one.namespace,
        "name": one.name,
    }


async def _allowed(client, kind, attributes, **more):
    """What the server's own authorizer says."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": kind,
        "spec": {"resourceAttributes": attributes} | more,
    }
    path = f"/apis/authorization.k8s.io/v1/{kind.lower()}s"
    return json.loads(await client.raw("POST", path, review))["status"]["allowed"]


def test_agents_stay_in_their_namespace(requests):
    """On the control plane an agent names its own member's namespace and no other."""
    asked = [one for one in requests.counted() if one.account == "member-agent"]
    elsewhere = {
        (one.user, one.namespace)
        for one in asked
        if one.server == CONTROL and one.namespace not in one.user
    }
    assert asked
    assert elsewhere == set()


@pytest.mark.whole_suite
def test_every_right_was_used(requests):
    """Each rule of the shipped Roles was needed by some request, or has a reason.

    `get` goes with `list`: who may list everything learns nothing more by it.
    """
    used = {(one.account, one.server, one.verb, one.resource) for one in requests.counted()}
    given = set(granted())
    lists = {(account, server, name) for account, server, verb, name in given if verb == "list"}
    idle = {
        one for one in given - used if not (one[2] == "get" and (one[0], one[1], one[3]) in lists)
    }
    assert sorted(idle - set(IDLE)) == []


async def test_an_agent_can_do_nothing_elsewhere(federation, programs):
    """With an agent's credential: nothing in another member's namespace, no bindings, no Works."""
    own, other = federation.members[:2]
    credential = federation.kubeconfigs.agents[own].control_plane
    clock = SystemClock()
    client = Client(await connect(kubeconfig=credential, clock=clock), clock=clock)

    async def may(verb, resource, namespace):
        plural, _, group = resource.partition(".")
        asked = {"verb": verb, "resource": plural, "group": group, "namespace": namespace}
        return await _allowed(client, "SelfSubjectAccessReview", asked)

    ours = execution_namespace(own)
    try:
        assert await may("patch", "capacityreports.federation.global-sched.io", ours)
        for namespace in (execution_namespace(other), "karmada-system", "default"):
            for verb in ("get", "list", "create", "patch", "delete"):
                for resource in ("capacityreports", "directives"):
                    assert not await may(verb, f"{resource}.federation.global-sched.io", namespace)
        for namespace in (ours, "default"):
            for verb in ("get", "create", "patch", "update", "delete"):
                for resource in ("works.work.karmada.io", "resourcebindings.work.karmada.io"):
                    assert not await may(verb, resource, namespace)
        for resource in ("secrets", "pods", "clusters.cluster.karmada.io"):
            assert not await may("get", resource, ours)
    finally:
        await client.close()


def test_the_programs_are_no_administrators(federation, kubectl):
    """Neither program may do everything, anywhere."""
    files = federation.kubeconfigs
    for path in (
        files.global_sched,
        *(one.control_plane for one in files.agents.values()),
        *(one.member for one in files.agents.values()),
    ):
        answer = kubectl("auth", "can-i", "*", "*", "-A", kubeconfig=path, check=False)
        assert answer.strip().splitlines()[-1] == "no"


def test_the_suite_is_recorded(federation, requests):
    """The logs hold requests of both programs on both kinds of servers, so none is unseen."""
    seen = {(one.account, one.server) for one in requests.counted()}
    assert seen == {(account, server) for account, server, _ in FILES}
    line = federation.audit("control-plane").read_text().splitlines()[0]
    assert json.loads(line)["level"] == "Metadata"
