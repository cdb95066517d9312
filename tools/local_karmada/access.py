"""The rights that `deploy/` ships, given to the accounts that the programs run as here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from global_sched.embedded.access import DEPLOY, manifests
from global_sched.embedded.credentials import (
    AGENT,
    AGENT_NAMESPACE,
    AgentKubeconfigs,
    Kubeconfigs,
)
from global_sched.shared.api.names import SYSTEM_NAMESPACE, execution_namespace
from global_sched.shared.clock import Clock
from tools.local_karmada import identities, objects
from tools.local_karmada.servers import CONTROL_PLANE, Site

Obj = dict[str, Any]
GLOBAL_SCHED: Final = DEPLOY / "global-sched" / "rbac.yaml"
AGENT_CONTROL_PLANE: Final = DEPLOY / "member-agent" / "control-plane" / "access.yaml"
AGENT_MEMBER: Final = DEPLOY / "member-agent" / "member.yaml"
AGENT_JOBS: Final = DEPLOY / "member-agent" / "jobs" / "rbac.yaml"
_KINDS: Final = (
    "Namespace",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
)
"""What is taken of a manifest: who may do what. Programs run as processes here."""


def rights(path: Path, member: str = "") -> list[Obj]:
    """The accounts and rules of a shipped manifest, namespaces first."""
    found = [
        obj
        for obj in manifests(path, {"MEMBER": member} if member else {})
        if obj["kind"] in _KINDS
    ]
    return sorted(found, key=lambda one: _KINDS.index(one["kind"]))


async def grant_control_plane(site: Site, members: Sequence[str]) -> None:
    """The rights of global-sched and of every agent on the control plane."""
    given: list[Obj] = []
    for name in members:
        # Karmada makes this namespace too, a moment after the Cluster.
        space = {"name": execution_namespace(name)}
        given.append({"apiVersion": "v1", "kind": "Namespace", "metadata": space})
    given += rights(GLOBAL_SCHED)
    for name in members:
        given += rights(AGENT_CONTROL_PLANE, name)
    await objects.apply(site, CONTROL_PLANE, given)


async def grant_member(site: Site, member: str, *, jobs: bool) -> None:
    """The rights of an agent in its member; those for Volcano Jobs only where it runs them."""
    given = rights(AGENT_MEMBER)
    if jobs:
        given += rights(AGENT_JOBS)
    await objects.apply(site, member, given)


def expected(site: Site, members: Sequence[str]) -> Kubeconfigs:
    """Where the kubeconfigs of the programs are, written or not."""

    def account(server: str, namespace: str, name: str) -> Path:
        return identities.account_path(site, server, namespace, name)

    return Kubeconfigs(
        admin=site.state / "kubeconfig",
        global_sched=account(CONTROL_PLANE, SYSTEM_NAMESPACE, "global-sched"),
        agents={
            name: AgentKubeconfigs(
                control_plane=account(CONTROL_PLANE, execution_namespace(name), AGENT),
                member=account(name, AGENT_NAMESPACE, AGENT),
            )
            for name in members
        },
        members={name: site.kubeconfig(name, identities.ADMIN) for name in members},
    )


async def write_kubeconfigs(site: Site, members: Sequence[str], clock: Clock) -> None:
    """Write the kubeconfigs of global-sched and the agents, with tokens of their accounts."""
    wanted = [(CONTROL_PLANE, SYSTEM_NAMESPACE, "global-sched")]
    wanted += [(CONTROL_PLANE, execution_namespace(name), AGENT) for name in members]
    wanted += [(name, AGENT_NAMESPACE, AGENT) for name in members]
    for server in (CONTROL_PLANE, *members):
        admin = await identities.client(site, server, clock)
        try:
            for where, namespace, account in wanted:
                if where == server:
                    await identities.write_account(site, admin, server, namespace, account)
        finally:
            await admin.close()
