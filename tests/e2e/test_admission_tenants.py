"""The abuse list: tenants, editors, administrators of a namespace and agents are refused.

Each persona tries each abuse in a managed namespace, with the roles of a stock Karmada (`edit`,
`admin`), the tenant's role of `deploy/tenants`, or the account of a member's agent. Every attempt
is refused, by a right that is missing or by a policy, and the answer says by which.
"""

import json
from dataclasses import dataclass, field

from tests.e2e.admission import accepted, guarded, noted
from tests.e2e.test_admission_refusals import (
    BINDING,
    CONFIG,
    LABELLED,
    MARKED,
    POLICY,
    THERE,
    WORK,
    patch,
)

LINGJUN = ("-n", "karmada-es-lingjun")
SYSTEM = ("-n", "karmada-system")
NEW = ("create", "-f", "-")
OURS = "federation.global-sched.io/v1alpha1"
DECISION = {"metadata": {"annotations": {"decision.global-sched.io/decision": "{}"}}}
ROLE = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Abuse:
    """A command, what it reads on standard input, and the part of the answer that must be there."""

    command: tuple[str, ...]
    body: dict = field(default_factory=dict)
    says: str = "forbidden"


def own(kind, name, **more):
    """An object of our own API."""
    return {"apiVersion": OURS, "kind": kind, "metadata": {"name": name}, **more}


def policy(kind="PropagationPolicy", **spec):
    """A policy of Karmada that selects nothing that exists."""
    return {**POLICY, "kind": kind, "spec": POLICY["spec"] | spec}


ABUSES = {
    # Past the queue, by the objects that Karmada acts on.
    "make a binding": Abuse(NEW, {**BINDING, "metadata": {"name": "other-deployment"}}),
    "choose the clusters": Abuse(patch(THERE, spec={"clusters": [{"name": "east"}]})),
    "ask for more replicas": Abuse(patch(THERE, spec={"replicas": 99})),
    "name another scheduler": Abuse(patch(THERE, spec={"schedulerName": "default-scheduler"})),
    "lift a suspension": Abuse(patch(THERE, spec={"suspension": None, "priority": None})),
    "say that it is scheduled": Abuse(
        patch(THERE, "--subresource=status", status={"schedulerObservedGeneration": 9})
    ),
    "delete a binding": Abuse(("delete", THERE, "--wait=false")),
    "make a Work": Abuse(NEW, WORK),
    "make a Work in a member's namespace": Abuse((*LINGJUN, *NEW), WORK),
    "leave the queue by a policy": Abuse(NEW, policy()),
    "leave it by another scheduler": Abuse(NEW, policy(schedulerName="mine")),
    "select for the whole cluster": Abuse(NEW, policy("ClusterPropagationPolicy")),
    # A decision that was never made.
    "forge a decision": Abuse(patch(THERE, **DECISION)),
    "forge a plan": Abuse(NEW, MARKED),
    "forge a label": Abuse(NEW, LABELLED),
    "write a waiting list": Abuse(NEW, own("WaitingList", "mine", total=1)),
    # What belongs to the platform or to members.
    "report for a member": Abuse(
        ("-n", "karmada-es-east", *NEW), own("CapacityReport", "east", spec={"cluster": "east"})
    ),
    "direct a member": Abuse(
        (*LINGJUN, *NEW), own("Directive", "directive-0", spec={"cluster": "lingjun"})
    ),
    "raise the own queue": Abuse(
        NEW,
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "mine"},
            "spec": {"weight": 99},
        },
    ),
    "delete the default queue": Abuse(("delete", "queue", "default", "--wait=false")),
    "become another tenant": Abuse(NEW, own("Tenant", "mine", spec={"namespaces": ["default"]})),
    "make a priority": Abuse(
        NEW,
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "mine"},
            "value": 10**9,
        },
    ),
    "change the Policy": Abuse(
        (*SYSTEM, *patch("configmap/global-sched-policy", data={"policy": "{}"}))
    ),
    "take the Lease": Abuse(
        (*SYSTEM, *patch("lease/global-sched", spec={"holderIdentity": "mine"}))
    ),
    "taint a cluster": Abuse(patch("cluster/east", spec={"taints": []})),
    "leave the managed namespaces": Abuse(
        ("label", "namespace", "SPACE", "federation.global-sched.io/managed-")
    ),
    "take a policy out of force": Abuse(
        ("delete", "validatingadmissionpolicybinding", "global-sched-bindings", "--wait=false")
    ),
    "read the platform's secrets": Abuse((*SYSTEM, "get", "secrets")),
}
GOOD = {**CONFIG, "metadata": {"name": "fine"}}


async def test_every_abuse_is_refused_for_every_persona(federation, kubectl, space):
    """Editors, admins, tenants and another member's agent; what an editor may do still works."""
    for persona, role in (("carol", "admin"), ("dave", "view")):
        name = f"abuse-{persona}"
        kubectl(
            "-n", space, "create", "rolebinding", name, f"--clusterrole={role}", f"--user={persona}"
        )
    personas = {
        "an editor": ("tenant",),
        "an admin of the namespace": ("admin", "--as=carol"),
        "a viewer of the tenant's group": ("admin", "--as=dave", f"--as-group=tenant:{space}"),
        "the agent of another member": ("karmada-es-lingjun:member-agent",),
    }
    async with guarded(federation, kubectl, space) as managed:
        kubectl("create", "-n", space, "-f", "-", stdin=json.dumps(BINDING))
        tried, passed = 0, []
        for persona, (who, *more) in personas.items():
            for name, abuse in ABUSES.items():
                command = [one.replace("SPACE", space) for one in abuse.command]
                dry = [] if "get" in command else ["--dry-run=server"]
                said = managed.attempt(who, (*command, *dry, *more), abuse.body or None)
                tried += 1
                if accepted(said) or abuse.says not in said.lower():
                    passed.append(f"{persona}: {name}: {said[:200]}")
        noted("tenants", tried=tried, passed=passed)

        assert passed == []
        assert managed.passes("tenant", NEW, GOOD)
        assert managed.passes("tenant", NEW, policy(schedulerName="global-sched"))
