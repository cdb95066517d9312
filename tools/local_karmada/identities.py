"""Identities by server: users with certificates, and accounts with tokens."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from global_sched.shared.api.resource import SERVICE_ACCOUNTS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from tools.local_karmada import kubeconfigs
from tools.local_karmada.karmada import USER
from tools.local_karmada.kubeconfigs import Credential
from tools.local_karmada.servers import CONTROL_PLANE, Site

ADMIN: Final = "system:admin"
MASTERS: Final = "system:masters"
KWOK: Final = "global-sched-local:kwok"
OPERATORS: Final = "global-sched-local:operators"
_TOKEN_SECONDS: Final = 30 * 86400
_CONTROL_PLANE_USERS: Final = (
    "system:kube-controller-manager",
    f"{USER}karmada-aggregated-apiserver",
    f"{USER}karmada-controller-manager",
    f"{USER}karmada-descheduler",
    f"{USER}karmada-scheduler",
    f"{USER}karmada-webhook",
)
_MEMBER_USERS: Final = (
    "system:kube-controller-manager",
    "system:kube-scheduler",
    f"{USER}karmada-scheduler-estimator",
    KWOK,
    OPERATORS,
)


def write_users(site: Site, members: Sequence[str]) -> Path:
    """Write the kubeconfig of every program's user, and the administrator's, which is returned.

    The administrator's has the control plane first and a context per member.
    """
    for server in (CONTROL_PLANE, *members):
        users = _CONTROL_PLANE_USERS if server == CONTROL_PLANE else _MEMBER_USERS
        for user in users:
            write_user(site, server, user)
        write_user(site, server, ADMIN, (MASTERS,))
    credential = Credential(user=ADMIN, pair=site.authority.client(ADMIN, (MASTERS,)))
    contexts = {name: (site.endpoint(name), credential) for name in (CONTROL_PLANE, *members)}
    return kubeconfigs.write(site.state / "kubeconfig", contexts)


def write_user(site: Site, server: str, user: str, groups: Sequence[str] = ()) -> Path:
    """Write a kubeconfig for a user of one server, with a certificate; the groups are its own."""
    credential = Credential(user=user, pair=site.authority.client(user, groups))
    path = site.kubeconfig(server, user)
    return kubeconfigs.write(path, {server: (site.endpoint(server), credential)})


async def client(site: Site, server: str, clock: Clock, user: str = ADMIN) -> Client:
    """A client of a server as one of its users; the administrator unless one is named."""
    transport = await connect(kubeconfig=site.kubeconfig(server, user), clock=clock)
    return Client(transport, clock=clock, user_agent="global-sched-local")


async def token(admin: Client, namespace: str, account: str) -> str:
    """A token of a ServiceAccount that is there."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    path = SERVICE_ACCOUNTS.path(namespace, account, "token")
    answer = json.loads(await admin.raw("POST", path, body))
    return str(answer["status"]["token"])


def account_path(site: Site, server: str, namespace: str, account: str) -> Path:
    """Where the kubeconfig of a ServiceAccount is."""
    return site.state / "kubeconfigs" / f"{server}-{namespace}-{account}.yaml"


async def write_account(
    site: Site, admin: Client, server: str, namespace: str, account: str
) -> Path:
    """Write a kubeconfig for a ServiceAccount of one server."""
    credential = Credential(user=account, token=await token(admin, namespace, account))
    path = account_path(site, server, namespace, account)
    return kubeconfigs.write(path, {server: (site.endpoint(server), credential)})
